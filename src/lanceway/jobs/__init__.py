"""Jobs: long work, each a function that may be run again at any time.

Between catalogs: `crawl` storage for tables, `sync` one catalog into another, `migrate` tables with their data. On
one table: `compact` it, `index` a column, `refresh_index` for new rows, `backfill` a column, `dedupe` rows by their
keys, `clean` old versions away, `export` it to Parquet and `import_` from it, `export_iceberg` and `import_iceberg`.

    from lanceway import jobs

    report = jobs.sync(lanceway.connect(name="lake"), lanceway.connect(name="aws"), dry_run=True)
    summary = jobs.compact("lake.team.orders", spark=lanceway.spark.session())

They run in threads of this process. Only one that is given a Spark session uses Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.jobs.between.crawl import crawl as crawl
    from lanceway.jobs.between.migrate import migrate as migrate
    from lanceway.jobs.between.sync import sync as sync
    from lanceway.jobs.iceberg.exports import export_iceberg as export_iceberg
    from lanceway.jobs.iceberg.imports import import_iceberg as import_iceberg
    from lanceway.jobs.report import JobProgress as JobProgress
    from lanceway.jobs.report import JobReport as JobReport
    from lanceway.jobs.report import JobSummary as JobSummary
    from lanceway.jobs.report import TableOutcome as TableOutcome
    from lanceway.jobs.table.backfill import backfill as backfill
    from lanceway.jobs.table.compact import clean as clean
    from lanceway.jobs.table.compact import compact as compact
    from lanceway.jobs.table.dedupe import dedupe as dedupe
    from lanceway.jobs.table.index import index as index
    from lanceway.jobs.table.index import refresh_index as refresh_index
    from lanceway.jobs.table.parquet_export import export as export
    from lanceway.jobs.table.parquet_import import import_ as import_

__all__, __getattr__ = front(
    __name__,
    {
        "TableOutcome": "lanceway.jobs.report",
        "JobReport": "lanceway.jobs.report",
        "JobProgress": "lanceway.jobs.report",
        "JobSummary": "lanceway.jobs.report",
        "backfill": "lanceway.jobs.table.backfill",
        "clean": "lanceway.jobs.table.compact",
        "compact": "lanceway.jobs.table.compact",
        "crawl": "lanceway.jobs.between.crawl",
        "dedupe": "lanceway.jobs.table.dedupe",
        "export": "lanceway.jobs.table.parquet_export",
        "export_iceberg": "lanceway.jobs.iceberg.exports",
        "import_": "lanceway.jobs.table.parquet_import",
        "import_iceberg": "lanceway.jobs.iceberg.imports",
        "index": "lanceway.jobs.table.index",
        "migrate": "lanceway.jobs.between.migrate",
        "refresh_index": "lanceway.jobs.table.index",
        "sync": "lanceway.jobs.between.sync",
    },
)
