"""Namespaces of a catalog, nested as deep as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import lance_namespace as ln

from lanceway.access.guard import Guard
from lanceway.catalogs.contract.capabilities import COMMENT
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotEmptyError,
    UnsupportedOperationError,
    namespace_not_empty,
)
from lanceway.server.iceberg.calls import NO_CONTENT, PAGE, Handler, IcebergRestCall, answer, exists, new_name
from lanceway.server.iceberg.envelope import UnprocessableError
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire import iceberg
from lanceway.wire.iceberg_requests import NamespaceCreation, PropertiesUpdate

_SHOWN = 5  # names of each kind, in an error


def list_namespaces(call: IcebergRestCall) -> EncodedAnswer:
    """List the namespaces directly inside another one, or at the top of the catalog."""
    parent = [call.catalog, *read_parent(call)]
    if call.is_paged():
        page = _page(call.guard, parent, call.page_start(parent), call.page_size())
        names, token = page.namespaces, page.page_token
    else:
        names, token = list(_all(call.guard, parent)), None
    rows = [[*parent[1:], name] for name in names]
    return answer({"namespaces": rows, **call.next_page(parent, token)})


def read_parent(call: IcebergRestCall) -> Sequence[str]:
    """Return the namespace that a list is of. pyiceberg percent-encodes it once too often, where it has such names."""
    text = call.query.get("parent", "")
    parent = iceberg.read_namespace(text)
    if "%" not in text or exists(call.guard, call.inside(parent)):
        return parent
    decoded = iceberg.read_namespace(unquote(text))
    return decoded if exists(call.guard, call.inside(decoded)) else parent


def create_namespace(call: IcebergRestCall) -> EncodedAnswer:
    """Make a namespace and what is missing above it: all of it, with one owner, or nothing."""
    body: NamespaceCreation = call.body
    names = [new_name("namespace", name) for name in body.namespace]
    properties = dict(body.properties or {})
    if call.is_mounted:
        # A service makes no parents in the same step.
        call.guard.create_namespace(ln.CreateNamespaceRequest(id=call.inside(names), properties=properties))
    else:
        call.guard.create_namespaces(call.inside(names), properties)
    return answer({"namespace": names, "properties": properties})


def load_namespace(call: IcebergRestCall) -> EncodedAnswer:
    """Return a namespace with its properties."""
    names = call.namespace
    return answer({"namespace": names[1:], "properties": _properties(call.guard, names)})


def namespace_exists(call: IcebergRestCall) -> EncodedAnswer:
    """Answer whether there is a namespace, by the status alone."""
    call.guard.namespace_exists(ln.NamespaceExistsRequest(id=call.namespace))
    return NO_CONTENT


def _properties(guard: Guard, names: Sequence[str]) -> dict[str, str]:
    details = guard.object_details(names, is_namespace=True)
    comment = {} if details.comment is None else {COMMENT: details.comment}
    return {**comment, **details.properties}


def update_properties(call: IcebergRestCall) -> EncodedAnswer:
    """Set and remove properties of a namespace, of this one alone."""
    body: PropertiesUpdate = call.body
    removals, updates = list(dict.fromkeys(body.removals or ())), dict(body.updates or {})
    both = sorted(set(removals) & set(updates))
    if both:
        raise UnprocessableError(f"The property {both[0]!r} is both set and removed. Leave one of them out.")
    call.guard.require_owner(call.namespace)  # so that a refusal says what the change needs
    before = _properties(call.guard, call.namespace)
    removed = [key for key in removals if key in before]
    if removed or updates:
        call.guard.alter_namespace(call.namespace, updates, unset=removed)
    missing = [key for key in removals if key not in before]
    return answer({"updated": list(updates), "removed": removed, "missing": missing})


def drop_namespace(call: IcebergRestCall) -> EncodedAnswer:
    """Drop an empty namespace; what is above it stays."""
    names = call.namespace
    if call.flag("cascade"):
        raise UnsupportedOperationError(
            f"The parameter cascade is not supported: {'.'.join(names[1:])!r} is dropped only when it is empty. Drop "
            "what is in it first."
        )
    try:
        call.guard.drop_namespace(ln.DropNamespaceRequest(id=names))
    except NamespaceNotEmptyError as error:
        raise namespace_not_empty(f"Namespace not empty: {_contents(call.guard, names)}") from error
    return NO_CONTENT


def _contents(guard: Guard, names: Sequence[str]) -> str:
    """Say what is in a namespace, as far as the caller may see it."""
    lists: Mapping[str, Callable[[], Sequence[str]]] = {
        "namespaces": lambda: _page(guard, names, None, _SHOWN).namespaces,
        "tables": lambda: guard.list_iceberg_tables(names, limit=_SHOWN),
        "views": lambda: guard.list_iceberg_views(names, limit=_SHOWN),
    }
    parts = []
    for noun, list_ in lists.items():
        try:
            shown = list_()
        except LanceNamespaceError:  # nothing more can be said
            continue
        if shown:
            parts.append(f"the {noun} {', '.join(shown)}{' …' if len(shown) == _SHOWN else ''}")
    inside = " and ".join(parts) if parts else "what you may not see"
    return f"it holds {inside}. Drop that first."


def _page(guard: Guard, parent: Sequence[str], token: str | None, limit: int) -> Any:
    request = ln.ListNamespacesRequest(id=list(parent), limit=limit, page_token=token)
    return guard.list_namespaces(request)


def _all(guard: Guard, parent: Sequence[str]) -> Iterator[str]:
    token: str | None = None
    while True:
        page = _page(guard, parent, token, PAGE)
        yield from page.namespaces
        token = page.page_token
        if not token:
            return


HANDLERS: Mapping[str, Handler] = {
    "list_namespaces": list_namespaces,
    "create_namespace": create_namespace,
    "load_namespace": load_namespace,
    "namespace_exists": namespace_exists,
    "update_properties": update_properties,
    "drop_namespace": drop_namespace,
}
