"""A Lance table at the beginning of a stream: the rows that each version adds, in the order of versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.spark.errors import plainly
from lanceway.spark.read.reader import LanceReader, ReadTask
from lanceway.writes import options as known
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
    except ImportError:  # Spark 4.1 does not tell a source where it stands

        class _AvailableNow: ...


EARLIEST, NOW = "earliest", "now"
_FIXED = ("version", "tag", "branch", "asof", "nearest", "full_text", "limit", "partition_limit")
# As many rows are worth a task of their own.
_ROWS_PER_TASK = 250_000


@dataclass(frozen=True)
class Shares(InputPartition):
    """What one task reads: fragments of one version after another."""

    shares: tuple[ReadTask, ...]


@dataclass(frozen=True)
class Position:
    """How far a stream has come: what it reads next is fragment number `fragment` of those that `version` adds.

    `first` is the version with which the stream began; if `whole`, all that it holds counts as added by it. Both
    stand in every position, since Spark asks for the beginning again when it tries the first batch again.
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
    """Rows that were added, and no others. It is pickled: `read` runs on workers, the rest beside the driver."""

    @plainly()
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        if not hasattr(_AvailableNow, "prepareForTriggerAvailableNow"):
            raise UnsupportedOperationError("A stream that reads a Lance table needs Spark 4.2 or later.")
        values = known.read(options)
        for name in _FIXED:
            if values[name] is not None:
                raise InvalidInputError(f"{OWNER}: {name} is for reading at once and has no meaning for a stream.")
        known.at_least(1, values, "max_versions_per_trigger", "max_rows_per_trigger")
        self._target, self._schema = TableRef.of(options), schema
        self._read = ReadOptions.of(options)
        self._start = _start(values["start"])
        self._versions, self._rows = values["max_versions_per_trigger"], values["max_rows_per_trigger"]
        self._skip = values["skip_changes"]
        self._until: int | None = None

    # -- beside the driver -----------------------------------------------------------------------

    @plainly()
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

    @plainly()
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = self._latest()

    @plainly()
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
        """As far as so many rows go: whole fragments, and at least one."""
        found = 0
        for addition in self._additions(begin, begin.at(last + 1)):
            found += addition.rows
            if found > rows and found > addition.rows:
                return begin.at(addition.version, addition.number)
        return begin.at(last + 1)

    @plainly()
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
        return [Shares(tuple(self._share(addition) for addition in task)) for task in tasks]

    def _share(self, addition: Addition) -> ReadTask:
        return ReadTask(replace(self._read, version=addition.version), (addition.fragment,))

    def _additions(self, begin: Position, until: Position) -> Iterator[Addition]:
        found = Additions(self._target, whole=begin.first if begin.whole else None, skip_changes=self._skip)
        for addition in found.between(begin.version, until.version if until.fragment else until.version - 1):
            before = addition.version == begin.version and addition.number < begin.fragment
            after = addition.version == until.version and addition.number >= until.fragment
            if not before and not after:
                yield addition

    def _latest(self) -> int:
        return int(self._target.open().version)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept for what was read."""

    # -- in a task -------------------------------------------------------------------------------

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Shares)
        for share in partition.shares:
            yield from LanceReader(self._target, share.read, self._schema).read(share)


def _start(given: str | None) -> str | int:
    if given is None or given.lower() in (EARLIEST, NOW):
        return (given or EARLIEST).lower()
    if given.isdecimal() and int(given) > 0:
        return int(given)
    raise InvalidInputError(f"{OWNER}: start is {given!r}, but must be {EARLIEST}, {NOW} or a version's number.")
