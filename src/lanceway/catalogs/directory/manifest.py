"""pylance's `__manifest`: the Lance table that lists the namespaces of a folder and the locations of its tables.

Its format is pylance's own, so it is read and changed through pylance's DirectoryNamespace, in the mode in which that
reads the manifest alone. What that namespace does not check or clean up is done around it.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import lance_namespace as ln

from lanceway.catalogs.contract.names import DELIMITER, MANIFEST, SUFFIX
from lanceway.catalogs.directory.folder import Folder, hidden_by_manifest, open_folder
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    namespace_not_empty,
    namespace_not_found,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import errors
from lanceway.tables.dataset import StoredTable
from lanceway.tables.storage import fork

if TYPE_CHECKING:
    import lance
    from lance.namespace import DirectoryNamespace

# How often a change is tried again after a conflict with changes of other objects.
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """A table's row in the manifest."""

    folder: str  # relative to the root
    properties: Mapping[str, str] | None


class Manifest:
    """The manifest of one root. The first change creates it."""

    def __init__(self, folder: Folder, storage_options: Mapping[str, str] | None) -> None:
        self._folder = folder
        self._options = dict(storage_options or {})
        self._exists = False
        # By process: one inherited by a fork would wait for threads that do not exist here, and must not
        # even be released, since its destructor waits for them too.
        self._opened: dict[int, DirectoryNamespace] = {}
        self._watched: dict[int, lance.LanceDataset] = {}
        # The version of the manifest at which these were the tables at the root.
        self._root: tuple[int, list[str]] = (0, [])

    def exists(self) -> bool:
        """Return whether there is one. It is never deleted, so that it is looked for only until it is found.

        Its folder alone is not enough: the process that creates it commits the first version a little later.
        """
        self._exists = self._exists or (self._folder.has(MANIFEST) and self._folder.has_data(MANIFEST))
        return self._exists

    def check_first_change(self, identifier: Identifier) -> None:
        """Raise InvalidInputError where a first change, which creates the manifest, would hide tables of the root."""
        if self.exists():
            return
        folders = sorted(filter(hidden_by_manifest, self._folder.names()))
        unlisted = self._folder.unlisted_among(folders)
        hidden = next((folder for folder in folders if folder not in unlisted), None)
        if hidden is not None:
            raise InvalidInputError(
                f"{identifier} cannot be created: it needs a manifest in {self._folder.root}, beside which folders "
                f"that begin with eight hexadecimal digits and '_' are the manifest's own, so that the table "
                f"{hidden!r} would no longer be found. Rename its folder to {hidden + SUFFIX!r} first: it stays the "
                "same table."
            )

    @property
    def _namespace(self) -> DirectoryNamespace:
        pid = os.getpid()
        opened = self._opened.get(pid)
        if opened is None:
            opened = self._opened.setdefault(pid, self._open())
        return opened

    def _open(self) -> DirectoryNamespace:
        from lance.namespace import DirectoryNamespace

        options = {f"storage.{key}": value for key, value in self._options.items()}
        with self._translated("connect"):
            return DirectoryNamespace(  # type: ignore[no-untyped-call]
                root=self._folder.root, dir_listing_enabled="false", **options
            )

    def close(self) -> None:
        self._opened.pop(os.getpid(), None)
        self._watched.pop(os.getpid(), None)

    # -- namespaces ------------------------------------------------------------------------------

    def namespace_properties(self, namespace: Identifier) -> dict[str, str] | None:
        """Return the properties of a namespace. Raises NamespaceNotFoundError."""
        _check_namespace(namespace)
        with self._translated("describe"):
            try:
                response = self._namespace.describe_namespace(ln.DescribeNamespaceRequest(id=list(namespace)))
            except NamespaceNotFoundError:
                raise namespace_not_found(f"There is no namespace {namespace}.") from None
        return response.properties or {}

    def has_namespace(self, namespace: Identifier) -> bool:
        if namespace.is_root:
            return True
        try:
            self.namespace_properties(namespace)
        except NamespaceNotFoundError:
            return False
        return True

    def namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        _check_namespace(namespace)
        request = ln.ListNamespacesRequest(id=list(namespace), page_token=after, limit=limit)
        with self._translated("list"):
            names = self._namespace.list_namespaces(request).namespaces
        return names or self._nothing_in(namespace)

    def create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        """Create a namespace.

        Raises NamespaceAlreadyExistsError, also for a table's name, and NamespaceNotFoundError for the parent.
        """
        _check_namespace(namespace.parent)
        self.check_first_change(namespace)
        request = ln.CreateNamespaceRequest(id=list(namespace), properties=dict(properties) or None)
        with self._translated("create_namespace"):
            try:
                self._retry_on_conflict(namespace, lambda: self._namespace.create_namespace(request))
            except NamespaceAlreadyExistsError:
                raise NamespaceAlreadyExistsError(
                    f"{namespace} cannot be created: a namespace or table has this name already."
                ) from None
            except NamespaceNotFoundError:
                raise _no_parent(namespace) from None

    def drop_namespace(self, namespace: Identifier) -> None:
        """Drop an empty namespace. Raises NamespaceNotFoundError and NamespaceNotEmptyError."""
        properties = self.namespace_properties(namespace)
        with self._translated("drop_namespace"):
            try:
                self._namespace.drop_namespace(ln.DropNamespaceRequest(id=list(namespace)))
            except NamespaceNotEmptyError:
                raise _not_empty(namespace) from None
            except NamespaceNotFoundError:
                raise namespace_not_found(f"There is no namespace {namespace}.") from None
        if not self._is_empty(namespace):
            # Something was added between pylance's check and its deletion, and must not be orphaned.
            self.create_namespace(namespace, properties or {})
            raise _not_empty(namespace)

    def _is_empty(self, namespace: Identifier) -> bool:
        names = list(namespace)
        with self._translated("list"):
            tables = self._namespace.list_tables(ln.ListTablesRequest(id=names, limit=1)).tables
            return (
                not tables
                and not self._namespace.list_namespaces(ln.ListNamespacesRequest(id=names, limit=1)).namespaces
            )

    # -- tables ----------------------------------------------------------------------------------

    def tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        _check_namespace(namespace)
        if namespace.is_root and include_declared:  # the manifest does not know which of them hold data
            return self._at_root(after, limit)
        request = ln.ListTablesRequest(
            id=list(namespace), page_token=after, limit=limit, include_declared=include_declared
        )
        with self._translated("list"):
            names = self._namespace.list_tables(request).tables
        return names or self._nothing_in(namespace)

    def _at_root(self, after: str | None, limit: int | None) -> Sequence[str]:
        """Return the tables at the root, which every list of folders needs; they are cached until the next change."""
        with self._translated("list"):
            version, names = self._latest_version(), self._root[1]
            if version != self._root[0]:
                # The version was asked for first: names may be newer than it and are then read again, never older.
                request = ln.ListTablesRequest(id=[], include_declared=True)
                names = sorted(self._namespace.list_tables(request).tables)
                self._root = (version, names)
        first = 0 if after is None else bisect_right(names, after)
        return names[first : None if limit is None else first + limit]

    def _latest_version(self) -> int:
        pid = os.getpid()
        opened = self._watched.get(pid)
        if opened is None:
            opened = self._watched.setdefault(pid, self._dataset())
        return int(opened.latest_version)

    def find(self, table: Identifier) -> ManifestRow:
        """Return a table's row. Raises TableNotFoundError, or NamespaceNotFoundError for its parent."""
        _check_table(table)
        with self._translated("describe"):
            try:
                response = self._namespace.describe_table(ln.DescribeTableRequest(id=list(table)))
            except TableNotFoundError:
                if self.has_namespace(table.parent):
                    raise table_not_found(f"There is no table {table}.") from None
                raise _no_parent(table) from None
        return ManifestRow(self._relative(response.location or ""), response.properties or None)

    def add(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        """Give a table folder a name; of several processes that give this name one succeeds.

        Raises TableAlreadyExistsError, also for a namespace's name, and NamespaceNotFoundError for the parent.
        """
        _check_namespace(table.parent)
        self.check_first_change(table)
        request = ln.RegisterTableRequest(id=list(table), location=folder)
        with self._translated("register_table"):
            try:
                self._retry_on_conflict(table, lambda: self._namespace.register_table(request))
            except (TableAlreadyExistsError, NamespaceAlreadyExistsError):
                raise TableAlreadyExistsError(
                    f"{table} cannot be created: a table or namespace has this name already."
                ) from None
            except NamespaceNotFoundError:
                raise _no_parent(table) from None
        try:
            self._complete(table, properties)
        except LanceNamespaceError:
            self.remove(table)
            raise

    def _complete(self, table: Identifier, properties: Mapping[str, str]) -> None:
        """Do what pylance's register leaves out: it loses properties, which its declare keeps in a column,
        and checks the parent only before it adds the row."""
        if properties:
            self._write_properties(table, properties)
        if not self.has_namespace(table.parent):
            raise _no_parent(table)

    def _write_properties(self, table: Identifier, properties: Mapping[str, str]) -> None:
        values, where = {"metadata": _quoted(json.dumps(dict(properties)))}, f"object_id = {_key(table)}"
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                with self._translated("register_table"):
                    self._dataset().update(values, where=where)
                return
            except ConcurrentModificationError:  # others change other rows
                if not attempts_left:
                    raise

    def remove(self, table: Identifier) -> None:
        """Remove a table's row; of several processes that do so one succeeds. Raises TableNotFoundError."""
        _check_table(table)
        with self._translated("deregister_table"):
            try:
                self._namespace.deregister_table(ln.DeregisterTableRequest(id=list(table)))
            except TableNotFoundError:
                raise table_not_found(f"There is no table {table}.") from None

    def owners(self, folder: str) -> list[Identifier]:
        """Return the tables whose folder this is."""
        if not self.exists():
            return []
        with self._translated("describe_table"):
            where = f"object_type = 'table' AND location = {_quoted(folder)}"
            rows = self._dataset().to_table(columns=["object_id"], filter=where)
        return [Identifier.parse(name, DELIMITER) for name in rows["object_id"].to_pylist()]

    # -- helpers ---------------------------------------------------------------------------------

    def _dataset(self) -> lance.LanceDataset:
        import lance

        return lance.dataset(self._folder.location(MANIFEST), storage_options=self._options or None)

    def _nothing_in(self, namespace: Identifier) -> list[str]:
        """Return an empty list. Raises NamespaceNotFoundError: pylance lists a missing namespace as empty."""
        if not namespace.is_root:
            self.namespace_properties(namespace)
        return []

    def _relative(self, location: str) -> str:
        folder = self._folder.relative(location)
        if folder is None:
            raise InternalError(f"The manifest of {self._folder.root} places a table at {location}, outside of it.")
        return folder

    @contextmanager
    def _translated(self, operation: str) -> Iterator[None]:
        """Translate the errors of the Lance table under pylance's namespace: builtins, or internal errors with
        the storage's own message. The namespace itself raises the contract's errors."""
        try:
            yield
        except (*errors.FOREIGN, InternalError) as error:
            table = StoredTable(f"the manifest of {self._folder.root}", self._folder.location(MANIFEST))
            raise errors.translate(table, operation, error) from None

    def _retry_on_conflict(self, identifier: Identifier, change: Callable[[], object]) -> None:
        """Make a change, again after a conflict with others, unless the name is taken by then."""
        for _ in range(_ATTEMPTS):
            try:
                change()
                return
            except ConcurrentModificationError:
                self._refuse_taken(identifier)
        raise ConcurrentModificationError(
            f"{identifier} could not be created: too many others change the manifest of {self._folder.root}. Try again."
        )

    def _refuse_taken(self, identifier: Identifier) -> None:
        if self.has_namespace(identifier):
            raise NamespaceAlreadyExistsError(str(identifier))
        try:
            self.find(identifier)
        except TableNotFoundError:
            return
        raise NamespaceAlreadyExistsError(str(identifier))


def _check_namespace(namespace: Identifier) -> None:
    """Refuse a name with the delimiter: pylance joins names unchecked, and ["a$b"] must not mean ["a", "b"]."""
    if any(DELIMITER in name for name in namespace):
        raise namespace_not_found(f"There is no namespace {namespace}.")


def _check_table(table: Identifier) -> None:
    _check_namespace(table.parent)
    if DELIMITER in table.name:
        raise table_not_found(f"There is no table {table}.")


def _no_parent(identifier: Identifier) -> NamespaceNotFoundError:
    return namespace_not_found(f"There is no namespace {identifier.parent}, so there can be no {identifier} in it.")


def _not_empty(namespace: Identifier) -> NamespaceNotEmptyError:
    return namespace_not_empty(
        f"{namespace} cannot be dropped: it is not empty. Empty it first, or drop it with behavior cascade."
    )


def _key(identifier: Identifier) -> str:
    return _quoted(identifier.format(DELIMITER))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


class RelayedManifest(Manifest):
    """The manifest of one root, read and changed by this process's helper process."""

    def _ask(self, question: str, *arguments: object) -> Any:
        return fork.ask(_answer, self._folder.root, tuple(self._options.items()), question, arguments)

    def namespace_properties(self, namespace: Identifier) -> dict[str, str] | None:
        return cast("dict[str, str] | None", self._ask("namespace_properties", namespace))

    def namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        return cast("Sequence[str]", self._ask("namespaces", namespace, after, limit))

    def create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        self._ask("create_namespace", namespace, dict(properties))

    def drop_namespace(self, namespace: Identifier) -> None:
        self._ask("drop_namespace", namespace)

    def tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        return cast("Sequence[str]", self._ask("tables", namespace, after, limit, include_declared))

    def find(self, table: Identifier) -> ManifestRow:
        return cast("ManifestRow", self._ask("find", table))

    def add(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        self._ask("add", table, folder, dict(properties))

    def remove(self, table: Identifier) -> None:
        self._ask("remove", table)

    def owners(self, folder: str) -> list[Identifier]:
        return cast("list[Identifier]", self._ask("owners", folder)) if self.exists() else []


def _answer(root: str, options: tuple[tuple[str, str], ...], question: str, arguments: tuple[object, ...]) -> object:
    return getattr(_manifest(root, options), question)(*arguments)


@lru_cache(maxsize=16)
def _manifest(root: str, options: tuple[tuple[str, str], ...]) -> Manifest:
    return Manifest(open_folder(root, dict(options) or None), dict(options) or None)
