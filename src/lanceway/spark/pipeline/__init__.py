"""Pipelines: sources, transforms and expectations in a YAML file, and the Lance tables that come out.

    from lanceway.spark import pipeline

    report = pipeline.run("documents.yaml")

Only `run`, and a check of the whole plan, start Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.spark.pipeline.checking import check
    from lanceway.spark.pipeline.file import load
    from lanceway.spark.pipeline.lineages import lineage
    from lanceway.spark.pipeline.problems import InvalidPipelineError, Problem
    from lanceway.spark.pipeline.records import history, status
    from lanceway.spark.pipeline.reports import Event, Report
    from lanceway.spark.pipeline.runner import run
    from lanceway.spark.pipeline.served import Server

__all__ = [
    "Event",
    "InvalidPipelineError",
    "Problem",
    "Report",
    "Server",
    "check",
    "history",
    "lineage",
    "load",
    "run",
    "status",
]

# Where what is offered here is defined.
_DEFINED = {
    "Event": "reports",
    "InvalidPipelineError": "problems",
    "Problem": "problems",
    "Report": "reports",
    "Server": "served",
    "check": "checking",
    "history": "records",
    "lineage": "lineages",
    "load": "file",
    "run": "runner",
    "status": "records",
}


def __getattr__(name: str) -> object:
    if name in _DEFINED:
        return getattr(importlib.import_module(f"{__name__}.{_DEFINED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
