"""What a request names never leads out of its table: branches above all, which are folders in storage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import LanceNamespace

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.errors import InvalidInputError, LanceNamespaceError
from tests.catalogs.lake import lake_helpers as lakes
from tests.tables.table_helpers import files

Id = list[str]


@pytest.fixture(params=["dir", "storage-managed", "managed"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path, sqlite_uri: str) -> Iterator[Catalog]:
    """A catalog with the tables `own`, which has a branch, and `victim`, which has versions to lose."""
    connected: Any
    if request.param == "dir":
        connected = lanceway.connect("dir", path=str(tmp_path / "warehouse"))
    else:
        connected = lakes.connect(sqlite_uri, tmp_path)
    with connected:
        for name in ("own", "victim"):
            connected.create_table_stream({"id": [name]}, lakes.rows(1).to_reader())
            for number in (2, 3):
                connected.insert_into_table_stream({"id": [name]}, lakes.rows(number).to_reader())
            if isinstance(connected, LakeCatalog) and request.param == "storage-managed":
                connected.set_versioning([name], managed=False)
        connected.create_table_branch({"id": ["own"], "name": "side"})
        yield connected


def locations(catalog: LanceNamespace) -> tuple[Path, Path]:
    locations = [catalog.describe_table({"id": [name]}).location for name in ("own", "victim")]  # type: ignore[arg-type]
    attacker, victim = (Path(str(location).removeprefix("file://")) for location in locations)
    return attacker, victim


def test_no_branch_leads_to_another_table(catalog: Any) -> None:
    _, victim = locations(catalog)
    before = files(victim)
    for branch in (f"../../{victim.name}", f"side/../../../{victim.name}", str(victim), f"../../..{victim}"):
        about: dict[str, Any] = {"id": ["own"], "branch": branch}
        ranges = [{"start_version": 1, "end_version": 3}]
        staged = {"version": 4, "manifest_path": f"tree/{branch}/_versions/staged"}
        asks = {
            "list_table_versions": about,
            "describe_table_version": {**about, "version": 1},
            "batch_delete_table_versions": {**about, "ranges": ranges},
            "create_table_version": {**about, **staged},
        }
        for operation, fields in asks.items():
            with pytest.raises(InvalidInputError, match="is not a name of a branch"):
                getattr(catalog, operation)(fields)
        if isinstance(catalog, LakeCatalog):
            entries: list[tuple[str, dict[str, Any]]] = [
                ("batch_create_table_versions", {"entries": [{**about, **staged}]}),
                ("batch_commit_tables", {"operations": [{"delete_table_versions": {**about, "ranges": ranges}}]}),
                ("batch_commit_tables", {"operations": [{"create_table_version": {**about, **staged}}]}),
            ]
            for operation, fields in entries:
                with pytest.raises(LanceNamespaceError):
                    getattr(catalog, operation)(fields)
    assert files(victim) == before
    assert catalog.count_table_rows({"id": ["victim"]}).count == 3
    assert [version.version for version in catalog.list_table_versions({"id": ["victim"]}).versions] == [1, 2, 3]


WAYS = ("../../victim", "..", "../victim/_versions", "/etc/hostname", "a/../../victim")


@pytest.mark.parametrize("way", WAYS)
def test_no_other_name_is_a_path(catalog: Any, way: str, tmp_path: Path) -> None:
    """Tags, indices, columns, transactions and staged manifests: what looks like a path is refused or just a name."""
    _, victim = locations(catalog)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and victim in path.parents}
    target: dict[str, Any] = {"id": ["own"]}
    asks: list[tuple[str, dict[str, Any]]] = [
        ("create_table_tag", {"tag": way, "version": 1}),
        ("get_table_tag_version", {"tag": way}),
        ("update_table_tag", {"tag": way, "version": 1}),
        ("delete_table_tag", {"tag": way}),
        ("create_table_branch", {"name": way}),
        ("create_table_branch", {"name": "fine", "from_branch": way}),
        ("delete_table_branch", {"name": way}),
        ("describe_table", {"branch": way, "load_detailed_metadata": True}),
        ("describe_table", {"tag": way, "load_detailed_metadata": True}),
        ("restore_table", {"branch": way, "version": 1}),
        ("get_table_stats", {"branch": way}),
        ("count_table_rows", {"branch": way}),
        ("delete_from_table", {"branch": way, "predicate": "true"}),
        ("describe_table_index_stats", {"index_name": way}),
        ("drop_table_index", {"index_name": way}),
        ("create_table_scalar_index", {"column": way, "index_type": "BTREE"}),
        ("alter_table_drop_columns", {"columns": [way]}),
        ("create_table_version", {"version": 4, "manifest_path": f"_versions/{way}"}),
        ("create_table_version", {"version": 4, "manifest_path": way}),
        ("create_table_version", {"version": 4, "manifest_path": "_versions/x", "naming_scheme": way}),
    ]
    for operation, fields in asks:
        with pytest.raises(LanceNamespaceError):
            getattr(catalog, operation)({**target, **fields})
    with pytest.raises(LanceNamespaceError):
        catalog.describe_transaction({"id": ["own", way]})
    # These are names alone: of an index, in the manifest, and of a column, in the schema.
    catalog.create_table_scalar_index({**target, "column": "id", "index_type": "BTREE", "name": way})
    catalog.alter_table_add_columns({**target, "new_columns": [{"name": "extra", "expression": "id"}]})
    assert before
    now = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and victim in path.parents}
    assert now == before
