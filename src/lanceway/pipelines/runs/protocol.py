"""The interface of a run store, which is a database or a server."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from lanceway.lake.runs.events import Record
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.runs import Run, RunReport, StepRow
from lanceway.lake.runs.source_files import File

Answer = TypeVar("Answer")
# The latest version of each source that each output has had, by (output, source, the source's location).
VersionsRead = Mapping[tuple[str, str, str | None], int]


class RunStore(Protocol):
    """Keeps the runs of pipelines. Each method is one transaction, and may safely be called again."""

    def close(self) -> None: ...

    # -- who runs a pipeline ---------------------------------------------------------------------

    def find(self, name: str) -> PipelineRow | None:
        """Return a pipeline and its holder; None if it does not exist, or the caller may not see it."""
        ...

    def take(self, name: str, key: str, *, by: str, seconds: float, ended: str | None) -> None:
        """Lease a pipeline. Raise ConcurrentModificationError while another process holds it, saying which and since
        when.
        """
        ...

    def renew(self, name: str, key: str, *, seconds: float) -> bool:
        """Extend the lease; return False if another process has taken the pipeline over."""
        ...

    def release(self, name: str, key: str) -> None: ...

    def cancel(self, run: Run) -> RunReport:
        """Stop a run that another process executes. Raise InvalidInputError if it is not running."""
        ...

    # -- what a run records and asks -------------------------------------------------------------

    def record(self, name: str, lease: str, run: str, event: Record, response: type[Answer], *, by: str) -> Answer:
        """Record an event. Raise ConcurrentModificationError if another process has taken the pipeline over."""
        ...

    def versions_read(self, run: Run) -> VersionsRead: ...

    def last_steps(self, run: Run) -> Mapping[str, StepRow]:
        """Return the newest step of each name that is done or was skipped, in any run of the same pipeline."""
        ...

    def files(self, run: Run, source: str, *, after: int, until: int) -> Sequence[File]:
        """Return the files first seen by runs later than `after`, as the run `until` knew them."""
        ...

    def has_changed(self, run: Run, source: str, *, after: int, until: int) -> bool:
        """Tell whether a file was added, changed or removed between two runs."""
        ...

    # -- what is shown ---------------------------------------------------------------------------

    def newest(self, name: str) -> Run | None: ...

    def report(self, run: str) -> RunReport: ...

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        """Return summaries of the newest runs, newest first."""
        ...

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[LineageEdge]:
        """Return the edges that lead to the tables at some locations, and away from them, newest first."""
        ...
