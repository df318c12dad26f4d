"""Grants on objects of mounted catalogs, whose services drop them and make others of the same name behind us."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lanceway.access.privileges import CREATE_TABLE, MODIFY_TABLE, SELECT_TABLE, USE_SCHEMA
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract import capabilities
from lanceway.errors import (
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
)
from lanceway.lake.access.securables import ServiceObject
from lanceway.lake.store.schema import NAMESPACE
from tests.access.mounted_helpers import Foreign, mounted
from tests.catalogs.glue import glue_helpers
from tests.catalogs.hive import hive_helpers
from tests.catalogs.iceberg import iceberg_helpers
from tests.catalogs.lake import lake_helpers
from tests.catalogs.unity.unity_helpers import Home
from tests.servers import gravitino, polaris
from tests.servers.hive import Hive
from tests.servers.iceberg import Iceberg
from tests.servers.moto import ACCOUNT, Glue
from tests.servers.unity import Fault, Unity

pytestmark = pytest.mark.slow

DENIED = "SELECT_TABLE is missing"


class Service:
    """A service with one table in one schema, and its own ways to drop them and to make them again."""

    def __init__(
        self, foreign: Foreign, table: list[str], drop: Callable[[], Any], make: Callable[[], Any], *, schemas: bool
    ) -> None:
        self.foreign, self.table, self.schema = foreign, tuple(table), tuple(table[:-1])
        self.drop, self.make, self.identifies_schemas = drop, make, schemas

    def ask(self) -> None:
        self.foreign.me.table_exists({"id": ["there", *self.table]})


@contextmanager
def on_unity(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    home: Home = request.getfixturevalue("unity")

    def make() -> None:
        home.schema()
        home.table("t")

    def drop() -> None:
        home.ask("DELETE", f"/tables/{home.catalog}.s.t")
        home.ask("DELETE", f"/schemas/{home.catalog}.s")

    make()
    with mounted(folder, "unity", {"endpoint": home.endpoint, "catalog": home.catalog}) as foreign:
        yield Service(foreign, [home.catalog, "s", "t"], drop, make, schemas=True)


@contextmanager
def on_glue(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    glue: Glue = request.getfixturevalue("glue")
    made = 0

    def make() -> None:
        nonlocal made
        glue_helpers.database(glue)
        glue_helpers.put(glue, glue_helpers.row("t"))
        database = glue.state.root(ACCOUNT).databases["db"]
        for each in (database, database.tables["t"]):
            each.created_time += timedelta(days=made)  # a later one, however fast the test is
        made += 1

    def drop() -> None:
        glue.client().delete_table(DatabaseName="db", Name="t")
        glue.client().delete_database(Name="db")

    make()
    with mounted(folder, "glue", {**glue.settings, "hierarchy": "databases"}) as foreign:
        yield Service(foreign, ["db", "t"], drop, make, schemas=True)


@contextmanager
def on_iceberg(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    server: Iceberg = request.getfixturevalue("iceberg")
    with iceberg_helpers.connect(server.endpoint, folder / "tables") as catalog:
        space = iceberg_helpers.namespace(catalog)

        def make() -> None:
            catalog.declare_table({"id": [*space, "t"]})

        def drop() -> None:
            catalog.deregister_table({"id": [*space, "t"]})

        make()
        with mounted(folder, "iceberg", {"endpoint": server.endpoint, "warehouse": space[0]}) as foreign:
            yield Service(foreign, [*space, "t"], drop, make, schemas=False)
        drop()


@contextmanager
def on_lake(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    """A lake of its own, of which a part is mounted."""
    settings = {"uri": f"sqlite:///{folder / 'other.db'}", "root": str(folder / "other")}
    with LakeCatalog(**settings) as catalog:
        lake: Any = catalog
        lake.create_namespace({"id": ["part"]})

        def make() -> None:
            lake.create_namespace({"id": ["part", "s"]})
            lake_helpers.create(lake, "part", "s", "t")

        def drop() -> None:
            lake.drop_namespace({"id": ["part", "s"], "behavior": "cascade"})

        make()
        with mounted(folder, "lake", settings, at="part") as foreign:
            yield Service(foreign, ["s", "t"], drop, make, schemas=True)


def table_in(catalog: Any, space: list[str]) -> tuple[Callable[[], None], Callable[[], None]]:
    """What drops the table `t` with its namespace, and what makes them, by a client of the service of our own."""

    def make() -> None:
        catalog.create_namespace({"id": space})
        lake_helpers.create(catalog, *space, "t")

    def drop() -> None:
        catalog.drop_table({"id": [*space, "t"]})
        catalog.drop_namespace({"id": space})

    make()
    return drop, make


@contextmanager
def on_hive(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    hive: Hive = request.getfixturevalue("hive")
    with hive_helpers.connect(hive, folder / "tables") as catalog:
        space = ["hive", f"d{uuid.uuid4().hex[:12]}"]
        drop, remake = table_in(catalog, space)

        def make() -> None:
            second = int(time.time())
            while int(time.time()) == second:  # it is all that a metastore tells databases of one name apart by
                time.sleep(0.02)
            remake()

        with mounted(folder, "hive", {"uri": hive.uri}) as foreign:
            yield Service(foreign, [*space, "t"], drop, make, schemas=True)
        drop()


@contextmanager
def on_gravitino(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    with gravitino.catalog_of(request.getfixturevalue("server")) as place, place.connect() as catalog:
        space = [place.catalog, "s"]
        drop, make = table_in(catalog, space)
        settings = {"endpoint": place.endpoint, "metalake": place.metalake, **place.sign_in}
        with mounted(folder, "gravitino", settings) as foreign:
            yield Service(foreign, [*space, "t"], drop, make, schemas=True)
        drop()


@contextmanager
def on_polaris(request: pytest.FixtureRequest, folder: Path) -> Iterator[Service]:
    with polaris.serve() as fake, fake.connect(root=str(folder / "tables")) as catalog:
        space = [polaris.WAREHOUSE, "s"]
        drop, make = table_in(catalog, space)
        with mounted(folder, "polaris", {"endpoint": fake.endpoint, "warehouse": polaris.WAREHOUSE}) as foreign:
            yield Service(foreign, [*space, "t"], drop, make, schemas=False)


SERVICES: dict[str, Callable[[pytest.FixtureRequest, Path], AbstractContextManager[Service]]] = {
    "unity": on_unity,
    "glue": on_glue,
    "iceberg": on_iceberg,
    "hive": on_hive,
    "gravitino": on_gravitino,
    "polaris": on_polaris,
    "lake": on_lake,
}


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    with SERVICES[request.param](request, tmp_path) as made:
        yield made


@pytest.fixture
def unity_table(request: pytest.FixtureRequest, fake_unity: Unity, tmp_path: Path) -> Iterator[Service]:
    """A table of Unity: the fake, which can be asked what it was asked."""
    with on_unity(request, tmp_path) as made:
        fake_unity.seen.clear()
        yield made


def test_a_grant_does_not_hold_for_the_next_table_of_the_name(service: Service) -> None:
    foreign = service.foreign
    foreign.grant((), USE_SCHEMA)
    foreign.grant(service.table, SELECT_TABLE)
    service.ask()
    foreign.wait()
    service.ask()
    service.drop()
    service.make()
    foreign.wait()
    with pytest.raises(PermissionDeniedError, match=DENIED):
        service.ask()
    table = ".".join(service.table)
    assert foreign.dangling() == [f"allow SELECT_TABLE {table}"]
    foreign.grant(service.table, SELECT_TABLE)
    service.ask()
    assert len(foreign.dangling()) == 1


def test_a_grant_lapses_with_its_table(service: Service) -> None:
    foreign = service.foreign
    foreign.grant((), USE_SCHEMA)
    foreign.grant(service.table, SELECT_TABLE)
    service.ask()
    service.drop()
    foreign.wait()
    with pytest.raises(PermissionDeniedError, match=DENIED):
        service.ask()
    assert len(foreign.dangling()) == 1
    service.make()


def test_a_grant_on_a_schema_is_on_the_one_that_was_there(service: Service) -> None:
    foreign = service.foreign
    foreign.grant(service.schema, USE_SCHEMA, SELECT_TABLE, kind=NAMESPACE)
    service.ask()
    service.drop()
    service.make()
    foreign.wait()
    if not service.identifies_schemas:
        service.ask()
        return
    with pytest.raises(PermissionDeniedError, match="USE_SCHEMA"):
        service.ask()
    assert len(foreign.dangling()) == 2


def test_owning_ends_with_the_table(service: Service) -> None:
    foreign = service.foreign
    foreign.grant((), USE_SCHEMA)
    foreign.own(service.table)
    service.ask()
    service.drop()
    service.make()
    foreign.wait()
    with pytest.raises(PermissionDeniedError):
        service.ask()


def test_a_denial_is_on_the_object_that_was_there(service: Service) -> None:
    foreign = service.foreign
    foreign.grant((), USE_SCHEMA, SELECT_TABLE)
    foreign.grant(service.table, SELECT_TABLE, MODIFY_TABLE, deny=True)
    for _ in range(2):
        with pytest.raises(PermissionDeniedError, match="SELECT_TABLE is denied"):
            service.ask()
        foreign.wait()
    service.drop()
    service.make()
    service.ask()
    assert foreign.dangling() == [f"deny {name} {'.'.join(service.table)}" for name in (MODIFY_TABLE, SELECT_TABLE)]


def test_what_was_verified_is_remembered_for_thirty_seconds(unity_table: Service, fake_unity: Unity) -> None:
    foreign = unity_table.foreign
    foreign.grant((), USE_SCHEMA)
    foreign.grant(unity_table.table, SELECT_TABLE)
    for seconds, requests in ((0.0, 2), (29.0, 1), (0.0, 1), (2.0, 2)):
        foreign.wait(seconds)
        fake_unity.seen.clear()
        unity_table.ask()
        assert len(fake_unity.seen) == requests, seconds  # the operation's own, and one to verify
    unity_table.drop()
    unity_table.make()
    unity_table.ask()  # not noticed yet
    foreign.wait(30.0)
    with pytest.raises(PermissionDeniedError):
        unity_table.ask()


def test_nothing_is_asked_where_rights_above_are_enough(unity_table: Service, fake_unity: Unity) -> None:
    foreign = unity_table.foreign
    foreign.grant((), USE_SCHEMA, SELECT_TABLE)
    foreign.grant(unity_table.table, SELECT_TABLE)
    foreign.own(unity_table.table)
    foreign.own(unity_table.schema, kind=NAMESPACE)
    unity_table.ask()
    assert [seen.path.rpartition("/")[2] for seen in fake_unity.seen] == [".".join(unity_table.table)]


def test_nothing_is_asked_for_who_lacks_a_right_or_is_an_administrator(unity_table: Service, fake_unity: Unity) -> None:
    foreign = unity_table.foreign
    foreign.grant(unity_table.table, SELECT_TABLE)
    with pytest.raises(PermissionDeniedError, match="USE_SCHEMA"):
        unity_table.ask()
    assert fake_unity.seen == []
    foreign.guard("root", admin=True).table_exists({"id": ["there", *unity_table.table]})
    assert len(fake_unity.seen) == 1


def test_a_service_that_fails_is_not_passed_by(unity_table: Service, fake_unity: Unity) -> None:
    foreign = unity_table.foreign
    foreign.grant((), USE_SCHEMA)
    foreign.grant(unity_table.table, SELECT_TABLE)
    fake_unity.will(*[Fault(503)] * 10)
    with pytest.raises(ServiceUnavailableError):
        unity_table.ask()
    fake_unity.faults.clear()
    fake_unity.token, fake_unity.denied = "another", frozenset()
    with pytest.raises(LanceNamespaceError, match="credentials that it is mounted with"):
        unity_table.ask()
    fake_unity.token = None
    unity_table.ask()
    assert foreign.dangling() == []


def test_what_is_renamed_or_registered_anew_here_keeps_its_grants(unity_table: Service, tmp_path: Path) -> None:
    """Unity makes another table for both, with another id."""
    foreign = unity_table.foreign
    admin = foreign.guard("root", admin=True)
    foreign.grant((), USE_SCHEMA)
    foreign.grant(unity_table.table, SELECT_TABLE)
    unity_table.ask()
    admin.rename_table({"id": ["there", *unity_table.table], "new_table_name": "u"})
    renamed = ["there", *unity_table.schema, "u"]
    foreign.me.table_exists({"id": renamed})
    with LakeCatalog(uri=f"sqlite:///{tmp_path / 'data.db'}", root=str(tmp_path / "data")) as lake:
        lake_helpers.create(lake, "t")
        location = lake.describe_table({"id": ["t"]}).location  # type: ignore[arg-type]
        admin.register_table({"id": renamed, "location": location, "mode": "overwrite"})
    foreign.me.table_exists({"id": renamed})
    foreign.wait()
    foreign.me.table_exists({"id": renamed})
    assert foreign.dangling() == []


def test_who_makes_a_table_owns_that_one_alone(unity_table: Service) -> None:
    foreign = unity_table.foreign
    foreign.grant((), USE_SCHEMA, CREATE_TABLE)
    mine = ["there", *unity_table.schema, "mine"]
    foreign.me.declare_table({"id": mine, "location": "s3://bucket/mine.lance"})
    foreign.me.table_exists({"id": mine})
    unity_table.foreign.tree.mounts()["there"].catalog.deregister_table({"id": mine[1:]})  # type: ignore[arg-type]
    foreign.wait()
    with pytest.raises(PermissionDeniedError):
        foreign.me.table_exists({"id": mine})


def test_a_folder_identifies_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path, "dir", {"path": str(tmp_path), "layout": "manifest"}) as foreign:
        foreign.grant((), USE_SCHEMA)
        foreign.grant(("t",), SELECT_TABLE)
        catalog = foreign.tree.mounts()["there"].catalog
        assert capabilities.object_identity(catalog, ["t"], is_namespace=False) is None
        with pytest.raises(TableNotFoundError):
            foreign.me.table_exists({"id": ["there", "t"]})
        assert foreign.dangling() == []


def test_lists_begin_with_schemas_that_are_still_those_that_were_granted(unity_table: Service) -> None:
    foreign, me = unity_table.foreign, unity_table.foreign.me
    catalog, schema = unity_table.schema
    foreign.grant(unity_table.schema, USE_SCHEMA, SELECT_TABLE, kind=NAMESPACE)

    def shown() -> tuple[list[str], list[str], list[str]]:
        below = me.list_namespaces({"id": ["there", catalog]}).namespaces
        everything = me.list_all_tables({"id": ["there"]}).tables
        return me.list_namespaces({"id": ["there"]}).namespaces, below, everything

    assert shown() == ([catalog], [schema], [f"there${catalog}$s$t"])
    unity_table.drop()
    unity_table.make()
    foreign.wait()
    assert shown() == ([], [], [])
    assert len(foreign.dangling()) == 2


def test_what_is_inside_goes_with_a_schema(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Also what was never used, and so never identified; what was identified is verified itself."""
    with on_lake(request, tmp_path) as service:
        foreign, me = service.foreign, service.foreign.me
        lake: Any = foreign.tree.mounts()["there"].catalog

        def make_deep(name: str) -> None:
            lake.create_namespace({"id": ["s", name]})
            lake_helpers.create(lake, "s", name, "t")

        make_deep("deep")
        foreign.grant(("s",), USE_SCHEMA, SELECT_TABLE, kind=NAMESPACE)
        foreign.grant(("s", "deep"), USE_SCHEMA, SELECT_TABLE, kind=NAMESPACE)
        assert me.list_all_tables({"id": ["there"]}).tables == ["there$s$deep$t", "there$s$t"]
        service.drop()
        service.make()
        make_deep("deep")
        make_deep("known")
        known = ServiceObject(*lake.object_identity(["s", "known"], is_namespace=True))
        foreign.grant(("s", "known"), USE_SCHEMA, SELECT_TABLE, kind=NAMESPACE, service=known)
        foreign.wait()
        assert me.list_all_tables({"id": ["there"]}).tables == ["there$s$known$t"]
        assert me.list_namespaces({"id": ["there"]}).namespaces == ["s"]
        assert me.list_namespaces({"id": ["there", "s"]}).namespaces == ["known"]
        assert len(foreign.dangling()) == 4
