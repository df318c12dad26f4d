"""A view's rows in shares: each is made of a few fragments of the source, wherever it is worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.jobs import job_table
from lanceway.jobs.job_table import Held
from lanceway.jobs.worker import expansions
from lanceway.jobs.worker.write import fitted
from lanceway.tables.errors import translated
from lanceway.tables.schema.views import QUERY, View, scan
from lanceway.writes import stage
from lanceway.writes.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

# Fewer rows than these are not worth a share, nor a file, of their own.
_ROWS = 250_000


@dataclass(frozen=True, slots=True)
class Share:
    """Fragments of a version of the source."""

    version: int
    fragments: tuple[int, ...]


def of(version: int, fragments: Sequence[FragmentMetadata], *, together: bool = False) -> list[Share]:
    """All of the fragments, neighbours together; or all of them in one share."""
    rows = sum(map(job_table.rows, fragments))
    groups = job_table.grouped(list(fragments), 1 if together else max(1, rows // _ROWS))
    return [Share(version, tuple(fragment.id for fragment in group)) for group in groups]


@dataclass
class Room:
    """How many rows there may still be."""

    rows: int

    def kept(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if self.rows <= 0:
                return
            kept = batch.slice(0, self.rows)
            self.rows -= kept.num_rows
            yield kept


@dataclass(frozen=True)
class Writer:
    """Reads a share and writes the view's rows of it; picklable, so that Spark's workers may do it."""

    source: Held
    view: View
    plan: Plan
    task_size: int | None = None
    room: Room | None = None
    threads: int = 1

    def __call__(self, share: Share) -> dict[str, Any]:
        import pyarrow as pa

        rows = self._rows(share)
        counted = Counted(rows if self.room is None else self.room.kept(rows))
        if not counted.begin():
            return {"rows": 0, "fragments": []}
        reader = pa.RecordBatchReader.from_batches(self.plan.schema, fitted(counted, self.plan.schema))
        made = stage.write(self.plan, reader)
        return {"rows": counted.rows, "fragments": [stage.written(fragment) for fragment in made]}

    def _rows(self, share: Share) -> Iterator[pa.RecordBatch]:
        dataset = self.source.open(share.version)
        with translated(self.source.handle(), "Reading the source"):
            chosen = [fragment for fragment in map(dataset.get_fragment, share.fragments) if fragment is not None]
            rows = scan(self.view, dataset, chosen).to_reader()
        if self.view.kind != QUERY:
            yield from expansions.made(self.view, rows, self.task_size, self.threads)
        else:
            yield from rows


class Counted:
    """Batches on their way, counted."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._first: pa.RecordBatch | None = None
        self.rows = 0

    def begin(self) -> bool:
        """Whether there is any row at all."""
        self._first = next((batch for batch in self._batches if batch.num_rows), None)
        return self._first is not None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._first is not None:
            self.rows += self._first.num_rows
            yield self._first
        for batch in self._batches:
            self.rows += batch.num_rows
            yield batch
