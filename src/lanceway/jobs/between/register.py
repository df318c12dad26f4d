"""Names for tables in a target: found, given, changed and taken away, with the namespaces that they need."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from typing import Self

from lance_namespace import (
    CreateNamespaceRequest,
    DeregisterTableRequest,
    DescribeNamespaceRequest,
    DescribeTableRequest,
    DescribeTableResponse,
    DropNamespaceRequest,
    LanceNamespace,
    NamespaceExistsRequest,
    RegisterTableRequest,
)

from lanceway.catalogs.contract import limits
from lanceway.errors import (
    InternalError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import ROOT, Identifier
from lanceway.jobs.between import provenance
from lanceway.jobs.between.provenance import Seen
from lanceway.tables import dataset


def find(
    catalog: LanceNamespace, table: Identifier, *, check_declared: bool | None = None
) -> DescribeTableResponse | None:
    """What a catalog knows of a table, None if it has none of this name."""
    try:
        return catalog.describe_table(DescribeTableRequest(id=list(table), check_declared=check_declared))
    except (TableNotFoundError, NamespaceNotFoundError):
        return None


def is_declared(catalog: LanceNamespace, table: Identifier) -> bool:
    """Whether a table is gone, or has no data yet, so that there is nothing to bring over."""
    found = find(catalog, table, check_declared=True)
    return found is None or bool(found.is_only_declared)


def location_of(table: Identifier, found: DescribeTableResponse) -> str:
    if not found.location:
        raise InternalError(f"The catalog does not say where {table} lies.")
    return found.location


def is_same_place(one: str | None, other: str | None) -> bool:
    return bool(one and other) and _canonical(str(one)) == _canonical(str(other))


def _canonical(location: str) -> str:
    return dataset.uri(location).rstrip("/")


class Registrar:
    """Makes names in a target. Threads may share it; at its end, namespaces that it made for nothing are gone."""

    def __init__(self, target: LanceNamespace) -> None:
        self._target = target
        self._known, self._filled = Seen(), Seen()
        self._made: list[Identifier] = []
        self._making = threading.Lock()
        self._turns = threading.Lock() if limits.takes_turns(target) else nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in reversed(self._made):  # what lies inside first
            if namespace not in self._filled:
                with suppress(LanceNamespaceError):  # somebody else may use it by now, and it is empty at worst
                    self._target.drop_namespace(DropNamespaceRequest(id=list(namespace)))

    def register(
        self, table: Identifier, location: str, properties: Mapping[str, str], *, replace: bool = False
    ) -> bool:
        """Give a name to a table; whether its versions are left to those who keep them, since a lake elsewhere does."""
        try:
            self._register(table, location, properties, replace)
            follows = False
        except InvalidTableStateError as refused:
            if provenance.VERSIONING in properties:
                raise
            try:
                self._register(table, location, {**properties, **provenance.FOLLOWS}, replace)
            except InvalidTableStateError:
                raise refused from None  # something else is wrong
            follows = True
        self.filled(table)
        return follows

    def _register(self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool) -> None:
        request = RegisterTableRequest(
            id=list(table),
            location=location,
            mode="overwrite" if replace else "create",
            properties=dict(properties) or None,
        )
        with self._turns:
            self._target.register_table(request)

    def filled(self, table: Identifier) -> None:
        """A table is there, and so the namespaces above it stay."""
        for depth in range(1, table.depth):
            self._filled.add(Identifier(table[:depth]))

    def deregister(self, table: Identifier) -> None:
        with self._turns:
            self._target.deregister_table(DeregisterTableRequest(id=list(table)))

    def make_room(self, table: Identifier, *, source: LanceNamespace | None = None, original: Identifier) -> None:
        """Make what is missing of the namespaces above a table, with the properties that they have in the source."""
        self._make_root()
        for depth in range(1, table.depth):
            namespace = Identifier(table[:depth])
            if namespace in self._known:
                continue
            with self._making:
                if namespace not in self._known and not _exists(self._target, namespace):
                    same = original[:depth] == namespace
                    self._make(namespace, _properties(source, namespace) if same else {})
                self._known.add(namespace)

    def _make_root(self) -> None:
        """Make the namespace that is the root here, if it is one inside of a catalog and not there yet."""
        if ROOT in self._known:
            return
        inner, at = limits.opened(self._target)
        with self._making:
            for depth in range(1, at.depth + 1):
                namespace = Identifier(at[:depth])
                if ROOT not in self._known and not _exists(inner, namespace):
                    limits.check_namespace(inner, namespace)
                    inner.create_namespace(CreateNamespaceRequest(id=list(namespace), mode="exist_ok"))
            self._known.add(ROOT)

    def _make(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        limits.check_namespace(self._target, namespace)
        request = CreateNamespaceRequest(id=list(namespace), mode="exist_ok", properties=dict(properties) or None)
        with self._turns:
            self._target.create_namespace(request)
        self._made.append(namespace)


def _exists(catalog: LanceNamespace, namespace: Identifier) -> bool:
    try:
        catalog.namespace_exists(NamespaceExistsRequest(id=list(namespace)))
    except NamespaceNotFoundError:
        return False
    return True


def _properties(source: LanceNamespace | None, namespace: Identifier) -> Mapping[str, str]:
    if source is None:
        return {}
    try:
        return source.describe_namespace(DescribeNamespaceRequest(id=list(namespace))).properties or {}
    except (NamespaceNotFoundError, UnsupportedOperationError):
        return {}
