"""`lanceway lake check` where the tables lie in a bucket: the same findings as in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import obstore
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from lanceway.catalogs.lake.catalog import LakeCatalog
from lanceway.cli.app import app
from lanceway.tables.versions import manifests
from tests.servers.seaweedfs import S3, SECRET


class Place:
    """A lake with its tables in a bucket, and the program told of it by a configuration file."""

    def __init__(self, uri: str, s3: S3, folder: Path) -> None:
        storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        self.root = s3.prefix()
        self.bucket = s3.store(self.root)
        self.catalog = LakeCatalog(uri=uri, root=self.root, **storage)
        self.config = folder / "lanceway.toml"
        lines = [
            "[namespaces.lake]",
            *(f"{key} = {json.dumps(value)}" for key, value in {"uri": uri, **storage}.items()),
        ]
        self.config.write_text("\n".join([*lines, 'type = "lake"', ""]))

    def check(self, *options: str) -> tuple[int, list[tuple[str, str, bool]]]:
        """The exit code, and what was found."""
        arguments = ["--config", str(self.config), "--in", "lake", "lake", "check", "--json", *options]
        ended = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert SECRET not in ended.output
        found: list[dict[str, Any]] = json.loads(ended.stdout)
        return ended.exit_code, [(each["kind"], each["where"], each["wrong"]) for each in found]

    def key(self, table: list[str], version: int) -> str:
        """A version's manifest in the bucket."""
        location = str(self.catalog.describe_table({"id": table}).location)
        return f"{location.removeprefix(self.root).lstrip('/')}/{manifests.key(version)}"


@pytest.fixture
def place(uri: str, s3: S3, tmp_path: Path) -> Any:
    made = Place(uri, s3, tmp_path)
    data = pa.table({"id": [1]})
    made.catalog.create_table_stream({"id": ["t"]}, data.to_reader())
    for _ in range(2):
        made.catalog.insert_into_table_stream({"id": ["t"]}, data.to_reader())
    made.catalog.close()  # its marks are written now; it opens again
    yield made
    made.catalog.close()


def test_a_sound_lake_in_a_bucket(place: Place) -> None:
    assert place.check("--strict") == (0, [])


def test_a_lost_manifest_in_a_bucket_is_wrong(place: Place) -> None:
    obstore.delete(place.bucket, place.key(["t"], 3))
    assert place.check() == (1, [("lost manifest", "table t of lake", True)])
    assert place.check("--no-storage") == (0, [])


def test_what_is_only_noted_in_a_bucket(place: Place) -> None:
    obstore.delete(place.bucket, place.key(["t"], 1))
    obstore.put(place.bucket, place.key(["t"], 4), b"by somebody else")
    obstore.put(place.bucket, "nobody/file", b"data")
    notes = [
        ("vanished", "table t of lake", False),
        ("stray", "table t of lake", False),
        ("folder", f"{place.root}/nobody", False),
    ]
    assert place.check() == (0, notes)
    assert place.check("--strict") == (1, notes)
    assert place.check("--root", place.root) == (0, notes)
    assert place.check("--root", f"{place.root}-elsewhere") == (0, [])
