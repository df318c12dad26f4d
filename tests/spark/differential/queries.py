"""Random queries over the tables `$t` and `$u`, whose answers depend on no order of rows.

`$t@3` is the table as it was after its third step, `$t@3!` the same by the time of that. So that every answer is the
same on every reading: sums are of numbers whose sums are exact in any order; the extreme of numbers among which 0.0 and
-0.0 may be has no sign if it is zero; what takes the first of several rows orders them by the key last; and nothing
is asked that fails for some values, since a filter that is evaluated earlier than another would hide that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.spark.differential.tables import KEY, Column, Content, Table
from tests.spark.differential.tree import BOOLEAN, CLAUSE, ITEM, NAME, QUERY, SOURCE, Items, Node
from tests.spark.differential.values import FAR, TYPES, literal

# Delete this line to generate nulls among the conditions inside aggregates too: Spark 4.3 asserts that there are none
# when it looks for aggregates that a source could compute.
LEAVE_OUT_NULLS_IN_AGGREGATES = True
# Delete this line to count distinct values of any expression, not of columns alone: Spark 4.3 asks a source for
# count(*) where it means count(DISTINCT 1).
LEAVE_OUT_DISTINCT_CONSTANTS = True

ZONES = ("UTC", "Asia/Kolkata", "America/New_York", "Europe/Rome", "Pacific/Apia", "Australia/Lord_Howe")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_SIMPLE = (*_WHOLE, *_FLOATS, BOOLEAN, "string", "binary", "date", "timestamp", "timestamp_ntz", "time(6)")
_SIMPLE += ("decimal(10,2)", "decimal(20,0)", "decimal(38,30)", "interval day to second")
# Arrays whose elements have this type, and maps from and to these.
_ELEMENTS = {"array<int>": "int", "array<string>": "string", "array<double>": "double", "array<float>": "float"}
_ELEMENTS |= {"array<array<smallint>>": "array<smallint>", "array<smallint>": "smallint"}
_PAIR = "struct<a:int,`b c`:string>"
# What is inside of a value: how it is written, and its type.
_INSIDE: dict[str, tuple[tuple[str, str], ...]] = {
    **{kind: (("get({}, 0)", element), ("get({}, 1)", element)) for kind, element in _ELEMENTS.items()},
    "map<string,int>": (("{}['k']", "int"), ("map_keys({})", "array<string>"), ("map_values({})", "array<int>")),
    "map<bigint,string>": (("{}[1L]", "string"), ("map_values({})", "array<string>")),
    _PAIR: (("{}.a", "int"), ("{}.`b c`", "string")),
    "struct<f:double,`in`:struct<d:date,l:array<int>>>": (
        ("{}.f", "double"),
        ("{}.`in`.d", "date"),
        ("{}.`in`.l", "array<int>"),
    ),
    f"array<{_PAIR}>": (("{}.a", "array<int>"), ("get({}, 0)", _PAIR), ("{}.`b c`", "array<string>")),
    f"map<string,{_PAIR}>": (("{}['k']", _PAIR), ("map_values({}).a", "array<int>")),
}

# Functions by the type of what they answer: how they are written, and the types of their arguments.
_FUNCTIONS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "int": (
        ("try_add({}, {})", ("int", "int")),
        ("length({})", ("string",)),
        ("size({})", ("array<int>",)),
        ("CAST({} AS INT)", ("smallint",)),
        ("year({})", ("date",)),
        ("hour({})", ("timestamp",)),
        ("dayofyear({})", ("timestamp",)),
        ("minute({})", ("timestamp_ntz",)),
        ("minute({})", ("time(6)",)),
        ("ascii({})", ("string",)),
        ("cardinality({})", ("map<string,int>",)),
        ("if({}, {}, {})", (BOOLEAN, "int", "int")),
        ("array_position({}, 'a')", ("array<string>",)),
    ),
    "bigint": (
        ("try_multiply({}, {})", ("bigint", "bigint")),
        ("CAST({} AS BIGINT)", ("int",)),
        ("nullif({}, {})", ("bigint", "bigint")),
        ("xxhash64({}, {})", ("string", "date")),
        ("CASE WHEN {} THEN {} END", (BOOLEAN, "bigint")),
    ),
    "smallint": (("CAST({} AS SMALLINT)", ("tinyint",)), ("coalesce({}, {})", ("smallint", "smallint"))),
    "tinyint": (("coalesce({}, {})", ("tinyint", "tinyint")),),
    "double": (
        ("try_divide({}, {})", ("double", "double")),
        ("CAST({} AS DOUBLE)", ("float",)),
        ("CAST({} AS DOUBLE)", ("bigint",)),
        ("-{}", ("double",)),
        ("nanvl({}, {})", ("double", "double")),
        ("abs({})", ("double",)),
    ),
    "float": (("-{}", ("float",)), ("coalesce({}, {})", ("float", "float"))),
    "string": (
        ("concat({}, {})", ("string", "string")),
        ("upper({})", ("string",)),
        ("substring({}, 2)", ("string",)),
        ("CAST({} AS STRING)", ("timestamp",)),
        ("CAST({} AS STRING)", ("timestamp_ntz",)),
        ("CAST({} AS STRING)", ("time(6)",)),
        ("CAST({} AS STRING)", ("double",)),
        ("CAST({} AS STRING)", ("float",)),
        ("CAST({} AS STRING)", ("decimal(38,30)",)),
        ("CAST({} AS STRING)", ("interval day to second",)),
        ("hex({})", ("binary",)),
        ("to_json({})", (_PAIR,)),
        ("array_join({}, '-', 'null')", ("array<string>",)),
        ("coalesce({}, {})", ("string", "string")),
    ),
    "binary": (("CAST({} AS BINARY)", ("string",)), ("concat({}, {})", ("binary", "binary"))),
    "date": (
        ("CAST({} AS DATE)", ("timestamp",)),
        ("CAST({} AS DATE)", ("timestamp_ntz",)),
        ("trunc({}, 'MM')", ("date",)),
        ("coalesce({}, {})", ("date", "date")),
    ),
    "timestamp": (
        ("date_trunc('DAY', {})", ("timestamp",)),
        ("CAST({} AS TIMESTAMP)", ("timestamp_ntz",)),
        ("CAST({} AS TIMESTAMP)", ("date",)),
    ),
    "timestamp_ntz": (("CAST({} AS TIMESTAMP_NTZ)", ("timestamp",)), ("CAST({} AS TIMESTAMP_NTZ)", ("date",))),
    "interval day to second": (("coalesce({}, {})", ("interval day to second", "interval day to second")),),
    "array<string>": (("sort_array({})", ("array<string>",)), ("transform({}, x -> upper(x))", ("array<string>",))),
    "array<int>": (("array_distinct({})", ("array<int>",)), ("slice({}, 1, 2)", ("array<int>",))),
}
_LAMBDAS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "array<int>": (
        ("transform({}, x -> try_add(x, 1))", ("array<int>",)),
        ("filter({}, x -> x IS NULL OR x > 0)", ("array<int>",)),
        ("array_compact({})", ("array<int>",)),
    ),
    "array<double>": (("transform({}, x -> -x)", ("array<double>",)),),
    "bigint": (("aggregate({}, 0L, (sum, x) -> try_add(sum, x))", ("array<int>",)),),
    BOOLEAN: (
        ("exists({}, x -> x > 0)", ("array<int>",)),
        ("forall({}, x -> x IS NOT NULL)", ("array<double>",)),
        ("exists({}, x -> isnan(x))", ("array<float>",)),
    ),
}
_FUNCTIONS = {kind: _FUNCTIONS.get(kind, ()) + _LAMBDAS.get(kind, ()) for kind in {**_FUNCTIONS, **_LAMBDAS}}
# Columns whose sums and averages are the same in any order, by their types here.
_SUMMED = ("i8", "i16", "i32", "small", "u8", "u16", "u32", "exact", "dec")
_AVERAGED = ("i8", "i16", "i32", "small", "u8", "u16", "exact", "dec", "huge")


@dataclass(frozen=True)
class Scope:
    """Columns that an expression may name: how each is written, and its type in Spark."""

    leaves: Mapping[str, tuple[str, ...]]
    columns: tuple[tuple[str, Column], ...]

    @classmethod
    def of(cls, content: Content, alias: str) -> Scope:
        leaves: dict[str, list[str]] = {}

        def add(text: str, kind: str) -> None:
            leaves.setdefault(kind, []).append(text)
            for inside, type_ in _INSIDE.get(kind, ()):
                add(inside.format(text), type_)

        columns = tuple((f"{alias}.`{column.name}`", column) for column in content.columns)
        for text, column in columns:
            add(text, column.of.spark)
        return cls({kind: tuple(texts) for kind, texts in leaves.items()}, columns)

    def and_(self, other: Scope) -> Scope:
        kinds = {**self.leaves, **other.leaves}
        leaves = {kind: self.leaves.get(kind, ()) + other.leaves.get(kind, ()) for kind in kinds}
        return Scope(leaves, self.columns + other.columns)


class Generator:
    """Makes queries over tables as they were at any step."""

    def __init__(self, random: Random, tables: Mapping[str, Table]) -> None:
        self.random = random
        self.histories = {name: table.history() for name, table in tables.items()}
        self.nulls = 0.05

    def query(self) -> Node:
        return self.random.choice(_KINDS)(self)

    # -- tables

    def source(self, alias: str, name: str | None = None) -> tuple[Node, Scope]:
        name = name or self.random.choice(list(self.histories))
        history = self.histories[name]
        step, at = len(history) - 1, ""
        if self.random.random() < 0.15:
            step = self.random.randrange(len(history))
            at = f"@{step}{self.random.choice(('', '!'))}"
        return Node(SOURCE, f"${name}{at} {alias}"), Scope.of(history[step], alias)

    # -- expressions

    def expression(self, scope: Scope, kind: str, depth: int = 2) -> Node:
        leaves = scope.leaves.get(kind, ())
        if kind == BOOLEAN and depth > 0 and self.random.random() < 0.8:
            return self.condition(scope, depth)
        functions = _FUNCTIONS.get(kind, ())
        if depth > 0 and functions and self.random.random() < 0.4:
            text, kinds = self.random.choice(functions)
            return Node(kind, text, tuple(self.expression(scope, argument, depth - 1) for argument in kinds))
        if leaves and self.random.random() < 0.85:
            return Node(kind, self.random.choice(leaves))
        return self.literal(kind)

    def literal(self, kind: str) -> Node:
        if kind in FAR and self.random.random() < 0.1:
            return Node(kind, self.random.choice(FAR[kind]))
        values = [value for type_ in TYPES.values() if type_.spark == kind for value in type_.values]
        simple = kind in _SIMPLE and values and self.random.random() >= self.nulls
        return Node(kind, literal(self.random.choice(values) if simple else None, kind))

    def condition(self, scope: Scope, depth: int = 2) -> Node:
        if depth > 0 and self.random.random() < 0.45:
            text = self.random.choice(("({} AND {})", "({} OR {})", "(NOT {})"))
            return Node(BOOLEAN, text, tuple(self.condition(scope, depth - 1) for _ in range(text.count("{}"))))
        if BOOLEAN in scope.leaves and self.random.random() < 0.05:
            return Node(BOOLEAN, self.random.choice(scope.leaves[BOOLEAN]))
        lambdas = [entry for entry in _FUNCTIONS.get(BOOLEAN, ()) if entry[1][0] in scope.leaves]
        if lambdas and self.random.random() < 0.2:
            text, kinds = self.random.choice(lambdas)
            return Node(BOOLEAN, text, tuple(self.expression(scope, kind, 0) for kind in kinds))
        return self.comparison(scope, depth)

    def comparison(self, scope: Scope, depth: int) -> Node:
        """One comparison, mostly of a column with values: what Lance may evaluate."""
        kind = self.random.choice(list(scope.leaves))
        left = self.expression(scope, kind, depth - 1 if self.random.random() < 0.3 else 0)
        if kind not in _SIMPLE or self.random.random() < 0.15:
            return Node(BOOLEAN, self.random.choice(("({} IS NULL)", "({} IS NOT NULL)")), (left,))
        if kind == "string" and self.random.random() < 0.4:
            return Node(BOOLEAN, self.random.choice(_TEXT), (left,))
        if self.random.random() < 0.2:
            values = Items(", ", tuple(self.literal(kind) for _ in range(self.random.randint(1, 4))), 1)
            return Node(BOOLEAN, self.random.choice(("({} IN ({}))", "({} NOT IN ({}))")), (left, values))
        if self.random.random() < 0.1:
            return Node(BOOLEAN, "({} BETWEEN {} AND {})", (left, self.literal(kind), self.literal(kind)))
        right = self.literal(kind) if self.random.random() < 0.8 else self.expression(scope, kind, 0)
        operator = self.random.choice(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        return Node(BOOLEAN, f"({{}} {operator} {{}})", (left, right))

    def item(self, scope: Scope, number: int, kinds: Sequence[str] | None = None) -> Node:
        kind = self.random.choice([kind for kind in scope.leaves if kinds is None or kind in kinds] or ["bigint"])
        return Node(ITEM, f"{{}} AS c{number}", (self.expression(scope, kind),))

    def items(self, scope: Scope, kinds: Sequence[str] | None = None) -> Items:
        count = self.random.randint(1, 4)
        return Items(", ", tuple(self.item(scope, number, kinds) for number in range(count)), 1)

    def where(self, scope: Scope, likely: float = 0.6) -> tuple[Node, ...]:
        if self.random.random() > likely:
            return ()
        return (Node(CLAUSE, " WHERE {}", (self.condition(scope),)),)

    # -- kinds of queries

    def projection(self) -> Node:
        source, scope = self.source("r")
        clauses = Items("", self.where(scope))
        if self.random.random() < 0.2:
            return Node(QUERY, "SELECT * FROM {}{}", (source, clauses))
        if self.random.random() < 0.2:
            return Node(QUERY, "SELECT DISTINCT {} FROM {}{}", (self.items(scope, _SIMPLE), source, clauses))
        return Node(QUERY, "SELECT {} FROM {}{}", (self.items(scope), source, clauses))

    def first_rows(self) -> Node:
        source, scope = self.source("r")
        order = Items("", tuple(self.order(scope) for _ in range(self.random.randint(0, 2))))
        text = f"SELECT {{}} FROM {{}}{{}} ORDER BY {{}}r.{KEY} LIMIT {self.random.choice((0, 1, 5, 20))}"
        if self.random.random() < 0.3:
            text += f" OFFSET {self.random.choice((1, 3))}"
        return Node(QUERY, text, (self.items(scope), source, Items("", self.where(scope)), order))

    def order(self, scope: Scope) -> Node:
        kind = self.random.choice([kind for kind in scope.leaves if kind in _SIMPLE])
        direction = self.random.choice(("", " DESC", " NULLS LAST", " DESC NULLS FIRST"))
        return Node(ITEM, f"{{}}{direction}, ", (self.expression(scope, kind, 1),))

    def some_rows(self) -> Node:
        """Rows that nothing orders: which they are is left open, but not how many."""
        source, scope = self.source("r")
        limit = self.random.choice((0, 1, 2, 5, 20, 1000))
        text = f"SELECT count(*) FROM (SELECT {{}} FROM {{}}{{}} LIMIT {limit})"
        return Node(QUERY, text, (self.items(scope), source, Items("", self.where(scope))))

    def aggregate(self, scope: Scope) -> Node:
        text, column = self.random.choice(scope.columns)
        kind = column.of.spark
        any_ = self.expression(scope, self.random.choice([kind for kind in scope.leaves if "map" not in kind]), 1)
        distinct = any_
        if globals().get("LEAVE_OUT_DISTINCT_CONSTANTS"):
            distinct = Node(NAME, next(text for text, other in scope.columns if "map" not in other.of.spark))
            if "map" not in kind:
                distinct = Node(NAME, text)
        choices: list[Node] = [
            Node(ITEM, "count(*)"),
            Node(ITEM, "count({})", (any_,)),
            Node(ITEM, "count(DISTINCT {})", (distinct,)),
            Node(ITEM, "count(*) FILTER (WHERE {})", (self.condition(scope, 1),)),
            Node(ITEM, f"max_by({{}}, {scope.columns[0][0]})", (any_,)),
            Node(ITEM, "bool_or({})", (self.condition(scope, 1),)),
        ]
        if kind in _SIMPLE:
            zero = {"float": " + 0.0F", "double": " + 0.0D"}.get(kind, "")
            choices += [Node(ITEM, f"{function}({text}){zero}") for function in ("min", "max")] * 2
        if kind in _SIMPLE and kind not in _FLOATS:
            choices.append(Node(ITEM, f"sort_array(collect_list({text}))"))
        if column.type in _SUMMED:
            choices += [Node(ITEM, f"sum({text})")] * 3
        if column.type in _AVERAGED:
            choices += [Node(ITEM, f"avg({text})")] * 3
        return self.random.choice(choices)

    def aggregates(self, scope: Scope) -> Items:
        nulls = self.nulls
        self.nulls = 0 if globals().get("LEAVE_OUT_NULLS_IN_AGGREGATES") else nulls
        items = Items(", ", tuple(self.aggregate(scope) for _ in range(self.random.randint(1, 4))), 1)
        self.nulls = nulls
        return items

    def aggregation(self) -> Node:
        source, scope = self.source("r")
        return Node(QUERY, "SELECT {} FROM {}{}", (self.aggregates(scope), source, Items("", self.where(scope, 0.5))))

    def grouping(self) -> Node:
        source, scope = self.source("r")
        plain = [text for text, column in scope.columns if column.of.spark in _SIMPLE]
        groups = [Node(NAME, text) for text in self.random.sample(plain, min(len(plain), self.random.randint(1, 2)))]
        if self.random.random() < 0.3:
            groups[0] = self.expression(scope, self.random.choice([kind for kind in scope.leaves if kind in _SIMPLE]))
        keys = ", ".join(group.sql() for group in groups)
        by = self.random.choice(("{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})")).format(keys)
        having = self.random.choice(("", "", " HAVING count(*) > 1"))
        text = f"SELECT {keys}, {{}} FROM {{}}{{}} GROUP BY {by}{having}"
        return Node(QUERY, text, (self.aggregates(scope), source, Items("", self.where(scope, 0.5))))

    def join(self) -> Node:
        left, left_scope = self.source("r")
        right, right_scope = self.source("q")
        how = self.random.choice(("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
        both = left_scope if "SEMI" in how or "ANTI" in how else left_scope.and_(right_scope)
        equal = self.random.choice(("=", "=", "<=>"))
        condition = Node(BOOLEAN, f"r.k {equal} q.k")
        if self.random.random() < 0.4:
            more = self.condition(left_scope.and_(right_scope), 1)
            condition = Node(BOOLEAN, "({} AND {})", (condition, more))
        text = f"SELECT {{}} FROM {{}} {how} {{}} ON {{}}{{}}"
        return Node(QUERY, text, (self.items(both), left, right, condition, Items("", self.where(both, 0.4))))

    def subquery(self) -> Node:
        outer, scope = self.source("r")
        inner, inner_scope = self.source("q")
        kinds = [kind for kind in scope.leaves if kind in _SIMPLE and kind in inner_scope.leaves]
        kind = self.random.choice(kinds)
        own, other = self.expression(scope, kind, 1), Node(kind, self.random.choice(inner_scope.leaves[kind]))
        where = Items("", self.where(inner_scope, 0.5))
        choices = [
            Node(BOOLEAN, "({} IN (SELECT {} FROM {}{}))", (own, other, inner, where)),
            Node(BOOLEAN, "({} NOT IN (SELECT {} FROM {}{}))", (own, other, inner, where)),
            Node(BOOLEAN, "EXISTS (SELECT 1 FROM {} WHERE r.k = q.k AND {})", (inner, self.condition(inner_scope))),
            Node(
                BOOLEAN,
                "NOT EXISTS (SELECT 1 FROM {} WHERE r.k = q.k AND {})",
                (inner, self.condition(inner_scope)),
            ),
            Node(BOOLEAN, "(r.k < (SELECT avg(q.k) FROM {}{}))", (inner, where)),
            Node(BOOLEAN, "(r.id <= (SELECT count(*) FROM {} WHERE q.k = r.k))", (inner,)),
        ]
        condition = self.random.choice(choices)
        if self.random.random() < 0.3:
            condition = Node(BOOLEAN, "({} AND {})", (condition, self.condition(scope, 1)))
        return Node(QUERY, "SELECT {} FROM {} WHERE {}", (self.items(scope), outer, condition))

    def window(self) -> Node:
        source, scope = self.source("r")
        kind = self.random.choice([kind for kind in scope.leaves if kind in _SIMPLE])
        by, what = self.expression(scope, kind, 1), self.expression(scope, self.random.choice(list(scope.leaves)), 1)
        functions = (
            "row_number() OVER (ORDER BY {}, r.id), {}",
            "rank() OVER (PARTITION BY r.k ORDER BY {}), {}",
            "count({}) OVER (PARTITION BY r.k), {}",
            "lag({}) OVER (PARTITION BY r.k ORDER BY r.id), {}",
            "last_value({}) IGNORE NULLS OVER (ORDER BY r.id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), {}",
        )
        text = f"SELECT r.id, {self.random.choice(functions)} FROM {{}}{{}}"
        return Node(QUERY, text, (by, what, source, Items("", self.where(scope, 0.5))))

    def set_operation(self) -> Node:
        kind = "bigint"
        sides = []
        for alias in "rq":
            source, scope = self.source(alias)
            kinds = [kind for kind in scope.leaves if kind in _SIMPLE]
            kind = self.random.choice(kinds) if alias == "r" else kind
            parts = (self.expression(scope, kind), source, Items("", self.where(scope)))
            sides.append(Node(QUERY, "SELECT {} AS c FROM {}{}", parts))
        how = self.random.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"))
        # The rows of EXCEPT ALL and INTERSECT ALL are any among equal ones: zeros of both signs are.
        zero = {"float": " + 0.0F", "double": " + 0.0D"}.get(kind, "")
        return Node(QUERY, f"SELECT c{zero} FROM ({{}} {how} {{}})", tuple(sides))

    def elements(self) -> Node:
        source, scope = self.source("r")
        arrays = [kind for kind in scope.leaves if kind.startswith(("array", "map"))]
        if not arrays:
            return self.projection()
        kind = self.random.choice(arrays)
        names = "e" if kind.startswith("array") else "e, v"
        function = self.random.choice(("explode", "explode_outer", "posexplode"))
        names = f"n, {names}" if function.startswith("pos") else names
        text = f"SELECT r.id, {names} FROM {{}} LATERAL VIEW {function}({{}}) AS {names}{{}}"
        return Node(QUERY, text, (source, self.expression(scope, kind, 1), Items("", self.where(scope, 0.5))))

    def twice(self) -> Node:
        """A common table expression that a query names twice, with a filter of its own each time."""
        source, scope = self.source("r", "t")
        where = [Items("", self.where(scope)) for _ in range(3)]
        text = (
            "WITH some AS (SELECT r.* FROM {}{}) SELECT r.id, q.id FROM (SELECT * FROM some r{}) r"
            " LEFT JOIN (SELECT * FROM some r{}) q ON r.id = q.id"
        )
        return Node(QUERY, text, (source, *where))


_TEXT = (
    "({} LIKE 'a%')",
    "({} LIKE '%b')",
    "({} LIKE '%\\'%')",
    "({} LIKE 'a_b')",
    "({} NOT LIKE '%a%')",
    "({} ILIKE 'A%')",
    "startswith({}, 'a')",
    "contains({}, '%')",
    "({} RLIKE '^a')",
)
_KINDS: tuple[Callable[[Generator], Node], ...] = (
    Generator.projection,
    Generator.projection,
    Generator.projection,
    Generator.first_rows,
    Generator.some_rows,
    Generator.aggregation,
    Generator.aggregation,
    Generator.grouping,
    Generator.grouping,
    Generator.join,
    Generator.join,
    Generator.subquery,
    Generator.window,
    Generator.set_operation,
    Generator.elements,
    Generator.twice,
)
