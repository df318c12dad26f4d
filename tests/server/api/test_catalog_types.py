"""Catalogs of every type are made, used, altered, disabled, enabled and dropped over each interface that makes them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs.registry import CATALOGS
from tests.catalogs.glue import glue_helpers
from tests.catalogs.unity import unity_helpers
from tests.new_lakes import new_lake
from tests.server.api.test_catalogs import ARROW, BASE, Site
from tests.server.api.test_catalogs import CATALOGS as PATH
from tests.server.server_helpers import stream
from tests.servers import lanceway as lanceway_server
from tests.servers import moto, polaris, unity
from tests.servers.hive import Hive
from tests.servers.iceberg import Iceberg
from tests.servers.run import Run

ROWS = pa.table({"id": [1, 2, 3]})
CONTENT = stream(ROWS)
SECRET = "open-sesame-8d1f"
GRAVITINO = "/api/metalakes/lanceway/catalogs"


@dataclass(frozen=True)
class Service:
    """A service with one table: how it is connected to, and the names of the table there."""

    settings: Mapping[str, str]
    table: tuple[str, ...]
    secret: str = SECRET

    def filled(self, type_: str) -> Service:
        catalog: Any = lanceway.connect(type_, **self.settings)
        with catalog:
            for depth in range(1, len(self.table)):
                catalog.create_namespace({"id": list(self.table[:depth]), "mode": "exist_ok"})
            catalog.create_table_stream({"id": list(self.table)}, ROWS.to_reader())
        return self


@pytest.fixture(scope="module")
def site(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two processes: what one makes is at once a branch of the other's."""
    home = tmp_path_factory.mktemp("home")
    text = "[server]\nworker = false\n"
    servers = [lanceway_server.start(whole_run, name="types", home=home, settings=text) for _ in range(2)]
    yield Site(servers, home)
    for server in servers:
        assert server.stop() == 0


@pytest.fixture(scope="module")
def services(
    site: Site, iceberg: Iceberg, hive: Hive, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Service]]:
    """What makes a service of each type, with a table of its own for each test."""
    with ExitStack() as closing:
        glue = closing.enter_context(moto.serve())
        fake = closing.enter_context(unity.serve())
        generic = closing.enter_context(polaris.serve())

        def service(type_: str) -> Service:
            folder, name = tmp_path_factory.mktemp(type_), f"s{uuid.uuid4().hex[:10]}"
            hidden = {"storage.aws_secret_access_key": SECRET}
            if type_ == "dir":
                return Service({"path": str(folder), "layout": "manifest", **hidden}, (name, "t"))
            if type_ == "lake":
                uri = new_lake(folder / "lake.db")
                return Service({"uri": uri, "root": str(folder / "data"), **hidden}, (name, "t"))
            if type_ == "rest":
                upstream = site.servers[0]
                settings = {"uri": upstream.uri, "token": upstream.token, "at": "lake"}
                return Service(settings, (name, "t"), upstream.token.rpartition("_")[2])
            if type_ == "gravitino":
                upstream = site.servers[0]
                settings = {"endpoint": upstream.address, "metalake": "lanceway", "auth_token": upstream.token}
                return Service(settings, ("lake", name, "t"), upstream.token.rpartition("_")[2])
            if type_ == "glue":
                glue_helpers.database(glue, name, folder)
                return Service(glue.settings, (name, "t"), moto.SECRET)
            if type_ == "polaris":
                generic.clear(polaris.POLARIS)
                generic.signs_in = True
                settings = {"endpoint": generic.endpoint, "warehouse": polaris.WAREHOUSE, "root": str(folder)}
                credential = f"{polaris.ID}:{polaris.SECRET}"
                return Service({**settings, "credential": credential}, (polaris.WAREHOUSE, name, "t"), polaris.SECRET)
            if type_ == "hive":
                return Service({"uri": hive.uri, "root": str(folder), **hidden}, ("hive", name, "t"))
            if type_ == "unity":
                fake.token = None
                home = closing.enter_context(unity_helpers.home(fake.endpoint))
                fake.token = SECRET
                settings = {"endpoint": fake.endpoint, "catalog": home.catalog, "root": str(folder)}
                return Service({**settings, "auth_token": SECRET}, (home.catalog, name, "t"))
            settings = {"endpoint": iceberg.endpoint, "warehouse": iceberg.warehouse, "root": str(folder)}
            return Service({**settings, "auth_token": SECRET}, (iceberg.warehouse, name, "t"))

        yield lambda type_: service(type_).filled(type_)


class Api:
    """`/lanceway/v1/catalogs`."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def make(self, name: str, type_: str, settings: Mapping[str, str]) -> httpx.Response:
        return self.site.make(name, type=type_, settings=dict(settings))

    def alter(self, name: str) -> httpx.Response:
        return self.site.change(name, "alter", set={"deadline": "30"}, comment="altered")

    def enable(self, name: str, enabled: bool) -> httpx.Response:
        return self.site.change(name, "enable" if enabled else "disable")

    def drop(self, name: str) -> httpx.Response:
        return self.site.ask("DELETE", f"{PATH}/{name}")


class Gravitino:
    """Gravitino REST, whose provider is the type and whose properties are the settings."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def make(self, name: str, type_: str, settings: Mapping[str, str]) -> httpx.Response:
        body = {"name": name, "type": "relational", "provider": type_, "comment": None, "properties": dict(settings)}
        return self.site.ask("POST", GRAVITINO, json=body)

    def alter(self, name: str) -> httpx.Response:
        updates = [
            {"@type": "setProperty", "property": "deadline", "value": "30"},
            {"@type": "updateComment", "newComment": "altered"},
        ]
        return self.site.ask("PUT", f"{GRAVITINO}/{name}", json={"updates": updates})

    def enable(self, name: str, enabled: bool) -> httpx.Response:
        return self.site.ask("PATCH", f"{GRAVITINO}/{name}", json={"inUse": enabled})

    def drop(self, name: str) -> httpx.Response:
        return self.site.ask("DELETE", f"{GRAVITINO}/{name}")


@pytest.mark.parametrize("interface", [Api, Gravitino])
@pytest.mark.parametrize("type_", CATALOGS)
def test_a_catalog_of_every_type(
    site: Site, services: Callable[[str], Service], type_: str, interface: type[Api] | type[Gravitino]
) -> None:
    service, name, catalogs = services(type_), f"c{uuid.uuid4().hex[:10]}", interface(site)
    namespace = "$".join([name, *service.table[:-1]])
    answers: list[httpx.Response] = []

    def ask(method: str, path: str, **options: Any) -> set[int]:
        """Ask both processes, and keep what they say."""
        said = [site.ask(method, path, at=at, **options) for at in range(2)]
        answers.extend(said)
        return {answer.status_code for answer in said}

    made = catalogs.make(name, type_, service.settings)
    assert made.is_success, made.text
    answers.append(made)
    assert ask("GET", f"/lance/v1/namespace/{namespace}/table/list") == {200}
    assert [answer.json()["tables"] for answer in answers[-2:]] == [["t"], ["t"]]
    assert ask("POST", f"/lance/v1/table/{namespace}$t/describe", json={}) == {200}
    count = f"/lance/v1/table/{namespace}$t/count_rows"
    assert ask("POST", count, json={}) == {200}
    assert answers[-1].json() == 3
    schema = quote(":".join(service.table[:-1]), safe="")
    assert ask("GET", f"{GRAVITINO}/{name}/schemas/{schema}/tables/t") == {200}
    assert answers[-1].json()["table"]["name"] == "t"
    inside = "%1F".join(service.table[:-1])
    assert ask("GET", f"/iceberg/v1/{name}/namespaces/{inside}/tables") == {200}
    assert [[each["name"] for each in answer.json()["identifiers"]] for answer in answers[-2:]] == [["t"], ["t"]]

    answers.append(catalogs.alter(name))
    assert answers[-1].is_success, answers[-1].text
    assert ask("GET", f"{PATH}/{name}") == {200}
    described = answers[-1].json()
    assert (described["comment"], described["settings"]["deadline"]) == ("altered", "30")
    assert described["secrets"], "it has some, and they are named alone"
    assert ask("POST", count, json={}) == {200}, "its secrets were kept"

    answers.append(catalogs.enable(name, False))
    assert ask("POST", count, json={}) == {409}
    answers.append(catalogs.enable(name, True))
    assert ask("POST", count, json={}) == {200}

    for path in (
        PATH,
        f"{GRAVITINO}?details=true",
        f"{GRAVITINO}/{name}",
        f"{BASE}/audit",
        f"{BASE}/events?limit=1000",
    ):
        assert ask("GET", path) == {200}
    answers.append(catalogs.drop(name))
    assert answers[-1].is_success, answers[-1].text
    assert ask("POST", count, json={}) == {404}
    assert all(answer.status_code in (200, 201, 404, 409) for answer in answers)
    told = "".join(answer.text for answer in answers) + "".join(server.lines() for server in site.servers)
    assert service.secret not in told


@pytest.mark.parametrize("type_", CATALOGS)
def test_who_may_read_one_table_sees_that_one_alone(site: Site, services: Callable[[str], Service], type_: str) -> None:
    service, name, user = services(type_), f"c{uuid.uuid4().hex[:10]}", f"u{uuid.uuid4().hex[:10]}"
    site.make(name, type=type_, settings=dict(service.settings)).raise_for_status()
    namespace = "$".join([name, *service.table[:-1]])
    token = site.token(user, "USE_CATALOG", "USE_SCHEMA")
    site.ask("POST", f"/lance/v1/table/{namespace}$hidden/create", content=CONTENT, headers=ARROW).raise_for_status()
    rights = {"role": f"role-of-{user}", "privilege": "SELECT_TABLE"}

    def ask(path: str, at: int) -> httpx.Response:
        return site.ask("GET" if path.endswith("list") else "POST", f"/lance/v1/{path}", at=at, token=token)

    def shown(at: int) -> list[str]:
        listed: list[str] = ask(f"namespace/{namespace}/table/list", at).raise_for_status().json()["tables"]
        return listed

    for at in range(2):
        assert shown(at) == []
        refused = ask(f"table/{namespace}$t/describe", at)
        assert (refused.status_code, refused.json()["code"]) == (403, 15)
    change = {**rights, "object": f"{namespace}$t", "kind": "table"}
    site.ask("POST", f"{BASE}/grants", json={"changes": [change]}).raise_for_status()
    for at in range(2):
        assert shown(at) == ["t"]
        assert ask(f"table/{namespace}$t/describe", at).status_code == 200
        assert ask(f"table/{namespace}$hidden/describe", at).status_code == 403
        assert ask(f"table/{namespace}$t/drop", at).status_code == 403
    site.ask("DELETE", f"{PATH}/{name}").raise_for_status()


def test_the_service_keeps_what_it_had(services: Callable[[str], Service], site: Site, tmp_path: Path) -> None:
    service, name = services("lake"), f"c{uuid.uuid4().hex[:10]}"
    site.make(name, type="lake", settings=dict(service.settings)).raise_for_status()
    site.ask("DELETE", f"{PATH}/{name}").raise_for_status()
    catalog: Any = lanceway.connect("lake", **service.settings)
    with catalog:
        assert catalog.count_table_rows({"id": list(service.table)}).count == 3
