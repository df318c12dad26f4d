from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest
from lance_namespace import CreateTableBranchRequest, InsertIntoTableRequest

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableSchemaValidationError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import branches
from lanceway.tables.write import rows, uploads
from lanceway.tables.write.uploads import Upload
from tests.tables import table_helpers as samples


def ids(table: StoredTable, branch: str | None = None) -> list[int]:
    return sorted(open_at(table, branch=branch).to_table(columns=["id"])["id"].to_pylist())


def left(table: StoredTable) -> set[str]:
    """The data files, and what is left of uploads."""
    return {key for key in table.store().keys("") if key.endswith(".lance") or key.startswith(uploads.FOLDER)}


def add(upload: Upload, part: str, first: int, count: int = 3, *, overwrite: bool = False) -> int:
    return upload.add(part, samples.rows(first, count).to_reader(), overwrite=overwrite)


@pytest.mark.parametrize("branch", [None, "side"])
def test_many_parts_are_one_version(table: StoredTable, branch: str | None) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    version = open_at(table, branch=branch).version
    upload = Upload.begin(table, branch)
    assert (add(upload, "a", 10), add(upload, "b", 20)) == (3, 3)
    assert ids(table, branch) == list(range(10))
    assert upload.complete() == version + 1
    assert ids(table, branch) == [*range(10), 10, 11, 12, 20, 21, 22]
    assert not [key for key in left(table) if key.startswith(uploads.FOLDER)]


def test_others_may_write_meanwhile(table: StoredTable) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    rows.insert(table, InsertIntoTableRequest(), samples.rows(90, 1).to_reader(), overwrite=False)
    assert upload.complete() == 3
    assert ids(table) == [*range(10), 10, 11, 12, 90]


def test_an_upload_may_overwrite(table: StoredTable) -> None:
    upload = Upload.begin(table)
    for part in "ab":
        upload.add(part, pa.table({"id": [f"{part}1"]}).to_reader(), overwrite=True)
    assert upload.complete() == 2
    assert ids(table) == ["a1", "b1"]


def test_parts_that_do_not_fit_each_other_change_nothing(table: StoredTable) -> None:
    before, upload = left(table), Upload.begin(table)
    add(upload, "a", 10)
    add(upload, "b", 20, overwrite=True)
    with pytest.raises(TableSchemaValidationError, match="do not fit each other"):
        upload.complete()
    assert (left(table), ids(table)) == (before, list(range(10)))


def test_an_upload_without_parts_is_no_version(table: StoredTable) -> None:
    before = left(table)
    assert Upload.begin(table).complete() == 1
    assert left(table) == before


def test_a_part_that_is_sent_again_counts_once(table: StoredTable) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    files = left(table)
    add(upload, "a", 10)
    assert left(table) == files
    upload.complete()
    assert ids(table) == [*range(10), 10, 11, 12]


def test_completing_is_answered_the_same_again(table: StoredTable) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    assert [upload.complete(), upload.complete()] == [2, 2]
    upload.abort()
    assert ids(table) == [*range(10), 10, 11, 12]


def test_giving_up_leaves_nothing(table: StoredTable) -> None:
    before, upload = left(table), Upload.begin(table)
    add(upload, "a", 10)
    upload.abort()
    assert left(table) == before
    for ask in (lambda: add(upload, "b", 20), upload.complete):
        with pytest.raises(InvalidInputError, match="no such upload"):
            ask()
    assert left(table) == before


def test_data_that_breaks_off_leaves_nothing(table: StoredTable) -> None:
    upload = Upload.begin(table)
    before = left(table)
    with pytest.raises(InvalidInputError, match="the line went dead"):
        upload.add("a", samples.breaking(samples.rows(10)))
    with pytest.raises(TableSchemaValidationError):
        upload.add("b", pa.table({"other": [1]}).to_reader())
    assert left(table) == before


@pytest.mark.parametrize("end", [Upload.complete, Upload.abort])
def test_a_part_that_is_late_leaves_nothing(table: StoredTable, end: object) -> None:
    """The upload ends while a part is being written."""
    before, upload = left(table), Upload.begin(table)
    data = samples.rows(10, 3)

    def interrupted() -> Iterator[pa.RecordBatch]:
        end(upload)  # type: ignore[operator]
        yield from data.to_batches()

    with pytest.raises(InvalidInputError, match="no such upload"):
        upload.add("a", pa.RecordBatchReader.from_batches(data.schema, interrupted()))
    assert (left(table), ids(table)) == (before, list(range(10)))


def test_one_request_alone_ends_an_upload(table: StoredTable) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    ended: list[object] = []

    def end() -> None:
        try:
            ended.append(upload.complete())
        except ConcurrentModificationError as error:
            ended.append(type(error))

    threads = [threading.Thread(target=end) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(ended) <= {2, ConcurrentModificationError}
    assert (2 in ended, ids(table)) == (True, [*range(10), 10, 11, 12])


def test_abandoned_uploads_are_removed(table: StoredTable) -> None:
    branches.create(table, CreateTableBranchRequest(name="side"))
    before = left(table)
    for branch in (None, "side"):
        add(Upload.begin(table, branch), "a", 10)
    uploads.discard_abandoned(table)
    assert left(table) != before  # not old enough
    uploads.discard_abandoned(table, life=-60)
    assert left(table) == before


def test_an_upload_that_died_while_it_was_completed_keeps_its_files(table: StoredTable) -> None:
    """Whether it was committed is not known then: the files may be part of a version."""
    upload = Upload.begin(table)
    add(upload, "a", 10)
    data = {key for key in left(table) if key.endswith(".lance")}
    upload.table.store().put(f"{uploads.FOLDER}/{upload.key}/closing", b"")
    with pytest.raises(ConcurrentModificationError, match="being ended"):
        upload.complete()
    uploads.discard_abandoned(table, life=-60)
    assert left(table) == data


FORGED = {
    "no JSON": {"open": b"no JSON", "part-a": b"[" * 100_000},
    "other types": {"open": b"[1]", "part-a": b'{"fragments": 5}'},
    "another branch": {
        "open": b'{"version": 1, "branch": "../../other"}',
        "part-a": b'{"overwrite": false, "fragments": [{"files": [{"path": "x.lance"}]}]}',
    },
    "files elsewhere": {
        "open": b'{"version": 1, "branch": null}',
        "part-a": b'{"overwrite": false, "fragments": [{"files": [{"path": "../../other/data/x.lance"}]}]}',
    },
    "all files": {
        "open": b'{"version": 1, "branch": null}',
        "part-a": b'{"overwrite": false, "fragments": [{"files": [{"path": ".lance"}]}]}',
    },
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
def test_what_others_write_into_the_folder_removes_nothing_and_stops_nothing(
    table: StoredTable, forged: dict[str, bytes]
) -> None:
    before = left(table)
    for name, content in forged.items():
        table.store().put(f"{uploads.FOLDER}/forged/{name}", content)
    uploads.discard_abandoned(table, life=-60)
    assert left(table) == before
    assert ids(table) == list(range(10))


@pytest.mark.parametrize("name", ["no JSON", "other types", "files elsewhere", "all files"])
def test_an_upload_that_was_written_over_is_not_completed(table: StoredTable, name: str) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    for key in list(table.store().keys(f"{uploads.FOLDER}/{upload.key}")):
        if "part-" in key:
            table.store().put(key, FORGED[name]["part-a"])
    with pytest.raises(InvalidInputError, match="written over"):
        upload.complete()
    assert ids(table) == list(range(10))
    upload = Upload.begin(table)
    table.store().put(f"{uploads.FOLDER}/{upload.key}/open", FORGED["other types"]["open"])
    with pytest.raises(InvalidInputError, match="no such upload"):
        add(upload, "a", 10)


FILE_KEYS = ("fields", "column_indices", "file_major_version", "file_minor_version")
# What is changed in the note of a part: the keys that lead to a value, and the value, or its removal.
GONE = "(gone)"
FORGERIES: list[tuple[tuple[str, ...], object]] = [
    *(((key,), GONE) for key in ("id", "physical_rows", "files")),
    *((("files", key), GONE) for key in FILE_KEYS),
    *((("files", key), "x") for key in FILE_KEYS),
    (("files", "fields"), [2**31]),
    (("files", "fields"), [-1]),
    (("files", "fields"), [-(2**40)]),
    (("files", "fields"), [99]),
    (("files", "column_indices"), [-(2**40)]),
    (("files", "file_major_version"), 2**33),
    (("files", "file_major_version"), -1),
    (("files", "file_size_bytes"), -1),
    (("files", "base_id"), 7),
    (("files", "unknown"), 7),
    (("id",), -1),
    (("id",), 2**70),
    (("physical_rows",), -1),
    (("physical_rows",), 2**70),
    (("deletion_file",), {"x": 1}),
    (("deletion_file",), {"read_version": 1, "id": 1, "file_type": "array", "num_deleted_rows": 1, "base_id": None}),
    (("row_id_meta",), {"x": 1}),
    (("row_id_meta",), "x"),
    (("created_at_version_meta",), {"x": 1}),
    (("last_updated_at_version_meta",), [1]),
    (("overlays",), [{"data_file": {}}]),
]


@pytest.mark.parametrize(("place", "value"), FORGERIES, ids=str)
def test_a_forged_part_is_refused(table: StoredTable, place: tuple[str, ...], value: object) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10)
    before = table.store()
    (name,) = (key for key in before.keys(f"{uploads.FOLDER}/{upload.key}") if "part-" in key)
    note = json.loads(before.read(name) or b"")
    *path, last = place
    changed = note["fragments"][0]["files"][0] if path else note["fragments"][0]
    if value == GONE:
        del changed[last]
    else:
        changed[last] = value
    before.put(name, json.dumps(note).encode())
    with pytest.raises(InvalidInputError):
        upload.complete()
    assert ids(table) == list(range(10))
    assert int(open_at(table).version) == 1


def test_a_forged_schema_is_refused(table: StoredTable) -> None:
    upload = Upload.begin(table)
    add(upload, "a", 10, overwrite=True)
    (name,) = (key for key in table.store().keys(f"{uploads.FOLDER}/{upload.key}") if "part-" in key)
    note = json.loads(table.store().read(name) or b"")
    table.store().put(name, json.dumps({**note, "schema": "00ff"}).encode())
    with pytest.raises(InvalidInputError, match="written over"):
        upload.complete()
    assert ids(table) == list(range(10))
