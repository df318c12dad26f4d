"""What a client is told first: the prefix of its warehouse's paths, and what can be asked there."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

import lance_namespace as ln

from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, PermissionDeniedError
from lanceway.server.iceberg.calls import IcebergRestCall, answer
from lanceway.server.iceberg.envelope import WarehouseNotFoundError
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire.iceberg import BY_OPERATION, SEPARATOR

DEFAULT_WAREHOUSE = "lake"
# How long a client may repeat a request under its key, as ISO 8601 and in seconds.
KEY_LIFETIME, KEY_SECONDS = "PT30M", 1800
_SHOWN = 20  # catalogs, in an error
# What catalogs of other services do not have: they hold Lance tables alone.
_LAKE_ALONE = frozenset(
    {
        "update_properties",
        "register_table",
        "commit_table",
        "commit_transaction",
        *(f"{verb}_view" for verb in ("create", "load", "replace", "drop", "register", "rename")),
        "view_exists",
        "list_views",
        "sign_request",
    }
)


def get_config(call: IcebergRestCall, operations: Iterable[str]) -> EncodedAnswer:
    """Return how a warehouse, which is a catalog of the tree, is asked for."""
    name = canonical(call.query.get("warehouse") or "")
    if name:
        _require(call, name)
    else:
        name = DEFAULT_WAREHOUSE
        _require_default(call)
    missing = _LAKE_ALONE if name in call.guard.mounted_names else frozenset()
    return answer(
        {
            # A token is got again with the client's secret, never exchanged for another.
            "defaults": {"token-exchange-enabled": "false"},
            "overrides": {"prefix": quote(name, safe=""), "namespace-separator": quote(SEPARATOR)},
            "endpoints": [BY_OPERATION[each].endpoint for each in operations if each not in missing],
            "idempotency-key-lifetime": KEY_LIFETIME,
        }
    )


def _require(call: IcebergRestCall, name: str) -> None:
    try:
        call.guard.object_details([name], is_namespace=True)
    except (NamespaceNotFoundError, PermissionDeniedError) as error:
        # What is hidden and what is missing look the same.
        raise WarehouseNotFoundError(
            f"Warehouse does not exist: {name}. A warehouse is a catalog that you may use. {_choices(call)}"
        ) from error


def _require_default(call: IcebergRestCall) -> None:
    try:
        call.guard.object_details([DEFAULT_WAREHOUSE], is_namespace=True)
    except (NamespaceNotFoundError, PermissionDeniedError) as error:
        raise InvalidInputError(
            f"Name a warehouse: there is no catalog {DEFAULT_WAREHOUSE!r} that you may use, which stands for it where "
            f"none is named. {_choices(call)}"
        ) from error


def _choices(call: IcebergRestCall) -> str:
    names = call.guard.list_namespaces(ln.ListNamespacesRequest(id=[], limit=_SHOWN)).namespaces
    return f"Those that you may use: {', '.join(names)}." if names else "You may use none of them; ask for one."
