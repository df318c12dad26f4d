"""The options of `format("lance")`: how a table is reached, what is read of it, how it is written.

Spark hands options over as text and does not tell their cases apart.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lanceway.config import Setting, read_settings
from lanceway.errors import InvalidInputError

OWNER = 'format("lance")'
# Holds a whole TableRef as JSON. Spark hides the value of an option that has this word in its name.
SECRET_TARGET = "target.secret"

TARGET = (
    Setting("path", "The table's location: a folder of this machine or a URI."),
    Setting("table", "The table's identifier in its namespace: text, or a JSON list of names."),
    Setting("delimiter", "What separates the names in `table`.", default="."),
    # The plain option `namespace` is the name that lanceway.toml gives the root namespace; see parse().
    Setting("namespace.*", "namespace.type, and the settings of a namespace of that type."),
    Setting("storage.*", "Options of the storage, such as storage.region."),
    Setting(SECRET_TARGET, "All of the above in one value, as Lanceway hands it on.", secret=True, internal=True),
)
READING = (
    Setting("columns", "The columns to read: a JSON list, or names separated by commas."),
    Setting("filter", "Which rows to read, in Lance's SQL."),
    Setting("version", "The version to read.", kind=int),
    Setting("tag", "The tag to read."),
    Setting("branch", "The branch to read."),
    Setting("asof", "Read the latest version of that time: ISO 8601 (UTC unless it says otherwise) or epoch millis."),
    Setting("nearest", 'A vector search as JSON: {"column": "v", "vector": [0.5, 1.0], "k": 10}.'),
    Setting("full_text", 'A text search: the words, or JSON {"query": "words", "columns": ["body"]}.'),
    Setting("limit", "Read at most so many rows, in one task.", kind=int),
    Setting("with_row_id", "Read each row's id too, as the column _rowid.", kind=bool, default=False),
    Setting("with_row_address", "Read each row's address too, as the column _rowaddr.", kind=bool, default=False),
    Setting("partitions", "How many tasks read; about two for each core unless this says otherwise.", kind=int),
    Setting("batch_rows", "How many rows a batch holds.", kind=int),
    Setting("partition_limit", "Read at most so many rows in each task, after the filters.", kind=int),
)
WRITING = (
    Setting("mode", "What to do with a table that is there."),
    Setting("max_rows_per_file", "How many rows a data file holds.", kind=int),
    Setting("max_bytes_per_file", "How large a data file grows.", kind=int),
    Setting("vector_columns", 'The sizes of vector columns as JSON: {"v": 64}.'),
    Setting("blob_columns", "The binary columns that are stored as blobs: a JSON list, or names separated by commas."),
    Setting("data_storage_version", "The version of Lance's file format."),
    Setting("job", "A name for the write, which identifies its commit; generated if missing."),
)
STREAMING = (
    Setting("start", "Where a stream begins: earliest (all that is there), now, or the version to begin with."),
    Setting("skip_changes", "Pass over versions that change or replace rows.", kind=bool, default=False),
    Setting("max_versions_per_trigger", "How many versions a micro-batch reads at most.", kind=int),
    Setting("max_rows_per_trigger", "About how many rows a micro-batch reads at most; whole files.", kind=int),
    Setting("checkpointlocation", "Where Spark keeps what a stream has done. It is Spark's own option.", internal=True),
)


def parse(options: Mapping[str, str]) -> Mapping[str, Any]:
    """Return every option's value, converted. Refuse an unknown one, naming those there are.

    `namespace` is the plain option of that name, `settings` are those that begin with `namespace.`.
    """
    lowered = {key.lower(): value for key, value in options.items()}
    name = lowered.pop("namespace", None)
    values = read_settings(OWNER, (*TARGET, *READING, *WRITING, *STREAMING), lowered)
    return {**values, "namespace": name, "settings": values["namespace"]}


@dataclass(frozen=True)
class ReadOptions:
    """What is read of a table."""

    columns: tuple[str, ...] | None = None
    filter: str | None = None
    version: int | None = None
    tag: str | None = None
    branch: str | None = None
    asof: datetime | None = None
    nearest: Mapping[str, Any] | None = None
    full_text: Mapping[str, Any] | None = None
    limit: int | None = None
    with_row_id: bool = False
    with_row_address: bool = False
    partitions: int | None = None
    batch_rows: int | None = None
    partition_limit: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read the options of a data source. Raises InvalidInputError for values that have no meaning."""
        values = parse(options)
        at_least(0, values, "limit", "partition_limit")
        at_least(1, values, "partitions", "batch_rows")
        chosen = [name for name in ("version", "tag", "asof") if values[name] is not None]
        if len(chosen) > 1:
            raise InvalidInputError(f"{OWNER}: give one of {' and '.join(chosen)}, not both.")
        return cls(
            columns=column_names(values["columns"]),
            filter=values["filter"] or None,
            version=values["version"],
            tag=values["tag"],
            branch=values["branch"],
            asof=_moment(values["asof"]),
            nearest=_object("nearest", values["nearest"]),
            full_text=_full_text(values["full_text"]),
            **{name: values[name] for name in _AS_THEY_ARE},
        )

    @property
    def searches(self) -> bool:
        """Return whether rows are found by a vector or text search."""
        return self.nearest is not None or self.full_text is not None


_AS_THEY_ARE = ("limit", "with_row_id", "with_row_address", "partitions", "batch_rows", "partition_limit")


def at_least(least: int, values: Mapping[str, Any], *names: str) -> None:
    """Refuse options that are smaller than they may be."""
    for name in names:
        if values[name] is not None and values[name] < least:
            raise InvalidInputError(f"{OWNER}: {name} is {values[name]}, but must be at least {least}.")


def column_names(text: str | None) -> tuple[str, ...] | None:
    """Read names of columns: a JSON list, or names separated by commas."""
    if text is None or not text.strip():
        return None
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    names = _json("columns", text)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"{OWNER}: columns is {text!r}, but must be a JSON list of names.")
    return tuple(names)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        if text.isdecimal():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(
            f"{OWNER}: asof is {text!r}, but must be a time such as 2026-01-31T12:00:00Z, or epoch milliseconds."
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _full_text(text: str | None) -> Mapping[str, Any] | None:
    if text is None or text.lstrip().startswith("{"):
        return _object("full_text", text)
    return {"query": text}


def _object(name: str, text: str | None) -> Mapping[str, Any] | None:
    if text is None:
        return None
    value = _json(name, text)
    if not isinstance(value, dict):
        raise InvalidInputError(f"{OWNER}: {name} is {text!r}, but must be a JSON object.")
    return value


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"{OWNER}: {name} is {text!r}, which is not valid JSON: {error}.") from error
