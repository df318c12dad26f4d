"""A filter that a Python data source takes is applied to later queries that do not have it.

Python alone and PySpark are needed: python sticky_filters.py
"""

from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, InputPartition
from pyspark.sql.types import StructType


class Numbers(DataSource):
    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "id INT"

    def reader(self, schema: StructType) -> DataSourceReader:
        return NumbersReader()


class NumbersReader(DataSourceReader):
    wanted: int | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        for filter_ in filters:
            if isinstance(filter_, EqualTo):
                self.wanted = filter_.value
            else:
                yield filter_

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        return ((number,) for number in (1, 2) if self.wanted in (None, number))


setting = "spark.sql.python.filterPushdown.enabled"
spark = SparkSession.builder.master("local[1]").config(setting, "true").getOrCreate()
spark.dataSource.register(Numbers)
numbers = spark.read.format("numbers").load()
print("expected: 2 1 2")  # noqa: T201
print("actual:  ", numbers.count(), numbers.where("id = 1").count(), numbers.count())  # noqa: T201
spark.stop()
