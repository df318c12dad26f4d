"""The layout `manifest`: namespaces, registered and renamed tables, and nothing half-done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import lance
import pytest
from lance_namespace import (
    CreateNamespaceRequest,
    CreateTableRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropTableRequest,
    ListTablesRequest,
    RegisterTableRequest,
    RenameTableRequest,
)

from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from tests.catalogs.directory.folder_helpers import (
    count,
    create,
    declare,
    is_declared,
    location,
    make_namespace,
    namespaces,
    rows,
    tables,
    write,
)


@pytest.fixture
def catalog(tmp_path: Path) -> DirectoryCatalog:
    connected = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(connected, "n")
    make_namespace(connected, "n", "m")
    return connected


def rename(catalog: DirectoryCatalog, source: list[str], target: list[str]) -> None:
    catalog.rename_table(RenameTableRequest(id=source, new_table_name=target[-1], new_namespace_id=target[:-1]))


def register(catalog: DirectoryCatalog, table: list[str], where: str, mode: str | None = None) -> str:
    request = RegisterTableRequest(id=table, location=where, mode=mode, properties={"by": "hand"})
    return catalog.register_table(request).location


def own_folders(root: Path) -> list[str]:
    return sorted(entry for entry in os.listdir(root) if entry != "__manifest")


# -- namespaces --------------------------------------------------------------------------------------


def test_a_missing_namespace_is_never_an_empty_one(catalog: DirectoryCatalog) -> None:
    for ask in (tables, namespaces):
        with pytest.raises(NamespaceNotFoundError):
            ask(catalog, "zz")
        assert ask(catalog, "n", "m") == []
    for ask_table in (create, declare, location):
        with pytest.raises(NamespaceNotFoundError, match="no namespace zz"):
            ask_table(catalog, "zz", "t")
    with pytest.raises(NamespaceNotFoundError):
        make_namespace(catalog, "zz", "n")


def test_a_new_folder_with_namespaces_is_not_called_a_plain_one(tmp_path: Path) -> None:
    for layout in ("manifest", "auto"):
        new = DirectoryCatalog(path=str(tmp_path / "new"), layout=layout)
        with pytest.raises(NamespaceNotFoundError, match=r"There is no namespace team\. Create it first"):
            new.list_tables({"id": ["team"]})
    plain = DirectoryCatalog(path=str(tmp_path / "new"), layout="plain")
    with pytest.raises(NamespaceNotFoundError, match="is a plain folder"):
        plain.list_tables({"id": ["team"]})


def test_joined_names_are_no_path(catalog: DirectoryCatalog) -> None:
    create(catalog, "n", "m", "t")
    for names in (["n$m$t"], ["n", "m$t"]):
        with pytest.raises(TableNotFoundError):
            location(catalog, *names)
        with pytest.raises(TableNotFoundError):
            catalog.drop_table(DropTableRequest(id=names))
    for ask in (tables, namespaces):
        with pytest.raises(NamespaceNotFoundError):
            ask(catalog, "n$m")
    for ask_table in (location, create, declare, make_namespace):
        with pytest.raises(NamespaceNotFoundError):
            ask_table(catalog, "n$m", "t")
    assert count(catalog, "n", "m", "t") == 3


def test_nothing_is_left_by_a_create_in_a_missing_namespace(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    with pytest.raises(NamespaceNotFoundError):
        create(catalog, "zz", "t")
    assert own_folders(tmp_path) == []


def test_properties_of_namespaces_and_tables_are_kept(catalog: DirectoryCatalog) -> None:
    catalog.create_namespace(CreateNamespaceRequest(id=["n", "p"], properties={"owner": "me"}))
    assert catalog.describe_namespace(DescribeNamespaceRequest(id=["n", "p"])).properties == {"owner": "me"}
    request = CreateTableRequest(id=["n", "p", "t"], properties={"it's": "mine"})
    assert catalog.create_table(request, rows()).properties == {"it's": "mine"}
    assert catalog.describe_table(DescribeTableRequest(id=["n", "p", "t"])).properties == {"it's": "mine"}


@pytest.mark.parametrize("parent", [[], ["n"]])
def test_a_name_is_a_namespace_or_a_table_never_both(
    catalog: DirectoryCatalog, tmp_path: Path, parent: list[str]
) -> None:
    create(catalog, *parent, "t")
    with pytest.raises(NamespaceAlreadyExistsError):
        make_namespace(catalog, *parent, "t")
    make_namespace(catalog, *parent, "s")
    before = own_folders(tmp_path)
    for claim in (create, declare):
        with pytest.raises(TableAlreadyExistsError):
            claim(catalog, *parent, "s")
    assert own_folders(tmp_path) == before
    flat = DirectoryCatalog(path=str(tmp_path), layout="plain")
    if not parent:
        with pytest.raises(TableAlreadyExistsError):
            create(flat, "s")


def test_cascade_deletes_all_that_is_inside(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    create(catalog, "keep")
    create(catalog, "n", "t")
    declare(catalog, "n", "m", "d")
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace(DropNamespaceRequest(id=["n"]))
    assert tables(catalog, "n") == ["t"]
    catalog.drop_namespace(DropNamespaceRequest(id=["n"], behavior="Cascade"))
    assert (namespaces(catalog), tables(catalog), own_folders(tmp_path)) == ([], ["keep"], ["keep.lance"])
    with pytest.raises(NamespaceNotFoundError):
        catalog.drop_namespace(DropNamespaceRequest(id=["n"]))


def test_lists_in_a_namespace_page_in_order(catalog: DirectoryCatalog) -> None:
    names = [f"t{number}" for number in range(12)]
    for name in names:
        declare(catalog, "n", name)
    create(catalog, "n", "filled")
    assert tables(catalog, "n") == sorted([*names, "filled"])
    assert tables(catalog, "n", include_declared=False) == ["filled"]
    first = catalog.list_tables(ListTablesRequest(id=["n"], limit=5))
    second = catalog.list_tables(ListTablesRequest(id=["n"], page_token=first.page_token))
    assert first.tables + second.tables == sorted([*names, "filled"])


# -- tables below the root ---------------------------------------------------------------------------


def test_a_table_of_a_namespace_is_made_filled_and_dropped(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    where = declare(catalog, "n", "m", "t")
    assert is_declared(catalog, "n", "m", "t") is True
    assert create(catalog, "n", "m", "t") == where
    assert count(catalog, "n", "m", "t") == 3
    catalog.drop_table(DropTableRequest(id=["n", "m", "t"]))
    assert own_folders(tmp_path) == []
    with pytest.raises(TableNotFoundError):
        location(catalog, "n", "m", "t")


def test_a_failed_create_leaves_neither_row_nor_folder(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    for table in (["t"], ["n", "t"]):
        with pytest.raises(InvalidInputError):
            catalog.create_table(CreateTableRequest(id=table), rows(1000)[:-600])
        assert tables(catalog, *table[:-1]) == []
    assert own_folders(tmp_path) == []


def test_a_deregistered_table_of_a_namespace_keeps_its_data_and_frees_its_name(
    catalog: DirectoryCatalog,
) -> None:
    where = create(catalog, "n", "t")
    catalog.deregister_table(DeregisterTableRequest(id=["n", "t"]))
    assert tables(catalog, "n") == []
    assert lance.dataset(where).count_rows() == 3
    assert create(catalog, "n", "t") != where


# -- registering -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["relative", "path", "uri"])
@pytest.mark.parametrize("table", [["r"], ["n", "r"]])
def test_a_table_somewhere_below_the_root_gets_a_name(
    catalog: DirectoryCatalog, tmp_path: Path, form: str, table: list[str]
) -> None:
    folder = tmp_path / "old" / "data.lance"
    write(folder)
    where = {"relative": "old/data.lance", "path": str(folder), "uri": folder.as_uri()}[form]
    assert register(catalog, table, where) == str(folder)
    assert (location(catalog, *table), count(catalog, *table)) == (str(folder), 3)
    assert catalog.describe_table(DescribeTableRequest(id=table)).properties == {"by": "hand"}
    with pytest.raises(TableAlreadyExistsError):
        register(catalog, table, where)


def test_a_table_behind_a_link_out_of_the_root_is_refused(
    catalog: DirectoryCatalog, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away")
    write(away / "data.lance")
    (tmp_path / "link").symlink_to(away)
    with pytest.raises(InvalidInputError, match="leads out"):
        register(catalog, ["n", "r"], "link/data.lance")
    assert tables(catalog, "n") == []


@pytest.mark.parametrize(
    "where",
    ["../out", "a/../b", "", "/", "nothing", "__manifest", ".hidden/t", "/etc", "s3://bucket/t", "a//b"],
)
def test_a_location_without_a_table_below_the_root_is_refused(catalog: DirectoryCatalog, where: str) -> None:
    with pytest.raises(InvalidInputError):
        register(catalog, ["n", "r"], where)
    assert tables(catalog, "n") == []


def test_a_location_has_one_name(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    where = create(catalog, "n", "t")
    with pytest.raises(InvalidInputError, match=r"it is the table n\.t"):
        register(catalog, ["n", "u"], where)
    write(tmp_path / "found.lance")
    assert tables(catalog) == ["found"]
    register(catalog, ["n", "u"], "found.lance")
    assert (tables(catalog), tables(catalog, "n")) == ([], ["t", "u"])
    with pytest.raises(TableNotFoundError):
        catalog.drop_table(DropTableRequest(id=["found"]))
    assert count(catalog, "n", "u") == 3


def test_a_deregistered_table_comes_back_by_its_location(catalog: DirectoryCatalog) -> None:
    for table in (["t"], ["n", "t"]):
        where = create(catalog, *table)
        catalog.deregister_table(DeregisterTableRequest(id=table))
        assert register(catalog, table, where) == where
        assert (count(catalog, *table), tables(catalog, *table[:-1])) == (3, ["t"])


@pytest.mark.parametrize("table", [["r"], ["n", "r"]])
def test_overwrite_replaces_a_registration_and_keeps_the_old_data(
    catalog: DirectoryCatalog, tmp_path: Path, table: list[str]
) -> None:
    old = create(catalog, *table)
    write(tmp_path / "new" / "data", 7)
    with pytest.raises(TableAlreadyExistsError):
        register(catalog, table, "new/data")
    with pytest.raises(InvalidInputError):
        register(catalog, table, "nothing", "Overwrite")
    assert count(catalog, *table) == 3
    register(catalog, table, "new/data", "Overwrite")
    assert count(catalog, *table) == 7
    assert tables(catalog, *table[:-1]).count("r") == 1
    assert lance.dataset(old).count_rows() == 3


# -- renaming ----------------------------------------------------------------------------------------

NAMES = [["a"], ["n", "a"], ["n", "m", "a"]]


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", [["b"], ["n", "b"], ["n", "m", "b"]])
def test_a_rename_keeps_the_data_where_it_is(catalog: DirectoryCatalog, source: list[str], target: list[str]) -> None:
    where = create(catalog, *source)
    rename(catalog, source, target)
    assert (location(catalog, *target), count(catalog, *target)) == (where, 3)
    with pytest.raises(TableNotFoundError):
        location(catalog, *source)
    assert source[-1] not in tables(catalog, *source[:-1])
    assert target[-1] in tables(catalog, *target[:-1])
    with pytest.raises(TableNotFoundError):
        catalog.drop_table(DropTableRequest(id=source))
    assert count(catalog, *target) == 3


@pytest.mark.parametrize("source", NAMES)
def test_the_old_name_is_free_and_the_way_back_open(catalog: DirectoryCatalog, source: list[str]) -> None:
    where = create(catalog, *source)
    rename(catalog, source, ["b"])
    assert create(catalog, *source, count=9) != where
    assert (count(catalog, *source), count(catalog, "b")) == (9, 3)
    with pytest.raises(TableAlreadyExistsError):
        rename(catalog, ["b"], source)
    catalog.drop_table(DropTableRequest(id=source))
    rename(catalog, ["b"], source)
    assert (location(catalog, *source), "b" in tables(catalog)) == (where, False)
    catalog.drop_table(DropTableRequest(id=source))
    assert not Path(where).exists()


@pytest.mark.parametrize("source", NAMES[:2])
def test_a_refused_rename_changes_nothing(catalog: DirectoryCatalog, source: list[str]) -> None:
    create(catalog, *source)
    create(catalog, "taken")
    create(catalog, "gone")
    catalog.deregister_table(DeregisterTableRequest(id=["gone"]))
    refused: dict[tuple[str, ...], type[LanceNamespaceError]] = {
        ("taken",): TableAlreadyExistsError,
        ("gone",): TableAlreadyExistsError,
        ("n",): TableAlreadyExistsError,
        ("n", "m"): TableAlreadyExistsError,
        ("zz", "t"): NamespaceNotFoundError,
        ("a$b",): InvalidInputError,
        tuple(source): TableAlreadyExistsError,
    }
    for target, error in refused.items():
        with pytest.raises(error):
            rename(catalog, source, list(target))
        assert count(catalog, *source) == 3
    with pytest.raises(TableNotFoundError):
        rename(catalog, ["missing"], ["new"])
    assert tables(catalog) == sorted({"taken", *source[:1]} - {"n"})


def test_a_renamed_table_is_dropped_whole(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    create(catalog, "a")
    rename(catalog, ["a"], ["n", "b"])
    catalog.drop_namespace(DropNamespaceRequest(id=["n"], behavior="cascade"))
    assert own_folders(tmp_path) == []
    create(catalog, "a")
    assert own_folders(tmp_path) == ["a.lance"]


def test_a_manifest_that_is_only_being_made_is_none_yet(tmp_path: Path) -> None:
    # So its folder looks to others between the moment it is made and the commit of its first version.
    (tmp_path / "__manifest" / "_versions").mkdir(parents=True)
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    assert tables(catalog) == []
    with pytest.raises(TableNotFoundError):
        catalog.drop_table(DropTableRequest(id=["t"]))
    create(catalog, "t")
    assert tables(catalog) == ["t"]


def test_a_list_at_the_root_shows_what_others_change_meanwhile(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    other = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    for name in ("b", "a", "c"):
        create(other, "n", name)
        rename(other, ["n", name], [name])
        assert name in tables(catalog)
    assert tables(catalog) == ["a", "b", "c"]
    page = catalog.list_tables(ListTablesRequest(id=[], limit=2))
    assert page.tables == ["a", "b"]
    other.drop_table(DropTableRequest(id=["c"]))
    assert catalog.list_tables(ListTablesRequest(id=[], limit=2, page_token=page.page_token)).tables == []
    assert tables(catalog) == ["a", "b"]


# -- tables named like the manifest's folders ----------------------------------------------------


FIRST_CHANGES: dict[str, Callable[[DirectoryCatalog], object]] = {
    "create a namespace": lambda catalog: make_namespace(catalog, "n"),
    "create a table": lambda catalog: create(catalog, "t"),
    "register": lambda catalog: register(catalog, ["r"], "below/t.lance"),
    "replace": lambda catalog: register(catalog, ["other"], "below/t.lance", mode="overwrite"),
    "rename": lambda catalog: rename(catalog, ["other"], ["another"]),
}


@pytest.mark.parametrize("change", FIRST_CHANGES)
def test_a_first_change_that_would_hide_a_table_is_refused(tmp_path: Path, change: str) -> None:
    create(DirectoryCatalog(path=str(tmp_path)), "1a2b3c4d_x")
    create(DirectoryCatalog(path=str(tmp_path)), "other")
    write(tmp_path / "below" / "t.lance")
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    with pytest.raises(InvalidInputError, match=r"'1a2b3c4d_x' would no longer be found.*'1a2b3c4d_x\.lance'"):
        FIRST_CHANGES[change](catalog)
    assert tables(catalog) == ["1a2b3c4d_x", "below", "other"]
    assert not (tmp_path / "__manifest").exists()


def test_the_way_out_keeps_the_table(tmp_path: Path) -> None:
    create(DirectoryCatalog(path=str(tmp_path)), "1a2b3c4d_x")
    (tmp_path / "1a2b3c4d_x").rename(tmp_path / "1a2b3c4d_x.lance")
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(catalog, "n")
    assert (tables(catalog), namespaces(catalog), count(catalog, "1a2b3c4d_x")) == (["1a2b3c4d_x"], ["n"], 3)


def test_a_deregistered_table_does_not_stand_in_the_way(tmp_path: Path) -> None:
    plain = DirectoryCatalog(path=str(tmp_path))
    create(plain, "1a2b3c4d_x")
    plain.deregister_table(DeregisterTableRequest(id=["1a2b3c4d_x"]))
    make_namespace(DirectoryCatalog(path=str(tmp_path), layout="manifest"), "n")


def test_a_new_table_beside_a_manifest_is_found_whatever_its_name(catalog: DirectoryCatalog, tmp_path: Path) -> None:
    plain = DirectoryCatalog(path=str(tmp_path), layout="plain")
    create(plain, "1a2b3c4d_x")
    create(plain, "t")
    for either in (plain, catalog):
        assert tables(either) == ["1a2b3c4d_x", "t"]
        assert count(either, "1a2b3c4d_x") == 3
