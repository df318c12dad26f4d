"""What the tests of Spark SQL share: a catalog under a name, a namespace of one's own in it, and short questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Sql:
    """Statements in which `{n}` is a namespace with its catalog, and `{c}` the catalog."""

    spark: SparkSession
    catalog: str
    namespace: str

    @property
    def names(self) -> dict[str, str]:
        return {"c": self.catalog, "n": f"{self.catalog}.{self.namespace}", "own": self.namespace}

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(self.told(statement))

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(self.told(statement)).collect()]

    def column(self, statement: str) -> list[Any]:
        return sorted(row[0] for row in self.rows(statement))

    def plan(self, statement: str) -> str:
        (row,) = self.rows(f"EXPLAIN {statement}")
        return str(row[0])

    def refusal(self, statement: str) -> str:
        """The sentence that a statement is refused with, as one of Spark's own exceptions."""
        from pyspark.errors import AnalysisException

        with pytest.raises(AnalysisException) as refused:
            self.rows(statement)
        return str(refused.value)

    def told(self, statement: str) -> str:
        for key, value in self.names.items():
            statement = statement.replace(f"{{{key}}}", value)
        return statement
