"""Jobs: long work, each a function that may be run again at any time.

Between catalogs: `crawl` storage for tables, `sync` one catalog into another, `migrate` tables with their data. On
one table: `compact` it, `index` a column, `refresh_index` for new rows, `backfill` a column, `dedupe` rows by their
keys, `clean` old versions away, `export` it to Parquet and `import_` from it.

    from lanceway.spark import jobs

    report = jobs.sync(lanceway.connect(name="lake"), lanceway.connect(name="aws"), dry_run=True)
    summary = jobs.compact("lake.team.orders", spark=lanceway.spark.session())

They run in threads of this process. Only one that is given a Spark session uses Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.spark.jobs.backfilling import backfill
    from lanceway.spark.jobs.cleaning import clean
    from lanceway.spark.jobs.compacting import compact
    from lanceway.spark.jobs.crawling import crawl
    from lanceway.spark.jobs.deduplicating import dedupe
    from lanceway.spark.jobs.exporting import export
    from lanceway.spark.jobs.importing import import_
    from lanceway.spark.jobs.indexing import index
    from lanceway.spark.jobs.migrating import migrate
    from lanceway.spark.jobs.outcomes import Outcome, Report
    from lanceway.spark.jobs.refreshing import refresh_index
    from lanceway.spark.jobs.summaries import Step, Summary
    from lanceway.spark.jobs.syncing import sync

__all__ = [
    "Outcome",
    "Report",
    "Step",
    "Summary",
    "backfill",
    "clean",
    "compact",
    "crawl",
    "dedupe",
    "export",
    "import_",
    "index",
    "migrate",
    "refresh_index",
    "sync",
]

# Where what is offered here is defined.
_DEFINED = {
    "Outcome": "outcomes",
    "Report": "outcomes",
    "Step": "summaries",
    "Summary": "summaries",
    "backfill": "backfilling",
    "clean": "cleaning",
    "compact": "compacting",
    "crawl": "crawling",
    "dedupe": "deduplicating",
    "export": "exporting",
    "import_": "importing",
    "index": "indexing",
    "migrate": "migrating",
    "refresh_index": "refreshing",
    "sync": "syncing",
}


def __getattr__(name: str) -> object:
    if name in _DEFINED:
        return getattr(importlib.import_module(f"{__name__}.{_DEFINED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
