from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnauthenticatedError
from lanceway.tables.storage.store import FolderStore, Store, local_path, open_store
from tests.servers.listener import listen
from tests.servers.seaweedfs import S3


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        return open_store(str(tmp_path / "store"))
    server: S3 = request.getfixturevalue("s3")
    return open_store(f"s3://{server.bucket}/{uuid.uuid4().hex}", server.storage_options)


def test_an_object_is_written_once_unless_it_may_be_replaced(store: Store) -> None:
    assert store.put_if_absent("a/b", b"first")
    assert not store.put_if_absent("a/b", b"second")
    assert store.read("a/b") == b"first"
    store.put("a/b", b"third")
    assert store.read("a/b") == b"third"


@pytest.mark.parametrize("location", ["http://127.0.0.1/x", "HTTPS://a.example/x"])
def test_a_web_address_is_no_place_for_tables(location: str) -> None:
    with pytest.raises(InvalidInputError, match="it is a web address"):
        open_store(location)


def test_what_is_not_there_reads_as_none(store: Store) -> None:
    store.put("a/b", b"")
    assert store.read("a") is None
    assert store.read("a/b/c") is None
    assert store.head("nowhere") is None
    assert not store.exists("a")
    assert store.exists("a/b")
    assert store.names("nowhere") == []
    assert list(store.keys("nowhere")) == []


def test_names_are_the_folders_directly_below(store: Store) -> None:
    for key in ("one/x", "two/deep/y", "file"):
        store.put(key, b"1")
    assert sorted(store.names()) == ["one", "two"]
    assert store.names("two") == ["deep"]
    assert sorted(store.keys()) == ["file", "one/x", "two/deep/y"]
    assert list(store.keys("two")) == ["two/deep/y"]
    assert store.has_any("two")
    assert not store.has_any("three")


def test_a_prefix_is_a_folder_and_no_beginning_of_a_name(store: Store) -> None:
    store.put("table2/x", b"1")
    assert not store.has_any("table")
    assert list(store.keys("table")) == []


def test_head_knows_size_and_time(store: Store) -> None:
    store.put("a", b"12345")
    found = store.head("a")
    assert found is not None
    assert (found.key, found.size) == ("a", 5)
    assert found.modified_millis > 1_600_000_000_000
    assert [one.key for one in store.objects()] == ["a"]


def test_deleting_what_is_missing_is_fine(store: Store) -> None:
    store.put("a", b"1")
    store.put("b", b"1")
    store.delete("a", "missing/x", "b")
    store.delete()
    assert list(store.keys()) == []


def test_a_copy_never_replaces(store: Store) -> None:
    store.put("from", b"1")
    assert store.copy_if_absent("from", "deep/to")
    store.put("from", b"2")
    assert not store.copy_if_absent("from", "deep/to")
    assert store.read("deep/to") == b"1"
    with pytest.raises(InvalidInputError, match=r"missing.*no such"):
        store.copy_if_absent("missing", "x")


def test_what_is_placed_never_replaces(store: Store) -> None:
    store.put("staged", b"1")
    assert store.place_if_absent("staged", "final", b"1")
    store.delete("staged")
    assert not store.place_if_absent("staged", "final", b"2")
    assert store.read("final") == b"1"
    assert store.place_if_absent("staged", "deep/final", b"2")  # by whoever has read it, before another deleted it
    assert store.read("deep/final") == b"2"
    assert sorted(store.keys()) == ["deep/final", "final"]


def test_a_folder_places_a_file_without_a_copy(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put("staged", b"1")
    before = (tmp_path / "staged").stat().st_ino
    assert store.place_if_absent("staged", "final", b"1")
    assert (tmp_path / "final").stat().st_ino == before


def test_names_with_odd_characters_stay_as_they_are(store: Store) -> None:
    key = "x y/é%20#?/+&=$"
    store.put(key, b"1")
    assert list(store.keys()) == [key]
    assert store.read(key) == b"1"


def test_one_of_many_writers_wins(store: Store) -> None:
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda i: store.put_if_absent("race/x", b"%d" % i), range(48)))
    assert won.count(True) == 1
    assert store.read("race/x") == b"%d" % won.index(True)
    assert list(store.keys()) == ["race/x"]


def test_empty_folders_go_and_full_ones_stay(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    store.put("a/keep/x", b"1")
    store.remove_empty_folders("a")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["keep"]
    store.remove_empty_folders("nowhere")


def test_empty_folders_stay_beside_a_file_that_speaks_for_them(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    store.put("a/mark", b"")
    store.remove_empty_folders("a", unless="mark")
    assert (tmp_path / "a" / "b").is_dir()
    store.remove_empty_folders("a", unless="other")
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["mark"]


def test_an_object_is_deleted_by_what_it_holds(store: Store) -> None:
    store.put("a/x", b"1")
    store.delete_if("a/x", lambda data: data == b"2")
    assert store.read("a/x") == b"1"
    store.delete_if("a/x", lambda data: data == b"1")
    assert store.read("a/x") is None
    store.delete_if("a/x", lambda data: True)
    store.delete_if("nowhere/x", lambda data: True)


def test_a_file_in_a_folder_that_took_the_place_of_another_is_spared(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    store.put("a/x", b"old")

    def replaced(data: bytes) -> bool:
        (tmp_path / "a").rename(tmp_path / "away")
        store.put("a/x", b"new")
        return data == b"old"

    store.delete_if("a/x", replaced)
    assert store.read("a/x") == b"new"
    assert not list((tmp_path / "away").iterdir())


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/data/t", "/data/t"),
        ("file:///data/a%20b", "/data/a b"),
        ("file://localhost/data", "/data"),
        ("/data/a%20b", "/data/a%20b"),
        ("t", f"{os.getcwd()}/t"),
        ("./t", f"{os.getcwd()}/t"),
    ],
)
def test_local_locations(location: str, path: str) -> None:
    assert str(local_path(location)) == path


def test_locations_elsewhere() -> None:
    assert local_path("s3://bucket/x") is None
    with pytest.raises(InvalidInputError, match="empty"):
        local_path("")
    with pytest.raises(InvalidInputError, match="host"):
        local_path("file://server/x")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda store: store.put("file/below", b"1"), "a file is in the way"),
        (lambda store: store.read("x" * 300), "File name too long"),
        (lambda store: store.read("zero\0byte"), "is not a valid path"),
    ],
)
def test_the_operating_systems_errors_become_ours(tmp_path: Path, act: Callable[[Store], object], message: str) -> None:
    store = open_store(str(tmp_path))
    store.put("file", b"1")
    with pytest.raises(InvalidInputError, match=message):
        act(store)


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"aws_secret_access_key": "wrong"}, UnauthenticatedError),
        ({"aws_access_key_id": "wrong"}, UnauthenticatedError),
        ({"aws_endpoint": "http://127.0.0.1:1", "client_max_retries": "0"}, ServiceUnavailableError),
        ({"client_max_retries": "many"}, InvalidInputError),
    ],
)
def test_a_buckets_errors_become_ours_and_repeat_no_secret(
    s3: S3, changed: dict[str, str], kind: type[Exception]
) -> None:
    with pytest.raises(kind) as caught:
        open_store(f"s3://{s3.bucket}/x", {**s3.storage_options, **changed}).read("key")
    secrets = [s3.storage_options["aws_secret_access_key"], "wrong"]
    assert not any(secret in str(caught.value) for secret in secrets)
    assert caught.value.__cause__ is None


def test_an_unknown_storage_option_is_ignored_as_pylance_does(s3: S3) -> None:
    store = open_store(f"s3://{s3.bucket}/{uuid.uuid4().hex}", {**s3.storage_options, "new_option": "1"})
    assert store.put_if_absent("x", b"1")


def test_a_bad_path_and_an_unknown_store_are_bad_input(s3: S3) -> None:
    with pytest.raises(InvalidInputError, match="not a valid path"):
        open_store(f"s3://{s3.bucket}/x", s3.storage_options).put("a/./b", b"")
    with pytest.raises(InvalidInputError, match=r"foo://x cannot be used"):
        open_store("foo://x/y")


@pytest.mark.parametrize("key", ["../x", "a/../../x", "a/..", "..", "/etc/hostname", "/"])
def test_a_key_stays_below_its_location(store: Store, key: str) -> None:
    store.put("a/b", b"1")
    for ask in (
        lambda: store.read(key),
        lambda: store.head(key),
        lambda: store.exists(key),
        lambda: store.put(key, b"2"),
        lambda: store.put_if_absent(key, b"2"),
        lambda: store.delete("a/b", key),
        lambda: store.delete_if(key, lambda _: True),
        lambda: store.copy_if_absent("a/b", key),
        lambda: store.copy_if_absent(key, "a/c"),
        lambda: store.place_if_absent("a/b", key, b"2"),
        lambda: store.names(key),
        lambda: store.level(key),
        lambda: list(store.objects(key)),
        lambda: store.has_any(key),
    ):
        with pytest.raises(InvalidInputError, match="is not a key below"):
            ask()
    assert list(store.keys()) == ["a/b"]


def test_folders_are_removed_and_files_linked_below_the_location_alone(tmp_path: Path) -> None:
    store, beside = FolderStore(tmp_path / "store"), tmp_path / "beside"
    beside.mkdir()
    for ask in (
        lambda: store.remove_empty_folders("../beside"),
        lambda: store.place_if_absent("../beside/x", "a", b"2"),
    ):
        with pytest.raises(InvalidInputError, match="is not a key below"):
            ask()
    assert beside.is_dir()


def test_two_dots_in_a_name_are_no_step_upwards(store: Store) -> None:
    store.put("a..b/..c", b"1")
    assert list(store.keys("a..b")) == ["a..b/..c"]


def test_links_are_listed_as_they_are_and_never_followed(tmp_path: Path) -> None:
    (tmp_path / "behind" / "deep").mkdir(parents=True)
    (tmp_path / "behind" / "kept").write_bytes(b"years of work")
    store = open_store(str(tmp_path / "store"))
    store.put("file", b"1")
    links = {"folder": "behind", "other": "behind/kept", "nowhere": "gone"}
    for name, target in links.items():
        (tmp_path / "store" / name).symlink_to(tmp_path / target)
    sizes = {found.key: found.size for found in store.objects()}
    assert sorted(sizes) == ["file", "folder", "nowhere", "other"]
    assert sizes["other"] == len(b"years of work")
    store.remove_empty_folders("folder")
    assert (tmp_path / "behind" / "deep").is_dir()
    store.delete(*store.keys())
    store.remove_empty_folders()
    assert not (tmp_path / "store").exists()
    assert (tmp_path / "behind" / "kept").read_bytes() == b"years of work"


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last place to look for them is the service of a machine at Amazon, which refuses, or which is not there."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with listen() as refusing:
        endpoint = refusing.endpoint
        store = open_store("s3://bucket/place", {"metadata_endpoint": endpoint, "max_retries": "0"})
        with pytest.raises(
            UnauthenticatedError,
            match=r"Could not write s3://bucket/place/a.*no credentials were found\. Set AWS_ACCESS_KEY_ID and",
        ):
            store.put("a", b"1")
    assert any("/latest/api/token" in head for head in refusing.heads)
    gone = open_store("s3://bucket/place", {"metadata_endpoint": endpoint, "max_retries": "0"})
    with pytest.raises(UnauthenticatedError, match="no credentials were found"):
        gone.read("a")
