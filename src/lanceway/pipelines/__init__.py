"""Pipelines: sources, transforms and expectations in a YAML file, and the Lance tables that come out.

    from lanceway import pipelines as pipeline

    report = pipeline.run("documents.yaml")

Only `run`, and a check of the whole plan, start Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.lake.runs.runs import RunReport as RunReport
    from lanceway.pipelines.file.check import check as check
    from lanceway.pipelines.file.load import load as load
    from lanceway.pipelines.file.yaml import InvalidPipelineError as InvalidPipelineError
    from lanceway.pipelines.file.yaml import Problem as Problem
    from lanceway.pipelines.runner import run as run
    from lanceway.pipelines.runs.http import Server as Server
    from lanceway.pipelines.runs.report import Event as Event
    from lanceway.pipelines.runs.report import cancel as cancel
    from lanceway.pipelines.runs.report import history as history
    from lanceway.pipelines.runs.report import lineage as lineage
    from lanceway.pipelines.runs.report import status as status

__all__, __getattr__ = front(
    __name__,
    {
        "Event": "lanceway.pipelines.runs.report",
        "InvalidPipelineError": "lanceway.pipelines.file.yaml",
        "Problem": "lanceway.pipelines.file.yaml",
        "RunReport": "lanceway.lake.runs.runs",
        "Server": "lanceway.pipelines.runs.http",
        "cancel": "lanceway.pipelines.runs.report",
        "check": "lanceway.pipelines.file.check",
        "history": "lanceway.pipelines.runs.report",
        "lineage": "lanceway.pipelines.runs.report",
        "load": "lanceway.pipelines.file.load",
        "run": "lanceway.pipelines.runner",
        "status": "lanceway.pipelines.runs.report",
    },
)
