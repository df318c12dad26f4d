"""Runs a pipeline in a process of its own, and kills it at an event: of a step, in a function, before a statement.

The event stands in a JSON object, which is the last argument:

    {"step": "added", "moment": "written"}             an event that a run reports
    {"function": "package.module:name", "at": "call"}  the call of a function, or its return
    {"function": …, "at": "call", "statement": 3}      the third statement of a database after that
    {"task": "FILE"}                                   a task of Spark, which finds the driver in FILE
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from lanceway import pipelines
from lanceway.pipelines import Event
from tests.lake.versions.killed_program import die_before

CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Trigger:
    """Waits for a function to be called or to return for the nth time, in any thread."""

    def __init__(self, function: str, at: str, nth: int, statement: int | None) -> None:
        self.module, _, self.name = function.partition(":")
        self.at, self.left, self.statement = at, nth, statement

    def __call__(self, frame: FrameType, moment: str, argument: Any) -> None:
        if moment != self.at or frame.f_code.co_qualname != self.name or frame.f_globals.get("__name__") != self.module:
            return
        self.left -= 1
        if self.left == 0 and self.statement is None:
            die()
        elif self.left == 0 and self.statement is not None:
            die_before(self.statement)

    def arm(self) -> None:
        threading.setprofile(self)
        sys.setprofile(self)


def main(file: str, state: str, config: str, text: str) -> None:
    import lanceway.spark

    chosen = json.loads(text)
    spark = lanceway.spark.session("local[1]", conf=CONF, config=config)
    spark.sparkContext.setLogLevel("OFF")

    def listen(event: Event) -> None:
        if (event.step.name, event.moment) == (chosen.get("step"), chosen.get("moment")):
            die()

    if "task" in chosen:
        Path(chosen["task"]).write_text(str(os.getpid()))
    if "function" in chosen:
        Trigger(chosen["function"], chosen["at"], chosen.get("nth", 1), chosen.get("statement")).arm()
    pipelines.run(file, state=state, config=config, listen=listen, spark=spark, threads=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
