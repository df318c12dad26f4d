"""Jobs between catalogs: `crawl` storage for tables, `sync` one catalog into another, `migrate` tables with their data.

    from lanceway.spark import jobs

    report = jobs.sync(lanceway.connect(name="lake"), lanceway.connect(name="aws"), dry_run=True)

They run in threads of this process. Only a copy that is given a Spark session uses Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.spark.jobs.crawling import crawl
    from lanceway.spark.jobs.migrating import migrate
    from lanceway.spark.jobs.outcomes import Outcome, Report
    from lanceway.spark.jobs.syncing import sync

__all__ = ["Outcome", "Report", "crawl", "migrate", "sync"]

# Where what is offered here is defined.
_DEFINED = {
    "Outcome": "outcomes",
    "Report": "outcomes",
    "crawl": "crawling",
    "migrate": "migrating",
    "sync": "syncing",
}


def __getattr__(name: str) -> object:
    if name in _DEFINED:
        return getattr(importlib.import_module(f"{__name__}.{_DEFINED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
