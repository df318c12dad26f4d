"""What the steps of one run share: where it is recorded, what it reads, the session, and who listens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lanceway.lake.runs.runs import Run, StepRow
from lanceway.pipelines import outputs
from lanceway.pipelines.model import Pipeline
from lanceway.pipelines.progress import SparkJobWatch
from lanceway.pipelines.runs.report import UNDER_WAY, Event, Listener
from lanceway.pipelines.runs.store import HeldPipeline
from lanceway.pipelines.sources.sources import Pins, Sources
from lanceway.pipelines.transforms.frames import Frames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BETWEEN = 0.5  # seconds between two looks at how far Spark is


@dataclass
class PipelineContext:
    """All that the steps of one run share."""

    held: HeldPipeline
    run: Run
    pipeline: Pipeline
    sources: Sources
    frames: Frames
    pins: Pins
    spark: Callable[[], SparkSession]
    config: str | Path | None
    listen: Listener
    rooms: outputs.Rooms
    stopping: bool = False
    _computing: dict[str, SparkJobWatch] = field(default_factory=dict)
    _told: float = 0.0  # by the monotonic clock

    @contextmanager
    def session(self, step: str) -> Iterator[SparkSession]:
        """The session, for a step that is about to compute: its jobs can be told from others', and interrupted."""
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
        """Stop what is under way. To be asked again until all has ended: a step may be between two jobs of Spark's."""
        self.stopping = True
        for watch in list(self._computing.values()):
            watch.interrupt(self.run.key)

    def tell_progress(self) -> None:
        """How far Spark is with the steps that compute at this moment: now and then, since it costs Spark something."""
        if time.monotonic() - self._told < _BETWEEN:
            return
        for step, watch in list(self._computing.items()):
            found = watch.progress()
            if found.tasks:
                self.listen(
                    Event(UNDER_WAY, StepRow(step, ""), self.run, found.done, found.tasks, found.rows, found.bytes)
                )
        self._told = time.monotonic()
