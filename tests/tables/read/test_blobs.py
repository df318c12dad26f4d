"""Blobs elsewhere, at any depth of a column: a process that confines base paths refuses to read them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import Blob
from lance.blob import blob_array, blob_field

from lanceway.catalogs.federated.locations import AllowedBasePaths
from lanceway.errors import InvalidInputError
from lanceway.tables import bases
from lanceway.tables.dataset import StoredTable
from lanceway.tables.read import blobs

FIELD = blob_field("picture")


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[None]:
    release = bases.confine(AllowedBasePaths((str(tmp_path / "allowed"),)))
    yield
    release()


def _plain(values: pa.Array) -> pa.Array:
    return values


def _in_struct(values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values], fields=[FIELD])


def _in_list(values: pa.Array) -> pa.Array:
    structs = _in_struct(values)
    return pa.ListArray.from_arrays(pa.array([*range(len(structs)), len(structs)], pa.int32()), structs)


DEPTHS = {"plain": _plain, "struct": _in_struct, "list": _in_list}


def _written(place: Path, depth: str, *values: Blob | bytes | None) -> StoredTable:
    column = DEPTHS[depth](blob_array(values))
    field = FIELD if depth == "plain" else pa.field("picture", column.type)
    rows = pa.table([column, pa.array(range(len(values)))], schema=pa.schema([field, pa.field("id", pa.int64())]))
    lance.write_dataset(
        rows, str(place), data_storage_version="2.2", allow_external_blob_outside_bases=True, max_rows_per_file=1
    )
    return StoredTable("t", str(place))


@pytest.mark.parametrize("depth", DEPTHS)
def test_fragments_with_blobs_elsewhere_are_refused(tmp_path: Path, confined: None, depth: str) -> None:
    for folder in ("secret", "allowed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(folder)
    foreign, allowed = (Blob.from_uri((tmp_path / folder / "file").as_uri()) for folder in ("secret", "allowed"))
    table = _written(tmp_path / "t", depth, b"own", None, allowed, foreign)
    dataset = lance.dataset(table.location)
    *harmless, last = dataset.get_fragments()
    blobs.require_own(lambda: table, dataset, ["picture", "id"], harmless)
    blobs.require_own(lambda: table, dataset, ["id"])
    for fragments in ([last], None):
        with pytest.raises(InvalidInputError, match=r"blobs outside of its location .*secret/file"):
            blobs.require_own(lambda: table, dataset, ["id", "picture"], fragments)


def test_nothing_is_asked_where_there_can_be_no_such_blobs(tmp_path: Path) -> None:
    table = _written(tmp_path / "t", "plain", Blob.from_uri((tmp_path / "t").as_uri()))
    dataset = lance.dataset(table.location)

    def unasked() -> StoredTable:
        raise AssertionError

    blobs.require_own(unasked, dataset, ["picture"])  # nothing is confined
    release = bases.confine(AllowedBasePaths())
    try:
        blobs.require_own(unasked, dataset, ["id"])
        blobs.require_own(unasked, dataset, ["picture"], [])
    finally:
        release()
