"""Rows of a table updated or deleted by a condition, by Spark and in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError
from lanceway.spark.types import ROW_ADDRESS, ROW_ID, spark_schema
from lanceway.spark.write.changed_rows import ACTION, DELETE, UPDATE
from lanceway.spark.write.rewriting import Base, Changed, rewrite
from lanceway.tables.schema.fields import quoted
from lanceway.writes import named

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def update(spark: SparkSession, target: named.Named, values: Mapping[str, str], *, where: str | None = None) -> Changed:
    """Give columns new values in the rows that meet a condition, or in all. Both are Spark SQL over the columns."""
    if not values:
        raise InvalidInputError("update has nothing to do: give columns and their new values.")

    def changes(base: Base) -> DataFrame:
        from pyspark.sql import functions as f

        unknown = [name for name in values if name not in base.schema.names]
        if unknown:
            raise InvalidInputError(
                f"update: {base.target.name} has no column {unknown[0]!r}. It has: {', '.join(base.schema.names)}."
            )
        rows = base.rows(spark)
        chosen = rows if where is None else rows.where(where)
        columns = [
            f.expr(values[field.name]).cast(field.dataType).alias(field.name)
            if field.name in values
            else chosen[quoted(field.name)]
            for field in spark_schema(base.schema)
        ]
        ids = [chosen[ROW_ID]] if base.stable else []
        return chosen.select(*columns, chosen[ROW_ADDRESS], *ids, f.lit(UPDATE).alias(ACTION))

    return rewrite(spark, named.target(target), changes, None)


def delete(spark: SparkSession, target: named.Named, *, where: str) -> Changed:
    """Delete the rows that meet a condition in Spark SQL over the columns. `true` means all."""

    def changes(base: Base) -> DataFrame:
        from pyspark.sql import functions as f

        chosen = base.rows(spark).where(where)
        return chosen.select(chosen[ROW_ADDRESS], f.lit(DELETE).alias(ACTION))

    return rewrite(spark, named.target(target), changes, None)
