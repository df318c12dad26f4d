"""Namespaces by their logical paths, such as `team:sales`, and how a catalog writes them.

A lake has these methods, and so have all through which one reaches a lake: a server's client, a tree, a subtree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from lance_namespace import LanceNamespace

from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.identifiers import FullName, HierarchicalName, Identifier

# Properties that begin so have a meaning of their own, and cannot be set.
RESERVED = "lanceway."

Path = str | Iterable[str]


@dataclass(frozen=True, slots=True)
class PathNaming:
    """How a catalog writes names: `separator` joins the namespaces of a path where the catalog is `nested`.

    Where identifiers begin with the name of the catalog, it is `in_tree`; `at` are the namespaces above the root.
    """

    separator: str
    policy: str
    nested: bool
    metalake: str
    catalog: str
    in_tree: bool = False
    at: tuple[str, ...] = ()

    def inside(self, names: Sequence[str]) -> list[str]:
        """Return an identifier as the catalog itself has it."""
        return list(names[1:]) if self.in_tree else [*self.at, *names]

    def outside(self, names: Sequence[str]) -> list[str]:
        """Return an identifier of the catalog as it is here. Raises InvalidInputError for one above the root."""
        if self.in_tree:
            return [self.catalog, *names]
        if tuple(names[: len(self.at)]) != self.at:
            raise InvalidInputError(f"{list(names)!r} is not below {list(self.at)!r}, which is the root here.")
        return list(names[len(self.at) :])

    def below(self, names: tuple[str, ...]) -> PathNaming:
        """Return how names are written where a namespace is the root."""
        return replace(self, in_tree=False, at=tuple(self.inside(names)))

    def full_name(self, namespace: Sequence[str], table: str | None = None) -> str:
        """Return `metalake.catalog.A:B.table`, or without a table the name of the namespace."""
        return FullName(self.metalake, self.catalog, HierarchicalName(namespace), table).format(self.separator)


@runtime_checkable
class StatesNaming(Protocol):
    """A catalog that says how names are written in it."""

    def naming(self, names: Sequence[str] = ()) -> PathNaming | None:
        """Return how names are written where `names` leads to; None where a service does not say."""


@runtime_checkable
class HasSchemas(Protocol):
    """A catalog whose namespaces can be named by logical paths, and whose properties can be altered."""

    def list_schemas(self, parent: Path | None = None) -> list[str]: ...

    def create_namespaces(
        self, path: Path, properties: Mapping[str, str] | None = None, *, comment: str | None = None
    ) -> Identifier: ...

    def alter_namespace(
        self, path: Path, properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]: ...

    def drop_schema(self, path: Path) -> None: ...


def require(catalog: LanceNamespace, method: str) -> HasSchemas:
    """Return a catalog that has these methods. Raises UnsupportedOperationError."""
    if not isinstance(catalog, HasSchemas):
        type_ = getattr(catalog, "TYPE", None)
        owner = repr(catalog) if type_ is None else f"{type(catalog).__name__} (type {type_!r})"
        raise UnsupportedOperationError(
            f"{owner} does not support {method}. Only a lake, and what leads to one, has logical paths and properties "
            "that can be altered."
        )
    return catalog


def changes(set_: Mapping[str, str] | None, unset: Iterable[str]) -> dict[str, str | None]:
    """Return changed properties, None for one that is taken away.

    Raises InvalidInputError for keys that are reserved, named twice, or missing altogether.
    """
    if isinstance(unset, str):
        raise InvalidInputError(f"unset is {unset!r}, but must be a list of keys.")
    given, gone = dict(set_ or {}), list(unset)
    if not given and not gone:
        raise InvalidInputError("alter_namespace: no property is given to set or to unset. Name at least one.")
    check_free("alter_namespace", (*given, *gone))
    if both := sorted(set(given) & set(gone)):
        raise InvalidInputError(f"alter_namespace: {both[0]!r} is both set and unset. Leave one of them out.")
    return {**given, **dict.fromkeys(gone)}


def check_free(operation: str, keys: Iterable[str]) -> None:
    """Raise InvalidInputError for keys of properties that are empty or reserved."""
    for key in keys:
        if not key:
            raise InvalidInputError(f"{operation}: the key of a property is empty. Give it a name.")
        if key.startswith(RESERVED):
            raise InvalidInputError(
                f"{operation}: the property {key!r} cannot be changed: keys that begin with {RESERVED!r} are "
                "reserved. Use another key."
            )


def first(path: Path) -> tuple[str, str | tuple[str, ...]]:
    """Return the catalog that a path of a tree begins with, and the path in it: `lake.team:sales`, or a list."""
    if isinstance(path, str):
        catalog, _, inside = path.partition(".")
        rest: str | tuple[str, ...] = inside
    else:
        names = tuple(path)
        catalog, rest = (names[0] if names else ""), names[1:]
    if not catalog:
        raise InvalidInputError(f"{path!r} names no catalog. Begin with its name: lake.team:sales")
    return catalog, rest
