"""Catalogs: those of the lake are made, altered and dropped here; those of the configuration are read-only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lance_namespace as ln

from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError, PermissionDeniedError, UnsupportedOperationError
from lanceway.server.gravitino.calls import (
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
from lanceway.wire.gravitino import LANCE_PROVIDER, RELATIONAL, CatalogCreateRequest

_COMMENT, _IN_USE, _LOCATION = "comment", "in-use", "location"
_PROVIDERS = (LANCE_PROVIDER, "lake")


def _described(call: GravitinoCall, name: str) -> dict[str, Any]:
    details = call.guard.object_details([name], is_namespace=True)
    properties = {**details.properties}
    comment = properties.pop(_COMMENT, details.comment)
    catalog = {
        "name": canonical(name),
        "type": RELATIONAL,
        "provider": LANCE_PROVIDER,
        "comment": comment,
        "properties": {**properties, _IN_USE: "true"},
        "audit": audit(details),
    }
    return {key: value for key, value in catalog.items() if value is not None}


def list_catalogs(call: GravitinoCall) -> dict[str, Any]:
    """List the catalogs that the caller may see, with `details` those that it may load."""
    names = pages(lambda token: call.guard.list_namespaces(ln.ListNamespacesRequest(**page([], token))), "namespaces")
    if not call.flag("details"):
        return identifiers([METALAKE], names)
    loaded = []
    for name in names:
        try:
            loaded.append(_described(call, name))
        except PermissionDeniedError:
            continue
    return {"catalogs": loaded}


def load_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Return a catalog."""
    return {"catalog": _described(call, call.catalog)}


def create_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Make a catalog of the lake, whose schemas nest."""
    name, properties = _checked(call.body)
    call.guard.create_namespace(ln.CreateNamespaceRequest(id=[name], properties=properties))
    return {"catalog": _described(call, name)}


def test_connection(call: GravitinoCall) -> dict[str, Any]:
    """Check that a catalog could be made: one of the lake needs no connection of its own."""
    _checked(call.body)
    call.guard.require("create catalog")
    return {}


def _checked(body: CatalogCreateRequest) -> tuple[str, dict[str, str]]:
    """Return the name and the properties of a new catalog."""
    name = new_name("catalog", body.name)
    if (body.type or RELATIONAL).lower() != RELATIONAL:
        raise UnsupportedOperationError(
            f"Catalogs of the type {body.type!r} are not supported. A catalog of Lance tables is {RELATIONAL!r}."
        )
    if (body.provider or LANCE_PROVIDER).lower() not in _PROVIDERS:
        raise UnsupportedOperationError(
            f"Catalogs of the provider {body.provider!r} cannot be made here, only those of {LANCE_PROVIDER!r}. Mount "
            f"others in the server's configuration, as [catalogs.{name}]."
        )
    properties = dict(body.properties or {})
    if _LOCATION in properties:
        raise InvalidInputError(
            "The location of a catalog cannot be chosen: its tables are below the server's warehouse. Leave it out."
        )
    properties.pop(_IN_USE, None)
    return name, properties if body.comment is None else {**properties, _COMMENT: body.comment}


def alter_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Change properties or the comment of a catalog of the lake."""
    changes = property_changes(call.body.updates, "catalog")
    new = {key: value for key, value in changes.items() if value is not None}
    call.guard.alter_namespace([call.catalog], new, unset=[key for key, value in changes.items() if value is None])
    return {"catalog": _described(call, call.catalog)}


def set_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Enable a catalog, which it is already."""
    call.guard.require_owner([call.catalog])
    if not call.body.in_use:
        raise UnsupportedOperationError(
            f"The catalog {call.catalog!r} cannot be disabled. Revoke USE_CATALOG on it instead."
        )
    return {}


def drop_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Drop an empty catalog of the lake."""
    if call.flag("force"):
        raise UnsupportedOperationError("The parameter force is not supported. Drop what is in the catalog first.")
    call.guard.drop_namespace(ln.DropNamespaceRequest(id=[call.catalog]))
    return {"dropped": True}


def test_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Check that a catalog answers."""
    if call.body is not None:
        raise UnsupportedOperationError("Changes of a catalog cannot be tried. Send no updates.")
    call.guard.object_details([call.catalog], is_namespace=True)
    call.guard.list_namespaces(ln.ListNamespacesRequest(id=[call.catalog], limit=1))
    return {}


HANDLERS: Mapping[str, Handler] = {
    "list_catalogs": list_catalogs,
    "load_catalog": load_catalog,
    "create_catalog": create_catalog,
    "test_connection": test_connection,
    "alter_catalog": alter_catalog,
    "set_catalog": set_catalog,
    "drop_catalog": drop_catalog,
    "test_catalog": test_catalog,
}
