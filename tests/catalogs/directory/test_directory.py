"""The directory catalog: what exists, what may be named how, and what its settings mean."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import lance
import pytest
from lance_namespace import (
    CreateTableRequest,
    DeclareTableRequest,
    DeregisterTableRequest,
    DescribeTableRequest,
    DropTableRequest,
    ListTablesRequest,
    TableExistsRequest,
)

import lanceway
from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
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

FLAT = pytest.mark.parametrize("layout", ["plain", "lance"])
ANY = pytest.mark.parametrize("layout", ["plain", "lance", "manifest"])


# -- paths and layouts -------------------------------------------------------------------------------


def test_a_new_folder_gets_tables_as_the_specification_has_them(tmp_path: Path) -> None:
    create(DirectoryCatalog(path=str(tmp_path / "new")), "t")
    assert (tmp_path / "new" / "t" / "_versions").is_dir()


@pytest.mark.parametrize(("layout", "folder"), [("plain", "t"), ("lance", "t.lance"), ("manifest", "t.lance")])
def test_the_layout_setting_chooses_the_folder(tmp_path: Path, layout: str, folder: str) -> None:
    create(DirectoryCatalog(path=str(tmp_path), layout=layout), "t")
    assert (tmp_path / folder / "_versions").is_dir()
    assert (tmp_path / "__manifest").is_dir() is (layout == "manifest")


def test_a_new_table_is_written_in_the_layout_found(tmp_path: Path) -> None:
    write(tmp_path / "old.lance")
    create(DirectoryCatalog(path=str(tmp_path)), "t")
    assert (tmp_path / "t.lance").is_dir()
    make_namespace(DirectoryCatalog(path=str(tmp_path), layout="manifest"), "n")
    catalog = DirectoryCatalog(path=str(tmp_path))
    create(catalog, "n", "u")
    assert tables(catalog, "n") == ["u"]


def test_the_setting_overrides_the_layout_found(tmp_path: Path) -> None:
    write(tmp_path / "old.lance")
    catalog = DirectoryCatalog(path=str(tmp_path), layout="plain")
    create(catalog, "t")
    assert (tmp_path / "t").is_dir()
    assert tables(catalog) == ["old", "t"]


@pytest.mark.parametrize("form", ["absolute", "relative", "uri", "slash"])
def test_the_path_may_be_a_uri_absolute_or_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "my dir"
    path = {"absolute": str(root), "relative": "my dir", "uri": root.as_uri(), "slash": f"{root}/"}[form]
    catalog = DirectoryCatalog(path=path)
    monkeypatch.chdir("/")
    assert create(catalog, "t") == str(root / "t")
    assert pickle.loads(pickle.dumps(catalog)) == catalog
    assert catalog.namespace_id() == DirectoryCatalog(root=str(root)).namespace_id()


def test_a_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="is a file"):
        DirectoryCatalog(path=str(tmp_path / "file"))


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="layout"):
        DirectoryCatalog(path=str(tmp_path), layout="flat")
    with pytest.raises(InvalidInputError, match="Did you mean 'path'"):
        DirectoryCatalog(paht=str(tmp_path))
    with pytest.raises(InvalidInputError, match="needs the setting 'path'"):
        DirectoryCatalog()


def test_storage_options_go_out_with_a_table_and_never_into_a_message(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), **{"storage.secret_key": "hunter2"})
    create(catalog, "t")
    assert catalog.describe_table(DescribeTableRequest(id=["t"])).storage_options == {"secret_key": "hunter2"}
    assert "hunter2" not in repr(catalog) + catalog.namespace_id()
    assert catalog.namespace_id() != DirectoryCatalog(path=str(tmp_path)).namespace_id()


def test_a_missing_folder_is_an_empty_catalog(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path / "nowhere"))
    assert tables(catalog) == namespaces(catalog) == []
    assert not (tmp_path / "nowhere").exists()


def test_it_connects_by_type_too(tmp_path: Path) -> None:
    assert lanceway.connect("dir", path=str(tmp_path)) == DirectoryCatalog(path=str(tmp_path))


# -- existence, as the specification has it ----------------------------------------------------------


@pytest.mark.parametrize("folder", ["t", "t.lance"])
@pytest.mark.parametrize("content", ["empty", "foreign"])
def test_an_empty_or_foreign_folder_is_a_table_that_cannot_be_loaded(tmp_path: Path, folder: str, content: str) -> None:
    (tmp_path / folder).mkdir()
    if content == "foreign":
        (tmp_path / folder / "notes.txt").write_text("no table")
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert tables(catalog) == tables(catalog, include_declared=False) == ["t"]
    catalog.table_exists(TableExistsRequest(id=["t"]))
    assert location(catalog, "t") == str(tmp_path / folder)
    assert is_declared(catalog, "t") is False
    with pytest.raises(InvalidTableStateError, match="no Lance data" if content == "empty" else "is not a Lance table"):
        catalog.describe_table(DescribeTableRequest(id=["t"], load_detailed_metadata=True))
    with pytest.raises(TableAlreadyExistsError):
        create(catalog, "t")


def test_files_and_hidden_folders_are_no_tables(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "file.lance").touch()
    for folder in (".hidden", ".lance", "__manifest.d"):
        (tmp_path / folder).mkdir()
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert tables(catalog) == ["__manifest.d"]
    with pytest.raises(TableNotFoundError):
        location(catalog, "file")


def test_the_two_spellings_of_a_name_are_one_table(tmp_path: Path) -> None:
    write(tmp_path / "t", 2)
    write(tmp_path / "t.lance", 5)
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert tables(catalog) == ["t"]
    assert count(catalog, "t") == 5


@pytest.mark.parametrize(("there", "layout"), [("t", "lance"), ("t.lance", "plain"), ("t", "manifest")])
def test_a_name_never_gets_a_second_spelling(tmp_path: Path, there: str, layout: str) -> None:
    (tmp_path / there).mkdir()
    with pytest.raises(TableAlreadyExistsError):
        declare(DirectoryCatalog(path=str(tmp_path), layout=layout), "t")
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "__manifest"] == [there]


def test_a_symbolic_link_to_a_table_is_one_and_dropping_it_keeps_its_target(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "data")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "t").symlink_to(tmp_path / "elsewhere" / "data")
    catalog = DirectoryCatalog(path=str(tmp_path / "root"))
    assert (tables(catalog), count(catalog, "t")) == (["t"], 3)
    catalog.drop_table(DropTableRequest(id=["t"]))
    assert tables(catalog) == []
    assert lance.dataset(str(tmp_path / "elsewhere" / "data")).count_rows() == 3


def test_a_folder_with_other_files_in_it_is_not_dropped(tmp_path: Path) -> None:
    """A folder is a table by its name alone: what is in it may be anything."""
    for folder in ("photos", "mixed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "thesis.txt").write_text("years of work")
    write(tmp_path / "mixed")
    catalog = DirectoryCatalog(path=str(tmp_path))
    for folder in ("photos", "mixed"):
        with pytest.raises(InvalidInputError, match="not Lance's"):
            catalog.drop_table(DropTableRequest(id=[folder]))
        assert (tmp_path / folder / "thesis.txt").exists()
    assert count(catalog, "mixed") == 3


# -- names -------------------------------------------------------------------------------------------


@ANY
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a/b", "separates folders"),
        ("a\\b", "separates folders"),
        ("..", "hides a folder"),
        ("../out", "separates folders"),
        (".hidden", "hides a folder"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("__manifest", "keeps its list"),
        ("t.lance", "Use 't'"),
    ],
)
def test_a_name_that_is_no_table_s_is_refused_everywhere(tmp_path: Path, layout: str, name: str, reason: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path / "root"), layout=layout)
    for ask in (declare, create, location):
        with pytest.raises(InvalidInputError, match=reason):
            ask(catalog, name)
    with pytest.raises(InvalidInputError, match=reason):
        catalog.drop_table(DropTableRequest(id=[name]))
    assert not (tmp_path / "root").exists()


@ANY
@pytest.mark.parametrize("name", ["a%20b", "a#b", "a?b", "a..b", "a.", " a", "a ", "é" * 126])
def test_a_new_name_that_a_location_cannot_keep_is_refused(tmp_path: Path, layout: str, name: str) -> None:
    with pytest.raises(InvalidInputError, match="Use "):
        declare(DirectoryCatalog(path=str(tmp_path), layout=layout), name)


@FLAT
@pytest.mark.parametrize("name", ["a%20b", "a#b", "a?b", "a..b", "a "])
def test_such_a_folder_is_read_if_it_is_there(tmp_path: Path, layout: str, name: str) -> None:
    write(tmp_path / (name + (".lance" if layout == "lance" else "")))
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert (tables(catalog), count(catalog, name)) == ([name], 3)


@ANY
def test_unusual_names_work(tmp_path: Path, layout: str) -> None:
    unusual = ["a b", "a'b", "ä日本", "a.b", "a:b", "20240101_sales", "deadbeef_t", "é" * 124, 'x"y', "-- x"]
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    for name in unusual:
        create(catalog, name)
    assert tables(catalog) == sorted(unusual)
    assert [count(catalog, name) for name in unusual] == [3] * len(unusual)


def test_the_manifest_s_delimiter_is_refused_in_its_layout_alone(tmp_path: Path) -> None:
    create(DirectoryCatalog(path=str(tmp_path / "plain")), "a$b")
    catalog = DirectoryCatalog(path=str(tmp_path / "manifest"), layout="manifest")
    with pytest.raises(InvalidInputError, match=r"joins names in a manifest.*'a_b' or 'a-b'"):
        create(catalog, "a$b")
    with pytest.raises(InvalidInputError, match="joins names in a manifest"):
        make_namespace(catalog, "a$b")


# -- flat layouts ------------------------------------------------------------------------------------


@FLAT
def test_namespaces_and_other_names_need_the_manifest(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    create(catalog, "t")
    for operation, request in {
        "create_namespace": {"id": ["n"]},
        "drop_namespace": {"id": ["n"]},
        "register_table": {"id": ["u"], "location": "t"},
        "rename_table": {"id": ["t"], "new_table_name": "u"},
    }.items():
        with pytest.raises(UnsupportedOperationError, match='layout="manifest"'):
            getattr(catalog, operation)(request)
    assert namespaces(catalog) == []
    assert tables(catalog) == ["t"]
    for ask in (tables, namespaces, location, create, declare):
        with pytest.raises(NamespaceNotFoundError):
            ask(catalog, "n", "x")


def test_the_support_table_tells_the_layouts_apart() -> None:
    support = DirectoryCatalog.support()
    assert list(support) == ["dir", "dir (manifest)"]
    missing = {"create_namespace", "drop_namespace", "register_table", "rename_table"}
    assert support["dir (manifest)"] - support["dir"] == missing


# -- declaring, deregistering, dropping --------------------------------------------------------------


@ANY
def test_a_declared_table_is_listed_filled_and_then_a_table(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    where = declare(catalog, "t", properties={"owner": "me"})
    assert (tables(catalog), tables(catalog, include_declared=False)) == (["t"], [])
    assert is_declared(catalog, "t") is True
    with pytest.raises(TableAlreadyExistsError):
        declare(catalog, "t")
    assert create(catalog, "t") == where
    assert (is_declared(catalog, "t"), count(catalog, "t")) == (False, 3)
    assert catalog.describe_table(DescribeTableRequest(id=["t"])).properties == {"owner": "me"}


@ANY
def test_a_location_of_one_s_own_is_refused(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    with pytest.raises(InvalidInputError, match="Leave the location out"):
        catalog.declare_table(DeclareTableRequest(id=["t"], location=str(tmp_path / "elsewhere")))
    assert tables(catalog) == []
    folder = tmp_path / ("t" if layout == "plain" else "t.lance")
    catalog.declare_table(DeclareTableRequest(id=["t"], location=folder.as_uri()))
    assert tables(catalog) == ["t"]


@ANY
def test_a_deregistered_table_is_hidden_and_keeps_its_name_until_it_is_dropped(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    where = create(catalog, "t")
    catalog.deregister_table(DeregisterTableRequest(id=["t"]))
    assert tables(catalog) == []
    assert lance.dataset(where).count_rows() == 3
    for ask in (location, count):
        with pytest.raises(TableNotFoundError):
            ask(catalog, "t")
    with pytest.raises(TableNotFoundError):
        catalog.deregister_table(DeregisterTableRequest(id=["t"]))
    for claim in (create, declare):
        with pytest.raises(TableAlreadyExistsError, match="still at"):
            claim(catalog, "t")
    catalog.drop_table(DropTableRequest(id=["t"]))
    assert not Path(where).exists()
    create(catalog, "t")


@ANY
def test_dropping_deletes_everything(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    create(catalog, "t")
    declare(catalog, "d")
    for name in ("t", "d"):
        catalog.drop_table(DropTableRequest(id=[name]))
        with pytest.raises(TableNotFoundError):
            catalog.drop_table(DropTableRequest(id=[name]))
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "__manifest"] == []


@ANY
def test_a_create_that_fails_leaves_nothing(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    create(catalog, "other")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(InvalidInputError):
        catalog.create_table(CreateTableRequest(id=["t"]), rows(1000)[:-600])
    assert sorted(os.listdir(tmp_path)) == before
    assert tables(catalog) == ["other"]


# -- lists -------------------------------------------------------------------------------------------


@FLAT
def test_a_thousand_folders_page_completely_and_in_order(tmp_path: Path, layout: str) -> None:
    suffix = ".lance" if layout == "lance" else ""
    names = sorted(f"t{number}" for number in range(1000))
    for name in names:
        (tmp_path / f"{name}{suffix}").mkdir()
    for name in names[::10]:
        (tmp_path / f"{name}{suffix}" / ".lance-deregistered").touch()
    for name in names[1::10]:
        (tmp_path / f"{name}{suffix}" / ".lance-reserved").touch()
    catalog = DirectoryCatalog(path=str(tmp_path))
    shown = [name for position, name in enumerate(names) if position % 10 != 0]
    filled = [name for position, name in enumerate(names) if position % 10 > 1]
    for include_declared, expected in ((True, shown), (False, filled)):
        assert tables(catalog, include_declared=include_declared) == expected
        assert pages(catalog, 70, include_declared) == expected


def pages(catalog: DirectoryCatalog, limit: int, include_declared: bool) -> list[str]:
    names: list[str] = []
    token: str | None = None
    while True:
        request = ListTablesRequest(limit=limit, page_token=token, include_declared=include_declared)
        page = catalog.list_tables(request)
        assert len(page.tables) == limit or page.page_token is None
        names += page.tables
        token = page.page_token
        if token is None:
            return names
