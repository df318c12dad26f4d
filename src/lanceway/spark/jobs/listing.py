"""Every table of a catalog, one page in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any

from lance_namespace import LanceNamespace, ListNamespacesRequest, ListTablesRequest

from lanceway.errors import NamespaceNotFoundError
from lanceway.identifiers import ROOT, Identifier

_PAGE = 1000


def tables(catalog: LanceNamespace, *, only: Sequence[str] = (), below: Identifier = ROOT) -> Iterator[Identifier]:
    """The tables below a namespace, depth first, those that are only declared too: not every list knows them.

    Namespaces are walked one by one, since `list_all_tables` joins names and so cannot tell every name.
    """
    names = _pages(lambda token: _tables_page(catalog, below, token), "tables")
    yield from (below.child(name) for name in names if is_wanted(below.child(name), only))
    for name in _pages(lambda token: _namespaces_page(catalog, below, token), "namespaces"):
        with suppress(NamespaceNotFoundError):  # dropped meanwhile
            yield from tables(catalog, only=only, below=below.child(name))


def is_wanted(table: Identifier, only: Sequence[str]) -> bool:
    """Whether a pattern such as `team.sales.*` matches the identifier; without any, all are wanted."""
    return not only or any(fnmatchcase(".".join(table), pattern) for pattern in only)


def _tables_page(catalog: LanceNamespace, namespace: Identifier, token: str | None) -> Any:
    request = ListTablesRequest(id=list(namespace), page_token=token, limit=_PAGE, include_declared=True)
    return catalog.list_tables(request)


def _namespaces_page(catalog: LanceNamespace, namespace: Identifier, token: str | None) -> Any:
    return catalog.list_namespaces(ListNamespacesRequest(id=list(namespace), page_token=token, limit=_PAGE))


def _pages(page: Callable[[str | None], Any], key: str) -> Iterator[str]:
    token: str | None = None
    while True:
        answer = page(token)
        yield from getattr(answer, key) or ()
        token = answer.page_token
        if not token:
            return


def everything(catalog: LanceNamespace) -> Iterator[Identifier]:
    """Every table of a target. One whose root is yet to be made has none."""
    with suppress(NamespaceNotFoundError):
        yield from tables(catalog)
