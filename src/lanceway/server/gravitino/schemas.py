"""Schemas: namespaces of a catalog by their logical names, such as `A:B`, whose separator `GET /configs` tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import lance_namespace as ln

from lanceway.catalogs.contract.capabilities import COMMENT, ObjectDetails
from lanceway.errors import NamespaceNotFoundError, UnsupportedOperationError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.tree.mounts import CatalogNotFoundError
from lanceway.server.gravitino.calls import (
    FastHandler,
    GravitinoCall,
    Handler,
    audit,
    identifiers,
    new_name,
    page,
    pages,
    property_changes,
)
from lanceway.server.home import METALAKE


def logical(names: Sequence[str], separator: str) -> str:
    """Return the logical name of a schema by its names, without the catalog's."""
    return names[0] if len(names) == 1 else HierarchicalName(names).format(separator)


def _described(name: str, details: ObjectDetails) -> dict[str, Any]:
    properties = {**details.properties}
    comment = properties.pop(COMMENT, details.comment)
    schema = {"name": name, "comment": comment, "properties": properties, "audit": audit(details)}
    return {key: value for key, value in schema.items() if value is not None}


def _loaded(call: GravitinoCall, names: list[str]) -> dict[str, Any]:
    details = call.guard.object_details(names, is_namespace=True)
    return {"schema": _described(call.names["schema"], details)}


def list_schemas(call: GravitinoCall) -> dict[str, Any]:
    """List the schemas directly inside another one, or at the top of the catalog."""
    separator = call.guard.nesting_separator(call.catalog)
    parent = call.query.get("parentSchema", "")
    if parent.strip() and separator is None:
        raise UnsupportedOperationError(
            f"The catalog {call.catalog!r} does not support hierarchical schemas, so that none is inside another. List "
            "its schemas without parentSchema."
        )
    above = call.guard.split(call.catalog, parent) if parent.strip() else [call.catalog]
    names = pages(
        lambda token: call.guard.list_namespaces(ln.ListNamespacesRequest(**page(above, token))), "namespaces"
    )
    inside = Identifier(above[1:])
    shown = (logical(inside.child(name), separator or call.separator) for name in names)
    return identifiers([METALAKE, call.catalog], shown)


def create_schema(call: GravitinoCall) -> dict[str, Any]:
    """Make a schema and what is missing above it: all of it, with one owner, or nothing."""
    names = call.guard.split(call.catalog, new_name("schema", call.body.name, quoted=True))
    properties = dict(call.body.properties or {})
    if call.body.comment is not None:
        properties[COMMENT] = call.body.comment  # as every dialect has it
    if call.is_mounted:
        # A service makes no parents in the same step.
        call.guard.create_namespace(ln.CreateNamespaceRequest(id=names, properties=properties))
        made = Identifier(names)
    else:
        made = call.guard.create_namespaces(names, properties)
    # Who may make a schema need not be able to load it, so what was asked for is the answer.
    details = ObjectDetails(properties, created_by=call.principal.name)
    return {"schema": _described(logical(made[1:], call.separator), details)}


def load_schema(call: GravitinoCall) -> dict[str, Any]:
    """Return a schema."""
    return _loaded(call, call.schema)


def try_load_schema(call: GravitinoCall) -> dict[str, Any] | None:
    """Return a schema if that needs no waiting; None means that it must be asked."""
    names = call.try_schema()
    details = None if names is None else call.guard.try_details(names, is_namespace=True)
    return None if details is None else {"schema": _described(call.names["schema"], details)}


def alter_schema(call: GravitinoCall) -> dict[str, Any]:
    """Set and remove properties of a schema, of this one alone."""
    names, changes = call.schema, property_changes(call.body.updates, "schema", comments=False)
    new = {key: value for key, value in changes.items() if value is not None}
    call.guard.alter_namespace(names, new, unset=[key for key, value in changes.items() if value is None])
    return _loaded(call, names)


def drop_schema(call: GravitinoCall) -> dict[str, Any]:
    """Drop an empty schema; what is above it stays."""
    if call.flag("cascade"):
        raise UnsupportedOperationError(
            f"The parameter cascade is not supported: {call.names['schema']!r} is dropped only when it is empty. Drop "
            "what is in it first."
        )
    try:
        call.guard.drop_namespace(ln.DropNamespaceRequest(id=call.schema))
    except CatalogNotFoundError:
        raise
    except NamespaceNotFoundError:
        return {"dropped": False}
    return {"dropped": True}


FAST: Mapping[str, FastHandler] = {"load_schema": try_load_schema}
HANDLERS: Mapping[str, Handler] = {
    "list_schemas": list_schemas,
    "create_schema": create_schema,
    "load_schema": load_schema,
    "alter_schema": alter_schema,
    "drop_schema": drop_schema,
}
