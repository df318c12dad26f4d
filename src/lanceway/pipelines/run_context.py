"""What the steps of one run share: its record, its sources, the session, and the listener."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.lake.runs.runs import Run, StepRow
from lanceway.pipelines import outputs
from lanceway.pipelines.model import Pipeline
from lanceway.pipelines.progress import SparkJobWatch
from lanceway.pipelines.runs.report import UNDER_WAY, Event, Listener
from lanceway.pipelines.runs.store import PipelineLease
from lanceway.pipelines.sources.sources import Sources, SourceVersions
from lanceway.pipelines.transforms.frames import Frames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BETWEEN = 0.5  # seconds between two looks at how far Spark is


@dataclass
class PipelineContext:
    """What the steps of one run share."""

    lease: PipelineLease
    run: Run
    pipeline: Pipeline
    sources: Sources
    frames: Frames
    source_versions: SourceVersions
    spark: Callable[[], SparkSession]
    config: str | Path | None
    listen: Listener
    namespaces: outputs.NamespaceScope
    stopping: bool = False
    _computing: dict[str, SparkJobWatch] = field(default_factory=dict)
    _reported: float = 0.0  # by the monotonic clock

    @contextmanager
    def session(self, step: str) -> Iterator[SparkSession]:
        """Yield the session to a step that computes, with its jobs in a group and under a tag so they can be
        interrupted.
        """
        spark = self.spark()
        spark.addTag(self.run.key)
        watch = SparkJobWatch(spark, f"{self.run.key}/{step}")
        watch.begin()
        self._computing[step] = watch
        try:
            yield spark
        finally:
            del self._computing[step]
            spark.removeTag(self.run.key)

    def interrupt(self) -> None:
        """Stop what is under way. Call it until all has ended: a step may be between two Spark jobs."""
        self.stopping = True
        for watch in list(self._computing.values()):
            watch.interrupt(self.run.key)

    def report_progress(self) -> None:
        """Report the progress of the steps that are computing; only now and then, since asking costs Spark
        something.
        """
        if time.monotonic() - self._reported < _BETWEEN:
            return
        for step, watch in list(self._computing.items()):
            progress = watch.progress()
            if progress.tasks:
                self.listen(Event(UNDER_WAY, StepRow(step, ""), self.run, **asdict(progress)))
        self._reported = time.monotonic()
