"""What a catalog can hold, told without asking anybody: how deep its tables lie, and which names they may have.

A move between two catalogs is planned with this, so that a table which cannot be is refused before anything is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.errors import InvalidInputError
from lanceway.identifiers import ROOT, Identifier

# The settings that say where metadata lives, rather than who asks and how.
_WHERE = ("path", "uri", "endpoint", "region", "catalog_id", "metalake", "catalog", "warehouse")


class IdentifierLimits(NamedTuple):
    """How many names the identifier of a table has."""

    least: int
    most: int | None
    folds_case: bool = False


def opened(catalog: LanceNamespace) -> tuple[LanceNamespace, Identifier]:
    """The catalog itself, and the namespace in it that is the root here."""
    if not isinstance(catalog, Subtree):
        return catalog, ROOT
    inner, at = opened(catalog._inner)
    return inner, Identifier((*at, *catalog._at))


def place(catalog: LanceNamespace) -> str:
    """Where a catalog's metadata lives, as text without a secret: the same for everybody who asks there."""
    inner, at = opened(catalog)
    if not isinstance(inner, CatalogHooks):
        return inner.namespace_id()
    given = {name: inner._settings.get(name) for name in _WHERE}
    words = [inner.TYPE, *(f"{name}={_bare(str(value))}" for name, value in given.items() if value)]
    return " ".join(words) + (f" at={list(at)!r}" if at else "")


def _bare(value: str) -> str:
    """A value without the user, the password and the options that an address may hold."""
    if "://" not in value:
        return value
    parts = urlsplit(value)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def shape(catalog: LanceNamespace) -> IdentifierLimits:
    """How deep tables may lie, seen from the root here. A server's limits are the server's to tell."""
    inner, at = opened(catalog)
    if not isinstance(inner, CatalogHooks) or inner.TYPE not in _SHAPES:
        return IdentifierLimits(1, None)
    found = _SHAPES[inner.TYPE](inner)
    most = None if found.most is None else found.most - at.depth
    if most is not None and most < 1:
        raise InvalidInputError(f"{at} cannot be a root for tables: {inner!r} holds none so deep.")
    return IdentifierLimits(max(1, found.least - at.depth), most, found.folds_case)


def _directory(catalog: Any) -> IdentifierLimits:
    nested = catalog._settings["layout"] == "manifest" or catalog._manifest.exists()
    return IdentifierLimits(1, None if nested else 1)


_SHAPES: Mapping[str, Callable[[Any], IdentifierLimits]] = {
    "dir": _directory,
    "glue": lambda catalog: catalog.identifier_limits(),
    "iceberg": lambda catalog: catalog.identifier_limits(),
    "lake": lambda catalog: IdentifierLimits(1, None if catalog._catalog.nested else 2),
    "unity": lambda catalog: catalog.identifier_limits(),
}


def check(catalog: LanceNamespace, table: Identifier) -> None:
    """Raises InvalidInputError, with names to use instead, where no table could have this identifier."""
    inner, at = opened(catalog)
    whole = Identifier((*at, *table))
    if isinstance(inner, CatalogHooks) and inner.TYPE in _CHECKS:
        _CHECKS[inner.TYPE](inner, whole)


def _check_directory(catalog: Any, table: Identifier) -> None:
    from lanceway.catalogs.directory.names import check_new

    for depth in range(1, table.depth + 1):
        check_new(Identifier(table[:depth]), manifest=True)


def _check_lake(catalog: Any, table: Identifier) -> None:
    from lanceway.lake.tree import names

    names.new(table)
    names.physical(names.new(table.parent) if table.parent else names.known(ROOT))


_CHECKS: Mapping[str, Callable[[Any, Identifier], None]] = {
    "dir": _check_directory,
    "glue": lambda catalog, table: catalog.check_new_table(table),
    "iceberg": lambda catalog, table: catalog.check_new_table(table),
    "lake": _check_lake,
    "unity": lambda catalog, table: catalog.check_new_table(table),
}


def check_location(catalog: LanceNamespace, table: Identifier, location: str) -> None:
    """Raises InvalidInputError where a table that lies there could not be registered, wherever that can be told."""
    inner, _ = opened(catalog)
    if isinstance(inner, CatalogHooks) and inner.TYPE == "dir" and not _is_below(inner, location):
        raise InvalidInputError(
            f"{table} cannot be registered at {location}: a directory catalog holds what lies below its own folder. "
            "Copy the data (migrate --data copy), or use a target of another type."
        )


def _is_below(catalog: Any, location: str) -> bool:
    return bool(catalog._folder.relative(location))


def check_namespace(catalog: LanceNamespace, namespace: Identifier) -> None:
    """Raises InvalidInputError where to make this namespace would not make room for a table."""
    inner, at = opened(catalog)
    if check := getattr(inner, "check_new_namespace", None):
        check(Identifier((*at, *namespace)))


def takes_turns(catalog: LanceNamespace) -> bool:
    """Whether changes had better come one by one: a directory's manifest is one table, where each is a commit."""
    inner, _ = opened(catalog)
    return isinstance(inner, CatalogHooks) and inner.TYPE == "dir"
