"""Metadata files that a writer of a table has written over: the lake follows them to no other place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg
from lanceway.errors import InvalidTableStateError
from lanceway.tables.storage.store import local_path
from tests.catalogs.lake.iceberg_helpers import (
    TABLE,
    VIEW,
    commit,
    create,
    create_view,
    document,
    set_properties,
)

VICTIM = ["a", "victim"]


def forge(loaded: LoadedIceberg, **fields: Any) -> None:
    """Write over the metadata file of a table or a view, as one who may write its files can."""
    assert loaded.metadata_location is not None
    file = local_path(loaded.metadata_location)
    assert file is not None
    file.write_text(json.dumps({**document(loaded), **fields}))


def contents(loaded: LoadedIceberg) -> dict[str, bytes]:
    folder = local_path(loaded.location)
    assert folder is not None
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("place", ["{victim}", "{own}2", "{own}/..", "file:///", "elsewhere", ""])
def test_a_commit_does_not_follow_a_forged_location(lake: LakeCatalog, place: str) -> None:
    victim, own = create(lake, VICTIM), create(lake)
    before = contents(victim)
    forge(own, location=place.format(victim=victim.location, own=own.location))
    with pytest.raises(InvalidTableStateError, match="cannot be read"):
        commit(lake, set_properties(a="b"))
    assert contents(victim) == before
    assert set(contents(own)) == {f"metadata/{Path(str(own.metadata_location)).name}"}


def test_a_forged_log_deletes_nothing_elsewhere(lake: LakeCatalog) -> None:
    victim = create(lake, VICTIM)
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
    own = create(lake, properties=properties)
    before = contents(victim)
    entry = {"metadata-file": victim.metadata_location, "timestamp-ms": 1}
    for fields in ({}, {"location": victim.location}):
        forge(own, **{"metadata-log": [entry, entry], **fields})
        try:
            commit(lake, set_properties(a="b"))
        except InvalidTableStateError:
            assert fields
        assert contents(victim) == before
        lake.drop_iceberg_table(TABLE)
        own = create(lake, properties=properties)


def test_a_view_does_not_follow_a_forged_location(lake: LakeCatalog) -> None:
    victim, view = create(lake, VICTIM), create_view(lake)
    before = contents(victim)
    forge(view, location=victim.location)
    with pytest.raises(InvalidTableStateError, match="cannot be read"):
        lake.replace_iceberg_view(IcebergCommit(["a", "v"], [], [set_properties(a="b")]))
    assert contents(victim) == before


@pytest.mark.parametrize("key", ["py-io-impl", "s3.endpoint", " S3.Signer.uri", "uri"])
def test_forged_properties_redirect_no_client(lake: LakeCatalog, key: str) -> None:
    table, view = create(lake), create_view(lake)
    for loaded in (table, view):
        forge(loaded, properties={key: "https://evil", "k": "v"})
    steps: tuple[Callable[[], object], ...] = (
        lambda: lake.load_iceberg_table(TABLE),
        lambda: commit(lake, set_properties(a="b")),
        lambda: lake.load_iceberg_view(VIEW),
        lambda: lake.replace_iceberg_view(IcebergCommit(VIEW, [], [set_properties(a="b")])),
    )
    for step in steps:
        with pytest.raises(InvalidTableStateError, match="clients would use them"):
            step()
    assert len(contents(table)) == len(contents(view)) == 1
    lake.drop_iceberg_table(TABLE, purge=True)


def test_a_forged_location_is_not_passed_on(lake: LakeCatalog) -> None:
    own = create(lake)
    forge(own, location="s3://evil/place")
    with pytest.raises(InvalidTableStateError, match="written over"):
        lake.load_iceberg_table(TABLE)


@pytest.mark.parametrize("text", ["\\ud800", "NaN"])
def test_a_forged_file_that_no_client_can_read_is_said(lake: LakeCatalog, text: str) -> None:
    own = create(lake)
    forge(own, properties={"k": "HERE"})
    file = local_path(str(own.metadata_location))
    assert file is not None
    file.write_text(file.read_text().replace('"HERE"', text if text == "NaN" else f'"{text}"'))
    for step in (lambda: lake.load_iceberg_table(TABLE), lambda: commit(lake, set_properties(a="b"))):
        with pytest.raises(InvalidTableStateError, match="cannot be read"):
            step()
