"""Every sentence of pylance that is read, said by pylance itself: a changed one turns this red."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace

from lanceway.errors import ConcurrentModificationError, InternalError
from lanceway.tables import errors
from lanceway.tables.dataset import StoredTable
from lanceway.tables.errors import CLIENT_ERRORS, FOREIGN, ROWS, STORAGE_ROWS, ErrorRow, cleaned, translate, translated
from tests.servers.seaweedfs import S3
from tests.tables import table_helpers as samples

Dataset = lance.LanceDataset


class Things:
    """A table that is opened anew each time, so that two openings can disagree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = samples.make(folder).location

    def open(self) -> Dataset:
        return lance.dataset(self.path)

    def damage(self, content: bytes) -> Dataset:
        next(Path(self.path, "_versions").glob("*.manifest")).write_bytes(content)
        return self.open()

    def dangle(self) -> Dataset:
        """A manifest that is listed and cannot be found, as if it were deleted in between."""
        manifest = next(Path(self.path, "_versions").glob("*.manifest"))
        manifest.unlink()
        manifest.symlink_to(self.folder / "nowhere")
        return self.open()

    def behind(self, change: Callable[[Dataset], object]) -> Dataset:
        """A dataset that does not know what has just been changed."""
        stale = self.open()
        change(self.open())
        return stale

    def scan(self, **asked: object) -> pa.Table:
        return self.open().scanner(**asked).to_table()  # type: ignore[arg-type]

    def near(self, **asked: object) -> pa.Table:
        return self.scan(nearest={"column": "vector", "q": [1.0] * 4, **asked})


def _referenced(things: Things) -> None:
    branch = things.open().create_branch("tree")
    branch.create_branch("twig", ("tree", None))
    things.open().branches.delete("tree")


def _twice(things: Things) -> None:
    things.open().tags.create("t", 1)
    things.open().tags.create("t", 1)


def _two_deletes(things: Things) -> None:
    things.behind(lambda dataset: dataset.delete("id = 1")).delete("id = 1", conflict_retries=0)


def _unknown_result(things: Things) -> None:
    class Refusing(DirectoryNamespace):  # type: ignore[misc]
        def create_table_version(self, request: dict[str, object]) -> dict[str, object]:
            raise RuntimeError("no")

    client = Refusing(root=str(things.folder / "managed"), table_version_tracking_enabled="true")
    lance.write_dataset(samples.rows(), namespace_client=client, table_id=["t"], mode="create")


def _vanishing(things: Things) -> None:
    """A folder that is removed while it is written into."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from samples.rows().to_batches()
        shutil.rmtree(things.path)
        yield from samples.rows().to_batches()

    data = pa.RecordBatchReader.from_batches(samples.SCHEMA, batches())
    lance.fragment.write_fragments(data, things.path, schema=samples.SCHEMA)


def _null(nullable: bool) -> pa.Table:
    return pa.table({"a": pa.array([None], pa.int64())}, schema=pa.schema([pa.field("a", pa.int64(), nullable)]))


def _null_into_another(things: Things) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
    lance.write_dataset(pa.table({"a": [1]}, schema=schema), things.folder / "strict").insert(_null(True))


PROVOKED: dict[str, Callable[[Things], object]] = {
    r"Dataset already exists": lambda t: lance.write_dataset(samples.rows(), t.path, mode="create"),
    r"Ref not found error: tag ": lambda t: t.open().checkout_version("none"),
    r"Ref not found error: Branch ": lambda t: t.open().branches.delete("none"),
    r"Not found: \S*/tree/\S+/_versions(?!/)": lambda t: t.open().checkout_version(("none", None)),
    r"Ref conflict error: tag .* already exists": _twice,
    r"Ref conflict error: Branch .* is referenced by": _referenced,
    r"Ref is invalid: ": lambda t: t.open().create_branch("../out"),
    r"Version not found error: ": lambda t: t.open().tags.create("t", 99),
    r"Dataset at path \S*/_versions/d?\d+\.manifest was not found": lambda t: lance.dataset(t.path, version=99),
    r"Dataset at path .* was not found": lambda t: lance.dataset(t.folder / "nowhere"),
    r"Not found: \S*/_versions/d?\d+\.manifest": lambda t: t.dangle(),
    r"file size is too small": lambda t: t.damage(b"x" * 100),
    r"does not have sufficient data": lambda t: t.damage(b"x"),
    r"persist temp file .*\(os error 2\)|\(os error 2\) at path \"\S*/\.tmp": _vanishing,
    r"Retryable commit conflict": lambda t: t.behind(lambda d: d.drop_columns(["name"])).drop_columns(["words"]),
    r"Incompatible transaction: ": lambda t: t.behind(lambda d: d.insert(samples.rows(), mode="overwrite")).insert(
        samples.rows()
    ),
    r"Too many concurrent writers": _two_deletes,
    r"Commit result for version \d+ is unknown": _unknown_result,
    r"Append with different schema": lambda t: t.open().insert(pa.table({"other": [1]})),
    r"contained null values even though the field is marked non-null": _null_into_another,
    r"is declared as non-nullable but contains null values": lambda t: lance.write_dataset(
        _null(False), t.folder / "new"
    ),
    r"LanceError\(Schema\): ": lambda t: lance.write_dataset(pa.table({"a.b": [1]}), t.folder / "new"),
    r"Schema error: No field named": lambda t: t.scan(filter="none = 1"),
    r"Column .{1,300} does not exist": lambda t: t.open().drop_columns(["none"]),
    r"Field '.*' not found": lambda t: t.open().update_field_metadata({"none": {"a": "b"}}),
    r"not found in schema": lambda t: t.open().create_scalar_index("none", "BTREE"),
    r"Lance index not found": lambda t: t.open().drop_index("none"),
    r"Index name .* already exists": lambda t: [
        t.open().create_scalar_index("id", "BTREE", replace=False) for _ in range(2)
    ],
    r"Invalid user input": lambda t: t.scan(filter="id = = 1"),
    r"Not supported: ": lambda t: t.open().update({"place.city": "'x'"}),
    r"Vector column .* must be": lambda t: t.open().create_index("id", "IVF_FLAT"),
    r"index column .* must be": lambda t: t.open().create_scalar_index("id", "FTS"),
    r"must be > 0 but got": lambda t: t.near(k=1, nprobes=0),
    r"must be 1 or more": lambda t: t.near(k=1, refine_factor=0),
    r"must be <= maximum_nprobes": lambda t: t.near(k=1, minimum_nprobes=2, maximum_nprobes=1),
    r"must be divisible by": lambda t: t.open().create_index("vector", "IVF_PQ", num_sub_vectors=3),
    r"can't set tokenizer language": lambda t: t.open().create_scalar_index("name", "FTS", language="Elvish"),
    r"WKT error": lambda t: t.open().create_scalar_index("name", "RTREE"),
    r"Cannot drop all columns": lambda t: t.open().drop_columns(samples.SCHEMA.names),
    r"Divide by zero error": lambda t: t.scan(filter="id / 0 = 1"),
    r"Cast error": lambda t: t.scan(columns={"x": "CAST(name AS INT)"}),
    r"int too large to convert": lambda t: t.scan(limit=2**64),
    r"int too big to convert": lambda t: t.near(k=2**64),
}


@pytest.fixture
def things(tmp_path: Path) -> Things:
    return Things(tmp_path)


def test_every_row_is_provoked() -> None:
    assert [row.pattern for row in ROWS] == list(PROVOKED)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.pattern)
def test_pylance_says_what_the_row_expects(things: Things, row: ErrorRow) -> None:
    with pytest.raises(FOREIGN) as caught:
        PROVOKED[row.pattern](things)
    assert next(found for found in ROWS if errors.re.search(found.pattern, str(caught.value))) == row
    told = translate(StoredTable("things", things.path), "test", caught.value)
    assert type(told) is row.error
    assert str(told).startswith("test on things failed: ")
    assert ".rs:" not in str(told)
    assert len(str(told)) < 700


@pytest.mark.parametrize("words", CLIENT_ERRORS)
def test_what_a_client_raises_comes_back_from_pylance(tmp_path: Path, words: str) -> None:
    error = CLIENT_ERRORS[words]

    class Raising(DirectoryNamespace):  # type: ignore[misc]
        def describe_table_version(self, request: dict[str, object]) -> dict[str, object]:
            raise error("it is so")

    managed = {"root": str(tmp_path), "table_version_tracking_enabled": "true"}
    made = {"table_id": ["t"], "namespace_client": DirectoryNamespace(**managed)}
    lance.write_dataset(samples.rows(), mode="create", **made)  # type: ignore[arg-type]
    with pytest.raises(error, match=r"^test on t failed: it is so\.$"), translated(StoredTable("t", "/t"), "test"):
        lance.dataset(table_id=["t"], namespace_client=Raising(**managed), version=1)


def test_a_conflict_that_has_a_class_is_told_by_it(things: Things) -> None:
    stale = things.behind(lambda dataset: dataset.add_columns({"a": "1"}))
    with (
        pytest.raises(ConcurrentModificationError, match="ask again"),
        translated(StoredTable("t", things.path), "test"),
    ):
        stale.add_columns({"b": "2"})


def test_what_is_not_known_is_an_internal_error() -> None:
    with (
        pytest.raises(InternalError, match=r"test on t failed: something new\. .* report it") as caught,
        translated(StoredTable("t", "/t"), "test"),
    ):
        raise RuntimeError("something new")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_other_exceptions_pass() -> None:
    with pytest.raises(ZeroDivisionError), translated(StoredTable("t", "/t"), "test"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Invalid user input: Invalid user input: no good, /home/runner/work/a-b/src/x_y.rs:12:3", "no good"),
        ("LanceError(Arrow): bad, /rustc/48a2/library/core/src/task/poll.rs:291:44", "bad"),
        ("Append: x, location: /home/runner/rust/schema.rs:213:17", "Append: x"),
        (
            "Column 'a' does not exist in dataset schema: Schema { fields: [] }",
            "Column 'a' does not exist in dataset schema",
        ),
        ("'none not found in schema'", "none not found in schema"),
    ],
)
def test_a_sentence_is_freed_of_what_is_only_for_developers(text: str, sentence: str) -> None:
    assert cleaned(text) == sentence


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("id >", "The condition 'id >' is incomplete: Expected: an expression after it."),
        ("id > > 1", "The condition 'id > > 1' is not SQL: Expected: an expression, found: >."),
        ("idd > 1", "No field named idd. Did you mean 'id'?"),
        ("zzzzzz > 1", "No field named zzzzzz. Valid fields are"),
    ],
)
def test_a_condition_that_cannot_be_read_is_shown_as_it_was_given(
    things: Things, condition: str, sentence: str
) -> None:
    with pytest.raises(FOREIGN) as caught:
        things.scan(filter=condition)
    told = str(translate(StoredTable("things", things.path), "test", caught.value))
    assert told.startswith(f"test on things failed: {sentence}")
    assert not told.endswith("columns of the table.")


@pytest.mark.parametrize("part", [" (sql parser error: ", "src/", "Schema error: ", "/home/a", "Column "])
def test_a_long_condition_is_not_searched_from_each_of_its_parts(part: str) -> None:
    condition = part * (250_000 // len(part))
    text = f"Error parsing statement: SELECT 1 FROM t WHERE {condition} (sql parser error: Expected: x, found: EOF)"
    # Without a limit this takes minutes, and nothing else of the process runs meanwhile.
    assert cleaned(text).startswith("The condition '")
    assert "The condition '" in str(translate(StoredTable("things", "/x"), "test", ValueError(text)))


# -- storage -------------------------------------------------------------------------------------

SHOWN_BY_A_SERVER: dict[str, dict[str, str]] = {
    r"<Code>InvalidAccessKeyId": {"aws_access_key_id": "hush"},
    r"<Code>SignatureDoesNotMatch": {"aws_secret_access_key": "hush"},
    r"403 Forbidden": {"aws_skip_signature": "true"},
    r"error sending request": {"aws_endpoint": "http://127.0.0.1:1", "client_max_retries": "0"},
}
# Faults that no server here has: a stand-in answers every request so.
ANSWERED: dict[str, tuple[int, str]] = {
    r"<Code>ExpiredToken": (400, "<Error><Code>ExpiredToken</Code></Error>"),
    r"401 Unauthorized": (401, ""),
    r"429 Too Many Requests": (429, ""),
    r"<Code>SlowDown": (503, "<Error><Code>SlowDown</Code></Error>"),
    r"status code: 50\d|status: 50\d": (503, "<Error><Code>ServiceUnavailable</Code></Error>"),
    r"<Code>NoSuchBucket": (404, "<Error><Code>NoSuchBucket</Code></Error>"),
}
NOWHERE = "s3://bucket/nowhere"
OPTIONS = {
    "allow_http": "true",
    "aws_access_key_id": "hush-id",
    "aws_secret_access_key": "hush",
    "aws_region": "us-east-1",
    "client_max_retries": "0",
}
# The operating system's own words. A test that runs as root cannot be denied anything;
# tests/lake/store/test_full_disk.py has a disk that is full.
SAID_BY_THE_SYSTEM = (r"\(os error 13\)", r"\(os error 28\)")


def rows_of(patterns: object) -> list[ErrorRow]:
    return [row for row in STORAGE_ROWS if row.pattern in patterns]  # type: ignore[operator]


def raised(location: str, options: dict[str, str]) -> Exception:
    with pytest.raises(FOREIGN) as caught:
        lance.dataset(location, storage_options=options)
    return caught.value


def refused(row: ErrorRow, location: str, options: dict[str, str], error: Exception) -> None:
    assert next(found for found in STORAGE_ROWS if errors.re.search(found.pattern, str(error))) == row
    with pytest.raises(row.error) as told, translated(StoredTable("things", location, options), "test"):
        raise error
    assert told.value.__cause__ is None
    assert not any(value in str(told.value) for name, value in options.items() if "key" in name)


def test_every_storage_row_is_provoked() -> None:
    shown = {*SHOWN_BY_A_SERVER, *ANSWERED, *SAID_BY_THE_SYSTEM}
    assert {row.pattern for row in STORAGE_ROWS} == shown


@pytest.mark.parametrize("row", rows_of(SHOWN_BY_A_SERVER), ids=lambda row: row.pattern)
def test_a_server_says_what_the_row_expects(s3: S3, row: ErrorRow) -> None:
    location, options = f"s3://{s3.bucket}/nowhere", {**s3.storage_options, **SHOWN_BY_A_SERVER[row.pattern]}
    refused(row, location, options, raised(location, options))


@pytest.fixture(scope="module")
def faults() -> dict[str, Exception]:
    """What pylance raises for each. It asks for seconds on end whatever it is told, so all are asked for at once."""

    def fault(pattern: str) -> Exception:
        with answering(*ANSWERED[pattern]) as endpoint:
            return raised(NOWHERE, {**OPTIONS, "aws_endpoint": endpoint})

    with ThreadPoolExecutor(len(ANSWERED)) as pool:
        return dict(zip(ANSWERED, pool.map(fault, ANSWERED), strict=True))


@pytest.mark.parametrize("row", rows_of(ANSWERED), ids=lambda row: row.pattern)
def test_a_fault_is_told_as_the_row_expects(row: ErrorRow, faults: dict[str, Exception]) -> None:
    refused(row, NOWHERE, OPTIONS, faults[row.pattern])


def test_a_denial_of_the_system_is_told() -> None:
    denied = OSError("LanceError(IO): Generic LocalFileSystem error: Permission denied (os error 13)")
    assert translate(StoredTable("t", "/t"), "test", denied).code == 15


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """The terminal is the test run's."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
