"""Limits of a catalog, known without asking its service: how deep tables may be, and which names they may have.

A move between two catalogs is planned with this, so that a table which the target cannot hold is refused before
anything is made. The functions take any catalog, and assume no limit for one that does not state its own.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

from lance_namespace import LanceNamespace

from lanceway.identifiers import ROOT, Identifier


class IdentifierLimits(NamedTuple):
    """How many names the identifier of a table has, and whether their case is lost."""

    least: int = 1
    most: int | None = None
    folds_case: bool = False


@runtime_checkable
class LimitsIdentifiers(Protocol):
    """A catalog that states which identifiers its tables may have."""

    def identifier_limits(self) -> IdentifierLimits: ...

    def check_new_table(self, table: Identifier) -> None: ...


@runtime_checkable
class StatesLimits(LimitsIdentifiers, Protocol):
    """A catalog that states all that can be known of it without asking its service."""

    def address(self) -> str: ...

    def check_new_namespace(self, namespace: Identifier) -> None: ...

    def check_location(self, table: Identifier, location: str) -> None: ...

    def check_register(self) -> None: ...

    def single_writer(self) -> bool: ...


@runtime_checkable
class Rooted(Protocol):
    """A view of a catalog from one of its namespaces."""

    def unwrapped(self) -> tuple[LanceNamespace, Identifier]: ...


def unwrap(catalog: LanceNamespace) -> tuple[LanceNamespace, Identifier]:
    """Return the catalog without wrappers that change its root, and the namespace in it that is the root here."""
    return catalog.unwrapped() if isinstance(catalog, Rooted) else (catalog, ROOT)


def address(catalog: LanceNamespace) -> str:
    """Return where a catalog's metadata lives, as text without a secret: the same for every user."""
    return catalog.address() if isinstance(catalog, StatesLimits) else catalog.namespace_id()


def identifier_limits(catalog: LanceNamespace) -> IdentifierLimits:
    """Return how deep tables may be below the root here. A server's limits are known to the server alone."""
    return catalog.identifier_limits() if isinstance(catalog, LimitsIdentifiers) else IdentifierLimits()


def check_new_table(catalog: LanceNamespace, table: Identifier) -> None:
    """Raise InvalidInputError, with names to use instead, where no table could have this identifier."""
    if isinstance(catalog, LimitsIdentifiers):
        catalog.check_new_table(table)


def check_new_namespace(catalog: LanceNamespace, namespace: Identifier) -> None:
    """Raise InvalidInputError where creating this namespace would not make room for a table."""
    if isinstance(catalog, StatesLimits):
        catalog.check_new_namespace(namespace)


def check_location(catalog: LanceNamespace, table: Identifier, location: str) -> None:
    """Raise InvalidInputError where a table at this location could not be registered, as far as that is known."""
    if isinstance(catalog, StatesLimits):
        catalog.check_location(table, location)


def check_register(catalog: LanceNamespace) -> None:
    """Raise UnsupportedOperationError or PermissionDeniedError where no table could be registered, as far as that is
    known.
    """
    if isinstance(catalog, StatesLimits):
        catalog.check_register()


def single_writer(catalog: LanceNamespace) -> bool:
    """Return whether changes should be made one at a time, since concurrent ones would only wait for each other."""
    return isinstance(catalog, StatesLimits) and catalog.single_writer()


def bare_address(value: str) -> str:
    """Return an address without the user, the password and the options that it may hold."""
    if "://" not in value:
        return value
    parts = urlsplit(value)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
