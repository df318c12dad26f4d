"""Manifests on their way from a staging path to their final one: by one or by many, once or again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceway.tables.storage.store import FolderStore, Store
from lanceway.tables.versions import manifests

STAGED, FINAL = f"{manifests.key(3)}-staged", manifests.key(3)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = FolderStore(tmp_path)
    made.put(STAGED, b"ours")
    return made


def test_a_staged_manifest_is_published(store: Store) -> None:
    kept: list[bytes] = []
    assert manifests.publish(store, STAGED, FINAL, kept.append)
    assert manifests.publish(store, STAGED, FINAL, kept.append)
    assert (store.read(FINAL), kept) == (b"ours", [])


def test_what_is_not_staged_is_not_published(store: Store) -> None:
    assert not manifests.publish(store, "_versions/nothing", FINAL, lambda data: None)
    assert store.read(FINAL) is None


def test_what_lies_there_is_kept_before_it_is_replaced(store: Store) -> None:
    store.put(FINAL, b"theirs")
    kept: list[tuple[bytes, bytes | None]] = []
    assert manifests.publish(store, STAGED, FINAL, lambda data: kept.append((data, store.read(FINAL))))
    assert (store.read(FINAL), kept) == (b"ours", [(b"theirs", b"theirs")])


def test_nothing_is_replaced_that_could_not_be_kept(store: Store) -> None:
    store.put(FINAL, b"theirs")

    def refuse(data: bytes) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        manifests.publish(store, STAGED, FINAL, refuse)
    assert store.read(FINAL) == b"theirs"


def test_many_publish_the_same(store: Store) -> None:
    store.put(FINAL, b"theirs")
    kept: set[bytes] = set()
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: manifests.publish(store, STAGED, FINAL, kept.add), range(32)))
    assert (all(done), store.read(FINAL), kept) == (True, b"ours", {b"theirs"})


def test_a_stray_is_kept_once_under_its_content() -> None:
    one, same, other = (manifests.kept_key(FINAL, data) for data in (b"a", b"a", b"b"))
    assert one == same != other
    assert one.startswith(".lanceway/")
    assert manifests.version_of(one) == 3


def test_branches_are_found_by_their_folders(store: Store) -> None:
    for branch in ("side", "feature/x"):
        store.put(manifests.key(2, branch), b"")
    store.put("tree/empty/data/1.lance", b"")
    assert manifests.branches(store) == ["feature/x", "side"]
