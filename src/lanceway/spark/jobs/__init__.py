"""Jobs: long work, each a function that may be run again at any time.

Between catalogs: `crawl` storage for tables, `sync` one catalog into another, `migrate` tables with their data. On
one table: `compact` it, `index` a column, `refresh_index` for new rows, `backfill` a column, `dedupe` rows by their
keys, `clean` old versions away, `export` it to Parquet and `import_` from it.

    from lanceway.spark import jobs as jobs

    report = jobs.sync(lanceway.connect(name="lake"), lanceway.connect(name="aws"), dry_run=True)
    summary = jobs.compact("lake.team.orders", spark=lanceway.spark.session())

They run in threads of this process. Only one that is given a Spark session uses Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.spark.jobs.backfilling import backfill as backfill
    from lanceway.spark.jobs.cleaning import clean as clean
    from lanceway.spark.jobs.compacting import compact as compact
    from lanceway.spark.jobs.crawling import crawl as crawl
    from lanceway.spark.jobs.deduplicating import dedupe as dedupe
    from lanceway.spark.jobs.exporting import export as export
    from lanceway.spark.jobs.importing import import_ as import_
    from lanceway.spark.jobs.indexing import index as index
    from lanceway.spark.jobs.migrating import migrate as migrate
    from lanceway.spark.jobs.outcomes import Outcome as Outcome
    from lanceway.spark.jobs.outcomes import Report as Report
    from lanceway.spark.jobs.refreshing import refresh_index as refresh_index
    from lanceway.spark.jobs.summaries import Step as Step
    from lanceway.spark.jobs.summaries import Summary as Summary
    from lanceway.spark.jobs.syncing import sync as sync

__all__, __getattr__ = front(
    __name__,
    {
        "Outcome": "lanceway.spark.jobs.outcomes",
        "Report": "lanceway.spark.jobs.outcomes",
        "Step": "lanceway.spark.jobs.summaries",
        "Summary": "lanceway.spark.jobs.summaries",
        "backfill": "lanceway.spark.jobs.backfilling",
        "clean": "lanceway.spark.jobs.cleaning",
        "compact": "lanceway.spark.jobs.compacting",
        "crawl": "lanceway.spark.jobs.crawling",
        "dedupe": "lanceway.spark.jobs.deduplicating",
        "export": "lanceway.spark.jobs.exporting",
        "import_": "lanceway.spark.jobs.importing",
        "index": "lanceway.spark.jobs.indexing",
        "migrate": "lanceway.spark.jobs.migrating",
        "refresh_index": "lanceway.spark.jobs.refreshing",
        "sync": "lanceway.spark.jobs.syncing",
    },
)
