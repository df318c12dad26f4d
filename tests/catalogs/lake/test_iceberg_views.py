"""Iceberg views of a lake: made, loaded, replaced, registered, renamed and dropped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from tests.catalogs.lake.iceberg_helpers import (
    VIEW,
    Json,
    create,
    create_view,
    document,
    files,
    folders,
    version,
)


def replace(lake: LakeCatalog, *updates: Json, requirements: tuple[Json, ...] = ()) -> LoadedIceberg:
    return lake.replace_iceberg_view(IcebergCommit(VIEW, requirements, updates))


def test_a_view_is_made_and_replaced(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create_view(lake, properties={"comment": "one"})
    assert made.location.startswith(f"file://{tmp_path}/warehouse/")
    assert lake.load_iceberg_view(VIEW) == made
    same = {"type": "assert-view-uuid", "uuid": document(made)["view-uuid"]}
    rows = (
        {"action": "add-view-version", "view-version": version("SELECT 2", number=2)},
        {"action": "set-current-view-version", "view-version-id": -1},
    )
    after = replace(lake, *rows, requirements=(same,))
    assert document(after)["current-version-id"] == 2
    assert str(after.metadata_location).rpartition("/")[2].startswith("00001-")
    assert lake.load_iceberg_view(VIEW) == after
    assert replace(lake, {"action": "assign-uuid", "uuid": same["uuid"]}) == after
    other = {"type": "assert-view-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}
    with pytest.raises(ConcurrentModificationError):
        replace(lake, *rows, requirements=(other,))
    assert len(files(made)) == 2


def test_a_view_moves(lake: LakeCatalog, tmp_path: Path) -> None:
    create_view(lake)
    moved = replace(lake, {"action": "set-location", "location": f"file://{tmp_path}/moved"})
    assert moved.location == document(moved)["location"] == f"file://{tmp_path}/moved"
    create(lake, location=f"{tmp_path}/taken")
    with pytest.raises(InvalidInputError, match="another table"):
        replace(lake, {"action": "set-location", "location": f"file://{tmp_path}/taken"})
    assert lake.load_iceberg_view(VIEW) == moved


def test_a_view_is_renamed_and_dropped_with_its_files(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create_view(lake)
    create(lake)
    lake.create_namespace({"id": ["b"]})  # type: ignore[arg-type]
    with pytest.raises(TableAlreadyExistsError):
        lake.rename_iceberg_view(VIEW, ["a", "t"])
    lake.rename_iceberg_view(VIEW, ["b", "w"])
    assert lake.load_iceberg_view(["b", "w"]) == made
    before = folders(tmp_path)
    lake.drop_iceberg_view(["b", "w"])
    assert len(before - folders(tmp_path)) == 1
    assert not lake.iceberg_view_exists(["b", "w"])
    assert lake.finish_removals() == []


def test_what_is_missing_or_no_view_is_not_found(lake: LakeCatalog) -> None:
    with pytest.raises(NamespaceNotFoundError):
        lake.load_iceberg_view(VIEW)
    create(lake)
    for name in ("v", "t"):
        for operation in (lake.load_iceberg_view, lake.drop_iceberg_view):
            with pytest.raises(TableNotFoundError):
                operation(["a", name])
        with pytest.raises(TableNotFoundError):
            lake.rename_iceberg_view(["a", name], ["a", "w"])
        with pytest.raises(TableNotFoundError):
            lake.replace_iceberg_view(IcebergCommit(["a", name], [], []))
        assert not lake.iceberg_view_exists(["a", name])
    assert lake.iceberg_table_exists(["a", "t"])


def test_a_view_is_registered_from_its_file(lake: LakeCatalog, tmp_path: Path) -> None:
    metadata = document(create_view(lake))
    folder = tmp_path / "foreign" / "metadata"
    folder.mkdir(parents=True)
    file = folder / "00003-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    file.write_text(json.dumps(metadata))
    with pytest.raises(InvalidInputError, match="is not there itself"):
        lake.register_iceberg_view(["a", "foreign"], f"file://{file}")
    own = {**metadata, "location": f"file://{tmp_path}/foreign"}
    file.write_text(json.dumps(own))
    with pytest.raises(TableAlreadyExistsError):
        lake.register_iceberg_view(VIEW, f"file://{file}")
    assert document(lake.register_iceberg_view(["a", "foreign"], f"file://{file}")) == own
    lake.drop_iceberg_view(["a", "foreign"])
    assert file.exists()  # a client chose the place
    assert lake.finish_removals() == []
