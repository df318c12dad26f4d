"""A user's function of Arrow batches, in a task: where it raises, the row is looked for that makes it raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.jobs.table.functions import failing_row
from lanceway.pipelines.runs.failures import short, shown
from lanceway.spark.errors import plainly

if TYPE_CHECKING:
    import pyarrow as pa

Function = Callable[..., Any]


def apply(
    step: str, path: str, function: Function, given: Mapping[str, Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What the function answers for each batch: a batch, or a table."""
    import pyarrow as pa

    before = 0
    with plainly():
        for batch in batches:
            with _Telling(step, path, function, given, batch, before):
                answer = function(batch, **given)
            if not isinstance(answer, pa.RecordBatch | pa.Table):
                raise InvalidInputError(
                    f"{path} answered {type(answer).__name__} for a batch, but must answer a pyarrow.RecordBatch."
                )
            yield from answer.to_batches() if isinstance(answer, pa.Table) else [answer]
            before += batch.num_rows


class _Telling:
    """Around a call for one batch. What it raises is told with the first row of the batch that raises it alone."""

    def __init__(
        self, step: str, path: str, function: Function, given: Mapping[str, Any], batch: pa.RecordBatch, before: int
    ) -> None:
        self._step, self._path, self._function = step, path, function
        self._given, self._batch, self._before = given, batch, before

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            return
        at = failing_row(partial(self._function, **self._given), self._batch)
        which = f"rows {self._before + 1:,} to {self._before + self._batch.num_rows:,} of its task"
        if at is not None:
            row = short(str(self._batch.slice(at, 1).to_pylist()[0]))
            which = f"row {self._before + at + 1:,} of its task, {row}"
        raise InvalidInputError(f"{self._path} raised {shown(error)} for {which}") from error
