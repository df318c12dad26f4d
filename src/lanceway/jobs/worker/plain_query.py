"""Spark SQL of users, held to plain queries: rows of one catalog's tables, and nothing done but reading them.

Spark runs commands as soon as it analyzes them, so a text is parsed first and refused unless every part of it is known
to be part of a query. A list of what is forbidden would have to name all that Spark will ever be able to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, PermissionDeniedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Without it, a name such as json.`http://host/path` reads files, while it is analyzed already.
_FILES = "spark.sql.runSQLOnFiles"
# What a query is made of before its names are resolved: the classes of Spark's parser.
_QUERY = frozenset(
    {
        "Aggregate",
        "AsOfJoin",
        "Distinct",
        "Except",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Intersect",
        "Join",
        "LateralJoin",
        "LocalLimit",
        "LocalRelation",
        "Offset",
        "OneRowRelation",
        "Pivot",
        "Project",
        "RelationTimeTravel",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedInlineTable",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Tail",
        "Union",
        "Unpivot",
        "UnresolvedHaving",
        "UnresolvedHint",
        "UnresolvedInlineTable",
        "UnresolvedRelation",
        "UnresolvedSubqueryColumnAliases",
        "UnresolvedTVFAliases",
        "UnresolvedTableValuedFunction",
        "UnresolvedWith",
        "Window",
        "WithWindowDefinition",
    }
)
# What may stand at the bottom of an analyzed query, besides tables of the catalog.
_TABLES = "DataSourceV2Relation"
_ROWS = frozenset({"CTERelationRef", "LocalRelation", "OneRowRelation", "Range"})
_REFLECTION = frozenset({"java_method", "reflect", "try_reflect"})
_FOREIGN_CODE = frozenset({"CallMethodViaReflection", "TryReflect", "PythonUDAF", "PythonUDF", "ScalaUDAF", "ScalaUDF"})


def plain_query(spark: SparkSession, sql: str, catalog: str) -> DataFrame:
    """Return the rows of a query over a catalog, whose tables it may name without it. Nothing has been run then.

    Raises InvalidInputError where the text is not SQL, and PermissionDeniedError where it is not a plain query, calls
    code of the JVM, or reads anything but tables of the catalog.
    """
    from pyspark.errors import AnalysisException, ParseException

    spark.conf.set(_FILES, "false")
    state = spark._jsparkSession.sessionState()
    try:
        parsed = state.sqlParser().parsePlan(sql)
        _require_query(parsed)
        frame = spark.sql(sql)
        _require_own_rows(frame._jdf.queryExecution().analyzed(), catalog)
    except (AnalysisException, ParseException) as error:
        reason = (str(error).strip().splitlines() or [sql])[0]
        raise InvalidInputError(f"The view's SQL is refused: {reason}") from error
    return frame


def _require_query(parsed: Any) -> None:
    for plan in _plans(parsed):
        if _class(plan) not in _QUERY:
            raise PermissionDeniedError(
                f"The view's SQL is refused: it must be a plain query, such as SELECT … FROM …, and {_class(plan)} is "
                "not part of one."
            )
        for expression in _expressions(plan):
            if _class(expression) == "UnresolvedFunction" and _last(expression.nameParts()).lower() in _REFLECTION:
                raise _calls_code(_last(expression.nameParts()))


def _require_own_rows(analyzed: Any, catalog: str) -> None:
    for plan in _plans(analyzed):
        kind = _class(plan)
        if kind == _TABLES:
            owner = plan.catalog()
            if not owner.isDefined() or owner.get().name() != catalog:
                raise PermissionDeniedError(
                    f"The view's SQL is refused: it reads {plan.name()}, and may only read tables of {catalog}."
                )
        elif plan.children().isEmpty() and kind not in _ROWS:
            raise PermissionDeniedError(
                f"The view's SQL is refused: it may only read tables of {catalog}, and Spark reads a {kind} here."
            )
        for expression in _expressions(plan):
            if _class(expression) in _FOREIGN_CODE:
                raise _calls_code(expression.prettyName())


def _calls_code(function: str) -> PermissionDeniedError:
    return PermissionDeniedError(f"The view's SQL is refused: {function} calls code that is not Spark's own.")


def _plans(plan: Any) -> Iterator[Any]:
    """Yield a plan and all below it, those of subqueries and WITH included."""
    yield plan
    for child in chain(_listed(plan.children()), _listed(plan.innerChildren())):
        # A pipe operator (|>) is a mark inside of an expression that Spark lists among them.
        if _is_plan(child):
            yield from _plans(child)


def _expressions(plan: Any) -> Iterator[Any]:
    waiting = _listed(plan.expressions())
    while waiting:
        expression = waiting.pop()
        yield expression
        waiting += _listed(expression.children())


def _is_plan(node: Any) -> bool:
    return "expressions" not in node.getClass().getPackageName().rpartition(".")[2]


def _class(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


def _last(sequence: Any) -> str:
    return str(sequence.apply(sequence.size() - 1))
