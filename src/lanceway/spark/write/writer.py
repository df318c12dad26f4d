"""Write rows and streams from Spark: tasks stage fragments, and the driver commits them as one version.

Spark numbers the batches of a query, and tries a batch again whose end it has not recorded. The query's id and the
batch's number stand in the commit, so that a batch which was committed before is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from lanceway.errors import InvalidInputError
from lanceway.spark.errors import hide_traceback
from lanceway.spark.types import rows_schema
from lanceway.writes import commit, plan, stage
from lanceway.writes.commit import WriteId
from lanceway.writes.plan import CREATE, IGNORE, WritePlan

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


# The id that Spark gives a query and keeps in its checkpoint. Tasks know it; the process that commits does not.
QUERY = "sql.streaming.queryId"


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes one batch of a query; Spark makes one for each batch."""

    @hide_traceback()
    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        # A batch is committed by another instance than the one whose tasks have written it: they share no journal.
        self._plan: WritePlan = plan.plan(options, rows_schema(schema), overwrite=overwrite, noted=False)
        self._checkpoint = options.get("checkpointlocation")

    @hide_traceback()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        from pyspark import TaskContext

        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        return Staged(stage.stage(self._plan, iterator), query)

    @hide_traceback()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        fragments = fragments_of(messages)
        write_id = WriteId(query=self._require_query(messages), batch=batchId)
        if self._plan.kind != CREATE and write_id.is_replayed(self._plan.destination.current().table):
            stage.discard(self._plan.destination, fragments)
        else:
            commit.publish(self._plan, fragments, write_id)

    @hide_traceback()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        write_id = WriteId(query=self._query(messages) or "", batch=batchId)
        commit.give_up(self._plan, fragments_of(messages), write_id)

    def _query(self, messages: list[WriterCommitMessage | None]) -> str | None:
        queries = {message.query for message in messages if isinstance(message, Staged) and message.query}
        return next(iter(queries), self._checkpoint)

    def _require_query(self, messages: list[WriterCommitMessage | None]) -> str:
        query = self._query(messages)
        if query is None:
            raise InvalidInputError(
                f"The stream into {self._plan.destination.ref.name} has no name, so a batch that is tried "
                "again could not be recognised. Give it the option checkpointLocation."
            )
        return query
