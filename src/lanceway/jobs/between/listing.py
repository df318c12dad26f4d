"""Every table of a catalog, one page in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from lance_namespace import LanceNamespace

from lanceway.errors import NamespaceNotFoundError
from lanceway.identifiers import ROOT, Identifier
from lanceway.spark.catalog import paging


def tables(catalog: LanceNamespace, *, only: Sequence[str] = (), below: Identifier = ROOT) -> Iterator[Identifier]:
    """The tables below a namespace, depth first, those that are only declared too: not every list knows them.

    Namespaces are walked one by one, since `list_all_tables` joins names and so cannot tell every name.
    """
    names = paging.names(catalog, "list_tables", list(below), include_declared=True)
    yield from (below.child(name) for name in names if is_wanted(below.child(name), only))
    for name in paging.names(catalog, "list_namespaces", list(below)):
        with suppress(NamespaceNotFoundError):  # dropped meanwhile
            yield from tables(catalog, only=only, below=below.child(name))


def is_wanted(table: Identifier, only: Sequence[str]) -> bool:
    """Whether a pattern such as `team.sales.*` matches the identifier; without any, all are wanted."""
    return not only or any(fnmatchcase(".".join(table), pattern) for pattern in only)


def everything(catalog: LanceNamespace) -> Iterator[Identifier]:
    """Every table of a target. One whose root is yet to be made has none."""
    with suppress(NamespaceNotFoundError):
        yield from tables(catalog)
