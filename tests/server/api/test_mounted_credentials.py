"""Credentials for the tables of catalogs that are mounted while servers run, on a storage that enforces policies."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import lance
import lance_namespace
import pytest

from lanceway.access.privileges import SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.server.api.test_catalogs import ARROW, BASE, CATALOGS, PROCESSES, Site
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers import seaweedfs
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, ROLE, S3, SECRET


@pytest.fixture(scope="module")
def s3(whole_run: Run) -> S3:
    return seaweedfs.start_sts(whole_run)


@pytest.fixture(scope="module")
def site(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two processes over one home, whose lake is a folder: what they vend is of mounted catalogs alone."""
    home = tmp_path_factory.mktemp("home")
    settings = "[server]\nworker = false\n"
    servers = [lanceway_server.start(whole_run, name="mounting", home=home, settings=settings) for _ in range(2)]
    yield Site(servers, home)
    for server in servers:
        assert server.stop() == 0


@pytest.fixture(scope="module")
def reader(site: Site) -> str:
    return site.token("mounting-reader", USE_CATALOG, USE_SCHEMA, SELECT_TABLE)


def settings(s3: S3, root: str, **credentials: str) -> dict[str, str]:
    """The settings of a folder of the bucket, whose tables have credentials."""
    reached = {f"storage.{key}": value for key, value in s3.storage_options.items()}
    chosen = {"role_arn": ROLE, **credentials}
    return {"path": root, **reached, **{f"credentials.{key}": value for key, value in chosen.items()}}


class Mounted:
    """A catalog that was mounted through the first process, with the tables `orders` and `orders2`."""

    def __init__(self, site: Site, s3: S3, root: str, **credentials: str) -> None:
        self.site, self.s3, self.name = site, s3, f"m{uuid.uuid4().hex[:10]}"
        self.answer = site.make(self.name, type="dir", settings=settings(s3, root, **credentials))
        assert self.answer.status_code == 201, self.answer.text
        for rows, of in enumerate(("orders", "orders2"), 2):
            self.fill(of, rows)

    def fill(self, of: str, rows: int) -> None:
        path, content = f"/lance/v1/table/{self.name}${of}/create", stream(table(*range(rows)))
        self.site.ask("POST", path, content=content, headers=ARROW).raise_for_status()

    def describe(self, token: str, at: int, of: str = "orders") -> Any:
        path = f"/lance/v1/table/{self.name}${of}/describe"
        return self.site.ask("POST", path, at=at, token=token, json={"vend_credentials": True})

    def options(self, token: str, at: int) -> dict[str, str]:
        options: dict[str, str] = self.describe(token, at).json()["storage_options"]
        return options

    def count(self, token: str, at: int) -> int:
        """Read the table with the stock clients alone, whose keys come from one process."""
        told = {"uri": self.site.servers[at].uri, "header.Authorization": f"Bearer {token}"}
        client = lance_namespace.connect("rest", told)
        return lance.dataset(namespace_client=client, table_id=[self.name, "orders"]).count_rows()


def test_a_mounted_folder_has_credentials_on_every_process(site: Site, s3: S3, reader: str) -> None:
    mounted = Mounted(site, s3, s3.prefix(), external_id="sesame")
    made = mounted.answer.json()
    checks = {check["name"]: check["passed"] for check in made["checks"]}
    assert checks["storage: refused for a neighbour whose name begins alike"] is True
    assert checks["storage: renewal works during a read"] is True
    assert made["settings"]["credentials.role_arn"] == ROLE
    assert "credentials.external_id" in made["secrets"]
    answers = mounted.answer.text
    for at in range(PROCESSES):
        assert mounted.count(reader, at) == 2
        described = mounted.describe(reader, at)
        options = described.json()["storage_options"]
        neighbour = mounted.describe(site.servers[0].token, at, "orders2").json()["location"]
        with pytest.raises(ValueError, match=r"AccessDenied|403"):
            lance.dataset(neighbour, storage_options={**options, "client_max_retries": "0"})
        with pytest.raises(OSError, match="AccessDenied"):
            lance.write_dataset(table(9), described.json()["location"], mode="append", storage_options=options)
        answers += described.text
        checked = site.ask("POST", f"{BASE}/storage/check", at=at, json={"catalog": mounted.name})
        assert (checked.json()["storage"], checked.json()["passed"]) == (mounted.name, True)
        answers += checked.text
    answers += "".join(server.lines() for server in site.servers) + site.ask("GET", f"{BASE}/audit").text
    assert not [text for text in (SECRET, "sesame", f'"{KEY}"') if text in answers]
    site.ask("DELETE", f"{CATALOGS}/{mounted.name}").raise_for_status()


def test_they_follow_every_change_of_the_mount(site: Site, s3: S3, reader: str) -> None:
    root = s3.prefix()
    mounted = Mounted(site, s3, root)
    name, before = mounted.name, [mounted.options(reader, at) for at in range(PROCESSES)]
    assert all(int(options["expires_at_millis"]) > (time.time() + 600) * 1000 for options in before)

    site.change(name, "alter", set={"credentials.duration": "60"}).raise_for_status()
    for at, kept in enumerate(before):
        options = mounted.options(reader, at)
        assert options["aws_session_token"] != kept["aws_session_token"], (
            "one of the former settings is not given again"
        )
        assert int(options["expires_at_millis"]) <= (time.time() + 60) * 1000

    site.change(name, "disable").raise_for_status()
    for at in range(PROCESSES):
        refused = mounted.describe(reader, at)
        assert (refused.status_code, "token" in refused.text) == (409, False)
    site.change(name, "enable").raise_for_status()
    assert [mounted.count(reader, at) for at in range(PROCESSES)] == [2, 2]

    site.change(name, "alter", test=False, set={"credentials.role_arn": f"{ROLE}-none"}).raise_for_status()
    for at in range(PROCESSES):
        refused = mounted.describe(reader, at)
        assert (refused.status_code, refused.json()["code"]) == (503, 17), "nothing is given that was made before"
    site.change(name, "alter", unset=["credentials.role_arn", "credentials.duration"]).raise_for_status()
    for at in range(PROCESSES):
        described = mounted.describe(reader, at).json()
        assert "aws_session_token" not in described["storage_options"]
        assert "through the server" in described["context"]["lanceway.storage"]

    site.ask("DELETE", f"{CATALOGS}/{name}").raise_for_status()
    assert {mounted.describe(site.servers[at].token, at).status_code for at in range(PROCESSES)} == {404}


def test_a_later_catalog_of_the_name_vends_nothing_of_the_former(site: Site, s3: S3, reader: str) -> None:
    root = s3.prefix()
    mounted = Mounted(site, s3, root)
    before = [mounted.options(reader, at)["aws_session_token"] for at in range(PROCESSES)]
    site.ask("DELETE", f"{CATALOGS}/{mounted.name}").raise_for_status()
    site.make(mounted.name, type="dir", settings=settings(s3, root)).raise_for_status()
    after = [mounted.options(reader, at)["aws_session_token"] for at in range(PROCESSES)]
    assert not set(before) & set(after)
    site.ask("DELETE", f"{CATALOGS}/{mounted.name}").raise_for_status()


def test_who_is_no_administrator_makes_no_use_of_the_servers_role(site: Site, s3: S3) -> None:
    name = f"m{uuid.uuid4().hex[:10]}"
    maker = site.token(f"maker-{name}", "CREATE_CATALOG")
    inside = {"path": str(site.home / "warehouse" / name), "credentials.role_arn": ROLE}
    assert site.make(name, token=maker, type="dir", settings=inside).status_code == 403


def test_credentials_that_cannot_be_made_are_refused_with_the_catalog(site: Site, s3: S3) -> None:
    wrong: list[tuple[str, dict[str, str], str]] = [
        ("glue", {"region": "us-east-1", "credentials.role_arn": ROLE}, "what its service vends"),
        ("dir", {**settings(s3, s3.prefix()), "credentials.duration": "0"}, "between 1 and"),
        ("dir", {"path": s3.prefix(), "credentials.duration": "60"}, "no credentials.role_arn"),
        ("dir", {**settings(s3, s3.prefix()), "credentials.type": "google"}, "Google Cloud Storage"),
    ]
    for type_, chosen, reason in wrong:
        answer = site.make(f"m{uuid.uuid4().hex[:10]}", type=type_, settings=chosen)
        assert (answer.status_code, answer.json()["code"]) == (400, 13), answer.text
        assert reason in answer.json()["error"]
