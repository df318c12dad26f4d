"""'Did you mean': names near one that is not there, out of those that the caller may see."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress

import lance_namespace as ln

from lanceway.catalogs.handles.names import joined, list_namespaces, list_tables
from lanceway.errors import LanceNamespaceError
from lanceway.identifiers import ROOT, Identifier

# Namespaces of the root, such as catalogs of a server, that are asked whether they have what is missing.
_ASKED = 10
# Tables of a namespace that was taken for a table.
_NAMED = 5


def for_table(catalog: ln.LanceNamespace, table: Identifier) -> str:
    """Return a sentence that suggests a table near one that is missing, after a space; empty if there is none.

    It lists and asks, so it is for errors alone; what cannot be listed suggests nothing.
    """
    if _has_namespace(catalog, table):
        return _as_namespace(catalog, table)
    with suppress(LanceNamespaceError):
        return _near(table.parent, table.name, list_tables(catalog, table.parent)) or _elsewhere(catalog, table)
    with suppress(LanceNamespaceError):
        return _elsewhere(catalog, table) or _near_namespace(catalog, table)
    return ""


def for_namespace(catalog: ln.LanceNamespace, namespace: Identifier) -> str:
    """Return a sentence that suggests a namespace near one that is missing, after a space; empty if there is none."""
    for depth, name in enumerate(namespace):
        parent = Identifier(namespace[:depth])
        with suppress(LanceNamespaceError):
            names = list_namespaces(catalog, parent)
            if name not in names:
                return _near(parent, name, names)
    return ""


def for_root_namespace(catalog: ln.LanceNamespace, object_: Identifier) -> str:
    """Return a sentence that suggests a path whose first name is one that the root has; empty if it has none."""
    with suppress(LanceNamespaceError):
        names = list_namespaces(catalog, ROOT)
        if near := _near(ROOT, object_[0], names):
            return near
        holders = [name for name in names[:_ASKED] if _has_namespace(catalog, Identifier((name, object_[0])))]
        best = holders or (names if len(names) == 1 else [])
        return f" Did you mean {joined((best[0], *object_))!r}?" if best else f" It has: {', '.join(names)}."
    return ""


def _as_namespace(catalog: ln.LanceNamespace, namespace: Identifier) -> str:
    with suppress(LanceNamespaceError):
        tables = [joined((*namespace, name)) for name in list_tables(catalog, namespace)]
        if tables:
            return f" It is a namespace, with {', '.join(tables[:_NAMED])}{', …' if tables[_NAMED:] else ''}."
    return " It is a namespace."


def _near(parent: Identifier, name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1)
    return f" Did you mean {joined((*parent, near[0]))!r}?" if near else ""


def _near_namespace(catalog: ln.LanceNamespace, table: Identifier) -> str:
    """Return a suggestion for the first name above a table that is not there."""
    for depth in range(table.depth - 1):
        above, name = Identifier(table[:depth]), table[depth]
        names = list_namespaces(catalog, above)
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            return _existing(catalog, (Identifier((*above, other, *table[depth + 1 :])) for other in near)) or _near(
                above, name, names
            )
    return ""


def _elsewhere(catalog: ln.LanceNamespace, table: Identifier) -> str:
    """Return a suggestion of the same name inside one of the root's namespaces: a catalog was left out."""
    inside = (Identifier((name, *table)) for name in list_namespaces(catalog, ROOT)[:_ASKED] if name != table[0])
    return _existing(catalog, inside)


def _existing(catalog: ln.LanceNamespace, candidates: Iterable[Identifier]) -> str:
    """Return a suggestion of the first table that is there."""
    for candidate in candidates:
        with suppress(LanceNamespaceError):
            catalog.table_exists(ln.TableExistsRequest(id=list(candidate)))
            return f" Did you mean {joined(candidate)!r}?"
    return ""


def _has_namespace(catalog: ln.LanceNamespace, namespace: Identifier) -> bool:
    try:
        catalog.namespace_exists(ln.NamespaceExistsRequest(id=list(namespace)))
    except LanceNamespaceError:
        return False
    return True
