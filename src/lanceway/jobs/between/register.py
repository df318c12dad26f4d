"""Register tables of one catalog in another: list them, name them, mark where they come from."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

import lance_namespace as ln

from lanceway.catalogs.contract import limits
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import ROOT, Identifier
from lanceway.spark.catalog import driver
from lanceway.tables import dataset


class Naming:
    """The names of one job's tables in its target. `flatten` joins the levels that the target does not have."""

    def __init__(self, target: ln.LanceNamespace, flatten: str | None = None) -> None:
        if flatten == "":
            raise InvalidInputError("flatten is empty: give what joins the names, such as '_'.")
        self._target, self._flatten = target, flatten
        self._shape = limits.identifier_limits(target)
        self._may_meet = flatten is not None or self._shape.folds_case
        self._given = SeenIdentifiers()
        self._lock = threading.Lock()

    def target(self, table: Identifier) -> Identifier:
        """Return the table's name in the target.

        Raises InvalidInputError, with an alternative, where the target cannot hold it, and TableAlreadyExistsError
        where another table of this job has the name.
        """
        name = self._fitted(table)
        limits.check_new_table(self._target, name)
        if self._may_meet:
            with self._lock:
                if not self._given.add(self._folded(name)):
                    raise TableAlreadyExistsError(
                        f"{table} would become {name} in the target, and so would another table of the source. "
                        "Rename one of them, or choose another separator."
                    )
        return name

    def _folded(self, table: Identifier) -> Identifier:
        return Identifier(name.lower() for name in table) if self._shape.folds_case else table

    def _fitted(self, table: Identifier) -> Identifier:
        least, most, _ = self._shape
        if table.depth < least:
            missing = ".".join(["namespace"] * (least - table.depth))
            raise InvalidInputError(
                f"{table} cannot be a table in the target, which keeps tables {least} levels deep. Name the namespace "
                f"that the tables go into, as in NAME:{missing}."
            )
        if most is None or table.depth <= most:
            return table
        flat = self._flattened(table, most, self._flatten or "_")
        if self._flatten is None:
            raise InvalidInputError(
                f"{table} cannot be a table in the target, whose tables are at most {most} "
                f"{'level' if most == 1 else 'levels'} deep. With --flatten _ it becomes {flat}; or choose a target "
                "with nested namespaces."
            )
        return flat

    @staticmethod
    def _flattened(table: Identifier, most: int, separator: str) -> Identifier:
        """Join levels: `team.sales.orders` becomes `team_sales.orders` for two. The table keeps its name if it can."""
        if most == 1:
            return Identifier((separator.join(table),))
        joined = table.depth - most + 1
        return Identifier((separator.join(table[:joined]), *table[joined:]))


def tables(catalog: ln.LanceNamespace, *, only: Sequence[str] = (), below: Identifier = ROOT) -> Iterator[Identifier]:
    """Yield the tables below a namespace, depth first, also those that are only declared.

    Namespaces are walked one by one, since `list_all_tables` joins names and so cannot express every one.
    """
    names = driver.names(catalog, "list_tables", list(below), include_declared=True)
    yield from (below.child(name) for name in names if is_wanted(below.child(name), only))
    for name in driver.names(catalog, "list_namespaces", list(below)):
        with suppress(NamespaceNotFoundError):  # just dropped
            yield from tables(catalog, only=only, below=below.child(name))


def is_wanted(table: Identifier, only: Sequence[str]) -> bool:
    """Return whether a pattern such as `team.sales.*` matches the identifier, or there is no pattern."""
    return not only or any(fnmatchcase(".".join(table), pattern) for pattern in only)


def everything(catalog: ln.LanceNamespace) -> Iterator[Identifier]:
    """Yield every table of a target, and nothing if its root is yet to be made."""
    with suppress(NamespaceNotFoundError):
        yield from tables(catalog)


SOURCE = "lanceway.source"
DIGEST = "lanceway.source-digest"
# Says to a lake who keeps the versions of a new table; no lake keeps it.
VERSIONING = "lanceway.versioning"
# For a table whose versions another catalog keeps: a lake must not begin to.
FOLLOWS: Mapping[str, str] = {VERSIONING: "storage"}
# Why a table can only be read in the target.
ELSEWHERE = "its versions are another lake's to keep: write to it there"
# What services say of themselves in a table's properties.
_NOT_CARRIED = frozenset({SOURCE, DIGEST, VERSIONING, "table_type"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which table of which catalog a table was made from."""

    catalog: str
    table: Identifier

    @classmethod
    def of(cls, source: ln.LanceNamespace, table: Identifier) -> Provenance:
        return cls(limits.address(source), table)

    @classmethod
    def read(cls, properties: Mapping[str, str] | None) -> Provenance | None:
        """Return the mark among a table's properties, or None if there is no readable one."""
        try:
            mark = json.loads((properties or {}).get(SOURCE, ""))
            return cls(str(mark["catalog"]), Identifier(mark["id"]))
        except (ValueError, TypeError, KeyError):  # another program's property of that name
            return None

    def write(self) -> dict[str, str]:
        return {SOURCE: json.dumps({"catalog": self.catalog, "id": list(self.table)})}


def carried(properties: Mapping[str, str] | None) -> dict[str, str]:
    """Return the properties that go with a table into another catalog."""
    return {key: value for key, value in (properties or {}).items() if key not in _NOT_CARRIED}


def digest(location: str, properties: Mapping[str, str]) -> str:
    """Return a hash that changes with a table's location or properties in the source."""
    text = json.dumps([location, sorted(properties.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class SeenIdentifiers:
    """A set of identifiers, at some hundred bytes each."""

    def __init__(self, tables: Iterable[Identifier] = ()) -> None:
        self._keys = {_key(table) for table in tables}

    def add(self, table: Identifier) -> bool:
        """Add an identifier, and return whether it is new."""
        before = len(self._keys)
        self._keys.add(_key(table))
        return len(self._keys) > before

    def __contains__(self, table: Identifier) -> bool:
        return _key(table) in self._keys


def _key(table: Identifier) -> bytes:
    return hashlib.blake2b("\x00".join(table).encode(), digest_size=12).digest()


def find(
    catalog: ln.LanceNamespace, table: Identifier, *, check_declared: bool | None = None
) -> ln.DescribeTableResponse | None:
    """Return what a catalog knows of a table, or None if it has no such table."""
    try:
        return catalog.describe_table(ln.DescribeTableRequest(id=list(table), check_declared=check_declared))
    except (TableNotFoundError, NamespaceNotFoundError):
        return None


def is_declared(catalog: ln.LanceNamespace, table: Identifier) -> bool:
    """Return whether a table has no data yet, or is gone, so that there is nothing to bring over."""
    described = find(catalog, table, check_declared=True)
    return described is None or bool(described.is_only_declared)


def location_of(table: Identifier, described: ln.DescribeTableResponse) -> str:
    if not described.location:
        raise InternalError(f"The catalog does not give the location of {table}.")
    return described.location


def is_same_place(location: str | None, other: str | None) -> bool:
    return bool(location and other) and _canonical(str(location)) == _canonical(str(other))


def _canonical(location: str) -> str:
    return dataset.uri(location).rstrip("/")


class Registrar:
    """Registers tables in a target. Threads may share it; at its end, namespaces that it made in vain are dropped."""

    def __init__(self, target: ln.LanceNamespace) -> None:
        self._target = target
        self._known, self._filled = SeenIdentifiers(), SeenIdentifiers()
        self._made: list[Identifier] = []
        self._making = threading.Lock()
        self._turns = threading.Lock() if limits.single_writer(target) else nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in reversed(self._made):  # the innermost first
            if namespace not in self._filled:
                with suppress(LanceNamespaceError):  # others may use it by now, and at worst it stays, empty
                    self._target.drop_namespace(ln.DropNamespaceRequest(id=list(namespace)))

    def register(
        self, table: Identifier, location: str, properties: Mapping[str, str], *, replace: bool = False
    ) -> bool:
        """Register a table, and return whether another lake keeps its versions, so that this target must not."""
        try:
            self._register(table, location, properties, replace)
            follows = False
        except InvalidTableStateError as refused:
            if VERSIONING in properties:
                raise
            try:
                self._register(table, location, {**properties, **FOLLOWS}, replace)
            except InvalidTableStateError:
                raise refused from None  # something else is wrong
            follows = True
        self.filled(table)
        return follows

    def _register(self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool) -> None:
        request = ln.RegisterTableRequest(
            id=list(table),
            location=location,
            mode="overwrite" if replace else "create",
            properties=dict(properties) or None,
        )
        with self._turns:
            self._target.register_table(request)

    def filled(self, table: Identifier) -> None:
        """Note that a table is there, so that the namespaces above it stay."""
        for depth in range(1, table.depth):
            self._filled.add(Identifier(table[:depth]))

    def deregister(self, table: Identifier) -> None:
        with self._turns:
            self._target.deregister_table(ln.DeregisterTableRequest(id=list(table)))

    def make_room(self, table: Identifier, *, source: ln.LanceNamespace | None = None, original: Identifier) -> None:
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
        """Make the namespace that is the root here, if it is inside of a catalog and missing."""
        if ROOT in self._known:
            return
        inner, at = limits.unwrap(self._target)
        with self._making:
            for depth in range(1, at.depth + 1):
                namespace = Identifier(at[:depth])
                if ROOT not in self._known and not _exists(inner, namespace):
                    limits.check_new_namespace(inner, namespace)
                    inner.create_namespace(ln.CreateNamespaceRequest(id=list(namespace), mode="exist_ok"))
            self._known.add(ROOT)

    def _make(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        limits.check_new_namespace(self._target, namespace)
        request = ln.CreateNamespaceRequest(id=list(namespace), mode="exist_ok", properties=dict(properties) or None)
        with self._turns:
            self._target.create_namespace(request)
        self._made.append(namespace)


def _exists(catalog: ln.LanceNamespace, namespace: Identifier) -> bool:
    try:
        catalog.namespace_exists(ln.NamespaceExistsRequest(id=list(namespace)))
    except NamespaceNotFoundError:
        return False
    return True


def _properties(source: ln.LanceNamespace | None, namespace: Identifier) -> Mapping[str, str]:
    if source is None:
        return {}
    try:
        return source.describe_namespace(ln.DescribeNamespaceRequest(id=list(namespace))).properties or {}
    except (NamespaceNotFoundError, UnsupportedOperationError):
        return {}
