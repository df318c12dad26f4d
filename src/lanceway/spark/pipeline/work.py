"""What the steps of one run share: where it is recorded, what it reads, the session, and who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.lake import runs
from lanceway.lake.runs import Run, Step
from lanceway.spark.pipeline import outputs, watching
from lanceway.spark.pipeline.frames import Frames
from lanceway.spark.pipeline.model import Pipeline
from lanceway.spark.pipeline.reports import UNDER_WAY, Event, Listener
from lanceway.spark.pipeline.sources import Pins, Sources
from lanceway.spark.pipeline.states import Held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Work:
    """All that the steps of one run share."""

    held: Held
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
    _computing: dict[str, SparkSession] = field(default_factory=dict)

    @contextmanager
    def session(self, step: str) -> Iterator[SparkSession]:
        """The session, for a step that is about to compute: its jobs can be told from others', and interrupted."""
        spark = self.spark()
        spark.addTag(self.run.key)
        watching.name(spark, self._group(step))
        self._computing[step] = spark
        try:
            yield spark
        finally:
            del self._computing[step]
            spark.removeTag(self.run.key)

    def interrupt(self) -> None:
        """Stop what is under way. To be asked again until all has ended: a step may be between two jobs of Spark's."""
        self.stopping = True
        for spark in list(self._computing.values())[:1]:
            spark.interruptTag(self.run.key)

    def tell_progress(self) -> None:
        """How far Spark is with the steps that compute at this moment."""
        for step, spark in list(self._computing.items()):
            done, tasks = watching.tasks(spark, self._group(step))
            if tasks:
                self.listen(Event(UNDER_WAY, Step(step, ""), self.run, done, tasks))

    def _group(self, step: str) -> str:
        return f"{self.run.key}/{step}"

    def change(self, name: str, work: Callable[..., None], *given: Any, **values: Any) -> Step:
        """Record something of a step, and answer what is known of it then."""

        def record(connection: Any) -> Step:
            work(connection, self.run.id, name, *given, **values)
            return next(step for step in runs.steps(connection, self.run.id) if step.name == name)

        return self.held.record(record)
