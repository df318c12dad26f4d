"""Lance's own files are told from others by their names, as the installed pylance writes them."""

from __future__ import annotations

from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store


def test_all_that_pylance_writes_is_its_own(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8000, dtype="f4")), 8)
    data = pa.table({"id": range(1000), "text": [f"word {number}" for number in range(1000)], "vector": vectors})
    dataset = lance.write_dataset(data, place)
    dataset.create_scalar_index("id", "BTREE")
    dataset.create_scalar_index("text", "INVERTED")
    dataset.create_index("vector", "IVF_PQ", num_partitions=2, num_sub_vectors=2)
    dataset.delete("id < 3")
    dataset.delete("id % 2 = 0")
    dataset.tags.create("first", 1)
    lance.write_dataset(data, dataset.create_branch("team/dev").uri, mode="append")
    dataset.merge_insert("id").when_matched_update_all().execute(data)
    dataset.optimize.compact_files()
    store = open_store(place)
    tops = {found.key.partition("/")[0] for found in store.objects()}
    assert tops >= {"_versions", "_transactions", "_deletions", "_indices", "_refs", "data", "tree"}
    assert list(own_files.own(store)) == list(store.keys())
    assert not own_files.has_others(store)


def test_large_blobs_are_its_own(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    lance.write_dataset(pa.table({"b": [b"x" * 5_000_000]}, schema=pa.schema([blob])), place)
    store = open_store(place)
    store.put(".lance-reserved", b"")
    store.put("data/.tmp3RCxzX", b"of a writer that was killed")
    store.put(".lanceway/strays/_versions/0/1.manifest", b"")
    assert any(found.key.endswith(".blob") for found in store.objects())
    assert not own_files.has_others(store)


@pytest.mark.parametrize(
    "key",
    [
        "thesis.txt",
        "data",
        "data/photo.jpg",
        "data/2024/photo.lance",
        "data/deep/er.txt",
        "data/.tmp",
        "data/.tmpfiles",
        "tree/oak.txt",
        "tree/_versions",
        "tree/dev/notes.txt",
        "_versions",
        "_notes/x",
        ".git/config",
        ".ssh/id_ed25519",
        "metadata/v1.json",
        "sub/_versions/1.manifest",
        "my_versions/1.manifest",
    ],
)
def test_nothing_else_is(tmp_path: Path, key: str) -> None:
    store = open_store(str(tmp_path))
    store.put(key, b"")
    assert not own_files.is_own(key)
    own_files.remove(store)
    assert list(store.keys())
