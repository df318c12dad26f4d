"""Where runs are kept, as a run sees it: whatever it asks and records, of a database or of a server."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from lanceway.lake.runs.events import Record
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.runs import Run, RunReport
from lanceway.lake.runs.source_files import File

Answer = TypeVar("Answer")
# The latest version of each source that each output has had, by (output, source, the source's location).
Had = Mapping[tuple[str, str, str | None], int]


class Ledger(Protocol):
    """A book of runs. Each of its methods is one transaction, and may be asked again."""

    def close(self) -> None: ...

    # -- who runs a pipeline ---------------------------------------------------------------------

    def find(self, name: str) -> PipelineRow | None:
        """A pipeline and who holds it; None if there is none, or it is somebody else's."""
        ...

    def take(self, name: str, key: str, *, by: str, seconds: float, ended: str | None) -> None:
        """Hold a pipeline. Raises ConcurrentModificationError while somebody else does, saying who and since when."""
        ...

    def renew(self, name: str, key: str, *, seconds: float) -> bool:
        """Hold it for longer; False where somebody else has taken it over."""
        ...

    def release(self, name: str, key: str) -> None: ...

    # -- what a run records and asks -------------------------------------------------------------

    def record(self, name: str, lease: str, run: str, told: Record, answer: type[Answer], *, by: str) -> Answer:
        """Write something down. Raises ConcurrentModificationError where somebody else has taken the pipeline over."""
        ...

    def had(self, run: Run) -> Had: ...

    def files(self, run: Run, source: str, *, after: int, until: int) -> Sequence[File]:
        """The files that runs later than `after` were the first to see, as the run `until` knew them."""
        ...

    def has_changed(self, run: Run, source: str, *, after: int, until: int) -> bool:
        """Whether a file has come, changed or gone since."""
        ...

    # -- what is shown ---------------------------------------------------------------------------

    def newest(self, name: str) -> Run | None: ...

    def report(self, run: str) -> RunReport: ...

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        """Summaries of the newest runs, newest first."""
        ...

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[LineageEdge]:
        """What leads to the tables at some locations, and away from them, newest first."""
        ...
