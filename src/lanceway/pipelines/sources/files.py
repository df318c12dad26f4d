"""The files of a source: what is there now, each with its time and its size."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.lake.runs.source_files import File
from lanceway.tables.storage.store import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GLOB = re.compile(r"([\[\]{}*?\\])")


def found(patterns: tuple[str, ...], spark: Callable[[], SparkSession]) -> list[File]:
    """Every file of some paths and globs. This machine's own are looked for without Spark."""
    files: list[File] = []
    for pattern in patterns:
        path = local_path(pattern)
        # Spark has alternatives in braces, which nobody else has.
        if path is None or "{" in pattern or "\\" in pattern:
            files += _by_spark(pattern, spark())
        else:
            files += _here(path)
    return sorted(set(files), key=lambda file: file.path)


def _here(path: Path) -> Iterator[File]:
    text = str(path.absolute())
    if not glob.has_magic(text) and not path.exists():
        raise InvalidInputError(f"There is no file or folder {text}.")
    for name in glob.glob(text) if glob.has_magic(text) else [text]:
        for file in _below(Path(name)):
            told = file.stat()
            yield File(str(file), told.st_mtime_ns // 1_000_000, told.st_size)


def _below(path: Path) -> Iterator[Path]:
    """As Spark does it: a folder's own files, and those of folders such as day=2026-01-31; nothing hidden."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith((".", "_")) and (child.is_file() or "=" in child.name):
            yield from _below(child)


def _by_spark(pattern: str, spark: SparkSession) -> Iterator[File]:
    from pyspark.errors import AnalysisException

    try:
        listed = spark.read.format("binaryFile").load(pattern)
    except AnalysisException as error:
        raise InvalidInputError(f"There is no file {pattern}: {error.getMessage()}") from error
    for row in listed.selectExpr("path", "unix_millis(modificationTime) AS modified", "length").collect():
        yield File(row["path"], row["modified"], row["length"])


def literal(path: str) -> str:
    """A path that Spark takes as it is, and not as a glob."""
    return _GLOB.sub(r"\\\1", path)


def base(patterns: tuple[str, ...]) -> str | None:
    """The folder from which on the names of folders may be columns, where there is one."""
    if len(patterns) != 1 or glob.has_magic(patterns[0]):
        return None
    path = local_path(patterns[0])
    if path is None:
        return patterns[0]
    return str(path.absolute()) if path.is_dir() else None
