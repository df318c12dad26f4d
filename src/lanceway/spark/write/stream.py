"""A Lance table at the end of a stream: each batch is one version, and is there once, however often it is tried.

Spark gives each batch of a query its number, and tries a batch again whose end it has not noted. The query's id and
the batch's number stand in the commit, so that a batch which was committed before is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from lanceway.errors import InvalidInputError
from lanceway.spark.errors import plainly
from lanceway.spark.types import rows_schema
from lanceway.spark.write.writer import Staged, fragments_of
from lanceway.writes import commit as committing
from lanceway.writes import plan, stage, write_id
from lanceway.writes.plan import CREATE, WritePlan
from lanceway.writes.write_id import WriteId

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

# The id that Spark gives a query and keeps in its checkpoint. Tasks know it, unlike what commits for them.
QUERY = "sql.streaming.queryId"


class StreamWriter(DataSourceStreamArrowWriter):
    """The write of one batch after another; planned anew for each of them."""

    @plainly()
    def __init__(self, options: Mapping[str, str], schema: StructType, *, overwrite: bool) -> None:
        # What commits a batch is another instance than the one whose tasks have written it: they share no notes.
        self._plan: WritePlan = plan.plan(options, rows_schema(schema), overwrite=overwrite, noted=False)
        self._checkpoint = options.get("checkpointlocation")

    @plainly()
    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        from pyspark import TaskContext

        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        return Staged(stage.stage(self._plan, iterator), query)

    @plainly()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        fragments, mark = fragments_of(messages), WriteId(query=self._require_query(messages), batch=batchId)
        if self._plan.kind != CREATE and write_id.is_replayed(self._plan.destination.current().table, mark):
            stage.discard(self._plan.destination, fragments)
        else:
            committing.publish(self._plan, fragments, mark)

    @plainly()
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        mark = WriteId(query=self._query(messages) or "", batch=batchId)
        committing.give_up(self._plan, fragments_of(messages), mark)

    def _query(self, messages: list[WriterCommitMessage | None]) -> str | None:
        told = {message.query for message in messages if isinstance(message, Staged) and message.query}
        return next(iter(told), self._checkpoint)

    def _require_query(self, messages: list[WriterCommitMessage | None]) -> str:
        query = self._query(messages)
        if query is None:
            raise InvalidInputError(
                f"The stream into {self._plan.destination.target.name} has no name by which a batch that is tried "
                "again could be recognised. Give it the option checkpointLocation."
            )
        return query
