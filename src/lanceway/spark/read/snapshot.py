"""What is read of a table: one version of it, and which columns. Looked up in the driver, before any task runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanceway.errors import TableColumnNotFoundError
from lanceway.spark.read import search
from lanceway.spark.types import ROW_ADDRESS, ROW_ID
from lanceway.tables.dataset import Table
from lanceway.tables.errors import translated

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from lanceway.writes.options import ReadOptions
    from lanceway.writes.table_ref import Target


def pin(target: Target, read: ReadOptions) -> tuple[ReadOptions, lance.LanceDataset]:
    """What to read, by the number of its version, whatever way the version was asked for."""
    dataset = target.open(version=read.version, tag=read.tag, branch=read.branch, asof=read.asof)
    branch = read.branch
    if read.tag is not None:
        with translated(named(target), "Listing the tags"):
            branch = dataset.tags.list()[read.tag].get("branch")
    if read.filter is not None and not read.searches:
        with translated(named(target), "The option filter"):
            dataset.scanner(columns=[], with_row_id=True, filter=read.filter).explain_plan()
    return replace(read, version=int(dataset.version), branch=branch, tag=None, asof=None), dataset


def schema_of(target: Target, read: ReadOptions, dataset: lance.LanceDataset) -> pa.Schema:
    """The columns of what is read, in Lance's types. Raises TableColumnNotFoundError."""
    import pyarrow as pa

    if read.searches:
        return search.search(target, read).schema
    own = dataset.schema
    fields = list(own) if read.columns is None else [field(target, own, name) for name in read.columns]
    wanted = ((ROW_ID, read.with_row_id), (ROW_ADDRESS, read.with_row_address))
    return pa.schema([*fields, *(pa.field(name, pa.uint64(), nullable=False) for name, asked in wanted if asked)])


def field(target: Target, schema: pa.Schema, name: str) -> pa.Field:
    """A column by its name. Raises TableColumnNotFoundError, naming those there are."""
    if name not in schema.names:
        raise TableColumnNotFoundError(f"{target.name} has no column {name!r}. It has: {', '.join(schema.names)}.")
    return schema.field(name)


def named(target: Target) -> Table:
    """For messages alone: to know where a table lies, its catalog would have to be asked."""
    return Table(target.name, "")
