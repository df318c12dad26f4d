"""The questions that a catalog answers, and what makes two catalogs the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from lance_namespace import LanceNamespace

from lanceway.config import Setting, read_settings, redacted
from lanceway.errors import NamespaceNotFoundError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.dataset import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

    from lanceway.catalogs.contract.job_queue import JobQueue
    from lanceway.catalogs.contract.lazy_job_queue import LazyJobQueue


@dataclass(frozen=True, slots=True)
class TableEntry:
    """What a catalog knows of one table."""

    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    properties: Mapping[str, str] | None = None
    managed: bool | None = None
    claim: str | None = None


class CatalogHooks(LanceNamespace):
    """What a metadata service is asked. A method that is not overridden is an operation not supported.

    A catalog does not change after it is made: it may be shared by threads, pickled (it opens its
    connections anew), used after a fork, and closed, as a context manager too.
    """

    TYPE: ClassVar[str]
    SETTINGS: ClassVar[tuple[Setting, ...]] = ()
    # Whether a namespace and a table beside it may have the same name.
    SHARES_NAMES: ClassVar[bool] = False

    _lent_desk: JobQueue | LazyJobQueue | None = None
    _lender: CatalogHooks | None = None

    def __init__(self, **properties: object) -> None:
        self._given: Mapping[str, object] = MappingProxyType(properties)
        self._settings: Mapping[str, Any] = read_settings(self._owner(), self.SETTINGS, properties)

    # -- what a catalog answers ------------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        """The properties of a namespace below the root, None where the service keeps none.

        Raises NamespaceNotFoundError.
        """
        raise NamespaceNotFoundError(f"There is no namespace {namespace}: {self} has no namespaces below its root.")

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """The first `limit` names after `after`, in code point order. Raises NamespaceNotFoundError."""
        if not namespace.is_root:
            self._namespace_properties(namespace)
        return []

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        """Make a namespace in an existing parent and answer its properties.

        Raises NamespaceAlreadyExistsError, also when a table has the name, and NamespaceNotFoundError.
        """
        self._unsupported("create_namespace")

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        """Remove a namespace, with all that is inside if `cascade`; answer the properties it had.

        Raises NamespaceNotFoundError and NamespaceNotEmptyError.
        """
        self._unsupported("drop_namespace")

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        """The first `limit` names after `after`, in code point order. Raises NamespaceNotFoundError."""
        self._unsupported("list_tables")

    def _find_table(self, table: Identifier) -> TableEntry:
        """Where a table lies. Raises TableNotFoundError, NamespaceNotFoundError for its parent."""
        self._unsupported("describe_table")

    def _declare_table(self, table: Identifier, location: str | None, properties: Mapping[str, str]) -> TableEntry:
        """Claim a name for a table whose data is yet to be written; one claimant wins.

        Raises TableAlreadyExistsError, also when a namespace has the name, and NamespaceNotFoundError.
        """
        self._unsupported("declare_table")

    def _register_table(
        self, table: Identifier, location: str, properties: Mapping[str, str], replace: bool
    ) -> TableEntry:
        """Give a name to a table that lies at `location`; `replace` an existing registration."""
        self._unsupported("register_table")

    def _deregister_table(self, table: Identifier) -> TableEntry:
        """Forget a table and keep its data. Raises TableNotFoundError."""
        self._unsupported("deregister_table")

    def _drop_table(self, table: Identifier) -> TableEntry:
        """Forget a table and delete its data. Raises TableNotFoundError."""
        self._unsupported("drop_table")

    def _rename_table(self, table: Identifier, target: Identifier) -> None:
        """Raises TableNotFoundError, TableAlreadyExistsError, NamespaceNotFoundError."""
        self._unsupported("rename_table")

    # -- what a catalog may refine ---------------------------------------------------------------

    def _is_declared_only(self, table: Identifier, entry: TableEntry) -> bool:
        """Whether the name is claimed and no data has been written."""
        return not dataset.has_data(self._handle(table, entry))

    def _wanted_names(
        self,
        namespace: Identifier,
        found: Mapping[str, Callable[[], TableEntry]],
        after: str | None,
        limit: int | None,
        include_declared: bool,
    ) -> Sequence[str]:
        """Of all the tables in a namespace, in no order, the names that `_child_tables` answers."""
        names = sorted(name for name in found if after is None or name > after)
        if not include_declared:
            written = (name for name in names if not self._is_declared_only(namespace.child(name), found[name]()))
            return list(islice(written, limit))
        return names[:limit]

    def _declare_first(self, table: Identifier, properties: Mapping[str, str], schema: pa.Schema) -> TableEntry:
        """Claim a name for a table whose first version, of this schema, is about to be written."""
        return self._declare_table(table, None, properties)

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        """The schema that the service itself shows, for a description that opens no dataset."""
        return None

    def _withdraw(self, table: Identifier, entry: TableEntry) -> None:
        """Take back a claim whose first write failed."""
        self._deregister_table(table)

    def _holds(self, table: Identifier, entry: TableEntry) -> bool:
        """Whether the claim behind `entry` still stands, asked right before and after the first version is written."""
        return True

    def _clear_away(self, table: Identifier, entry: TableEntry) -> None:
        """Remove what a failed first write leaves where a table was that somebody has dropped meanwhile."""

    def _desk(self) -> JobQueue | None:
        """Where background jobs are recorded; None where nobody would carry them out."""
        return None if self._lent_desk is None else self._lent_desk.opened()

    def with_desk(self, desk: JobQueue | LazyJobQueue) -> Self:
        """The same catalog, whose background jobs are recorded elsewhere. It costs next to nothing."""
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        view._lent_desk = desk
        view._lender = self  # what closes at the end of its life must not end before ours
        return view

    def _missing(self, operation: str) -> str:
        """Why an operation is not there, and what has it. Appended to the error."""
        return ""

    def close(self) -> None:
        """Give connections back. A closed catalog opens them again when it is used."""
        if self._lent_desk is not None:
            self._lent_desk.close()

    # -- identity --------------------------------------------------------------------------------

    @classmethod
    def _owner(cls) -> str:
        return f"{cls.__name__} (type {cls.TYPE!r})"

    def _identity(self) -> Mapping[str, str]:
        """What makes two catalogs the same one: their settings, secrets included."""
        return {key: str(value) for key, value in self._settings.items() if value is not None}

    def namespace_id(self) -> str:
        """Differs whenever service or identity do, so that nothing cached crosses between two users.

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

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = _rebuild if self._lent_desk is None else partial(_rebuild, desk=self._lent_desk)
        return rebuild, (type(self), dict(self._given))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _unsupported(self, operation: str) -> NoReturn:
        reason = self._missing(operation)
        raise UnsupportedOperationError(f"{self._owner()} does not support {operation}.{' ' if reason else ''}{reason}")

    def _handle(self, table: Identifier, entry: TableEntry) -> Table:
        if not entry.managed:
            return Table(str(table), entry.location, entry.storage_options)
        return Table(str(table), entry.location, entry.storage_options, client=self, id=tuple(table))


def _rebuild(
    cls: type[CatalogHooks], given: dict[str, object], desk: JobQueue | LazyJobQueue | None = None
) -> CatalogHooks:
    made = cls(**given)
    return made if desk is None else made.with_desk(desk)
