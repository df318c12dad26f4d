"""One request for what LanceDB's client asks for besides Lance REST, and its handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lanceway.access.guard import Guard
from lanceway.access.principal import Principal
from lanceway.catalogs.contract.jobs import JobQueue
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.server.home import METALAKE
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance.answers import JSON, EncodedAnswer, SafeCatalog
from lanceway.tables.read import ipc
from lanceway.tables.read.ipc import BinaryReader
from lanceway.tables.read.ipc_limits import StreamLimits
from lanceway.tables.schema import columns


@dataclass(frozen=True, slots=True)
class LanceDbCall:
    """A request: who asks, for what, and below which database."""

    principal: Principal
    guard: Guard
    catalog: SafeCatalog
    store: LakeStore
    seal: PageTokenSeal
    database: list[str]
    id: list[str]  # of the table or namespace; the database's own where the path names none
    names: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: Mapping[str, Any]

    @property
    def branch(self) -> str | None:
        branch = self.body.get("branch") or self.query.get("branch")
        return branch if isinstance(branch, str) else None

    def text(self, field: str) -> str:
        """Return a field of the body that must be a text."""
        value = self.body.get(field)
        if not isinstance(value, str) or not value:
            raise InvalidInputError(f"The body needs {field}, a text.")
        return value

    def jobs(self) -> JobQueue:
        """Return the jobs that the caller may see."""
        return JobQueue(self.store, METALAKE, None, self.principal.name, own=not self.principal.admin)


LanceDbHandler = Callable[[LanceDbCall], EncodedAnswer]


def encoded(answer: Mapping[str, Any]) -> EncodedAnswer:
    return EncodedAnswer(200, msgspec.json.encode(answer), [JSON])


# -- tables --------------------------------------------------------------------------------------

_DATABASE = "db://"


def clone_table(call: LanceDbCall) -> EncodedAnswer:
    """Make a shallow clone of a table, which is named as `db://lake/team/fruit`."""
    if call.body.get("is_shallow") is False:
        raise UnsupportedOperationError(
            "Clones share the files of their source. To copy the rows, create a table of them."
        )
    source = call.text("source_location")
    names = source.removeprefix(_DATABASE).split("/")
    if not source.startswith(_DATABASE) or not all(names) or len(names) < 2:
        raise InvalidInputError(
            "The source of a clone is named by its database and names, such as db://lake/team/fruit, not by a location."
        )
    version, tag = call.body.get("source_version"), call.body.get("source_tag")
    if version is not None and type(version) is not int:
        raise InvalidInputError("The source_version must be a whole number.")
    if tag is not None and not isinstance(tag, str):
        raise InvalidInputError("The source_tag must be a text.")
    call.guard.clone_table(Identifier(names), call.id, version=version, tag=tag)
    return encoded({})


def add_null_columns(call: LanceDbCall, limits: StreamLimits, stream: BinaryReader) -> EncodedAnswer:
    """Add columns that hold nothing yet; their types come as an Arrow schema."""
    schema = ipc.read_from(stream, limits).schema
    table = call.guard.stored_table(call.id, "alter_table_add_columns")
    return encoded({"version": columns.add_nulls(table, schema, call.branch)})


def prewarm_index(call: LanceDbCall) -> EncodedAnswer:
    """Do nothing: an index is read when it is first asked. One that is missing is an error all the same."""
    call.catalog.describe_table_index_stats({"id": call.id, "index_name": call.names["index_name"]})
    return encoded({})


def prewarm_data(call: LanceDbCall) -> EncodedAnswer:
    call.catalog.count_table_rows({"id": call.id, "predicate": "false"})
    return encoded({})


def get_lsm_stats(call: LanceDbCall) -> EncodedAnswer:
    return _without_lsm(call, "lsm_stats")


def get_lsm_write_spec(call: LanceDbCall) -> EncodedAnswer:
    return _without_lsm(call, "lsm_write_spec")


def _without_lsm(call: LanceDbCall, field: str) -> EncodedAnswer:
    """Answer that a table has no LSM write path, which none has here."""
    call.catalog.table_exists({"id": call.id})
    return encoded({field: None})


TABLE_HANDLERS: Mapping[str, LanceDbHandler] = {
    handler.__name__: handler
    for handler in (clone_table, prewarm_index, prewarm_data, get_lsm_stats, get_lsm_write_spec)
}
