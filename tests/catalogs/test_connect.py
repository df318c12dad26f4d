from pathlib import Path

import pytest
from lance_namespace import CreateNamespaceRequest, DeclareTableRequest, ListTablesRequest

import lanceway
from lanceway.catalogs import DirectoryCatalog
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
        ({}, "connect needs a type"),
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
