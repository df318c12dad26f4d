"""One folder, two readers: what pylance's own directory namespace writes is read here, and the other way round."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import (
    CreateNamespaceRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DropTableRequest,
    InsertIntoTableRequest,
    RenameTableRequest,
)

from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import TableAlreadyExistsError, TableNotFoundError
from tests.catalogs.directory.folder_helpers import (
    PYLANCE_MODES,
    count,
    create,
    declare,
    is_declared,
    location,
    make_namespace,
    namespaces,
    pylance,
    rows,
    tables,
)

MODES = pytest.mark.parametrize("mode", PYLANCE_MODES)
NESTED = pytest.mark.parametrize("mode", ["default", "manifest-only"])


# -- pylance writes, we read -------------------------------------------------------------------------


@MODES
def test_every_root_table_of_pylance_is_read(tmp_path: Path, mode: str) -> None:
    peer = pylance(tmp_path, mode)
    create(peer, "t")
    declare(peer, "d")
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert (tables(catalog), tables(catalog, include_declared=False)) == (["d", "t"], ["t"])
    assert (count(catalog, "t"), is_declared(catalog, "t"), is_declared(catalog, "d")) == (3, False, True)
    catalog.insert_into_table(InsertIntoTableRequest(id=["t"]), rows(2))
    assert count(peer, "t") == 5


@NESTED
def test_nested_namespaces_of_pylance_are_read(tmp_path: Path, mode: str) -> None:
    peer = pylance(tmp_path, mode)
    peer.create_namespace(CreateNamespaceRequest(id=["n"], properties={"owner": "them"}))
    make_namespace(peer, "n", "m")
    create(peer, "n", "m", "t")
    declare(peer, "n", "d", properties={"k": "v"})
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert (tables(catalog), namespaces(catalog), namespaces(catalog, "n")) == ([], ["n"], ["m"])
    assert (tables(catalog, "n"), tables(catalog, "n", "m")) == (["d"], ["t"])
    assert catalog.describe_namespace(DescribeNamespaceRequest(id=["n"])).properties == {"owner": "them"}
    assert catalog.describe_table(DescribeTableRequest(id=["n", "d"])).properties == {"k": "v"}
    assert (count(catalog, "n", "m", "t"), is_declared(catalog, "n", "d")) == (3, True)
    catalog.drop_table(DropTableRequest(id=["n", "m", "t"]))
    assert tables(peer, "n", "m") == []
    create(catalog, "n", "d")
    assert is_declared(peer, "n", "d") is False


@MODES
def test_what_pylance_deregistered_or_dropped_is_gone(tmp_path: Path, mode: str) -> None:
    peer = pylance(tmp_path, mode)
    for name in ("dropped", "deregistered", "kept"):
        create(peer, name)
    peer.drop_table(DropTableRequest(id=["dropped"]))
    peer.deregister_table(DeregisterTableRequest(id=["deregistered"]))
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert tables(catalog) == tables(peer)
    create(catalog, "dropped")


@MODES
def test_pylance_s_modes_in_one_folder_add_up(tmp_path: Path, mode: str) -> None:
    for each in PYLANCE_MODES:
        create(pylance(tmp_path, each), each)
    catalog = DirectoryCatalog(path=str(tmp_path))
    assert tables(catalog) == sorted(PYLANCE_MODES)
    assert count(catalog, mode) == 3


# -- we write, pylance reads -------------------------------------------------------------------------


@MODES
def test_root_tables_of_the_manifest_layout_are_read_by_every_mode(tmp_path: Path, mode: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    create(catalog, "t")
    declare(catalog, "d")
    create(catalog, "dropped")
    catalog.drop_table(DropTableRequest(id=["dropped"]))
    create(catalog, "deregistered")
    catalog.deregister_table(DeregisterTableRequest(id=["deregistered"]))
    peer = pylance(tmp_path, mode)
    assert (tables(peer), tables(peer, include_declared=False)) == (["d", "t"], ["t"])
    assert (count(peer, "t"), is_declared(peer, "d")) == (3, True)
    with pytest.raises(TableAlreadyExistsError):
        create(peer, "t")
    peer.drop_table(DropTableRequest(id=["t"]))
    if mode == "listing-only":  # which knows no manifest, and leaves the row there
        catalog.drop_table(DropTableRequest(id=["t"]))
    assert tables(catalog) == ["d"]
    create(catalog, "t")


@pytest.mark.parametrize("mode", ["default", "listing-only"])
def test_tables_of_the_lance_layout_are_read_by_the_modes_that_list(tmp_path: Path, mode: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="lance")
    create(catalog, "t")
    declare(catalog, "d")
    create(catalog, "gone")
    catalog.deregister_table(DeregisterTableRequest(id=["gone"]))
    peer = pylance(tmp_path, mode)
    assert (tables(peer), is_declared(peer, "d"), count(peer, "t")) == (["d", "t"], True, 3)
    create(peer, "d")
    assert (is_declared(catalog, "d"), count(catalog, "d")) == (False, 3)


@NESTED
def test_our_nested_namespaces_are_read_by_pylance(tmp_path: Path, mode: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    catalog.create_namespace(CreateNamespaceRequest(id=["n"], properties={"owner": "us"}))
    make_namespace(catalog, "n", "m")
    where = create(catalog, "n", "m", "t")
    declare(catalog, "n", "d", properties={"k": "v"})
    peer = pylance(tmp_path, mode)
    assert (namespaces(peer), namespaces(peer, "n")) == (["n"], ["m"])
    assert (tables(peer, "n"), tables(peer, "n", "m")) == (["d"], ["t"])
    assert peer.describe_namespace(DescribeNamespaceRequest(id=["n"])).properties == {"owner": "us"}
    assert peer.describe_table(DescribeTableRequest(id=["n", "d"])).properties == {"k": "v"}
    assert (count(peer, "n", "m", "t"), is_declared(peer, "n", "d")) == (3, True)
    assert location(peer, "n", "m", "t") == Path(where).as_uri().replace("%24", "$")
    peer.drop_table(DropTableRequest(id=["n", "m", "t"]))
    with pytest.raises(TableNotFoundError):
        location(catalog, "n", "m", "t")
    assert not Path(where).exists()


def test_what_pylance_sees_of_a_renamed_table(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(catalog, "n")
    for name in ("a", "b"):
        create(catalog, name)
    catalog.rename_table(RenameTableRequest(id=["a"], new_table_name="x"))
    catalog.rename_table(RenameTableRequest(id=["b"], new_table_name="y", new_namespace_id=["n"]))
    by_mode = {mode: tables(pylance(tmp_path, mode)) for mode in PYLANCE_MODES}
    # At the root pylance lists folders by their names, so it shows neither the old name nor the new one.
    assert by_mode == {"default": [], "manifest-only": ["x"], "listing-only": []}
    assert [tables(pylance(tmp_path, mode), "n") for mode in ("default", "manifest-only")] == [["y"], ["y"]]
    assert count(pylance(tmp_path), "n", "y") == 3
    assert (tables(catalog), tables(catalog, "n")) == (["x"], ["y"])
