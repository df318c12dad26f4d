"""Files that are not on this machine: in a bucket, and at an address of the web."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import obstore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lanceway.cli import files, remote
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.tables.storage.bucket import _client
from tests.cli.conftest import Run
from tests.servers.seaweedfs import S3

FRUIT = pa.table({"id": [1, 2], "name": ["apple", "pear"]})
CSV = b"id,name\n1,apple\n2,pear\n"


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A place in a bucket with two files; the environment has the keys, which no other test is to share."""
    _client.cache_clear()
    for name, value in s3.storage_options.items():
        monkeypatch.setenv(f"AWS_{name.removeprefix('aws_')}".upper(), value)
    prefix, sink = s3.prefix(), pa.BufferOutputStream()
    pq.write_table(FRUIT, sink)
    obstore.put(s3.store(prefix), "fruit.parquet", sink.getvalue().to_pybytes())
    obstore.put(s3.store(prefix), "fruit.csv.gz", gzip.compress(CSV))
    yield prefix
    _client.cache_clear()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a web server with one file."""
    folder = tmp_path / "site"
    folder.mkdir()
    pq.write_table(FRUIT, folder / "fruit.parquet")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def read(*names: str) -> list[dict[str, object]]:
    rows = files.read(names)
    return pa.Table.from_batches(rows.batches, rows.schema).to_pylist()


def test_a_file_of_a_bucket_makes_a_table(bucket: str, done: Run) -> None:
    assert done("tables", "create", "fruit", f"{bucket}/fruit.parquet").out == "Created fruit: 2 rows (version 1).\n"
    assert done("--json", "tables", "query", "fruit").json == FRUIT.to_pylist()
    done("tables", "insert", "fruit", f"{bucket}/fruit.csv.gz")
    assert done("--json", "tables", "count", "fruit").json == {"count": 4}


def test_a_file_that_a_bucket_does_not_have(bucket: str, cli: Run) -> None:
    ended = cli("tables", "create", "fruit", f"{bucket}/none.parquet")
    assert (ended.code, ended.out) == (1, "")
    assert f"There is no file {bucket}/none.parquet." in ended.err
    assert cli("tables", "list").out == ""


def test_a_large_file_of_a_bucket_is_refused_before_it_is_read(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_LARGEST", 10)
    with pytest.raises(InvalidInputError, match=r"too large to be read at once\. Load Parquet with lanceway tables"):
        read(f"{bucket}/fruit.parquet")


def test_keys_that_are_wrong_are_said_to_be(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    with pytest.raises(LanceNamespaceError) as refused:
        read(f"{bucket}/fruit.parquet")
    assert refused.value.code.name in ("UNAUTHENTICATED", "PERMISSION_DENIED")
    assert "hunter2" not in str(refused.value)


def test_a_file_of_the_web_is_read_and_its_query_is_not_shown(site: str) -> None:
    assert read(f"{site}/fruit.parquet?signature=hunter2") == FRUIT.to_pylist()
    with pytest.raises(InvalidInputError, match=r"/none\.parquet cannot be read: the server answers 404\.") as refused:
        read(f"{site}/none.parquet?signature=hunter2")
    assert "hunter2" not in str(refused.value)


def test_a_file_of_the_web_and_one_of_this_machine_are_read_together(site: str, tmp_path: Path) -> None:
    (tmp_path / "more.csv").write_bytes(CSV)
    assert read(f"{site}/fruit.parquet", str(tmp_path / "more.csv")) == FRUIT.to_pylist() * 2


def test_a_server_that_does_not_answer_is_named_without_what_is_secret() -> None:
    with pytest.raises(InvalidInputError, match=r"http://127\.0\.0\.1:9/f\.csv cannot be read \(") as refused:
        read("http://user:hunter2@127.0.0.1:9/f.csv?signature=hunter2")
    assert "hunter2" not in str(refused.value)


def test_nothing_is_left_behind(site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert read(f"{site}/fruit.parquet") == FRUIT.to_pylist()
    assert list(folder.iterdir()) == []
