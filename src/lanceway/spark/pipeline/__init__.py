"""Pipelines: sources, transforms and expectations in a YAML file, and the Lance tables that come out.

    from lanceway.spark import pipeline as pipeline

    report = pipeline.run("documents.yaml")

Only `run`, and a check of the whole plan, start Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.spark.pipeline.checking import check as check
    from lanceway.spark.pipeline.file import load as load
    from lanceway.spark.pipeline.lineages import lineage as lineage
    from lanceway.spark.pipeline.problems import InvalidPipelineError as InvalidPipelineError
    from lanceway.spark.pipeline.problems import Problem as Problem
    from lanceway.spark.pipeline.records import history as history
    from lanceway.spark.pipeline.records import status as status
    from lanceway.spark.pipeline.reports import Event as Event
    from lanceway.spark.pipeline.reports import Report as Report
    from lanceway.spark.pipeline.runner import run as run
    from lanceway.spark.pipeline.served import Server as Server

__all__, __getattr__ = front(
    __name__,
    {
        "Event": "lanceway.spark.pipeline.reports",
        "InvalidPipelineError": "lanceway.spark.pipeline.problems",
        "Problem": "lanceway.spark.pipeline.problems",
        "Report": "lanceway.spark.pipeline.reports",
        "Server": "lanceway.spark.pipeline.served",
        "check": "lanceway.spark.pipeline.checking",
        "history": "lanceway.spark.pipeline.records",
        "lineage": "lanceway.spark.pipeline.lineages",
        "load": "lanceway.spark.pipeline.file",
        "run": "lanceway.spark.pipeline.runner",
        "status": "lanceway.spark.pipeline.records",
    },
)
