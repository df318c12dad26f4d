"""The contract as data, and the hooks that a catalog implements for its operations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, get_type_hints

import lance_namespace
from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.catalogs.contract import limits
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.requests import table_id
from lanceway.config import Setting, read_settings, redacted
from lanceway.errors import UnsupportedOperationError, namespace_not_found
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import StoredTable

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

    from lanceway.catalogs.contract.jobs import JobQueue, LazyJobQueue


def _requests() -> dict[str, type[BaseModel]]:
    methods = {name: method for name, method in vars(LanceNamespace).items() if not name.startswith("_")}
    hints = {name: get_type_hints(method, vars(lance_namespace)) for name, method in methods.items()}
    return {name: types["request"] for name, types in hints.items() if "request" in types}


# Every public operation with its request's model, in the contract's own order.
REQUESTS: Mapping[str, type[BaseModel]] = MappingProxyType(_requests())
OPERATIONS: tuple[str, ...] = tuple(REQUESTS)

# The operations that take Arrow data beside their request. Each has a twin that takes a reader,
# and `query_table` has one that gives a reader.
WITH_DATA = ("create_table", "insert_into_table", "merge_insert_into_table")


# The hooks that a catalog overrides to support an operation; `_find_table` for all others.
REQUIRED_HOOKS: Mapping[str, tuple[str, ...]] = {
    "list_namespaces": (),
    "describe_namespace": (),
    "namespace_exists": (),
    "create_namespace": ("_create_namespace",),
    "drop_namespace": ("_drop_namespace",),
    "list_tables": ("_child_tables",),
    "list_all_tables": ("_child_tables",),
    "register_table": ("_register_table",),
    "deregister_table": ("_deregister_table",),
    "drop_table": ("_drop_table",),
    "rename_table": ("_rename_table",),
    "declare_table": ("_declare_table",),
    "create_table": ("_declare_table", "_find_table"),
    "create_empty_table": ("_declare_table",),
}
# Refused by every catalog that does not override the operation itself.
MUST_OVERRIDE = frozenset({"batch_commit_tables", "batch_create_table_versions"})
# Run by a worker: a catalog needs a queue to record them in.
BACKGROUND = frozenset({"alter_table_backfill_columns", "create_materialized_view", "refresh_materialized_view"})


def stream_twin(operation: str) -> str:
    """Return the name of an operation's twin that takes or returns a reader."""
    return f"{operation}_stream"


# The settings that say where metadata lives, rather than who asks and how.
_ADDRESS = ("path", "uri", "endpoint", "region", "catalog_id", "metalake", "catalog", "warehouse")
# The settings that `__init__` completes: paths made absolute, the user named.
_COMPLETED = ("root", "token_file", "uri", "user")


@dataclass(frozen=True, slots=True)
class TableEntry:
    """What a catalog knows of one table.

    `claim` tells a declaration of the name from every other one, `managed` whether the catalog keeps the versions.
    """

    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    properties: Mapping[str, str] | None = None
    managed: bool | None = None
    claim: str | None = None


class CatalogHooks(LanceNamespace):
    """The hooks of a metadata service. One that is not overridden makes the operations that need it unsupported.

    A catalog does not change after it is made: it may be shared by threads, pickled (its connections are opened
    again), used after a fork, and closed, as a context manager too.
    """

    TYPE: ClassVar[str]
    SETTINGS: ClassVar[tuple[Setting, ...]] = ()
    # Whether a namespace and a table beside it may have the same name.
    SHARES_NAMES: ClassVar[bool] = False

    _attached_queue: JobQueue | LazyJobQueue | None = None
    _original: CatalogHooks | None = None

    def __init__(self, **properties: object) -> None:
        self._given: Mapping[str, object] = MappingProxyType(properties)
        self._settings: Mapping[str, Any] = read_settings(self._owner(), self.SETTINGS, properties)

    def _complete(self, **values: object) -> None:
        """Replace settings by what they mean here: paths made absolute, the user named."""
        self._settings = MappingProxyType({**self._settings, **values})

    # -- hooks: what a service does --------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        """Return the properties of a namespace below the root, None where the service keeps none.

        Raises NamespaceNotFoundError.
        """
        raise namespace_not_found(f"There is no namespace {namespace}: {self} has no namespaces below its root.")

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return the first `limit` namespaces after `after`, in code point order. Raises NamespaceNotFoundError."""
        if not namespace.is_root:
            self._namespace_properties(namespace)
        return []

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        """Create a namespace in an existing parent and return its properties.

        Raises NamespaceAlreadyExistsError, also when a table has the name, and NamespaceNotFoundError.
        """
        self._unsupported("create_namespace")

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        """Remove a namespace, with everything in it if `cascade`; return the properties it had.

        Raises NamespaceNotFoundError and NamespaceNotEmptyError.
        """
        self._unsupported("drop_namespace")

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """Return the first `limit` tables after `after`, in code point order. Raises NamespaceNotFoundError."""
        self._unsupported("list_tables")

    def _find_table(self, table: Identifier) -> TableEntry:
        """Return where a table is. Raises TableNotFoundError, NamespaceNotFoundError for its parent."""
        self._unsupported("describe_table")

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        """Claim a name for a table whose data is yet to be written; of several claimants one wins.

        Raises TableAlreadyExistsError, also when a namespace has the name, and NamespaceNotFoundError.
        """
        self._unsupported("declare_table")

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        """Give a name to the table at `location`; `replace` an existing registration."""
        self._unsupported("register_table")

    def _deregister_table(self, table: Identifier) -> TableEntry:
        """Remove a table from the catalog and keep its data. Raises TableNotFoundError."""
        self._unsupported("deregister_table")

    def _drop_table(self, table: Identifier) -> TableEntry:
        """Remove a table from the catalog and delete its data. Raises TableNotFoundError."""
        self._unsupported("drop_table")

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        """Rename a table. Raises TableNotFoundError, TableAlreadyExistsError, NamespaceNotFoundError."""
        self._unsupported("rename_table")

    # -- hooks with a default --------------------------------------------------------------------

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the name is claimed and no data has been written."""
        return not dataset.has_data(self._handle(table, entry))

    def _wanted_names(
        self,
        namespace: Identifier,
        found: Mapping[str, Callable[[], TableEntry]],
        after: str | None,
        limit: int | None,
        include_declared: bool,
    ) -> Sequence[str]:
        """Return the names for `_child_tables`, from all the tables in a namespace, in any order."""
        names = sorted(name for name in found if after is None or name > after)
        if not include_declared:
            written = (name for name in names if not self._is_declared_only(namespace.child(name), found[name]()))
            return list(islice(written, limit))
        return names[:limit]

    def _declare_first(self, table: Identifier, properties: Mapping[str, str], schema: pa.Schema) -> TableEntry:
        """Claim a name for a table whose first version, of this schema, is about to be written."""
        return self._declare_table(table, None, properties)

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        """Return the schema that the service itself has, for a description that opens no dataset."""
        return None

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        """Undo a claim whose first write failed."""
        self._deregister_table(table)

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        """Return whether the claim behind `entry` still stands: asked before and after the first version is written."""
        return True

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        """Remove what a failed first write leaves of a table that was dropped at the same time."""

    def _desk(self) -> JobQueue | None:
        """Return the queue in which background jobs are recorded, None where no worker would run them."""
        return None if self._attached_queue is None else self._attached_queue.opened()

    def with_job_queue(self, queue: JobQueue | LazyJobQueue) -> Self:
        """Return this catalog with its background jobs recorded in another queue. Connections are shared."""
        view = self._copy()
        view._attached_queue = queue
        view._original = self  # what closes at the end of its life must not end before ours
        return view

    def _copy(self) -> Self:
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        return view

    def _missing(self, operation: str) -> str:
        """Return why an operation is unsupported, and what supports it. Appended to the error."""
        return ""

    def close(self) -> None:
        """Close connections. A closed catalog opens them again when it is used."""
        if self._attached_queue is not None:
            self._attached_queue.close()

    # -- limits, known without asking the service ------------------------------------------------

    def identifier_limits(self) -> IdentifierLimits:
        """Return how many names the identifier of a table has."""
        return IdentifierLimits()

    def check_new_table(self, table: Identifier) -> None:
        """Raise InvalidInputError, with names to use instead, where no table could have this identifier."""

    def check_new_namespace(self, namespace: Identifier) -> None:
        """Raise InvalidInputError where creating this namespace would not make room for a table."""

    def check_location(self, table: Identifier, location: str) -> None:
        """Raise InvalidInputError where a table at this location could not be registered."""

    def check_register(self) -> None:
        """Raise UnsupportedOperationError where no table can be registered, PermissionDeniedError where the caller
        cannot write. What only a remote service knows is left out.
        """
        if type(self)._register_table is CatalogHooks._register_table:
            self._unsupported("register_table")

    def single_writer(self) -> bool:
        """Return whether changes should be made one at a time, since concurrent ones would only wait for each other."""
        return False

    def address(self) -> str:
        """Return where the metadata lives, as text without a secret: the same for every user."""
        values = {name: self._settings.get(name) for name in _ADDRESS}
        return " ".join(
            [self.TYPE, *(f"{name}={limits.bare_address(str(value))}" for name, value in values.items() if value)]
        )

    # -- identity --------------------------------------------------------------------------------

    @classmethod
    def _owner(cls) -> str:
        return f"{cls.__name__} (type {cls.TYPE!r})"

    def _identity(self) -> Mapping[str, str]:
        """Return what makes two catalogs the same one: their settings, secrets included."""
        return {key: str(value) for key, value in self._settings.items() if value is not None}

    def namespace_id(self) -> str:
        """Return an id that differs whenever service or identity do, so that no cache is shared by two users.

        Identity enters as a hash; no secret can be read from it.
        """
        text = json.dumps(self._identity(), sort_keys=True)
        return f"lanceway-{self.TYPE}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in redacted(self.SETTINGS, self._given).items())
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogHooks) and type(other) is type(self) and other._settings == self._settings

    def __hash__(self) -> int:
        return hash(self.namespace_id())

    def portable_settings(self) -> dict[str, object]:
        """Return the settings by which another process connects to the same catalog, wherever it runs.

        Paths are absolute, and the user is named.
        """
        completed = {name: self._settings.get(name) for name in _COMPLETED}
        return {**self._given, **{name: value for name, value in completed.items() if value is not None}}

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = _rebuild if self._attached_queue is None else partial(_rebuild, queue=self._attached_queue)
        return rebuild, (type(self), self.portable_settings())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unsupported(self, operation: str) -> NoReturn:
        reason = self._missing(operation)
        raise UnsupportedOperationError(f"{self._owner()} does not support {operation}.{' ' if reason else ''}{reason}")

    def _refuse(self, operation: str, reason: str) -> NoReturn:
        raise UnsupportedOperationError(f"{self._owner()} does not support {operation}. {reason}")

    # -- tables, for the inherited operations ----------------------------------------------------

    def _table(self, id_: list[str] | None, operation: str) -> StoredTable:
        table = table_id(id_, operation)
        return self._handle(table, self._find_table(table))

    def _handle(self, table: Identifier, entry: TableEntry) -> StoredTable:
        if not entry.managed:
            return StoredTable(str(table), entry.location, entry.storage_options)
        return StoredTable(str(table), entry.location, entry.storage_options, client=self, id=tuple(table))


def _rebuild(
    cls: type[CatalogHooks], settings: dict[str, object], queue: JobQueue | LazyJobQueue | None = None
) -> CatalogHooks:
    catalog = cls(**settings)
    return catalog if queue is None else catalog.with_job_queue(queue)
