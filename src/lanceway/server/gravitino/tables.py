"""Tables of schemas: Lance tables and Iceberg tables. What they hold is written through other dialects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lance_namespace as ln
import pyarrow as pa

from lanceway.access import privileges
from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.errors import InvalidInputError, TableNotFoundError, UnsupportedOperationError
from lanceway.lake.store.schema import TABLE
from lanceway.server.gravitino import columns, iceberg
from lanceway.server.gravitino.alterations import TableAlterations
from lanceway.server.gravitino.calls import (
    FastHandler,
    GravitinoCall,
    Handler,
    audit,
    identifiers,
    new_name,
)
from lanceway.server.home import METALAKE
from lanceway.wire.gravitino_requests import TableCreateRequest

COMMENT, LOCATION, FORMAT, EXTERNAL = "comment", "location", "format", "external"
_LANCE, _TRUE = "lance", "true"
_MODE, _REGISTER, _VERSION, _DECLARED = "lance.creation-mode", "lance.register", "lance.version", "lance.declared"
_STORAGE = "lance.storage."
_MODES = {"CREATE": "create", "EXIST_OK": "exist_ok", "OVERWRITE": "overwrite"}
_FEW = 200  # tables, which the event loop lists itself
_NONE = "none"  # the strategy of a distribution that is none


def list_tables(call: GravitinoCall) -> dict[str, Any]:
    """List the tables of a schema that the caller may see."""
    return identifiers([METALAKE, call.catalog, call.names["schema"]], call.guard.list_iceberg_tables(call.schema))


def load_table(call: GravitinoCall) -> dict[str, Any]:
    """Return a table, and with `privileges` only to a caller who has all of these on it."""
    for name in filter(None, call.query.get("privileges", "").split(",")):
        call.guard.require_table(call.table, privileges.check_binding(name, TABLE).name)
    return _loaded(call, call.table)


def _loaded(call: GravitinoCall, names: list[str]) -> dict[str, Any]:
    details = call.guard.object_details(names, is_namespace=False)
    if details.is_iceberg:
        return _loaded_iceberg(call, names, details)
    known = _known(call, names, details)
    if known is not None:
        return known
    table = call.guard.describe_table(ln.DescribeTableRequest(id=names, load_detailed_metadata=True))
    found = columns.from_schema(table.var_schema)
    if table.version == details.version:
        call.columns.keep(details.state, found)
    properties = {**(table.properties or {}), LOCATION: table.location}
    if table.is_only_declared:
        properties[_DECLARED] = _TRUE
    return _described(names[-1], properties, table.version, found, audit(details))


def _loaded_iceberg(call: GravitinoCall, names: list[str], details: ObjectDetails) -> dict[str, Any]:
    loaded = call.guard.load_iceberg_table(names)
    metadata = iceberg.read(loaded)
    properties = {**iceberg.properties(loaded, metadata), LOCATION: loaded.location}
    return _described(names[-1], properties, None, iceberg.columns(metadata), audit(details), iceberg.ICEBERG)


def _known(call: GravitinoCall, names: list[str], details: ObjectDetails) -> dict[str, Any] | None:
    """Return a table whose columns were read before, None if they must be read."""
    found = call.columns.get(details.state)
    if found is None:
        return None
    properties = {**details.properties, LOCATION: details.location}
    return _described(names[-1], properties, details.version, found, audit(details))


def _described(
    name: str,
    properties: dict[str, Any],
    version: int | None,
    found: list[dict[str, Any]],
    made: Mapping[str, str],
    format_: str = _LANCE,
) -> dict[str, Any]:
    comment = properties.pop(COMMENT, None)
    properties[FORMAT] = format_
    if version is not None:
        properties[_VERSION] = str(version)
    described = {
        "name": name,
        "comment": comment,
        "columns": found,
        "properties": {key: value for key, value in properties.items() if value is not None},
        "audit": made,
        "distribution": {"strategy": _NONE, "number": 0, "funcArgs": []},
        "sortOrders": [],
        "partitioning": [],
        "indexes": [],
    }
    return {"table": {key: value for key, value in described.items() if value is not None}}


# -- in the event loop ---------------------------------------------------------------------------


def try_load_table(call: GravitinoCall) -> dict[str, Any] | None:
    """Return a table if that needs no waiting; None means that it must be asked."""
    names = call.try_schema()
    if names is None or call.query:
        return None
    names.append(call.names["table"])
    details = call.guard.try_details(names, is_namespace=False)
    return None if details is None else _known(call, names, details)


def try_list_tables(call: GravitinoCall) -> dict[str, Any] | None:
    """Return a list of few tables if that needs no waiting."""
    names = call.try_schema()
    found = None if names is None else call.guard.try_fast("list_iceberg_tables", names, {"id": names, "limit": _FEW})
    if found is None or found["page_token"] is not None:
        return None
    return identifiers([METALAKE, call.catalog, call.names["schema"]], found["tables"])


# -- creating ------------------------------------------------------------------------------------


def create_table(call: GravitinoCall) -> dict[str, Any]:
    """Make an empty table, declare one without columns, or register the one at a location."""
    body: TableCreateRequest = call.body
    names = [*call.schema, new_name("table", body.name)]
    _refuse_unsupported(body)
    properties = dict(body.properties or {})
    mode, register = _mode(properties), _is_true(properties, _REGISTER)
    location = properties.pop(LOCATION, None)
    if body.comment:
        properties[COMMENT] = body.comment
    external = register or _is_true(properties, EXTERNAL)
    if external:
        properties[EXTERNAL] = _TRUE
    if register:
        _register(call, names, body, location, properties, mode)
    elif body.columns:
        _create(call, names, columns.to_schema(body.columns), location, properties, mode)
    else:
        call.guard.declare_table(ln.DeclareTableRequest(id=names, location=location, properties=properties))
    return _loaded(call, names)


def _refuse_unsupported(body: TableCreateRequest) -> None:
    parts = {"partitioning": body.partitioning, "sortOrders": body.sort_orders, "indexes": body.indexes}
    for name, value in parts.items():
        if value:
            raise UnsupportedOperationError(f"A Lance table cannot be made with {name}. Leave it out.")
    if body.distribution and str(body.distribution.get("strategy", _NONE)).lower() != _NONE:
        raise UnsupportedOperationError("A Lance table cannot be made with a distribution. Leave it out.")


def _mode(properties: dict[str, str]) -> str:
    """Return what happens where a table is there already, and take out what is no property of the table."""
    format_ = properties.pop(FORMAT, _LANCE)
    if format_.lower() != _LANCE:
        raise UnsupportedOperationError(
            f"Tables of the format {format_!r} cannot be made here. Use {_LANCE!r}; Iceberg tables are made through "
            "Iceberg REST."
        )
    secret = next((key for key in properties if key.startswith(_STORAGE)), None)
    if secret is not None:
        raise InvalidInputError(
            f"The property {secret!r} cannot be set: the server has the storage options of its catalogs. Leave it out."
        )
    for key in (_VERSION, _DECLARED):
        properties.pop(key, None)
    wanted = properties.pop(_MODE, "CREATE")
    mode = _MODES.get(wanted.upper())
    if mode is None:
        raise InvalidInputError(f"The property {_MODE} is {wanted!r}, but must be {', '.join(_MODES)}.")
    return mode


def _is_true(properties: dict[str, str], key: str) -> bool:
    return properties.pop(key, "false").lower() == _TRUE


def _register(
    call: GravitinoCall,
    names: list[str],
    body: TableCreateRequest,
    location: str | None,
    properties: dict[str, str],
    mode: str,
) -> None:
    if not location:
        raise InvalidInputError(f"To register a table, {_REGISTER} needs a {LOCATION}. Send both.")
    if body.columns:
        raise InvalidInputError("A table that is registered has columns already. Send none.")
    request = ln.RegisterTableRequest(id=names, location=location, properties=properties, mode=mode)
    call.guard.register_table(request)


def _create(
    call: GravitinoCall,
    names: list[str],
    schema: pa.Schema,
    location: str | None,
    properties: dict[str, str],
    mode: str,
) -> None:
    if location is not None:
        raise UnsupportedOperationError(
            f"A table with columns gets its location from the server. Leave {LOCATION} out, or declare the table "
            "there without columns and write it."
        )
    request = ln.CreateTableRequest(id=names, properties=properties, mode=mode)
    call.guard.create_table_stream(request, pa.RecordBatchReader.from_batches(schema, ()))


# -- altering and dropping -----------------------------------------------------------------------


def alter_table(call: GravitinoCall) -> dict[str, Any]:
    """Change a table: its properties, its columns or its name, each kind in a request of its own."""
    return _loaded(call, TableAlterations(call.guard, call.table).apply(call.body.updates))


def drop_table(call: GravitinoCall) -> dict[str, Any]:
    """Drop a table with its data; that of an external one and of an Iceberg table stays, unless it is purged."""
    names, purge = call.table, call.flag("purge")
    try:
        _drop(call, names, purge)
    except TableNotFoundError:
        return {"dropped": False}
    return {"dropped": True}


def _drop(call: GravitinoCall, names: list[str], purge: bool) -> None:
    details = None
    if not (purge and call.is_mounted):
        call.guard.require_table(names, None)  # who may drop it may see it
        details = call.guard.object_details(names, is_namespace=False)
    if details is not None and details.is_iceberg:
        call.guard.drop_iceberg_table(names, purge=purge)
    elif details is not None and not purge and details.properties.get(EXTERNAL, "").lower() == _TRUE:
        call.guard.deregister_table(ln.DeregisterTableRequest(id=names))
    else:
        call.guard.drop_table(ln.DropTableRequest(id=names))


FAST: Mapping[str, FastHandler] = {"load_table": try_load_table, "list_tables": try_list_tables}
HANDLERS: Mapping[str, Handler] = {
    "list_tables": list_tables,
    "load_table": load_table,
    "create_table": create_table,
    "alter_table": alter_table,
    "drop_table": drop_table,
}
