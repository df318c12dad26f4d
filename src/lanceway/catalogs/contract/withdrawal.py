"""Taking back a name that was declared for a write which failed, and nothing that somebody has done since."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from lance_namespace import DescribeTableRequest, DropTableRequest, LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.errors import NamespaceNotFoundError, TableNotFoundError
from lanceway.identifiers import Identifier


def claim_of(catalog: LanceNamespace, id_: Sequence[str]) -> str | None:
    """What tells a declaration from any other of the same name; None where it stands behind a server."""
    inner, table = _inside(catalog, id_)
    return inner._find_table(table).claim if isinstance(inner, CatalogHooks) else None


def withdraw(catalog: LanceNamespace, id_: Sequence[str], location: str, claim: str | None) -> None:
    """Take a declaration back, unless the name was filled, dropped or declared anew meanwhile."""
    inner, table = _inside(catalog, id_)
    with suppress(NamespaceNotFoundError, TableNotFoundError):
        if isinstance(inner, CatalogHooks) and claim is not None:
            found = inner._find_table(table)
            if (found.claim, found.location) == (claim, location):
                inner._withdraw(table, found)  # which looks again, where nobody can come between
            return
        # The contract has no question that does both at once: a server may be told something between the two.
        told = catalog.describe_table(DescribeTableRequest(id=list(id_), check_declared=True))
        if told.is_only_declared and told.location == location:
            catalog.drop_table(DropTableRequest(id=list(id_)))


def _inside(catalog: LanceNamespace, id_: Sequence[str]) -> tuple[LanceNamespace, Identifier]:
    inner, at = limits.opened(catalog)
    return inner, Identifier((*at, *id_))
