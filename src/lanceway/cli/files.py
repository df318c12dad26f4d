"""Read rows from files and write them to files, one batch at a time."""

from __future__ import annotations

import glob
import json
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING

import typer

from lanceway.cli import remote
from lanceway.cli.output.renderers import rows, to_json
from lanceway.errors import InvalidInputError
from lanceway.tables.write import data

if TYPE_CHECKING:
    import pyarrow as pa

STANDARD_INPUT = "-"
# Types of CSV and JSON columns are inferred from the first block, so it is large.
_BLOCK = 8 << 20
_FORMATS: Mapping[str, str] = {
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".csv": "csv",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".json": "json",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".tsv": "tsv",
}
_COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}


def read(names: Sequence[str], format_: str | None = None) -> FileRows:
    """Return the rows of all files, in their order. The first file's columns and types are the schema.

    A file is opened when its turn comes; one that is not on this machine is copied here then. Raise InvalidInputError
    for a file that cannot be read.
    """
    paths = [path for name in names for path in _matching(name)]
    readers = [_reader(path, format_) for path in paths]
    first = _opened(paths[0], readers[0])
    return FileRows(first.schema, _all(first, paths, readers), first.total if len(paths) == 1 else None)


def _all(
    first: FileRows, paths: Sequence[str], readers: Sequence[Callable[[str], FileRows]]
) -> Iterator[pa.RecordBatch]:
    yield from _guarded(paths[0], first.batches)
    for path, reader in zip(paths[1:], readers[1:], strict=True):
        yield from _as_first(first.schema, path, paths[0], _opened(path, reader))


def _as_first(schema: pa.Schema, path: str, first: str, rows: FileRows) -> Iterator[pa.RecordBatch]:
    if set(rows.schema.names) != set(schema.names):
        raise InvalidInputError(
            f"{_shown(path)} has the columns {', '.join(rows.schema.names)}, but {_shown(first)} has "
            f"{', '.join(schema.names)}. "
            "Give files of one kind, or load them one by one."
        )
    for batch in _guarded(path, rows.batches):
        yield data.cast(batch, schema, _shown(path))


def _matching(name: str) -> list[str]:
    """Return the files that match a name or a glob. An address means one file, whatever is in it."""
    if name == STANDARD_INPUT or Path(name).is_file() or remote.is_remote(name):
        return [name]
    paths = sorted(path for path in glob.glob(name, recursive=True) if Path(path).is_file())
    if not paths:
        raise typer.BadParameter(_missing(name), param_hint="'FILE...'")
    return paths


def _missing(name: str) -> str:
    scheme, separator, _ = name.partition("://")
    if separator:  # the rest may hold a signature
        known = ", ".join(f"{scheme}://" for scheme in remote.SCHEMES)
        return f"files are not read from {scheme}://, but from this machine and {known}. Copy it here first."
    if Path(name).is_dir():
        return f"{name!r} is a folder. Name its files, such as '{name.rstrip('/')}/*.parquet'."
    return f"there is no file {name!r}."


def _reader(path: str, format_: str | None) -> Callable[[str], FileRows]:
    readers = {"arrow": _read_arrow, "csv": _csv, "json": _json, "ndjson": _ndjson, "parquet": _parquet, "tsv": _tsv}
    chosen = format_.lower() if format_ else _FORMATS.get(_ending(path), "")
    if chosen not in readers:
        what = f"{format_!r} is not a format" if format_ else f"the name of {_shown(path)!r} does not tell its format"
        raise typer.BadParameter(f"{what}; choose one of {', '.join(readers)}.", param_hint="'--format'")
    return readers[chosen]


def _ending(path: str) -> str:
    endings = [ending.lower() for ending in Path(_shown(path)).suffixes]
    return next((ending for ending in reversed(endings) if ending not in _COMPRESSED), "")


def _opened(path: str, reader: Callable[[str], FileRows]) -> FileRows:
    import pyarrow as pa

    try:
        if not remote.is_remote(path):
            return reader(path)
        with TemporaryDirectory() as folder:  # which may go as soon as its file is open
            return reader(str(remote.bring(path, Path(folder))))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _guarded(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        yield from batches
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{_shown(path)} cannot be read: {error}. Correct the file, or say what it is with --format; nothing was "
        "changed."
    )


def _shown(path: str) -> str:
    return remote.shown(path) if remote.is_remote(path) else path


# -- the formats -----------------------------------------------------------------------------------


def _bytes(path: str) -> IO[bytes] | pa.NativeFile:
    import pyarrow as pa

    return _standard_input() if path == STANDARD_INPUT else pa.input_stream(path, compression="detect")


def _standard_input() -> IO[bytes]:
    # Not sys.stdin itself: Python could not end while a thread of Arrow's waits in it.
    return open(sys.stdin.fileno(), "rb", closefd=False)


def _parquet(path: str) -> FileRows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Parquet is read from its end, which standard input does not have.
    source = pa.BufferReader(_standard_input().read()) if path == STANDARD_INPUT else path
    file = pq.ParquetFile(source, pre_buffer=False)  # or the whole file would be held
    return FileRows(file.schema_arrow, file.iter_batches(), file.metadata.num_rows)


def _read_arrow(path: str) -> FileRows:
    import pyarrow as pa

    if path != STANDARD_INPUT and _begins_with(path, b"ARROW1"):
        file = pa.ipc.open_file(pa.memory_map(path))
        return FileRows(file.schema, (file.get_batch(number) for number in range(file.num_record_batches)))
    stream = pa.ipc.open_stream(_bytes(path))
    return FileRows(stream.schema, iter(stream))


def _begins_with(path: str, magic: bytes) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(magic)) == magic


def _csv(path: str, delimiter: str = ",") -> FileRows:
    from pyarrow import csv

    options = csv.ReadOptions(block_size=_BLOCK)
    reader = csv.open_csv(_bytes(path), read_options=options, parse_options=csv.ParseOptions(delimiter=delimiter))
    return FileRows(reader.schema, iter(reader))


def _tsv(path: str) -> FileRows:
    return _csv(path, delimiter="\t")


def _json(path: str) -> FileRows:
    """Read a document that is one array as a whole; anything else as one object to a line."""
    if path == STANDARD_INPUT:
        return _ndjson(path)
    with _bytes(path) as file:
        start = file.read(4096).lstrip()
    return _read_json_array(path) if start.startswith(b"[") else _ndjson(path)


def _read_json_array(path: str) -> FileRows:
    import pyarrow as pa

    with _bytes(path) as file:
        document = json.loads(file.read())
    if not all(isinstance(row, dict) for row in document):
        raise ValueError("every item of the array must be an object, which becomes a row")
    table = pa.Table.from_pylist(document)
    return FileRows(table.schema, iter(table.to_batches()), table.num_rows)


def _ndjson(path: str) -> FileRows:
    from pyarrow import json as arrow_json

    if path == STANDARD_INPUT:
        return _typed_lines(_standard_input())
    reader = arrow_json.open_json(_bytes(path), read_options=arrow_json.ReadOptions(block_size=_BLOCK))
    return FileRows(reader.schema, iter(reader))


def _typed_lines(file: IO[bytes]) -> FileRows:
    """Read objects that may still be being written. Arrow's own reader could not be interrupted while it waits for
    them.
    """
    import pyarrow as pa
    from pyarrow import json as arrow_json

    first = arrow_json.read_json(pa.BufferReader(b"".join(file.readlines(_BLOCK))))
    options = arrow_json.ParseOptions(explicit_schema=first.schema, unexpected_field_behavior="error")

    def batches() -> Iterator[pa.RecordBatch]:
        yield from first.to_batches()
        while lines := file.readlines(_BLOCK):
            yield from arrow_json.read_json(pa.BufferReader(b"".join(lines)), parse_options=options).to_batches()

    return FileRows(first.schema, batches())


@dataclass(frozen=True, slots=True)
class FileRows:
    """A schema, batches that have it, and the number of rows where it is known beforehand."""

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    total: int | None = None


def fitted(rows: FileRows, schema: pa.Schema, table: str) -> FileRows:
    """Return the rows with the types of the table's columns.

    A file's own types are often only guessed (CSV, JSON). A value that the cast would change is an error. Columns that
    the table does not have are left for the catalog to refuse.
    """
    target = data.shared_schema(rows.schema, schema)
    return FileRows(target, (data.cast(batch, target, table) for batch in rows.batches), rows.total)


def with_vectors(rows: FileRows, columns: Sequence[str]) -> FileRows:
    """Return the rows with these list columns as vectors: 32-bit floats of one length, which searches need."""
    import pyarrow as pa

    if not columns:
        return rows
    reader = data.with_vectors(pa.RecordBatchReader.from_batches(rows.schema, rows.batches), columns)
    return FileRows(reader.schema, iter(reader), rows.total)


ENDINGS = (".parquet", ".arrow", ".feather", ".csv", ".json", ".ndjson", ".jsonl")


def check(path: Path, *, overwrite: bool) -> None:
    """Refuse a name without a known format, and a file that exists unless it may be replaced, before rows are read."""
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"the name must end in one of {', '.join(ENDINGS)}.", param_hint="'--output'")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(path.parent)!r}.", param_hint="'--output'")
    if path.exists() and not overwrite:
        raise typer.BadParameter(f"{path} exists. Add --overwrite to replace it.", param_hint="'--output'")


def write(path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Write the rows in the format of the name's suffix. An existing file is replaced at the end."""
    import pyarrow as pa

    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as file:
            _write(path.suffix.lower(), file, schema, batches)
        part.replace(path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(
            f"{path} cannot hold these rows: {error}. Leave columns out, or write .parquet or .arrow."
        ) from error
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _write(ending: str, file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    if ending == ".json":
        _write_json_array(file, batches)
    elif ending in (".ndjson", ".jsonl"):
        file.writelines(f"{line}\n".encode() for line in _lines(batches))
    else:
        _write_arrow(ending, file, schema, batches)


def _write_arrow(ending: str, file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    writers = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter}
    with writers.get(ending, pa.ipc.new_file)(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_json_array(file: IO[bytes], batches: Iterator[pa.RecordBatch]) -> None:
    file.write(b"[")
    for number, line in enumerate(_lines(batches)):
        file.write(f"{',' if number else ''}\n{line}".encode())
    file.write(b"\n]\n")


def _lines(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    return (to_json(row) for batch in batches for row in rows(batch))
