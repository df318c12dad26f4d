"""Random tables with a history: what each version holds by a plain model, and how a Lance table comes to the same."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.differential.values import TYPES, Type, lance_array, parquet_array

if TYPE_CHECKING:
    import lance
    from lance_namespace import LanceNamespace

Row = Mapping[str, Any]
KEY = "id"
# Names that need backticks, or differ from others in case alone elsewhere, stand among plain ones.
_NAMES = ("a", "B", "c d", "select", "ünï", "e-f", "g", "h", "_i", "j'k")
# Types that Lance has a sorted index for.
_INDEXED = ("i8", "i16", "i32", "i64", "small", "f32", "f64", "s", "d", "us", "seconds", "utc", "clock", "bool")


@dataclass(frozen=True)
class Column:
    name: str
    type: str

    @property
    def of(self) -> Type:
        return TYPES[self.type]


@dataclass(frozen=True)
class Content:
    """What a table holds at one version."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def lance(self) -> pa.Table:
        return lance_rows(self.columns, self.rows)

    def parquet(self) -> pa.Table:
        return pa.table(
            [parquet_array([row.get(column.name) for row in self.rows], column.type) for column in self.columns],
            names=[column.name for column in self.columns],
        )

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{column.name}` {column.of.spark}" for column in self.columns)


def lance_rows(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    arrays = [lance_array([row.get(column.name) for row in rows], column.type) for column in columns]
    return pa.table(arrays, names=[column.name for column in columns])


@dataclass(frozen=True)
class Append:
    """Add rows, in files of `per_file` rows."""

    rows: tuple[Row, ...]
    per_file: int

    def model(self, before: Content) -> Content:
        return replace(before, rows=(*before.rows, *self.rows))

    def carry_out(self, table: LanceTable, after: Content) -> None:
        import lance

        rows = lance_rows(after.columns, self.rows)
        lance.write_dataset(
            rows, mode="append", max_rows_per_file=self.per_file, namespace_client=table.catalog, table_id=table.id
        )

    def fewer(self) -> Iterator[Append]:
        for some in fewer(self.rows):
            yield replace(self, rows=some)


@dataclass(frozen=True)
class Delete:
    """Delete rows by their keys; those of a whole file, maybe."""

    keys: tuple[int, ...]

    def model(self, before: Content) -> Content:
        return replace(before, rows=tuple(row for row in before.rows if row[KEY] not in self.keys))

    def carry_out(self, table: LanceTable, after: Content) -> None:
        table.open().delete(f"{KEY} IN ({', '.join(map(str, (*self.keys, -1)))})")

    def fewer(self) -> Iterator[Delete]:
        for some in fewer(self.keys):
            yield replace(self, keys=some)


@dataclass(frozen=True)
class Update:
    """Put rows in the place of those with the same keys."""

    rows: tuple[Row, ...]

    def model(self, before: Content) -> Content:
        new = {row[KEY]: row for row in self.rows}
        return replace(before, rows=tuple(new.get(row[KEY], row) for row in before.rows))

    def carry_out(self, table: LanceTable, after: Content) -> None:
        rows = lance_rows(after.columns, self.rows)
        table.open().merge_insert(KEY).when_matched_update_all().execute(rows)

    def fewer(self) -> Iterator[Update]:
        for some in fewer(self.rows):
            yield replace(self, rows=some)


@dataclass(frozen=True)
class AddColumn:
    """Add a column, with values for the rows of some keys."""

    column: Column
    values: tuple[tuple[int, Any], ...] = ()

    def model(self, before: Content) -> Content:
        values = dict(self.values)
        rows = tuple({**row, self.column.name: values.get(row[KEY])} for row in before.rows)
        return Content((*before.columns, self.column), rows)

    def carry_out(self, table: LanceTable, after: Content) -> None:
        if not self.values:
            table.open().add_columns(pa.field(self.column.name, self.column.of.lance_type))
            return
        new = [{KEY: key, self.column.name: value} for key, value in self.values]
        table.open().merge(lance_rows((after.columns[0], self.column), new), KEY)

    def fewer(self) -> Iterator[AddColumn]:
        for some in fewer(self.values):
            yield replace(self, values=some)


@dataclass(frozen=True)
class DropColumn:
    name: str

    def model(self, before: Content) -> Content:
        left = tuple(column for column in before.columns if column.name != self.name)
        rows = tuple({name: value for name, value in row.items() if name != self.name} for row in before.rows)
        return Content(left, rows)

    def carry_out(self, table: LanceTable, after: Content) -> None:
        table.open().drop_columns([f"`{self.name}`"])

    def fewer(self) -> Iterator[DropColumn]:
        return iter(())


@dataclass(frozen=True)
class Index:
    """Make an index on a column, by which Lance may find rows."""

    name: str
    kind: str

    def model(self, before: Content) -> Content:
        return before

    def carry_out(self, table: LanceTable, after: Content) -> None:
        table.open().create_scalar_index(f"`{self.name}`", self.kind)

    def fewer(self) -> Iterator[Index]:
        return iter(())


@dataclass(frozen=True)
class Compact:
    def model(self, before: Content) -> Content:
        return before

    def carry_out(self, table: LanceTable, after: Content) -> None:
        table.open().optimize.compact_files()

    def fewer(self) -> Iterator[Compact]:
        return iter(())


Step = Append | Delete | Update | AddColumn | DropColumn | Index | Compact


@dataclass(frozen=True)
class Table:
    """The columns that a table begins with, and what happens to it. It is empty at first."""

    columns: tuple[Column, ...]
    steps: tuple[Step, ...]

    def history(self) -> list[Content]:
        """Return what the table holds at first and after each step."""
        contents = [Content(self.columns, ())]
        for step in self.steps:
            contents.append(step.model(contents[-1]))
        return contents

    def simpler(self) -> Iterator[Table]:
        for steps in fewer(self.steps):
            yield replace(self, steps=steps)
        for column in self.columns[1:]:
            yield self._without(column.name)
        for number, step in enumerate(self.steps):
            for small in step.fewer():
                yield replace(self, steps=(*self.steps[:number], small, *self.steps[number + 1 :]))

    def _without(self, name: str) -> Table:
        def cut(step: Step) -> Step:
            if isinstance(step, Append | Update):
                rows = tuple({key: value for key, value in row.items() if key != name} for row in step.rows)
                return replace(step, rows=rows)
            return step

        of_it = [step for step in self.steps if isinstance(step, DropColumn | Index) and step.name == name]
        steps = tuple(cut(step) for step in self.steps if step not in of_it)
        return Table(tuple(column for column in self.columns if column.name != name), steps)


@dataclass
class LanceTable:
    """A Lance table in a catalog, and the versions and times that it had after each step."""

    catalog: LanceNamespace
    id: list[str]
    versions: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def open(self) -> lance.LanceDataset:
        import lance

        return lance.dataset(namespace_client=self.catalog, table_id=self.id)

    def make(self, table: Table) -> None:
        contents = table.history()
        empty = contents[0].lance()
        rows = pa.RecordBatchReader.from_batches(empty.schema, empty.to_batches() or _no_rows(empty.schema))
        self.catalog.create_table_stream({"id": self.id, "mode": "overwrite"}, rows)
        self._note()
        for step, after in zip(table.steps, contents[1:], strict=True):
            step.carry_out(self, after)
            self._note()

    def _note(self) -> None:
        self.versions.append(self.open().version)
        time.sleep(0.002)
        self.times.append(time.time())
        time.sleep(0.002)  # so that the next version is later by any clock


def _no_rows(schema: pa.Schema) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)]


def write_parquet(content: Content, folder: Path) -> None:
    """Write what a table holds as Parquet files, one of them empty."""
    folder.mkdir(parents=True)
    rows = content.parquet()
    half = rows.num_rows // 2
    for number, part in enumerate((rows.slice(0, half), rows.slice(half), rows.slice(0, 0))):
        pq.write_table(part, folder / f"{number}.parquet")


def fewer(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield ever larger parts of a list, from none of it to all but one."""
    size = len(items)
    while size >= 1:
        for start in range(0, len(items), size):
            yield (*items[:start], *items[start + size :])
        size //= 2


# -- random tables ---------------------------------------------------------------------------------


def random_table(random: Random) -> Table:
    """Return a table with a key, a number to join by, and columns of random types, and with a random history."""
    names = random.sample(_NAMES, random.randint(3, 7))
    types = random.choices(list(TYPES), k=len(names))
    columns = (Column(KEY, "i64"), Column("k", "small"), *map(Column, names, types))
    content, keys, steps = Content(columns, ()), iter(range(1, 10_000)), list[Step]()
    for _ in range(random.choice((0, 1, 2, 3, 4, 6, 8, 10))):
        step = _random_step(random, content, keys, first=not steps)
        steps.append(step)
        content = step.model(content)
    return Table(columns, tuple(steps))


def _random_step(random: Random, content: Content, keys: Iterator[int], first: bool) -> Step:
    kinds = ("append",) if first else ("append", "append", "delete", "update", "add", "drop", "index", "compact")
    kind = random.choice(kinds)
    present = [row[KEY] for row in content.rows]
    some = random.sample(present, random.randint(0, len(present)))
    free = [name for name in _NAMES if name not in {column.name for column in content.columns}]
    if kind == "delete":
        return Delete(tuple(some))
    if kind == "update" and some:
        return Update(tuple(_random_row(random, content.columns, key) for key in some))
    if kind == "add" and free:
        column = Column(random.choice(free), random.choice(list(TYPES)))
        return AddColumn(column, tuple((key, column.of.value(random)) for key in some))
    if kind == "drop" and len(content.columns) > 4:
        return DropColumn(random.choice(content.columns[2:]).name)
    if kind == "index":
        column = random.choice([column for column in content.columns if column.type in _INDEXED])
        return Index(column.name, random.choice(("BTREE", "BITMAP") if column.type in ("s", "i32") else ("BTREE",)))
    if kind == "compact":
        return Compact()
    rows = [_random_row(random, content.columns, next(keys)) for _ in range(random.choice((0, 1, 3, 10, 25, 40)))]
    return Append(tuple(rows), random.choice((1, 4, 100)))


def _random_row(random: Random, columns: Sequence[Column], key: int) -> Row:
    return {KEY: key, **{column.name: column.of.value(random) for column in columns[1:]}}
