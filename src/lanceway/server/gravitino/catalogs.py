"""Catalogs: those of the lake and of other services are made, altered, disabled, tested and dropped.

The provider says what a catalog is made of: `lakehouse-generic` for one of the lake itself, or a type of Lanceway's,
such as `dir` or `glue`, whose settings are the catalog's properties. Those of the configuration are read-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lanceway.access.mounted.catalogs import STORAGE, CatalogChange, CatalogInfo, CatalogTrialError, NewCatalog
from lanceway.catalogs.federated.trials import CatalogCheck
from lanceway.catalogs.registry import CATALOGS
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.lake.store.rows import KEEP
from lanceway.lake.tree.catalogs import LAKE
from lanceway.server.gravitino.calls import GravitinoCall, Handler, audited, identifiers, new_name, property_changes
from lanceway.server.home import METALAKE
from lanceway.wire.gravitino import LANCE_PROVIDER, RELATIONAL
from lanceway.wire.gravitino_requests import CatalogCreateRequest, UpdateRequest

_COMMENT, _IN_USE, _LOCATION, _NESTED, _RENAME = "comment", "in-use", "location", "nested", "rename"
_TRUE, _FALSE = "true", "false"
# In answers alone: what was found of the storage when a catalog was made or its settings were changed.
_CHECKS = "lanceway.storage-checks"


def _described(info: CatalogInfo, checks: Sequence[CatalogCheck] = ()) -> dict[str, Any]:
    """Describe a catalog; of its settings those that are no secrets, and of checks those of its storage."""
    properties = {**info.settings, **info.properties, _IN_USE: _TRUE if info.enabled else _FALSE}
    storage = [str(check).removeprefix(STORAGE) for check in checks if check.name.startswith(STORAGE)]
    if storage:
        properties[_CHECKS] = "\n".join(storage)
    if info.nested is not None:
        properties[_NESTED] = _TRUE if info.nested else _FALSE
    catalog = {
        "name": info.name,
        "type": RELATIONAL,
        "provider": LANCE_PROVIDER if info.nested is not None else info.type,
        "comment": info.comment,
        "properties": properties,
        "audit": audited(info.created_by, info.created_at, info.changed_by, info.changed_at),
    }
    return {key: value for key, value in catalog.items() if value is not None}


def list_catalogs(call: GravitinoCall) -> dict[str, Any]:
    """List the catalogs that the caller may use, with `details` as loading each would."""
    if call.flag("details"):
        return {"catalogs": [_described(info) for info in call.catalogs.page(call.principal)]}
    return identifiers([METALAKE], call.catalogs.names(call.principal))


def load_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Return a catalog."""
    return {"catalog": _described(call.catalogs.load(call.principal, call.catalog))}


def create_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Make a catalog, which is tried out first if it is another service's."""
    info, checks = call.catalogs.create(call.principal, _new_catalog(call.body))
    return {"catalog": _described(info, checks)}


def test_connection(call: GravitinoCall) -> dict[str, Any]:
    """Check that a catalog could be made: one of the lake needs no connection of its own."""
    new = _new_catalog(call.body)
    return _passed(new.name, call.catalogs.test_new(call.principal, new))


def _new_catalog(body: CatalogCreateRequest) -> NewCatalog:
    name, type_ = new_name("catalog", body.name), _type(body)
    properties = {key: value for key, value in (body.properties or {}).items() if key != _IN_USE}
    if type_ != LAKE or "uri" in properties:
        return NewCatalog(name, type_, properties, body.comment)
    if _LOCATION in properties:
        raise InvalidInputError(
            "The location of a catalog cannot be chosen: its tables are below the server's warehouse. Leave it out."
        )
    nested = properties.pop(_NESTED, _TRUE).lower()
    if nested not in (_TRUE, _FALSE):
        raise InvalidInputError(f"The property {_NESTED} is {nested!r}, but must be {_TRUE} or {_FALSE}.")
    return NewCatalog(name, comment=body.comment, properties=properties, nested=nested == _TRUE)


def _type(body: CatalogCreateRequest) -> str:
    """Return the type of catalog that a provider stands for."""
    if (body.type or RELATIONAL).lower() != RELATIONAL:
        raise UnsupportedOperationError(
            f"Catalogs of the type {body.type!r} are not supported. A catalog of Lance tables is {RELATIONAL!r}."
        )
    provider = (body.provider or LANCE_PROVIDER).lower()
    if provider == LANCE_PROVIDER:
        return LAKE
    if provider not in CATALOGS:
        raise UnsupportedOperationError(
            f"Catalogs of the provider {body.provider!r} cannot be made here. Known providers: "
            f"{', '.join((LANCE_PROVIDER, *CATALOGS))}."
        )
    return provider


def alter_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Change properties, the comment or the name of a catalog; properties of another service's are its settings."""
    if not call.is_mounted and any(update.property == _NESTED for update in call.body.updates):
        _enable_nested(call)
        return load_catalog(call)
    change = _change(call.body.updates, is_mounted=call.is_mounted)
    info, checks = call.catalogs.alter(call.principal, call.catalog, change)
    return {"catalog": _described(info, checks)}


def _enable_nested(call: GravitinoCall) -> None:
    """Let the schemas of a flat catalog nest, unless names hold the separator: the error names those and says what to
    do."""
    updates = call.body.updates
    if len(updates) != 1 or updates[0].kind != "setProperty" or (updates[0].value or "").lower() != _TRUE:
        raise InvalidInputError(
            f"The property {_NESTED} can be set to {_TRUE}, in a request of its own. It cannot be taken back."
        )
    call.catalogs.enable_nested(call.principal, call.catalog)


def _change(updates: Sequence[UpdateRequest], *, is_mounted: bool) -> CatalogChange:
    names = [update.new_name for update in updates if update.kind == _RENAME]
    changes = property_changes((update for update in updates if update.kind != _RENAME), "catalog")
    comment = changes.pop(_COMMENT, KEEP)
    if _IN_USE in changes:
        raise InvalidInputError(
            f"The property {_IN_USE} says whether a catalog is enabled. Enable or disable it instead."
        )
    name = new_name("catalog", names[-1] or "") if names else None
    settings, properties = (changes, {}) if is_mounted else ({}, changes)
    return CatalogChange(settings, properties, comment, name)


def set_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Enable or disable a catalog."""
    call.catalogs.set_enabled(call.principal, call.catalog, call.body.in_use)
    return {}


def drop_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Drop a catalog: one of the lake must be empty, and another service's keeps what it has."""
    if call.flag("force"):
        raise UnsupportedOperationError("The parameter force is not supported. Drop what is in the catalog first.")
    call.catalogs.drop(call.principal, call.catalog)
    return {"dropped": True}


def test_catalog(call: GravitinoCall) -> dict[str, Any]:
    """Check that a catalog answers."""
    if call.body is not None:
        raise UnsupportedOperationError("Changes of a catalog cannot be tried. Send no updates.")
    return _passed(call.catalog, call.catalogs.test(call.principal, call.catalog))


def _passed(name: str, checks: Iterable[CatalogCheck]) -> dict[str, Any]:
    failed = [check for check in checks if not check.passed]
    if failed:
        raise CatalogTrialError(name, failed)
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
