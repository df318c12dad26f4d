"""What follows once an output is written: indices, tags, registration in other catalogs, and removal of old versions.

Each follow-up first looks whether it is done already, and then does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lance_namespace import CreateTableIndexRequest, CreateTableTagRequest, LanceNamespace, UpdateTableTagRequest
from pydantic import ValidationError

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.errors import InvalidInputError, LanceNamespaceError, TableAlreadyExistsError
from lanceway.jobs.between import register
from lanceway.jobs.between.register import Registrar
from lanceway.jobs.table.compact import clean
from lanceway.pipelines import model
from lanceway.pipelines.file.yaml import problem_at
from lanceway.pipelines.model import Index, PipelineOutput
from lanceway.tables import indices
from lanceway.tables.errors import translated
from lanceway.tables.versions import tags

if TYPE_CHECKING:
    from lanceway.writes.table_ref import TableRef

_RUN = "{run}"
INDICES, TAGS, PUBLISH, RETENTION = "indices", "tags", "publish", "retention"


@dataclass(frozen=True)
class FollowUp:
    """One action on the table of an output, after it was written."""

    kind: str
    action: Callable[[PipelineOutput, TableRef, WrittenOutput], dict[str, Any]]
    # Whether it is of no use where nothing was written.
    only_after_write: bool = False


@dataclass(frozen=True)
class WrittenOutput:
    """What was written: the version to tag and publish, whether it is new, and the number of the run."""

    version: int
    is_new: bool
    run: int
    config: str | Path | None = None


def follow_ups(output: PipelineOutput) -> Iterator[FollowUp]:
    """Yield what an output asks for, in the order in which it is done. Indices come first, so that tags include
    them.
    """
    if output.indices:
        yield FollowUp(INDICES, _indices)
    if output.tags:
        yield FollowUp(TAGS, _tags)
    if output.publish:
        yield FollowUp(PUBLISH, _publish)
    if output.retention:
        yield FollowUp(RETENTION, _retain, only_after_write=True)


def run(
    file: Path, output: PipelineOutput, target: TableRef, follow_up: FollowUp, written: WrittenOutput
) -> dict[str, Any]:
    """Run one follow-up; return what it did, {} for nothing. Raise InvalidPipelineError with the line that asks for
    it.
    """
    try:
        return follow_up.action(output, target, written)
    except LanceNamespaceError as error:
        raise problem_at(
            file, output.line_of(follow_up.kind), f"The output {output.name!r} is written, but {error}"
        ) from error


# -- indices -------------------------------------------------------------------------------------


def _indices(output: PipelineOutput, target: TableRef, written: WrittenOutput) -> dict[str, Any]:
    table = target.table()
    opened = target.open()
    with translated(table, "Listing the indices"):
        existing = {index.name: index for index in opened.describe_indices()}
        rows = opened.count_rows()
    missing = [index.name for index in output.indices if index.name not in existing]
    for index in output.indices:
        if index.name in missing:
            indices.create(table, _request(target, index))
    stale = [
        index.name
        for index in output.indices
        if index.name in existing and existing[index.name].num_rows_indexed < rows
    ]
    if stale:
        with translated(table, "Bringing new rows into the indices"):
            target.open().optimize.optimize_indices(index_names=stale)
    if not missing and not stale:
        return {}
    return {"made": missing, "refreshed": stale, "version": int(target.open().version)}


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
    existing = tags.known(table)
    moved: list[str] = []
    # A run that wrote nothing gets no tag of its own.
    templates = [text for text in output.tags if written.is_new or _RUN not in text]
    for name in (text.replace(_RUN, str(written.run)) for text in templates):
        id_ = list(target.id) or ["table"]
        if name not in existing:
            _tag(target, "create_table_tag", CreateTableTagRequest(id=id_, tag=name, version=written.version))
        elif written.is_new and existing[name].version != written.version:
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
    published: list[str] = []
    for name in output.publish:
        catalog, table = model.catalog(name, written.config)
        with closing_catalog(catalog), Registrar(catalog) as registrar:
            registered = register.find(catalog, table)
            if registered is not None and register.is_same_place(registered.location, location):
                continue
            if registered is not None:
                raise TableAlreadyExistsError(
                    f"{name} is another table, at {registered.location}. Choose another name."
                )
            registrar.make_room(table, original=table)
            # The catalog of the output goes on keeping its versions, so that no other one may begin to.
            registrar.register(table, location, register.FOLLOWS)
            published.append(name)
    return {"published": published} if published else {}


def closing_catalog(catalog: LanceNamespace) -> AbstractContextManager[object]:
    """Close a catalog at the end of the block, if it is one of ours."""
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
