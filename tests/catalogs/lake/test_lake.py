"""The lake catalog as an object: connecting, names, and where its tables lie."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.tree import catalogs, lookups, namespaces, tables
from tests.catalogs.lake.lake_helpers import PASSWORD, connect, create, ids, insert, location, numbers, write_behind

# -- connecting ------------------------------------------------------------------------------------


def test_connecting_makes_what_is_missing(tmp_path: Path) -> None:
    lake = lanceway.connect("lake", uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path / "w"), user="ada")
    assert isinstance(lake, LakeCatalog)
    found = lake._lake.read(catalogs.load, "lanceway", "lake")
    assert (found.nested, found.managed, found.owner) == (True, True, "ada")
    assert found.location == str(tmp_path / "w")
    lake.close()


@pytest.mark.slow
def test_processes_that_start_at_once_find_one_lake(tmp_path: Path) -> None:
    program = (
        "import sys; from lanceway.catalogs import LakeCatalog\n"
        "with LakeCatalog(uri=sys.argv[1], root=sys.argv[2]) as lake: print(lake._catalog.id)"
    )
    command = [sys.executable, "-c", program, f"sqlite:///{tmp_path}/lake.db", str(tmp_path / "w")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert {process.communicate()[0] for process in started} == {"1\n"}


def test_a_relative_root_and_database_stay_where_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lake = LakeCatalog(uri="sqlite:///lake.db", root="./warehouse")
    table = create(lake, "t")
    parcel = pickle.dumps(lake)
    monkeypatch.chdir("/")
    copy = pickle.loads(parcel)
    assert location(copy, table).startswith(str(tmp_path / "warehouse"))
    assert ids(copy, table) == [1]
    assert (copy, copy.namespace_id()) == (lake, lake.namespace_id())
    for opened in (lake, copy):
        opened.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"root": "/elsewhere"}, "has the root"),
        ({"versioning": "storage"}, "has the versioning 'managed', and 'storage' was given"),
        ({"separator": "~"}, "has the separator ':'"),
        ({"policy": "unrestricted"}, "has the separator policy 'restricted'"),
    ],
)
def test_settings_must_agree_with_what_is_kept(tmp_path: Path, settings: dict[str, str], message: str) -> None:
    uri, root = f"sqlite:///{tmp_path}/lake.db", str(tmp_path / "w")
    LakeCatalog(uri=uri, root=root).close()
    with pytest.raises(InvalidInputError, match=message):
        LakeCatalog(**{"uri": uri, "root": root, **settings})
    LakeCatalog(uri=uri).close()


def test_a_new_catalog_needs_a_root(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="needs the setting 'root'"):
        LakeCatalog(uri=f"sqlite:///{tmp_path}/lake.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInputError, match="absolute path"):
        LakeCatalog(uri=f"sqlite:///{tmp_path}/lake.db", root="/")


def test_nothing_is_made_where_that_is_not_wanted(tmp_path: Path) -> None:
    uri, root = f"sqlite:///{tmp_path}/lake.db", str(tmp_path / "w")
    with pytest.raises(InvalidInputError):
        LakeCatalog(uri=uri, root=root, create=False)
    assert list(tmp_path.iterdir()) == []
    LakeCatalog(uri=uri, root=root).close()
    with pytest.raises(NamespaceNotFoundError, match="'other'"):
        LakeCatalog(uri=uri, root=root, catalog="other", create="false")
    LakeCatalog(uri=uri, create="false").close()


def test_a_database_that_is_away_is_told_without_its_password() -> None:
    with pytest.raises(ServiceUnavailableError) as told:
        LakeCatalog(uri=f"postgresql://me:{PASSWORD}@127.0.0.1:1/lake", root="/w")
    assert PASSWORD not in str(told.value)


def test_catalogs_of_one_database_do_not_meet(uri: str, tmp_path: Path) -> None:
    with connect(uri, tmp_path / "a") as one, connect(uri, tmp_path / "b") as other:
        create(one, "t")
        with pytest.raises(TableNotFoundError):
            location(other, ["t"])
        assert one.namespace_id() != other.namespace_id()


def test_the_user_owns_what_it_makes(uri: str, tmp_path: Path) -> None:
    with connect(uri, tmp_path, user="ada") as lake:
        lake.create_namespaces("team:sales")
        table = create(lake, "team", "sales", "t")
        spaces = [
            lake._lake.read(lambda c, p=path: namespaces.load(c, lake._catalog.id, Identifier(p)))  # type: ignore[misc]
            for path in (["team"], ["team", "sales"])
        ]
        row = lake._lake.read(lookups.find, lake._catalog.id, Identifier(table))
        assert {found.owner for found in (*spaces, row)} == {"ada"}
        assert row.audit.created_by == "ada"


# -- names -----------------------------------------------------------------------------------------


def test_schemas_are_listed_by_their_logical_paths(lake: LakeCatalog) -> None:
    assert lake.separator == ":"
    for path in ("A:B:C", "A:B:D", "B"):
        lake.create_namespaces(path)
    assert lake.list_schemas() == ["A", "B"]
    assert lake.list_schemas("A") == ["A:B"]
    assert lake.list_schemas("A:B") == ["A:B:C", "A:B:D"]
    assert lake.list_schemas("A:B:C") == []
    with pytest.raises(NamespaceNotFoundError):
        lake.list_schemas("A:X")


def test_a_chain_is_made_whole_or_not_at_all(lake: LakeCatalog) -> None:
    create(lake, "taken")
    with pytest.raises(NamespaceAlreadyExistsError, match="a table has this name"):
        lake.create_namespaces("taken:a:b")
    with pytest.raises(InvalidInputError):
        lake.create_namespaces(["new", "with:separator"])
    assert lake.list_schemas() == []
    assert lake.create_namespaces(["new", "inner"], {"k": "v"}) == ("new", "inner")
    with pytest.raises(NamespaceAlreadyExistsError):
        lake.create_namespaces("new:inner")
    assert lake.describe_namespace({"id": ["new", "inner"]}).properties == {"k": "v"}  # type: ignore[arg-type]
    assert lake.describe_namespace({"id": ["new"]}).properties == {}  # type: ignore[arg-type]


def test_the_contract_makes_no_parents(lake: LakeCatalog) -> None:
    with pytest.raises(NamespaceNotFoundError):
        lake.create_namespace({"id": ["a", "b"]})  # type: ignore[arg-type]
    assert lake.list_schemas() == []


def test_a_name_that_looks_the_same_is_the_same(lake: LakeCatalog) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    lake.create_namespace({"id": [decomposed]})  # type: ignore[arg-type]
    assert lake.list_namespaces({"id": []}).namespaces == [composed]  # type: ignore[arg-type]
    table = create(lake, composed, decomposed)
    assert ids(lake, [decomposed, composed]) == [1]
    insert(lake, table, 2)
    assert ids(lake, [composed, composed]) == [1, 2]


# -- where tables lie ------------------------------------------------------------------------------


def test_a_rename_moves_nothing(lake: LakeCatalog) -> None:
    lake.create_namespaces("a:b")
    table = create(lake, "old")
    before = location(lake, table)
    lake.rename_table({"id": table, "new_table_name": "new", "new_namespace_id": ["a", "b"]})  # type: ignore[arg-type]
    assert location(lake, ["a", "b", "new"]) == before
    assert Path(before).name not in ("old", "new")
    insert(lake, ["a", "b", "new"], 2)
    assert ids(lake, ["a", "b", "new"]) == [1, 2]


@pytest.mark.parametrize("place", ["", "/inside", "/.."])
def test_a_location_that_meets_another_table_is_refused(lake: LakeCatalog, place: str) -> None:
    taken = location(lake, create(lake, "t"))
    chosen = os.path.normpath(taken + place)
    with pytest.raises(InvalidInputError, match="cannot be used"):
        lake.declare_table({"id": ["other"], "location": chosen})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cannot be used"):
        lake.register_table({"id": ["other"], "location": chosen})  # type: ignore[arg-type]
    with pytest.raises(TableNotFoundError):
        location(lake, ["other"])


def test_a_table_is_declared_only_where_none_lies(lake: LakeCatalog) -> None:
    table = create(lake, "t")
    left = str(lake.deregister_table({"id": table}).location)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="Register it"):
        lake.declare_table({"id": table, "location": left})  # type: ignore[arg-type]
    lake.register_table({"id": table, "location": left})  # type: ignore[arg-type]
    assert ids(lake, table) == [1]


def test_what_is_registered_has_a_lance_table(lake: LakeCatalog, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="there is no Lance table"):
        lake.register_table({"id": ["t"], "location": str(tmp_path / "nothing")})  # type: ignore[arg-type]
    with pytest.raises(TableNotFoundError):
        location(lake, ["t"])


def test_a_registered_table_brings_versions_and_branches(lake: LakeCatalog) -> None:
    table = create(lake, "t", ids=(1,))
    insert(lake, table, 2)
    lake.create_table_branch({"id": table, "name": "side"})  # type: ignore[arg-type]
    insert(lake, table, 3, branch="side")
    left = str(lake.deregister_table({"id": table}).location)  # type: ignore[arg-type]
    lake.register_table({"id": ["back"], "location": left})  # type: ignore[arg-type]
    assert numbers(lake, ["back"]) == [1, 2]
    assert numbers(lake, ["back"], branch="side") == [2, 3]
    insert(lake, ["back"], 4)
    insert(lake, ["back"], 5, branch="side")
    assert (ids(lake, ["back"]), ids(lake, ["back"], branch="side")) == ([1, 2, 4], [1, 2, 3, 5])


def test_a_table_says_who_keeps_its_versions(lake: LakeCatalog) -> None:
    table = create(lake, "t", properties={"lanceway.versioning": "Storage", "k": "v"})
    described = lake.describe_table({"id": table})  # type: ignore[arg-type]
    assert (described.managed_versioning, described.properties) == (False, {"k": "v"})
    write_behind(lake, table, 2)
    assert ids(lake, table) == [1, 2]
    with pytest.raises(InvalidInputError, match=r"lanceway\.versioning"):
        create(lake, "other", properties={"lanceway.versioning": "nobody"})
    with pytest.raises(TableNotFoundError):
        location(lake, ["other"])


def test_tables_without_data_are_left_out_page_by_page(lake: LakeCatalog) -> None:
    for number in range(6):
        kind = {"lanceway.versioning": "storage"} if number % 3 == 0 else {}
        if number % 2:
            lake.declare_table({"id": [f"t{number}"], "properties": kind})  # type: ignore[arg-type]
        else:
            create(lake, f"t{number}", properties=kind)
    request = {"id": [], "limit": 2, "include_declared": False}
    first = lake.list_tables(request)  # type: ignore[arg-type]
    second = lake.list_tables({**request, "page_token": first.page_token})  # type: ignore[arg-type]
    assert (first.tables, second.tables, second.page_token) == (["t0", "t2"], ["t4"], None)


def test_data_that_a_crash_left_is_remembered(lake: LakeCatalog) -> None:
    table = create(lake, "t")
    left = location(lake, table)
    lake._lake.transact(tables.drop, lake._catalog.id, Identifier(table), by="killed")
    with pytest.raises(InvalidInputError, match="being removed"):
        lake.declare_table({"id": table, "location": left})  # type: ignore[arg-type]
    assert left in lake.finish_removals()
    assert not os.path.exists(left)
    lake.declare_table({"id": table, "location": left})  # type: ignore[arg-type]


def test_data_that_cannot_be_removed_is_told(sqlite_uri: str) -> None:
    away = {"aws_endpoint": "http://127.0.0.1:1", "allow_http": "true", "client_max_retries": "0"}
    keys = {"aws_access_key_id": "hush-id", "aws_secret_access_key": "hush", "aws_region": "here"}
    options = {f"storage.{name}": value for name, value in {**away, **keys}.items()}
    with LakeCatalog(uri=sqlite_uri, root="s3://bucket/w", catalog="away", **options) as lake:
        lake.declare_table({"id": ["t"]})  # type: ignore[arg-type]
        with pytest.raises(ServiceUnavailableError, match="gone from the catalog, but its data is still at s3://"):
            lake.drop_table({"id": ["t"]})  # type: ignore[arg-type]
        assert lake.list_tables({"id": []}).tables == []  # type: ignore[arg-type]


def test_a_first_write_that_fails_leaves_nothing(lake: LakeCatalog, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        lake.create_table({"id": ["t"]}, b"no arrow")  # type: ignore[arg-type]
    with pytest.raises(TableNotFoundError):
        location(lake, ["t"])
    assert not [*tmp_path.rglob("*.lance"), *tmp_path.rglob("*.manifest*")]
    create(lake, "t")
    with pytest.raises(TableAlreadyExistsError):
        create(lake, "t")
    assert ids(lake, ["t"]) == [1]
