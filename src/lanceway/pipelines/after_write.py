"""What follows once an output is written: indices, tags, other catalogs, and old versions that may go.

Each of it finds what it wants done already, if it is, and then does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import (
    CreateTableIndexRequest,
    CreateTableTagRequest,
    LanceNamespace,
    UpdateTableTagRequest,
)
from pydantic import ValidationError

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.errors import InvalidInputError, LanceNamespaceError, TableAlreadyExistsError
from lanceway.jobs.between import register
from lanceway.jobs.between.register import Registrar
from lanceway.jobs.table.clean import clean
from lanceway.pipelines import targets
from lanceway.pipelines.file.yaml import at
from lanceway.pipelines.model import Index, PipelineOutput
from lanceway.tables import indices
from lanceway.tables.errors import translated
from lanceway.tables.versions import tags

if TYPE_CHECKING:
    from lanceway.writes.table_ref import TableRef

_RUN = "{run}"
INDICES, TAGS, PUBLISH, RETENTION = "indices", "tags", "publish", "retention"


@dataclass(frozen=True)
class Finishing:
    """One thing that is done to the table of an output."""

    kind: str
    work: Callable[[PipelineOutput, TableRef, WrittenOutput], dict[str, Any]]
    # Whether it is of no use where nothing was written.
    only_after_a_write: bool = False


@dataclass(frozen=True)
class WrittenOutput:
    """What came before: the version that is to be shown, whether it is new, and the run's number."""

    version: int
    is_new: bool
    run: int
    config: str | Path | None = None


def of(output: PipelineOutput) -> Iterator[Finishing]:
    """What an output asks for, in the order in which it is done: a tag has the indices, too."""
    if output.indices:
        yield Finishing(INDICES, _indices)
    if output.tags:
        yield Finishing(TAGS, _tags)
    if output.publish:
        yield Finishing(PUBLISH, _publish)
    if output.retention:
        yield Finishing(RETENTION, _retain, only_after_a_write=True)


def finish(
    file: Path, output: PipelineOutput, target: TableRef, one: Finishing, written: WrittenOutput
) -> dict[str, Any]:
    """What was done, {} for nothing. Raises InvalidPipelineError with the line that asks for it."""
    try:
        return one.work(output, target, written)
    except LanceNamespaceError as error:
        raise at(file, output.line_of(one.kind), f"The output {output.name!r} is written, but {error}") from error


# -- indices -------------------------------------------------------------------------------------


def _indices(output: PipelineOutput, target: TableRef, written: WrittenOutput) -> dict[str, Any]:
    table = target.table()
    opened = target.open()
    with translated(table, "Listing the indices"):
        known = {index.name: index for index in opened.describe_indices()}
        rows = opened.count_rows()
    made = [index.name for index in output.indices if index.name not in known]
    for index in output.indices:
        if index.name in made:
            indices.create(table, _request(target, index))
    stale = [
        index.name for index in output.indices if index.name in known and known[index.name].num_rows_indexed < rows
    ]
    if stale:
        with translated(table, "Bringing new rows into the indices"):
            target.open().optimize.optimize_indices(index_names=stale)
    if not made and not stale:
        return {}
    return {"made": made, "refreshed": stale, "version": int(target.open().version)}


def _request(target: TableRef, index: Index) -> CreateTableIndexRequest:
    try:
        return CreateTableIndexRequest(
            id=list(target.id) or ["table"],
            column=index.column,
            index_type=index.type,
            name=index.name,
            **index.options,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInputError(f"the index {index.name!r} cannot be made: {first['loc']}: {first['msg']}.") from error


# -- tags ----------------------------------------------------------------------------------------


def _tags(output: PipelineOutput, target: TableRef, written: WrittenOutput) -> dict[str, Any]:
    table = target.table()
    known = tags.list_(table, None)
    moved: list[str] = []
    # A run that wrote nothing gets no tag of its own.
    wanted = [text for text in output.tags if written.is_new or _RUN not in text]
    for name in (text.replace(_RUN, str(written.run)) for text in wanted):
        id_ = list(target.id) or ["table"]
        if name not in known:
            _tag(target, "create_table_tag", CreateTableTagRequest(id=id_, tag=name, version=written.version))
        elif written.is_new and known[name].version != written.version:
            _tag(target, "update_table_tag", UpdateTableTagRequest(id=id_, tag=name, version=written.version))
        else:
            continue
        moved.append(name)
    return {"tags": moved, "version": written.version} if moved else {}


def _tag(target: TableRef, operation: str, request: CreateTableTagRequest | UpdateTableTagRequest) -> None:
    if target.type is not None:
        getattr(target.catalog(), operation)(request)
    elif isinstance(request, CreateTableTagRequest):
        tags.create(target.table(), request)
    else:
        tags.update(target.table(), request)


# -- other catalogs ------------------------------------------------------------------------------


def _publish(output: PipelineOutput, target: TableRef, written: WrittenOutput) -> dict[str, Any]:
    location = target.table().location
    made: list[str] = []
    for name in output.publish:
        catalog, table = targets.catalog(name, written.config)
        with _closing(catalog), Registrar(catalog) as registrar:
            found = register.find(catalog, table)
            if found is not None and register.is_same_place(found.location, location):
                continue
            if found is not None:
                raise TableAlreadyExistsError(f"{name} is another table, at {found.location}. Choose another name.")
            registrar.make_room(table, original=table)
            # The catalog of the output goes on keeping its versions, so that no other one may begin to.
            registrar.register(table, location, register.FOLLOWS)
            made.append(name)
    return {"published": made} if made else {}


def _closing(catalog: LanceNamespace) -> Any:
    from contextlib import nullcontext

    return closing(catalog) if isinstance(catalog, CatalogHooks) else nullcontext()


# -- old versions --------------------------------------------------------------------------------


def _retain(output: PipelineOutput, target: TableRef, written: WrittenOutput) -> dict[str, Any]:
    """Remove versions that need not be kept; one with a tag stays."""
    retention = output.retention
    assert retention is not None
    older_than = None if retention.days is None else timedelta(days=retention.days)
    done = clean(target, older_than=older_than, keep=retention.versions)
    removed = done.facts["versions_removed"]
    return {"removed": removed, "bytes": done.bytes} if removed else {}
