"""The same rows in Parquet, in the SQL catalog and through `format("lance")`, to be asked the same questions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark_fixtures import lance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Twins:
    """Tables with the same rows in the same order, in one file each. A query names each of them `{t}`."""

    spark: SparkSession
    parquet: str
    catalog: str
    source: str

    def answers(self, query: str) -> list[list[str] | str]:
        """Return the rows or the error that each table gives: Parquet, the catalog, the data source."""
        return [self.answer(query, table) for table in (self.parquet, self.catalog, self.source)]

    def answer(self, query: str, table: str) -> list[str] | str:
        """Return the rows or the error that one of the tables gives."""
        from pyspark.errors import PySparkException

        try:
            rows = self.spark.sql(query.replace("{t}", table)).collect()
        except PySparkException as error:
            return str(error.getCondition())
        # As text, since NaN is not equal to itself, and 0.0 is equal to -0.0.
        return sorted(repr(tuple(row)) for row in rows)

    def plan(self, query: str) -> str:
        """Return how Spark carries a query out in the catalog."""
        (row,) = self.spark.sql(f"EXPLAIN {query.replace('{t}', self.catalog)}").collect()
        return str(row[0])


@contextmanager
def twins(spark: SparkSession, name: str, columns: str, rows: str, folder: Path) -> Iterator[Twins]:
    """Make tables of these rows, and drop them in the end."""
    made = Twins(spark, f"{name}_parquet", f"warehouse.{name}", f"{name}_source")
    spark.sql(f"CREATE TABLE {made.parquet} ({columns}) USING parquet")
    spark.sql(f"INSERT INTO {made.parquet} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    spark.sql(f"CREATE TABLE {made.catalog} ({columns})")
    spark.sql(f"INSERT INTO {made.catalog} SELECT /*+ COALESCE(1) */ * FROM {made.parquet}")
    spark.table(made.parquet).coalesce(1).write.format("lance").mode("append").save(str(folder / name))
    lance(spark, folder / name).createOrReplaceTempView(made.source)
    yield made
    spark.catalog.dropTempView(made.source)
    for table in (made.parquet, made.catalog):
        spark.sql(f"DROP TABLE {table}")


@contextmanager
def ansi(spark: SparkSession, enabled: bool) -> Iterator[None]:
    """Switch Spark's ANSI mode, in which an overflow is an error."""
    key = "spark.sql.ansi.enabled"
    before = str(spark.conf.get(key))
    spark.conf.set(key, str(enabled).lower())
    yield
    spark.conf.set(key, before)
