"""Names that users give, and what is listed in a catalog, page after page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import lance_namespace as ln

from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

# Dots separate the names in a text; a list is for names that have dots in them.
Name = str | Iterable[str]

_DELIMITER = "."


def table_name(name: Name) -> Identifier:
    """Return the identifier of a table. Raises InvalidInputError for the root."""
    identifier = Identifier.of(name)
    if identifier.is_root:
        raise InvalidInputError("The name of a table is missing: give one such as 'team.fruit'.")
    return identifier


def joined(names: Iterable[str]) -> str:
    """Return names as one text, as `table_name` takes it. A name with dots in it has to be given as a list."""
    return _DELIMITER.join(names)


def list_namespaces(catalog: ln.LanceNamespace, namespace: Identifier) -> list[str]:
    """Return the names of the namespaces directly in one."""
    return list(_paged(catalog.list_namespaces, ln.ListNamespacesRequest(id=list(namespace)), "namespaces"))


def list_tables(catalog: ln.LanceNamespace, namespace: Identifier) -> list[str]:
    """Return the names of the tables directly in a namespace."""
    return list(_paged(catalog.list_tables, ln.ListTablesRequest(id=list(namespace)), "tables"))


def list_all_tables(catalog: ln.LanceNamespace, namespace: Identifier) -> list[Identifier]:
    """Return the identifiers of all tables in a namespace, at any depth."""
    request = ln.ListTablesRequest(id=list(namespace))
    return [Identifier.parse(name, WIRE_DELIMITER) for name in _paged(catalog.list_all_tables, request, "tables")]


def _paged(ask: Callable[[Any], Any], request: Any, field: str) -> Iterator[str]:
    while True:
        response = ask(request)
        yield from getattr(response, field)
        if not response.page_token:
            return
        request = request.model_copy(update={"page_token": response.page_token})
