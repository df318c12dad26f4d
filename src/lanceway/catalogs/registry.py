"""The class of each type of catalog, imported when it is first used, and the operations that each supports."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from lanceway.catalogs.contract.base import Catalog
from lanceway.catalogs.contract.hooks import OPERATIONS
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

ENTRY_POINTS = "lanceway.catalogs"


class CatalogType(NamedTuple):
    path: str  # module:Class
    extra: str | None  # what to install if its import fails


_CATALOGS = {
    "dir": CatalogType("lanceway.catalogs.directory:DirectoryCatalog", None),
    "glue": CatalogType("lanceway.catalogs.glue:GlueCatalog", "glue"),
    "gravitino": CatalogType("lanceway.catalogs.gravitino:GravitinoCatalog", None),
    "hive": CatalogType("lanceway.catalogs.hive:HiveCatalog", "hive"),
    "iceberg": CatalogType("lanceway.catalogs.iceberg:IcebergCatalog", None),
    "lake": CatalogType("lanceway.catalogs.lake:LakeCatalog", "lake"),
    "polaris": CatalogType("lanceway.catalogs.polaris:PolarisCatalog", None),
    "rest": CatalogType("lanceway.catalogs.rest:RestCatalog", None),
    "unity": CatalogType("lanceway.catalogs.unity:UnityCatalog", None),
}
assert list(_CATALOGS) == sorted(_CATALOGS), "keep the catalogs in alphabetical order"

CATALOGS: Mapping[str, CatalogType] = MappingProxyType(_CATALOGS)


def catalog_class(type_: str) -> type[LanceNamespace]:
    """Return the class of a type: one of Lanceway's, of an installed package's, or one named by its import path."""
    if type_ in CATALOGS:
        return _load(type_, CATALOGS[type_])
    installed = _installed()
    if type_ in installed:
        return _load(type_, CatalogType(installed[type_], None))
    if "." in type_ or ":" in type_:
        return _load(type_, CatalogType(type_ if ":" in type_ else ":".join(type_.rsplit(".", 1)), None))
    types = sorted(known_types())
    raise InvalidInputError(
        f"There is no catalog of type {type_!r}.{nearest(type_, types)} Known types: {', '.join(types)}; or give a "
        "class by its import path."
    )


def known_types() -> frozenset[str]:
    """Return the types that have a name: Lanceway's, and those of installed packages."""
    return frozenset({*CATALOGS, *_installed()})


def _installed() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}


def _load(type_: str, row: CatalogType) -> type[LanceNamespace]:
    from lance_namespace import LanceNamespace

    module, _, name = row.path.partition(":")
    try:
        cls = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        hint = f" Install it with: pip install 'lanceway[{row.extra}]'." if row.extra else ""
        raise InvalidInputError(f"The catalog type {type_!r} cannot be loaded: {error}.{hint}") from error
    if not (isinstance(cls, type) and issubclass(cls, LanceNamespace)):
        raise InvalidInputError(f"{row.path} is not a subclass of lance_namespace.LanceNamespace.")
    return cls


_HEADING = """\
# What each catalog supports

A row is an operation of the Lance Namespace contract, a column a catalog, or one way of setting it up.
A blank means that the catalog answers `UnsupportedOperationError` (code 0) and says why.
Backfills and materialized views are available with any of them if the setting `jobs`
[names a database](../guide/background-jobs.md#catalogs-without-a-database).
This page is made from the code: `python -m lanceway.catalogs.registry > docs/reference/support.md`.
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
