"""The page of what each catalog supports, made from the code: `python -m lanceway.catalogs.support`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.contract.operations import OPERATIONS
from lanceway.catalogs.registry import CATALOGS, catalog_class

_HEADING = """\
# What each catalog supports

A row is an operation of the Lance Namespace contract, a column a catalog, or one way of setting it up.
A blank means that the catalog answers `UnsupportedOperationError` (code 0) and says why.
Backfills and materialized views are to be had with any of them where the setting `jobs`
[names a database](../guide/background-jobs.md#catalogs-without-a-database).
This page is made from the code: `python -m lanceway.catalogs.support > docs/reference/support.md`.
"""


def support() -> Mapping[str, frozenset[str]]:
    """Return the operations of every catalog in the registry, for each way in which it may be set up."""
    operations: dict[str, frozenset[str]] = {}
    for type_ in CATALOGS:
        cls = catalog_class(type_)
        assert issubclass(cls, Catalog), f"the catalog of type {type_!r} cannot say what it supports"
        operations.update(cls.support())
    return operations


def page() -> str:
    """Return the page in Markdown, ending in a newline."""
    return "\n".join((_HEADING, *table(support()), ""))


def table(operations: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield the rows of the table: an operation each, a column for each catalog."""
    yield _row("operation", *operations)
    yield _row(":---", *(":---:" for _ in operations))
    for operation in OPERATIONS:
        yield _row(f"`{operation}`", *("✓" if operation in supported else "" for supported in operations.values()))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
