"""A table as a plain list of rows, and statements that change it: each as Python that runs it, and on the list."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.spark.differential.tables import fewer
from tests.spark.differential.values import literal

Row = Mapping[str, Any]
NAN = float("nan")
# The columns that a table begins with, and such as are added later.
COLUMNS = {"id": "bigint", "n": "int", "s": "string", "f": "double", "d": "date"}
LATER = {"later": "bigint", "more": "string", "flag": "boolean"}
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (0, 1, 2, -7, 1000, 2**31 - 2, None),
    "string": ("a", "b", "", "a'b", "ünï", None),
    "double": (0.0, -0.0, NAN, 1.5, float("-inf"), None),
    "date": (dt.date(2024, 2, 29), dt.date(1, 1, 1), None),
    "bigint": (1, 2**63 - 1, None),
    "boolean": (True, False, None),
}


class MeaninglessError(Exception):
    """A statement that names a column which is not there: others were left out before it."""


@dataclass(frozen=True)
class State:
    """What a table holds."""

    columns: Mapping[str, str]
    rows: tuple[Row, ...] = ()

    def need(self, *names: str) -> None:
        if not {*names} <= {*self.columns}:
            raise MeaninglessError

    def complete(self, row: Row) -> Row:
        self.need(*row)
        return {name: row.get(name) for name in self.columns}


# -- conditions, which hold, do not hold, or are null ----------------------------------------------


@dataclass(frozen=True)
class Condition:
    """A condition on one column, or the negation of one, or two of them joined."""

    kind: str
    column: str = ""
    value: Any = None
    parts: tuple[Condition, ...] = ()

    def sql(self, prefix: str = "") -> str:
        column, value = f"{prefix}{self.column}", self.value
        texts: dict[str, Callable[[], str]] = {
            "<=": lambda: f"{column} <= {value}",
            ">": lambda: f"{column} > {value}",
            "%": lambda: f"{column} % 3 = {value}",
            "in": lambda: f"{column} IN ({', '.join(map(str, value))})",
            "text": lambda: f"{column} = {literal(value, 'string')}",
            "null": lambda: f"{column} IS NULL",
            "not": lambda: f"NOT ({self.parts[0].sql(prefix)})",
            "and": lambda: f"({self.parts[0].sql(prefix)}) AND ({self.parts[1].sql(prefix)})",
            "or": lambda: f"({self.parts[0].sql(prefix)}) OR ({self.parts[1].sql(prefix)})",
        }
        return texts[self.kind]()

    def holds(self, row: Row) -> bool | None:
        if self.kind in ("not", "and", "or"):
            return self._joined([part.holds(row) for part in self.parts])
        value = row[self.column]
        if self.kind == "null":
            return value is None
        if value is None:
            return None
        simple: dict[str, Callable[[], bool]] = {
            "<=": lambda: value <= self.value,
            ">": lambda: value > self.value,
            "%": lambda: value % 3 == self.value if value >= 0 else -(-value % 3) == self.value,
            "in": lambda: value in self.value,
            "text": lambda: value == self.value,
        }
        return simple[self.kind]()

    def _joined(self, parts: list[bool | None]) -> bool | None:
        if self.kind == "not":
            return None if parts[0] is None else not parts[0]
        decisive = self.kind == "or"
        return decisive if decisive in parts else None if None in parts else not decisive

    def names(self) -> set[str]:
        return {self.column} - {""} | {name for part in self.parts for name in part.names()}


def random_condition(random: Random, depth: int = 1) -> Condition:
    if depth and random.random() < 0.4:
        kind = random.choice(("not", "and", "or"))
        count = 1 if kind == "not" else 2
        return Condition(kind, parts=tuple(random_condition(random, depth - 1) for _ in range(count)))
    kind = random.choice(("<=", ">", "%", "in", "text", "null"))
    if kind == "text":
        return Condition(kind, "s", random.choice(("a", "b", "a'b")))
    if kind == "in":
        return Condition(kind, "id", tuple(random.sample(range(30), 4)))
    if kind == "null":
        return Condition(kind, random.choice(("n", "s", "f", "d")))
    return Condition(
        kind, random.choice(("id", "n")), random.choice((0, 1, 2)) if kind == "%" else random.randint(0, 20)
    )


# What UPDATE sets: the column, the value in SQL, and the same in Python.
def _next(row: Row) -> int | None:
    return None if row["n"] is None or row["n"] == 2**31 - 1 else row["n"] + 1


SETTERS: dict[str, tuple[str, str, Callable[[Row], Any]]] = {
    "next": ("n", "try_add(n, 1)", _next),
    "louder": ("s", "concat(s, '!')", lambda row: None if row["s"] is None else f"{row['s']}!"),
    "nothing": ("s", "NULL", lambda row: None),
    "not a number": ("f", "double('NaN')", lambda row: NAN),
    "leap day": ("d", "DATE'2024-02-29'", lambda row: dt.date(2024, 2, 29)),
    "number": ("n", "CAST(id % 100 AS INT)", lambda row: row["id"] % 100),
}


# -- statements ------------------------------------------------------------------------------------


def _values(rows: tuple[Row, ...], columns: Mapping[str, str]) -> str:
    return ", ".join(f"({', '.join(literal(row.get(name), type_) for name, type_ in columns.items())})" for row in rows)


def _run(sql: str) -> str:
    return f"spark.sql({sql!r})"


@dataclass(frozen=True)
class Insert:
    """Add rows, or put them in the place of all there are: in SQL, or as a data frame."""

    rows: tuple[Row, ...]
    types: Mapping[str, str]
    overwrite: bool = False
    frame: bool = False

    def code(self, table: str) -> str:
        rows = f"SELECT * FROM VALUES {_values(self.rows, self.types)} AS v({', '.join(self.types)})"
        if self.frame and not self.overwrite:
            how = "format('lance').mode('append').options(**target).save()"
            return f"spark.sql({rows!r}).write.{how}"
        columns = ", ".join(self.types)
        if self.overwrite:
            return _run(f"INSERT OVERWRITE {table} ({columns}) {rows}")
        return _run(f"INSERT INTO {table} ({columns}) VALUES {_values(self.rows, self.types)}")

    def change(self, state: State) -> State:
        state.need(*self.types)
        new = tuple(state.complete(row) for row in self.rows)
        return replace(state, rows=new if self.overwrite else (*state.rows, *new))

    def simpler(self) -> Iterator[Insert]:
        yield from (replace(self, rows=some) for some in fewer(self.rows) if some)


@dataclass(frozen=True)
class Update:
    setters: tuple[str, ...]
    where: Condition
    library: bool = False

    def code(self, table: str) -> str:
        new = {SETTERS[name][0]: SETTERS[name][1] for name in self.setters}
        if self.library:
            return f"lanceway.spark.update(spark, target, {new!r}, where={self.where.sql()!r})"
        sets = ", ".join(f"{column} = {value}" for column, value in new.items())
        return _run(f"UPDATE {table} SET {sets} WHERE {self.where.sql()}")

    def change(self, state: State) -> State:
        state.need(*self.where.names(), *(SETTERS[name][0] for name in self.setters))

        def updated(row: Row) -> Row:
            return {**row, **{SETTERS[name][0]: SETTERS[name][2](row) for name in self.setters}}

        return replace(state, rows=tuple(updated(row) if self.where.holds(row) else row for row in state.rows))

    def simpler(self) -> Iterator[Update]:
        yield from (replace(self, setters=some) for some in fewer(self.setters) if some)
        yield from (replace(self, where=part) for part in self.where.parts)


@dataclass(frozen=True)
class Delete:
    where: Condition
    library: bool = False

    def code(self, table: str) -> str:
        if self.library:
            return f"lanceway.spark.delete(spark, target, where={self.where.sql()!r})"
        return _run(f"DELETE FROM {table} WHERE {self.where.sql()}")

    def change(self, state: State) -> State:
        state.need(*self.where.names())
        return replace(state, rows=tuple(row for row in state.rows if not self.where.holds(row)))

    def simpler(self) -> Iterator[Delete]:
        yield from (replace(self, where=part) for part in self.where.parts)


_SOURCE = {"id": "bigint", "n": "int", "s": "string"}


@dataclass(frozen=True)
class Merge:
    """Merge rows, whose keys are distinct. Rows of the source with a null `n` delete, if that is asked for."""

    rows: tuple[Row, ...]
    update: bool = True
    delete: bool = False
    insert: bool = True
    others: Condition | None = None  # rows of the table that no row of the source matches are deleted if it holds
    library: bool = False

    def code(self, table: str) -> str:
        source = f"SELECT * FROM VALUES {_values(self.rows, _SOURCE)} AS v(id, n, s)"
        if self.library:
            clauses = {
                "when_matched_update": {"n": "source.n", "s": "source.s"} if self.update else False,
                "when_matched_delete": "source.n IS NULL" if self.delete else False,
                "when_not_matched_insert": self.insert,
            }
            named = ", ".join(f"{name}={value!r}" for name, value in clauses.items())
            return f"lanceway.spark.merge(spark, spark.sql({source!r}), target, on='id', {named})"
        clauses_sql = [
            "WHEN MATCHED AND source.n IS NULL THEN DELETE" if self.delete else "",
            "WHEN MATCHED THEN UPDATE SET n = source.n, s = source.s" if self.update else "",
            "WHEN NOT MATCHED THEN INSERT (id, n, s) VALUES (source.id, source.n, source.s)" if self.insert else "",
            f"WHEN NOT MATCHED BY SOURCE AND {self.others.sql('target.')} THEN DELETE" if self.others else "",
        ]
        on = f"MERGE INTO {table} target USING ({source}) source ON target.id = source.id"
        return _run(" ".join([on, *filter(None, clauses_sql)]))

    def change(self, state: State) -> State:
        state.need(*_SOURCE, *(self.others.names() if self.others else ()))
        if not (self.update or self.delete or self.insert or (self.others and not self.library)):
            raise MeaninglessError
        by_key = {row["id"]: row for row in self.rows}
        left = []
        for row in state.rows:
            new = by_key.get(row["id"])
            if new is None:
                left += [] if self.others and not self.library and self.others.holds(row) else [row]
            elif not (self.delete and new["n"] is None):
                left.append({**row, "n": new["n"], "s": new["s"]} if self.update else row)
        there = {row["id"] for row in state.rows}
        inserted = [state.complete(row) for row in self.rows if row["id"] not in there] if self.insert else []
        return replace(state, rows=(*left, *inserted))

    def simpler(self) -> Iterator[Merge]:
        yield from (replace(self, rows=some) for some in fewer(self.rows) if some)
        yield from (replace(self, **{name: False}) for name in ("update", "delete", "insert") if getattr(self, name))
        if self.others:
            yield replace(self, others=None)


@dataclass(frozen=True)
class Alter:
    """Add, drop or rename a column."""

    kind: str
    name: str
    other: str = ""  # the new column's type, or a column's new name

    def code(self, table: str) -> str:
        clauses = {
            "add": f"ADD COLUMN {self.name} {self.other}",
            "drop": f"DROP COLUMN {self.name}",
            "rename": f"RENAME COLUMN {self.name} TO {self.other}",
        }
        return _run(f"ALTER TABLE {table} {clauses[self.kind]}")

    def change(self, state: State) -> State:
        if self.kind == "add":
            if self.name in state.columns:
                raise MeaninglessError
            added = State({**state.columns, self.name: self.other})
            return replace(added, rows=tuple(added.complete(row) for row in state.rows))
        state.need(self.name)
        if self.kind == "rename" and self.other in state.columns:
            raise MeaninglessError
        renamed = {} if self.kind == "drop" else {self.name: self.other}

        def columns(of: Mapping[str, Any]) -> dict[str, Any]:
            kept = {name: value for name, value in of.items() if name != self.name or renamed}
            return {renamed.get(name, name): value for name, value in kept.items()}

        return State(columns(state.columns), tuple(columns(row) for row in state.rows))

    def simpler(self) -> Iterator[Alter]:
        return iter(())


Statement = Insert | Update | Delete | Merge | Alter


@dataclass(frozen=True)
class Sequence:
    """Statements on a table that is empty at first."""

    statements: tuple[Statement, ...] = ()
    begin: State = field(default_factory=lambda: State(COLUMNS))

    def states(self) -> list[State]:
        """Return what the table holds after each statement. Raises MeaninglessError."""
        states = [self.begin]
        for statement in self.statements:
            states.append(statement.change(states[-1]))
        return states[1:]

    def simpler(self) -> Iterator[Sequence]:
        for some in fewer(self.statements):
            yield replace(self, statements=some)
        for number, statement in enumerate(self.statements):
            for small in statement.simpler():
                yield replace(self, statements=(*self.statements[:number], small, *self.statements[number + 1 :]))


def random_sequence(random: Random, count: int) -> Sequence:
    sequence, keys = Sequence(), iter(range(1, 10_000))
    state = sequence.begin
    while len(sequence.statements) < count:
        statement = _random_statement(random, state, keys, first=not sequence.statements)
        try:
            state = statement.change(state)
        except MeaninglessError:
            continue
        sequence = replace(sequence, statements=(*sequence.statements, statement))
    return sequence


def _random_statement(random: Random, state: State, keys: Iterator[int], first: bool) -> Statement:
    kinds = ("insert", "insert", "overwrite", "update", "update", "delete", "merge", "merge", "add", "drop", "rename")
    kind = "insert" if first else random.choice(kinds)
    library = random.random() < 0.3
    if kind in ("insert", "overwrite"):
        names = [name for name in state.columns if name == "id" or kind == "overwrite" or random.random() < 0.8]
        types = {name: state.columns[name] for name in names}
        rows = tuple(_random_row(random, types, next(keys)) for _ in range(random.choice((1, 3, 8))))
        return Insert(rows, types, overwrite=kind == "overwrite", frame=library)
    if kind == "update":
        setters = random.sample(sorted(SETTERS), 2)
        distinct = setters if len({SETTERS[name][0] for name in setters}) == 2 else setters[:1]
        return Update(tuple(distinct), random_condition(random), library)
    if kind == "delete":
        return Delete(random_condition(random), library)
    if kind == "merge":
        present = random.sample(range(1, 30), 4)
        rows = tuple(_random_row(random, _SOURCE, key) for key in (*present, next(keys) + 10_000))
        others = random_condition(random, 0) if random.random() < 0.3 and not library else None
        flags = [random.random() < 0.7 for _ in range(3)]
        return Merge(rows, *flags, others=others, library=library)
    if kind == "add":
        name = random.choice(sorted(LATER))
        return Alter(kind, name, LATER[name])
    later = [name for name in state.columns if name in LATER or name.startswith("renamed")] or ["none"]
    return Alter(kind, random.choice(later), f"renamed{random.randint(1, 3)}" if kind == "rename" else "")


def _random_row(random: Random, types: Mapping[str, str], key: int) -> Row:
    return {name: key if name == "id" else random.choice(VALUES[type_]) for name, type_ in types.items()}
