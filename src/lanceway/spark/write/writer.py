"""Write rows from Spark: tasks stage fragments, and the driver commits them as one version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import rows_schema
from lanceway.writes import commit, plan, stage
from lanceway.writes.plan import IGNORE, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


@dataclass
class Staged(WriterCommitMessage):
    """The fragments that one task wrote. Spark hands on those of one attempt of each task."""

    fragments: tuple[str, ...]
    query: str | None = None


def fragments_of(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    """Return the fragments that all tasks wrote; a task that failed has none."""
    return [fragment for message in messages if isinstance(message, Staged) for fragment in message.fragments]


class BatchWriter(DataSourceArrowWriter):
    """A batch write. It is pickled: `write` runs on workers, `commit` and `abort` in a process of the driver's."""

    @hide_traceback()
    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        self._plan: WritePlan = plan.plan(options, rows_schema(schema), overwrite=overwrite)
        self._write_id = WriteId.of_job(options.get("job"))

    @hide_traceback()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return Staged(() if self._plan.kind == IGNORE else stage.stage(self._plan, iterator))

    @hide_traceback()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._plan.kind != IGNORE:
            commit.publish(self._plan, fragments_of(messages), self._write_id)

    @hide_traceback()
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        if self._plan.kind != IGNORE:
            commit.give_up(self._plan, fragments_of(messages), self._write_id)
