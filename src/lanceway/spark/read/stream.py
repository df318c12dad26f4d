"""Read a Lance table as a stream: the rows that each version adds, in the order of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.spark.errors import hide_traceback
from lanceway.spark.read.reader import LanceReader, ReadTask
from lanceway.writes import options as table_options
from lanceway.writes.additions import Addition, Additions
from lanceway.writes.options import OWNER, ReadOptions
from lanceway.writes.table_ref import TableRef

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    class _AvailableNow: ...

else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow as _AvailableNow
    except ImportError:  # Spark 4.1 does not hand a source its position

        class _AvailableNow: ...


EARLIEST, NOW = "earliest", "now"
_FIXED = ("version", "tag", "branch", "asof", "nearest", "full_text", "limit", "partition_limit")
# As many rows are worth a task of their own.
_ROWS_PER_TASK = 250_000


@dataclass(frozen=True)
class StreamTask(InputPartition):
    """What one task reads: fragments of one version after another."""

    reads: tuple[ReadTask, ...]


@dataclass(frozen=True)
class Position:
    """The position of a stream: it reads next the fragment number `fragment` of those that `version` adds.

    `first` is the version with which the stream began; if `whole`, all its rows count as added by it. Both stand
    in every position, since Spark asks for the beginning again when it tries the first batch again.
    """

    version: int
    fragment: int
    first: int
    whole: bool

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> Position:
        return cls(int(offset["version"]), int(offset["fragment"]), int(offset["first"]), bool(offset["whole"]))

    def offset(self) -> dict[str, Any]:
        return {"version": self.version, "fragment": self.fragment, "first": self.first, "whole": self.whole}

    def at(self, version: int, fragment: int = 0) -> Position:
        return Position(version, fragment, self.first, self.whole)


class StreamReader(DataSourceStreamReader, _AvailableNow):
    """Reads the rows that were added. It is pickled: `read` runs on workers, the rest in a process of the driver's."""

    @hide_traceback()
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        if not hasattr(_AvailableNow, "prepareForTriggerAvailableNow"):
            raise UnsupportedOperationError("A stream that reads a Lance table needs Spark 4.2 or later.")
        values = table_options.parse(options)
        for name in _FIXED:
            if values[name] is not None:
                raise InvalidInputError(f"{OWNER}: {name} is for reading at once and has no meaning for a stream.")
        table_options.at_least(1, values, "max_versions_per_trigger", "max_rows_per_trigger")
        self._ref = TableRef.of(options)
        self._schema = schema
        self._read = ReadOptions.of(options)
        self._start = _start(values["start"])
        self._versions = values["max_versions_per_trigger"]
        self._rows = values["max_rows_per_trigger"]
        self._skip_changes = values["skip_changes"]
        self._until: int | None = None

    # -- in the driver ---------------------------------------------------------------------------

    @hide_traceback()
    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        if isinstance(self._start, int):
            return Position(self._start, 0, self._start, whole=False).offset()
        latest = self._latest()
        first = latest + 1 if self._start == NOW else latest
        return Position(first, 0, first, whole=self._start == EARLIEST).offset()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

        limited = self._versions is not None or self._rows is not None
        return ReadMaxRows(self._rows or 2**62) if limited else ReadAllAvailable()

    @hide_traceback()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = self._latest()

    @hide_traceback()
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        begin = Position.of(start)
        last = self._latest() if self._until is None else self._until
        if last < begin.version:
            return start
        if type(limit).__name__ == "ReadAllAvailable":
            return begin.at(last + 1).offset()
        if self._versions is not None:
            last = min(last, begin.version + self._versions - 1)
        return (begin.at(last + 1) if self._rows is None else self._limited(begin, last, self._rows)).offset()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None

    def _limited(self, begin: Position, last: int, rows: int) -> Position:
        """Return the position after about so many rows: whole fragments, and at least one."""
        total = 0
        for addition in self._additions(begin, begin.at(last + 1)):
            total += addition.rows
            if total > rows and total > addition.rows:
                return begin.at(addition.version, addition.number)
        return begin.at(last + 1)

    @hide_traceback()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begin, until = Position.of(start), Position.of(end)
        if begin.first != until.first:  # the first batch is tried again, and the beginning was another then
            begin = until.at(until.first)
        tasks: list[list[Addition]] = []
        rows = _ROWS_PER_TASK
        for addition in self._additions(begin, until):
            if rows >= _ROWS_PER_TASK:
                tasks.append([])
                rows = 0
            tasks[-1].append(addition)
            rows += addition.rows
        return [StreamTask(tuple(self._read_task(addition) for addition in task)) for task in tasks]

    def _read_task(self, addition: Addition) -> ReadTask:
        return ReadTask(replace(self._read, version=addition.version), (addition.fragment,))

    def _additions(self, begin: Position, until: Position) -> Iterator[Addition]:
        additions = Additions(self._ref, whole=begin.first if begin.whole else None, skip_changes=self._skip_changes)
        for addition in additions.between(begin.version, until.version if until.fragment else until.version - 1):
            before = addition.version == begin.version and addition.number < begin.fragment
            after = addition.version == until.version and addition.number >= until.fragment
            if not before and not after:
                yield addition

    def _latest(self) -> int:
        return int(self._ref.open().version)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: no state is kept for what was read."""

    # -- in a task -------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, StreamTask)
        for task in partition.reads:
            yield from LanceReader(self._ref, task.read, self._schema).read(task)


def _start(text: str | None) -> str | int:
    if text is None or text.lower() in (EARLIEST, NOW):
        return (text or EARLIEST).lower()
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise InvalidInputError(f"{OWNER}: start is {text!r}, but must be {EARLIEST}, {NOW} or a version's number.")
