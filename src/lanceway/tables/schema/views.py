"""Materialized views: tables that say in their schema's metadata how their rows come about.

A view's source query is JSON text: `{"source": ["team", "orders"], "columns": {"total": "price * amount"}, "where":
"price > 0", "key": ["id"]}` for rows that come from rows of one table, or `{"sql": "SELECT …"}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError, InvalidTableStateError
from lanceway.tables.dataset import VIEW, Table, open_at
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

QUERY, UDTF, CHUNKER = KINDS = ("query", "udtf", "chunker")
_CREATE = "create_materialized_view"


@dataclass(frozen=True, slots=True)
class View:
    """How a view's rows come about: the kind, the source, and what is taken from it.

    `columns` are names and their expressions, empty for all as they are. `function` makes rows of the source's rows
    where the kind is not `query`; with `partition`, of those that have the same value in this column.
    """

    kind: str
    source: tuple[str, ...] = ()
    columns: Mapping[str, str] | None = None
    where: str | None = None
    key: tuple[str, ...] = ()
    sql: str | None = None
    function: str | None = None
    inputs: tuple[str, ...] = ()
    partition: str | None = None
    auto_refresh: bool = False

    def written(self) -> bytes:
        return json.dumps({name: value for name, value in asdict(self).items() if value}).encode()

    @classmethod
    def of(cls, table: Table, schema: pa.Schema) -> View:
        """Raises InvalidTableStateError for a table that is none."""
        text = (schema.metadata or {}).get(VIEW)
        if text is None:
            raise InvalidTableStateError(
                f"{table.name} is a table and no materialized view. Views are made with {_CREATE}."
            )
        values = json.loads(text)
        lists = {name: tuple(values.get(name, ())) for name in ("source", "key", "inputs")}
        return cls(**{**values, **lists})

    @property
    def reads(self) -> dict[str, str] | None:
        """The columns that are read of the source, by their expressions; None for all."""
        if self.inputs:
            apart = () if self.partition is None else (self.partition,)
            return {name: fields.quoted(name) for name in (*self.inputs, *apart)}
        return dict(self.columns) if self.columns else None


def check(view: View, schema: pa.Schema, source: Table) -> None:
    """Refuse a view that its source cannot give, before anything is made."""
    dataset = open_at(source)
    for name in view.inputs:
        fields.require_top(source, dataset.schema, name, _CREATE)
    if view.partition is not None:
        path = fields.format_([view.partition])
        _require_values(dataset.schema.field(fields.require_top(source, dataset.schema, path, _CREATE)))
    with translated(source, _CREATE):
        scanner = scan(view, dataset)
        scanner.explain_plan()
        given = scanner.projected_schema
    if view.kind != QUERY:
        return
    if set(given.names) != set(schema.names):
        raise InvalidInputError(
            f"{_CREATE}: the query gives {', '.join(given.names)}, and output_schema has {', '.join(schema.names)}."
        )
    for field in schema:
        _require_cast(given.field(field.name), field)
    for name in view.key:
        if name not in schema.names:
            raise InvalidInputError(f"{_CREATE}: the key {name!r} is no column of the view: {', '.join(schema.names)}.")


def _require_values(partition: pa.Field) -> None:
    """Refuse a column whose values cannot be told apart."""
    import pyarrow as pa

    try:
        pa.array([], partition.type).dictionary_encode()
    except (pa.ArrowException, NotImplementedError) as error:
        raise InvalidInputError(
            f"{_CREATE}: partition_by is {partition.name!r}, and values of {partition.type} tell no rows apart."
        ) from error


def _require_cast(given: pa.Field, wanted: pa.Field) -> None:
    import pyarrow as pa

    try:
        pa.array([], given.type).cast(wanted.type)
    except (pa.ArrowException, NotImplementedError) as error:
        raise InvalidInputError(
            f"{_CREATE}: the query gives {given.name!r} as {given.type}, which is not to be had as {wanted.type}: "
            f"{error}."
        ) from error


def scan(view: View, dataset: lance.LanceDataset, fragments: list[Any] | None = None) -> lance.LanceScanner:
    """The rows that a view takes from its source, or from some fragments of it."""
    return dataset.scanner(columns=view.reads, filter=view.where, fragments=fragments)
