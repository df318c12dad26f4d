"""Views of a namespace, kept as Iceberg's format has them. The server reads no SQL."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from lanceway.catalogs.contract.iceberg import IcebergCommit, NewIcebergView
from lanceway.errors import table_not_found
from lanceway.server.iceberg import answers, tables
from lanceway.server.iceberg.calls import NO_CONTENT, Handler, IcebergRestCall, new_name
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire.iceberg_requests import ViewCommit, ViewCreation, ViewRegistration


def list_views(call: IcebergRestCall) -> EncodedAnswer:
    """List the views of a namespace that the caller may see."""
    return tables.listed(call, call.guard.list_iceberg_views)


def create_view(call: IcebergRestCall) -> EncodedAnswer:
    """Make a view."""
    body: ViewCreation = call.body
    id_ = new_id(call)
    view = NewIcebergView(body.schema, body.view_version, body.location, body.properties or {})
    with tables.naming(call, id_):
        return answers.view_answer(call.guard.create_iceberg_view(id_, view))


def register_view(call: IcebergRestCall) -> EncodedAnswer:
    """Make a view from a metadata file that exists."""
    body: ViewRegistration = call.body
    id_ = new_id(call)
    with tables.naming(call, id_):
        return answers.view_answer(call.guard.register_iceberg_view(id_, body.metadata_location))


def new_id(call: IcebergRestCall) -> list[str]:
    """Return the identifier of a new view. pyiceberg percent-encodes its name in the body as it does in a path."""
    name: str = call.body.name
    return [*call.namespace, new_name("view", unquote(name) if call.is_pyiceberg else name)]


def load_view(call: IcebergRestCall) -> EncodedAnswer:
    """Return a view."""
    return answers.view_answer(call.guard.load_iceberg_view(call.table))


def view_exists(call: IcebergRestCall) -> EncodedAnswer:
    """Answer whether there is a view, by the status alone."""
    if not call.guard.iceberg_view_exists(call.table):
        raise table_not_found("Check the name.")
    return NO_CONTENT


def replace_view(call: IcebergRestCall) -> EncodedAnswer:
    """Carry out the updates of a view, if its requirements hold."""
    body: ViewCommit = call.body
    commit = IcebergCommit(call.table, body.requirements, body.updates)
    return answers.view_answer(call.guard.replace_iceberg_view(commit))


def rename_view(call: IcebergRestCall) -> EncodedAnswer:
    """Give a view another name, in another namespace too."""
    return tables.renamed(call, "View", call.guard.rename_iceberg_view)


def drop_view(call: IcebergRestCall) -> EncodedAnswer:
    """Drop a view."""
    call.guard.drop_iceberg_view(call.table)
    return NO_CONTENT


HANDLERS: Mapping[str, Handler] = {
    "list_views": list_views,
    "create_view": create_view,
    "load_view": load_view,
    "view_exists": view_exists,
    "replace_view": replace_view,
    "drop_view": drop_view,
    "register_view": register_view,
    "rename_view": rename_view,
}
