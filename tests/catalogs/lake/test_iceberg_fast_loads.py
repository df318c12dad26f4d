"""Iceberg tables that an event loop may load: what is at hand, or in a small file on the database's own device."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.errors import InvalidTableStateError
from lanceway.tables.storage.store import local_path
from tests.catalogs.lake import lake_helpers
from tests.catalogs.lake.iceberg_helpers import TABLE, commit, create, document, set_properties


def file_of(loaded: LoadedIceberg) -> Path:
    file = local_path(str(loaded.metadata_location))
    assert file is not None
    return file


@pytest.fixture
def lake(sqlite_uri: str, tmp_path: Path) -> LakeCatalog:
    return lake_helpers.connect(sqlite_uri, tmp_path)


def test_a_small_file_is_read_at_once(lake: LakeCatalog) -> None:
    created = create(lake)
    assert lake.try_load_iceberg_table(TABLE) == lake.load_iceberg_table(TABLE) == created
    changed = commit(lake, set_properties(a="b"))
    assert lake.try_load_iceberg_table(TABLE) == changed


def test_what_was_read_at_once_is_at_hand(lake: LakeCatalog) -> None:
    created = create(lake)
    assert lake.try_load_iceberg_table(TABLE) == created
    file_of(created).unlink()
    assert lake.try_load_iceberg_table(TABLE) == lake.load_iceberg_table(TABLE) == created


def forge(file: Path) -> None:
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "location": "file:///elsewhere"}))


def replace_by_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def replace_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize("spoil", [forge, cut, replace_by_a_folder, Path.unlink])
def test_a_file_that_no_commit_wrote_is_left_to_a_load_that_explains_it(
    lake: LakeCatalog, spoil: Callable[[Path], None]
) -> None:
    spoil(file_of(create(lake)))
    assert lake.try_load_iceberg_table(TABLE) is None
    with pytest.raises(InvalidTableStateError, match="cannot be read"):
        lake.load_iceberg_table(TABLE)
    assert lake.try_load_iceberg_table(TABLE) is None


def test_no_one_waits_for_the_other_end_of_a_pipe(lake: LakeCatalog) -> None:
    replace_by_a_pipe(file_of(create(lake)))
    assert lake.try_load_iceberg_table(TABLE) is None


def test_a_large_file_is_left_to_a_thread_until_it_is_at_hand(lake: LakeCatalog) -> None:
    create(lake, properties={f"key-{number}": "x" * 1000 for number in range(70)})
    assert lake.try_load_iceberg_table(TABLE) is None
    loaded = lake.load_iceberg_table(TABLE)
    assert lake.try_load_iceberg_table(TABLE) == loaded


def test_a_packed_file_is_left_to_a_thread(lake: LakeCatalog) -> None:
    created = create(lake)
    packed = file_of(created).with_name("00001-packed.gz.metadata.json")
    packed.write_bytes(gzip.compress(created.metadata))
    lake.drop_iceberg_table(TABLE)
    lake.register_iceberg_table(TABLE, str(packed))
    assert lake.try_load_iceberg_table(TABLE) is None
    assert document(lake.load_iceberg_table(TABLE)) == document(created)


def test_a_warehouse_on_another_device_is_left_to_threads(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        assert os.stat(folder).st_dev != tmp_path.stat().st_dev, "the test needs two devices"
        with lake_helpers.connect(f"sqlite:///{folder}/lake.db", tmp_path) as lake:
            created = create(lake)
            assert lake.try_load_iceberg_table(TABLE) is None
            assert lake.load_iceberg_table(TABLE) == created
            assert lake.try_load_iceberg_table(TABLE) == created
