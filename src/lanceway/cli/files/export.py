"""Write rows to a file, all of them or none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import typer

from lanceway.cli.output.values import rows, to_json
from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".arrow", ".feather", ".csv", ".json", ".ndjson", ".jsonl")


def check(path: Path) -> None:
    """Refuse a name without a known format, before anything is read."""
    if path.suffix.lower() not in ENDINGS:
        raise typer.BadParameter(f"the name must end in one of {', '.join(ENDINGS)}.", param_hint="'--output'")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {str(path.parent)!r}.", param_hint="'--output'")


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
        _json_array(file, batches)
    elif ending in (".ndjson", ".jsonl"):
        file.writelines(f"{line}\n".encode() for line in _lines(batches))
    else:
        _arrow(ending, file, schema, batches)


def _arrow(ending: str, file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    import pyarrow as pa
    from pyarrow import csv, parquet

    writers = {".parquet": parquet.ParquetWriter, ".csv": csv.CSVWriter}
    with writers.get(ending, pa.ipc.new_file)(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _json_array(file: IO[bytes], batches: Iterator[pa.RecordBatch]) -> None:
    file.write(b"[")
    for number, line in enumerate(_lines(batches)):
        file.write(f"{',' if number else ''}\n{line}".encode())
    file.write(b"\n]\n")


def _lines(batches: Iterator[pa.RecordBatch]) -> Iterator[str]:
    return (to_json(row) for batch in batches for row in rows(batch))
