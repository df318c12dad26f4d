"""`/lanceway/v1/catalogs`: made, changed and dropped, with effect from the next request on, in every process."""

from __future__ import annotations

import gzip
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import lanceway
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.postgres import Postgres
from tests.servers.run import Run

BASE = "/lanceway/v1"
CATALOGS = f"{BASE}/catalogs"
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
PROCESSES = 2


class Site:
    """Servers over one home, asked in turn by several users: each is a process of its own."""

    def __init__(self, servers: list[Lanceway], allowed: Path) -> None:
        self.servers, self.allowed = servers, allowed
        self.home = servers[0].home

    def ask(self, method: str, path: str, *, at: int = 0, token: str | None = None, **options: Any) -> httpx.Response:
        server = self.servers[at]
        headers = {"authorization": f"Bearer {token or server.token}", **options.pop("headers", {})}
        url = f"{server.address}{path}"
        return httpx.request(method, url, headers=headers, timeout=60, trust_env=False, **options)

    def names(self, at: int, token: str | None = None) -> list[str]:
        answer = self.ask("GET", "/lance/v1/namespace/$/list", at=at, token=token)
        found: list[str] = answer.json()["namespaces"]
        return found

    def everywhere(self, method: str, path: str, **options: Any) -> set[int]:
        """The statuses of one request, sent to each process."""
        return {self.ask(method, path, at=at, **options).status_code for at in range(len(self.servers))}

    def make(self, name: str, token: str | None = None, **body: Any) -> httpx.Response:
        return self.ask("POST", CATALOGS, token=token, json={"name": name, **body})

    def change(self, catalog: str, verb: str, token: str | None = None, **body: Any) -> httpx.Response:
        return self.ask("POST", f"{CATALOGS}/{catalog}/{verb}", token=token, json=body or None)

    def token(self, user: str, *privileges: str) -> str:
        return self.servers[0].token_for(user, *privileges)


@pytest.fixture(scope="module")
def site(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home, allowed = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("allowed")
    configured = tmp_path_factory.mktemp("configured")
    settings = (
        f'[server]\nallowed_locations = "{home / "warehouse"},{allowed}"\nworker = false\n'
        f'[catalogs.filed]\ntype = "dir"\npath = "{configured}"\n'
    )
    start = [lanceway_server.start(whole_run, name="catalogs", home=home, settings=settings) for _ in range(PROCESSES)]
    yield Site(start, allowed)
    for server in start:
        assert server.stop() == 0


@pytest.fixture
def name() -> str:
    return f"c{uuid.uuid4().hex[:10]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one table, `t`."""
    path = tmp_path / "data"
    path.mkdir()
    with lanceway.connect("dir", path=str(path)) as catalog:  # type: ignore[attr-defined]
        catalog.create_table({"id": ["t"]}, stream(table(1, 2)))
    return path


def test_a_catalog_is_a_branch_of_every_process_at_once(site: Site, name: str, folder: Path) -> None:
    for at in range(PROCESSES):
        assert name not in site.names(at)
    answer = site.make(name, type="dir", settings={"path": str(folder)}, comment="old data", properties={"team": "x"})
    made = answer.json()
    assert (answer.status_code, made["source"], made["enabled"], made["owner"]) == (201, "database", True, "admin")
    assert (made["settings"], made["properties"]) == ({"path": str(folder)}, {"team": "x"})
    assert made["checks"] == [{"name": "connect", "passed": True}, {"name": "list", "passed": True}]
    for at in range(PROCESSES):
        assert name in site.names(at)
        assert site.ask("POST", f"/lance/v1/table/{name}$t/count_rows", at=at, json={}).json() == 2
    assert site.ask("GET", f"{CATALOGS}/{name}", at=1).json()["comment"] == "old data"
    assert site.ask("DELETE", f"{CATALOGS}/{name}", at=1).status_code == 200
    for at in range(PROCESSES):
        assert name not in site.names(at)
        assert site.ask("POST", f"/lance/v1/table/{name}$t/count_rows", at=at, json={}).status_code == 404
    assert (folder / "t").is_dir(), "the service keeps what it has"


def test_a_catalog_that_is_altered_or_disabled(site: Site, name: str, folder: Path, tmp_path: Path) -> None:
    site.make(name, type="dir", settings={"path": str(folder)})
    count = f"/lance/v1/table/{name}$t/count_rows"
    assert site.everywhere("POST", count, json={}) == {200}
    assert site.change(name, "disable").json()["enabled"] is False
    assert site.everywhere("POST", count, json={}) == {409}
    refusal = site.ask("POST", count, json={}, at=1).json()
    assert f"lanceway catalogs enable {name}" in refusal["error"]
    assert site.ask("GET", f"{CATALOGS}/{name}", at=1).json()["enabled"] is False
    assert site.change(name, "enable").json()["enabled"] is True
    assert site.everywhere("POST", count, json={}) == {200}
    other = tmp_path / "other"
    other.mkdir()
    changed = site.change(name, "alter", set={"path": str(other)}, comment="moved", set_properties={"a": "b"})
    assert (changed.json()["settings"], changed.json()["comment"]) == ({"path": str(other)}, "moved")
    assert site.everywhere("POST", count, json={}) == {404}
    assert site.change(name, "alter", unset_properties=["a"], comment=None).json()["properties"] == {}
    assert site.change(name, "alter", name=f"{name}-new").json()["name"] == f"{name}-new"
    assert all(f"{name}-new" in site.names(at) and name not in site.names(at) for at in range(PROCESSES))
    site.ask("DELETE", f"{CATALOGS}/{name}-new")


def test_a_catalog_of_the_lake_itself(site: Site, name: str) -> None:
    made = site.make(name, comment="ours", properties={"lanceway.versioning": "storage", "x": "y"}).json()
    assert (made["type"], made["nested"], made["comment"], made["properties"]) == ("lake", True, "ours", {"x": "y"})
    assert site.everywhere("POST", f"/lance/v1/namespace/{name}/exists", json={}) == {200}
    content = stream(table(1))
    site.ask("POST", f"/lance/v1/table/{name}$t/create", content=content, headers=ARROW).raise_for_status()
    describe = f"/lance/v1/table/{name}$t/describe"
    assert site.everywhere("POST", describe, json={}) == {200}
    site.change(name, "disable").raise_for_status()
    assert site.everywhere("POST", describe, json={}) == {409}, "also where the event loop would have answered"
    site.change(name, "enable").raise_for_status()
    assert site.everywhere("POST", describe, json={}) == {200}
    site.change(name, "alter", name=f"{name}-new").raise_for_status()
    assert site.everywhere("POST", describe, json={}) == {404}
    assert site.everywhere("POST", f"/lance/v1/table/{name}-new$t/describe", json={}) == {200}
    refused = site.ask("DELETE", f"{CATALOGS}/{name}-new")
    assert (refused.status_code, refused.json()["code"]) == (409, 3)
    site.ask("POST", f"/lance/v1/table/{name}-new$t/drop").raise_for_status()
    assert site.ask("DELETE", f"{CATALOGS}/{name}-new").status_code == 200


def test_names_never_collide(site: Site, name: str, folder: Path) -> None:
    settings = {"path": str(folder)}
    for taken in ("lake", "filed"):
        assert site.make(taken, type="dir", settings=settings).status_code in (400, 409)
        assert site.make(taken).status_code in (400, 409)
    assert site.make(name, type="dir", settings=settings).status_code == 201
    for _ in range(2):
        assert site.make(name, type="dir", settings=settings).status_code == 409
    assert site.make(name).status_code == 409
    assert site.ask("POST", f"/lance/v1/namespace/{name}/create", at=1, json={}).status_code == 409
    assert site.change(name, "alter", name="lake").status_code == 409
    assert site.change(name, "alter", name="filed").status_code == 400
    assert site.ask("POST", f"/lance/v1/namespace/{name}/drop", json={"behavior": "Cascade"}).status_code == 400
    assert site.ask("POST", f"/lance/v1/namespace/{name}/drop", json={}).status_code == 200
    assert site.ask("GET", f"{CATALOGS}/{name}").status_code == 404


def test_catalogs_of_the_configuration_are_read_only(site: Site) -> None:
    found = site.ask("GET", f"{CATALOGS}/filed").json()
    assert (found["source"], found["type"]) == ("configuration", "dir")
    for answer in (
        site.change("filed", "disable"),
        site.change("filed", "alter", comment="x"),
        site.ask("DELETE", f"{CATALOGS}/filed"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert "[catalogs.filed]" in answer.json()["error"]
    assert site.change("filed", "test").json()["passed"] is True


def test_a_catalog_that_does_not_answer_is_not_made(site: Site, name: str) -> None:
    settings = {"uri": "http://127.0.0.1:9/lance", "retries": "0", "connect_timeout": "2"}
    answer = site.make(name, type="rest", settings=settings)
    assert (answer.status_code, answer.json()["code"]) == (502, 17)
    assert "'list' failed" in answer.json()["error"]
    assert name not in site.names(0)
    tried = site.ask("POST", f"{CATALOGS}/test", json={"name": name, "type": "rest", "settings": settings}).json()
    assert [check["passed"] for check in tried["checks"]] == [True, False]
    assert site.make(name, type="rest", settings=settings, test=False).status_code == 201
    assert site.change(name, "test").json()["passed"] is False
    assert site.ask("GET", f"/lance/v1/namespace/{name}/list", at=1).status_code == 503
    assert site.ask("GET", "/lance/v1/namespace/lake/list", at=1).status_code == 200
    site.ask("DELETE", f"{CATALOGS}/{name}")


@pytest.mark.parametrize(
    "body",
    [
        {"type": "tests.fake.Catalog"},
        {"type": "os:system"},
        {"type": "dir", "settings": {"path": "/tmp", "no_such": "x"}},
        {"type": "dir"},
        {"type": "dir", "settings": {"path": "relative"}},
        {"type": "dir", "settings": {"path": "/tmp", "threads": "none"}},
        {"settings": {"path": "/tmp"}},
        {"name": "a$b", "type": "dir", "settings": {"path": "/tmp"}},
    ],
)
def test_what_cannot_be_a_catalog(site: Site, name: str, body: dict[str, Any]) -> None:
    answer = site.make(**{"name": name, **body})
    assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text


# -- secrets -------------------------------------------------------------------------------------


def test_secrets_are_never_returned_and_stored_encrypted(site: Site, name: str, tmp_path: Path) -> None:
    upstream = site.servers[1]
    settings = {"uri": upstream.uri, "token": upstream.token, "header.X-Team": "sesame-header"}
    made = site.make(name, type="rest", settings=settings)
    assert made.status_code == 201, made.text
    assert made.json()["secrets"] == ["header.X-Team", "token"]
    assert site.everywhere("POST", f"/lance/v1/namespace/{name}$lake/exists", json={}) == {200}
    site.change(name, "alter", set={"retries": "1"}).raise_for_status()
    assert site.everywhere("POST", f"/lance/v1/namespace/{name}$lake/exists", json={}) == {200}, "they are kept"
    told = made.text
    for path in (CATALOGS, f"{CATALOGS}/{name}", f"{BASE}/audit", f"{BASE}/grants?object={name}"):
        told += site.ask("GET", path).text
    told += site.ask("POST", f"/lance/v1/namespace/{name}/describe", json={}).text
    told += "".join(server.lines() for server in site.servers)
    backup = tmp_path / "backup.gz"
    assert _lanceway("lake", "backup", str(backup), "--uri", f"sqlite:///{site.home}/lake.db") == 0
    told += gzip.decompress(backup.read_bytes()).decode()
    with sqlite3.connect(site.home / "lake.db") as database:
        told += repr(database.execute("SELECT * FROM mounts").fetchall())
    key = (site.home / "secret-key").read_text().strip()
    secret = upstream.token.rpartition("_")[2]
    assert not [text for text in (secret, "sesame-header", key) if text in told]
    assert (site.home / "secret-key").stat().st_mode & 0o777 == 0o600
    _check_rotation(site, name)
    site.ask("DELETE", f"{CATALOGS}/{name}")


def _check_rotation(site: Site, name: str) -> None:
    before = (site.home / "secret-key").read_text()
    assert _lanceway("lake", "rotate-key", "--home", str(site.home)) == 0
    after = (site.home / "secret-key").read_text()
    assert len(after.split()) == 1
    assert after != before
    assert site.everywhere("POST", f"/lance/v1/namespace/{name}$lake/exists", json={}) == {200}


def _lanceway(*arguments: str) -> int:
    import subprocess
    import sys

    return subprocess.run([sys.executable, "-m", "lanceway", *arguments], check=False).returncode


# -- rights --------------------------------------------------------------------------------------


def test_without_rights_nothing_is_made_or_told(site: Site, name: str, folder: Path) -> None:
    site.make(name, type="dir", settings={"path": str(folder)}).raise_for_status()
    nobody = site.token(f"nobody-{name}", "SELECT_TABLE")
    assert name not in site.ask("GET", CATALOGS, token=nobody).text
    for answer in (
        site.make(f"{name}x", token=nobody),
        site.ask("GET", f"{CATALOGS}/{name}", token=nobody),
        site.ask("DELETE", f"{CATALOGS}/{name}", token=nobody),
        *(site.change(name, verb, token=nobody) for verb in ("enable", "disable", "test", "nested")),
        site.change(name, "alter", token=nobody, comment="x"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, 15), answer.text
        assert str(folder) not in answer.text
    missing = site.ask("GET", f"{CATALOGS}/{name}-none", token=nobody)
    there = site.ask("GET", f"{CATALOGS}/{name}", token=nobody)
    assert missing.json()["error"].replace("-none", "") == there.json()["error"], "what is there looks like what is not"
    user = site.token(f"user-{name}", "USE_CATALOG")
    assert site.ask("GET", f"{CATALOGS}/{name}", token=user).status_code == 200
    assert site.change(name, "disable", token=user).status_code == 403
    site.ask("DELETE", f"{CATALOGS}/{name}")


def test_who_may_make_catalogs_reaches_only_what_is_allowed(site: Site, name: str, folder: Path) -> None:
    maker = site.token(f"maker-{name}", "CREATE_CATALOG")
    inside = site.allowed / name
    inside.mkdir()
    upstream = site.servers[1]
    denied: list[dict[str, Any]] = [
        {"type": "dir", "settings": {"path": str(folder)}},
        {"type": "dir", "settings": {"path": str(site.home / "warehouse")}},
        {"type": "dir", "settings": {"path": str(site.home / "warehouse" / "lake")}},
        {"type": "dir", "settings": {"path": str(site.home)}},
        {"type": "dir", "settings": {"path": str(inside), "storage.endpoint": "http://169.254.169.254"}},
        {"type": "rest", "settings": {"uri": upstream.uri, "token_file": str(site.home / "admin-token")}},
        {"type": "rest", "settings": {"uri": "http://169.254.169.254/latest"}},
        {"type": "iceberg", "settings": {"endpoint": "http://127.0.0.1:1"}},
        {"type": "unity", "settings": {"endpoint": "http://127.0.0.1:1", "catalog": "c"}},
        {"type": "glue", "settings": {"region": "us-east-1"}},
        {"type": "hive", "settings": {}},  # of the server's own machine
        {"type": "hive", "settings": {"uri": "thrift://127.0.0.1:1"}},
        {"type": "gravitino", "settings": {"endpoint": "http://127.0.0.1:1", "metalake": "m"}},
        {"type": "polaris", "settings": {"endpoint": "http://127.0.0.1:1", "warehouse": "w"}},
        {"type": "lake", "settings": {"uri": f"sqlite:///{site.home}/lake.db"}},
    ]
    for body in denied:
        for path in (CATALOGS, f"{CATALOGS}/test"):
            answer = site.ask("POST", path, token=maker, json={"name": name, **body})
            assert (answer.status_code, answer.json()["code"]) == (403, 15), (body, answer.text)
    assert site.make(name, token=maker, type="dir", settings={"path": str(inside)}).status_code == 201
    again = site.make(f"{name}-2", token=maker, type="dir", settings={"path": str(inside / "deeper")})
    assert again.status_code == 403, "another catalog has the folder"
    assert site.change(name, "alter", token=maker, set={"path": str(folder)}).status_code == 403
    assert site.ask("DELETE", f"{CATALOGS}/{name}", token=maker).status_code == 200, "who made it owns it"


def test_an_owner_cannot_have_secrets_sent_elsewhere(site: Site, name: str) -> None:
    upstream = site.servers[1]
    site.make(name, type="rest", settings={"uri": upstream.uri, "token": upstream.token}).raise_for_status()
    owner = site.token(f"owner-{name}", "USE_CATALOG")
    given = {"object": name, "kind": "catalog", "user": f"owner-{name}"}
    site.ask("PUT", f"{BASE}/owners", json=given).raise_for_status()
    assert site.change(name, "alter", token=owner, set={"uri": "http://127.0.0.1:9"}, test=False).status_code == 403
    assert site.change(name, "alter", token=owner, comment="mine").status_code == 200
    with sqlite3.connect(site.home / "lake.db") as database:
        database.execute(
            "UPDATE mounts SET settings = json_set(settings, '$.uri', ?) WHERE name = ?", ("http://e", name)
        )
        database.execute("UPDATE settings SET value = ? WHERE key = 'mounts_revision'", (uuid.uuid4().hex,))
    answer = site.ask("GET", f"/lance/v1/namespace/{name}/list")
    assert answer.status_code == 503
    assert "do not belong to its settings" in answer.json()["error"]
    assert "do not belong" in site.ask("GET", f"{CATALOGS}/{name}").json()["unavailable"]
    site.ask("DELETE", f"{CATALOGS}/{name}").raise_for_status()


def test_grants_go_with_the_catalog(site: Site, name: str, folder: Path) -> None:
    settings = {"path": str(folder)}
    site.make(name, type="dir", settings=settings).raise_for_status()
    reader = site.token(f"reader-{name}", "CREATE_TABLE")
    grant = {"role": f"role-of-reader-{name}", "object": name, "kind": "catalog", "privilege": "USE_CATALOG"}
    for privilege in ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"):
        change = {"changes": [{**grant, "privilege": privilege}]}
        site.ask("POST", f"{BASE}/grants", json=change).raise_for_status()
    count = f"/lance/v1/table/{name}$t/count_rows"
    assert site.everywhere("POST", count, json={}, token=reader) == {200}
    site.change(name, "alter", name=f"{name}-new").raise_for_status()
    renamed = f"/lance/v1/table/{name}-new$t/count_rows"
    assert site.everywhere("POST", renamed, json={}, token=reader) == {200}, "they follow a new name"
    site.ask("DELETE", f"{CATALOGS}/{name}-new").raise_for_status()
    site.make(f"{name}-new", type="dir", settings=settings).raise_for_status()
    assert site.everywhere("POST", renamed, json={}, token=reader) == {403}, "a later catalog of the name is another"
    site.ask("DELETE", f"{CATALOGS}/{name}-new")


# -- nested mode ---------------------------------------------------------------------------------


def test_nested_mode_is_enabled_after_a_scan(site: Site, name: str) -> None:
    site.make(name, nested=False).raise_for_status()
    with sqlite3.connect(site.home / "lake.db") as database:
        database.execute("UPDATE settings SET value = 'unrestricted' WHERE key = 'separator_policy'")
    try:
        site.ask("POST", f"/lance/v1/namespace/{name}$a:b/create", json={}).raise_for_status()
        refused = site.ask("POST", f"/lance/v1/namespace/{name}$a$b/create", json={})
        assert refused.status_code == 400
        scan = site.change(name, "nested", dry_run=True).json()
        assert (scan["nested"], scan["separator"], scan["conflicts"]) == (False, ":", [["a:b"]])
        assert ";" in scan["alternatives"]
        answer = site.change(name, "nested")
        assert (answer.status_code, answer.json()["code"]) == (400, 13)
        assert "['a:b']" in answer.json()["error"]
        assert "';'" in answer.json()["error"]
        site.ask("POST", f"/lance/v1/namespace/{name}$a:b/drop", json={}).raise_for_status()
        assert site.change(name, "nested").json()["nested"] is True
        for at in range(PROCESSES):
            path = f"/lance/v1/namespace/{name}$p{at}"
            site.ask("POST", f"{path}/create", at=at, json={}).raise_for_status()
            site.ask("POST", f"{path}$deep/create", at=at, json={}).raise_for_status()
    finally:
        with sqlite3.connect(site.home / "lake.db") as database:
            database.execute("UPDATE settings SET value = 'restricted' WHERE key = 'separator_policy'")


# -- PostgreSQL ----------------------------------------------------------------------------------


def test_servers_on_postgresql_share_a_configured_key(
    whole_run: Run, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory, folder: Path
) -> None:
    home, schema = tmp_path_factory.mktemp("home"), postgres.schema()
    shared = {"LANCEWAY_DATABASE": postgres.uri(schema), "LANCEWAY_WAREHOUSE": str(home / "warehouse")}
    with_key = {**shared, "LANCEWAY_SECRET_KEY": "0a" * 32}
    servers = [
        lanceway_server.start(whole_run, name="shared", home=home, environment=environment, arguments=("--no-worker",))
        for environment in (with_key, shared)
    ]
    site = Site(servers, folder)
    secret = {"path": str(folder), "storage.secret_access_key": "sesame"}
    try:
        refused = site.ask("POST", CATALOGS, at=1, json={"name": "kept", "type": "dir", "settings": secret})
        assert (refused.status_code, refused.json()["code"]) == (400, 13)
        assert "LANCEWAY_SECRET_KEY" in refused.json()["error"]
        assert not (home / "secret-key").exists()
        for turn in range(3):
            assert site.make("kept", type="dir", settings=secret).status_code == 201
            assert "kept" in site.names(1)
            count = "/lance/v1/table/kept$t/count_rows"
            assert site.ask("POST", count, json={}).json() == 2
            there = site.ask("POST", count, at=1, json={})
            assert (there.status_code, there.json()["code"]) == (503, 17), "without the key it says why"
            assert "which this server does not have" in there.json()["error"]
            assert site.ask("GET", "/lance/v1/namespace/lake/list", at=1).status_code == 200
            assert "secret_key" in site.ask("GET", f"{CATALOGS}/kept", at=1).json()["unavailable"]
            assert site.ask("DELETE", f"{CATALOGS}/kept", at=turn % 2).status_code == 200
            assert site.everywhere("POST", count, json={}) == {404}
            # A catalog of the lake in the place of a mounted one, and the other way round.
            assert site.make("kept").status_code == 201
            assert site.everywhere("POST", "/lance/v1/namespace/kept/exists", json={}) == {200}
            assert site.everywhere("POST", count, json={}) == {404}
            assert site.ask("DELETE", f"{CATALOGS}/kept", at=1).status_code == 200
    finally:
        for server in servers:
            server.stop()
        postgres.execute(f"DROP SCHEMA {schema} CASCADE")
