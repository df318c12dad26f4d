"""The tables of the benchmark of Spark: the same rows as Lance and as Parquet, made once for all parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark_report import took

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZE = 64
CATALOG = "bench"
_NARROW = ("id", "rand(7) AS x", "CAST(id % 1000 AS int) AS k", "concat('word ', id % 100) AS word")
_VECTOR = ", ".join(f"float(x * {number})" for number in range(1, SIZE + 1))


@dataclass(frozen=True)
class Pair:
    """One table in both formats. `wide` ones have a vector of 64 floats in each row."""

    spark: SparkSession
    home: Path
    name: str
    rows: int
    wide: bool

    @property
    def lance(self) -> Path:
        return self.home / "warehouse" / f"{self.name}.lance"

    @property
    def parquet(self) -> Path:
        return self.home / "parquet" / self.name

    @property
    def title(self) -> str:
        return f"{self.rows:,} rows {f'with vectors of {SIZE} floats' if self.wide else 'without vectors'}"

    def made(self, start: int = 0, end: int | None = None) -> DataFrame:
        """New rows; made by generated code, so that to make them costs little beside writing them."""
        rows = self.spark.range(start, self.rows if end is None else end).selectExpr(*_NARROW)
        return rows.selectExpr("*", f"array({_VECTOR}) AS v") if self.wide else rows

    def write_lance(self, path: Path | None = None, frame: DataFrame | None = None, mode: str = "overwrite") -> None:
        vectors = {"vector_columns": f'{{"v": {SIZE}}}'} if self.wide and mode == "overwrite" else {}
        writer = (self.made() if frame is None else frame).write.format("lance").mode(mode)
        writer.options(**vectors).save(str(path or self.lance))

    def write_parquet(self, path: Path | None = None, frame: DataFrame | None = None, mode: str = "overwrite") -> None:
        (self.made() if frame is None else frame).write.mode(mode).parquet(str(path or self.parquet))

    def fill(self) -> tuple[float, float] | None:
        """Write both, unless they are there from an earlier run; answers how long each took."""
        if (self.lance / "_versions").is_dir() and (self.parquet / "_SUCCESS").is_file():
            return None
        return took(self.write_lance), took(self.write_parquet)

    def views(self) -> tuple[str, str, str]:
        """The table in SQL: by the data source, by the catalog, and as Parquet."""
        self.spark.read.format("lance").load(str(self.lance)).createOrReplaceTempView(f"{self.name}_lance")
        self.spark.read.parquet(str(self.parquet)).createOrReplaceTempView(f"{self.name}_parquet")
        return f"{self.name}_lance", f"{CATALOG}.{self.name}", f"{self.name}_parquet"
