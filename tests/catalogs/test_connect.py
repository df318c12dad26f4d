import os
from pathlib import Path

import pytest
from lance_namespace import CreateNamespaceRequest, DeclareTableRequest, ListTablesRequest

import lanceway
from lanceway.catalogs import DirectoryCatalog, LakeCatalog, RestCatalog
from lanceway.catalogs.registry import CATALOGS, catalog_class
from lanceway.errors import InvalidInputError


def test_by_type_and_settings(tmp_path: Path):
    assert isinstance(lanceway.connect("dir", path=str(tmp_path)), DirectoryCatalog)


def test_storage_options_may_be_given_as_a_mapping(tmp_path: Path):
    options = {"region": "eu-west-1"}
    flat = {f"storage.{key}": value for key, value in options.items()}
    assert lanceway.connect("dir", path=tmp_path, storage_options=options) == lanceway.connect(
        "dir", path=tmp_path, **flat
    )


def test_by_name_from_a_file_with_arguments_on_top(tmp_path: Path):
    file = tmp_path / "lanceway.toml"
    file.write_text(f'[namespaces.local]\ntype = "dir"\npath = "{tmp_path}/a"\n')
    assert lanceway.connect(name="local", config=file) == lanceway.connect("dir", path=tmp_path / "a")
    overridden = lanceway.connect(name="local", config=file, path=tmp_path / "b")
    assert overridden == lanceway.connect("dir", path=tmp_path / "b")


def test_at_makes_a_namespace_the_root(tmp_path: Path):
    whole = lanceway.connect("dir", path=tmp_path, layout="manifest")
    whole.create_namespace(CreateNamespaceRequest(id=["team"]))
    whole.declare_table(DeclareTableRequest(id=["team", "orders"]))
    file = tmp_path / "lanceway.toml"
    file.write_text(f'[namespaces.team]\ntype = "dir"\npath = "{tmp_path}"\nat = "team"\n')
    assert lanceway.connect(name="team", config=file).list_tables(ListTablesRequest(id=[])).tables == ["orders"]


def test_a_class_by_its_import_path(tmp_path: Path):
    for path in ("lanceway.catalogs.directory:DirectoryCatalog", "lanceway.catalogs.DirectoryCatalog"):
        assert isinstance(lanceway.connect(path, path=tmp_path), DirectoryCatalog)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "connect needs a location"),
        ({"type": "dri"}, r"There is no catalog of type 'dri'\. Did you mean 'dir'\? Known types: dir"),
        ({"type": "no.such.Catalog"}, "cannot be loaded"),
        ({"type": "lanceway.identifiers.Identifier"}, "is not a subclass of lance_namespace.LanceNamespace"),
        ({"type": "dir", "name": "x"}, "not both"),
        ({"type": "dir"}, "needs the setting 'path'"),
        ({"type": "dir", "path": ".", "pth": "."}, "has no setting 'pth'. Did you mean 'path'?"),
        ({"type": "dir", "path": ".", "layout": "round"}, "must be one of"),
    ],
)
def test_mistakes_say_what_to_do(arguments: dict[str, str], message: str):
    with pytest.raises(InvalidInputError, match=message):
        lanceway.connect(**arguments)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path):
    file = tmp_path / "lanceway.toml"
    file.write_text('[namespaces.local]\ntype = "dir"\npath = "."\n')
    with pytest.raises(InvalidInputError, match=r"No namespace is called 'lake' .* It has: local"):
        lanceway.connect(name="lake", config=file)


def test_every_row_of_the_registry_loads_and_names_its_type():
    for type_ in CATALOGS:
        assert type_ == catalog_class(type_).TYPE  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("./warehouse", "./warehouse"),
        ("some/where", "some/where"),
        (".", "."),
        (Path("warehouse"), "warehouse"),
        ("s3://bucket/tables", "s3://bucket/tables"),
        ("file:///data/tables", "file:///data/tables"),
    ],
)
def test_a_folder_by_its_location(folder: Path, location: str | Path, path: str) -> None:
    assert lanceway.connect(location) == lanceway.connect("dir", path=path, layout="auto")


def test_a_folder_of_the_users(folder: Path) -> None:
    assert lanceway.connect("~/tables") == lanceway.connect("dir", path=folder / "tables", layout="auto")


def test_settings_stand_beside_a_location(folder: Path) -> None:
    plain = lanceway.connect("./warehouse", layout="plain", storage_options={"region": "eu-west-1"})
    assert plain == lanceway.connect("dir", path="warehouse", layout="plain", **{"storage.region": "eu-west-1"})


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("http://127.0.0.1:8400", "http://127.0.0.1:8400/lance"),
        ("https://host/", "https://host/lance"),
        ("https://host/other", "https://host/other"),
    ],
)
def test_a_server_by_its_address(address: str, uri: str) -> None:
    with lanceway.connect(address, token="t") as found:
        assert isinstance(found, RestCatalog)
        assert found == lanceway.connect("rest", uri=uri, token="t")


def test_a_lake_in_a_file_has_its_tables_beside_it(folder: Path) -> None:
    with lanceway.connect("sqlite:///lake.db") as lake:
        assert isinstance(lake, LakeCatalog)
        lake.create("team.fruit", {"id": [1]})
    assert (folder / "warehouse").is_dir()
    with lanceway.connect("sqlite:///lake.db") as again:
        assert again.tables(recursive=True) == ["team.fruit"]


def test_a_lake_that_is_elsewhere_stays_there(folder: Path) -> None:
    lanceway.connect("lake", uri="sqlite:///lake.db", root="elsewhere").close()
    with lanceway.connect("sqlite:///lake.db") as lake:
        lake.create("fruit", {"id": [1]})
    assert os.listdir(folder / "elsewhere") != []


def test_a_name_goes_before_a_type(folder: Path) -> None:
    (folder / "lanceway.toml").write_text('[namespaces.lake]\ntype = "dir"\npath = "a"\n')
    assert lanceway.connect("lake") == lanceway.connect("dir", path="a")
    assert isinstance(lanceway.connect("lake", uri="sqlite:///b.db", root="r"), LakeCatalog)
    with pytest.raises(InvalidInputError, match="needs the setting 'path'"):
        lanceway.connect("dir")


def test_a_word_that_means_nothing(folder: Path) -> None:
    (folder / "lanceway.toml").write_text('[namespaces.prod]\ntype = "dir"\npath = "a"\n')
    with pytest.raises(
        InvalidInputError, match=r"'prdo' is not a name .*Did you mean 'prod'\? For a folder write './prdo'"
    ):
        lanceway.connect("prdo")
    with pytest.raises(InvalidInputError, match="not two of them"):
        lanceway.connect("./a", type="dir")
    with pytest.raises(InvalidInputError, match="not two of them"):
        lanceway.connect("./a", name="prod")


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("127.0.0.1:8400", "http://127.0.0.1:8400"),
        ("localhost:8400", "http://localhost:8400"),
        ("lance.example.com:443", "https://lance.example.com:443"),
        ("lake.db", "sqlite:///lake.db"),
    ],
)
def test_a_host_or_a_file_alone_is_refused_with_the_address_it_may_be(folder: Path, word: str, address: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"'{word}' does not say .* Did you mean '{address}'\? For a folder"):
        lanceway.connect(word)


def test_an_empty_folder_gets_namespaces_and_one_with_tables_stays_as_it_is(folder: Path) -> None:
    lanceway.connect("./new").create("team.fruit", {"id": [1]})
    assert lanceway.connect("./new").namespaces() == ["team"]
    lanceway.connect("dir", path="old", layout="lance").create("fruit", {"id": [1]})
    old = lanceway.connect("./old")
    old.create("figs", {"id": [1]})
    assert sorted(os.listdir("old")) == ["figs.lance", "fruit.lance"]
    with pytest.raises(lanceway.UnsupportedOperationError, match='layout="manifest"'):
        old.create("team.figs", {"id": [1]})


def test_connecting_by_a_path_touches_nothing(folder: Path) -> None:
    lanceway.connect("./new").tables()
    assert os.listdir(folder) == []


def test_errors_and_what_users_hold_are_exported() -> None:
    from lanceway import errors

    names = {name for name in errors.__all__ if name.endswith("Error")} | {"Catalog", "Table", "connect", "ErrorCode"}
    assert names <= set(lanceway.__all__)
    assert set(lanceway.__all__) <= set(dir(lanceway))
    assert all(getattr(lanceway, name) is not None for name in lanceway.__all__)
