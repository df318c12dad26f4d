"""Lance tables found in Unity Catalog: by name, and among all that a schema holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.unity import columns as unity_columns
from lanceway.catalogs.unity.names import check
from lanceway.catalogs.unity.namespaces import UnityNamespaces
from lanceway.catalogs.unity.storage import options_of
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, PermissionDeniedError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.wire import unity
from lanceway.wire.retries import Repeat
from lanceway.wire.unity import TableInfo

if TYPE_CHECKING:
    from lance_namespace_urllib3_client.models.json_arrow_schema import JsonArrowSchema

TABLE_LEVEL = 3
# Tells one claim of a name from the next, and ours after an answer that was lost.
CLAIM = "lanceway.claim"
Columns = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class UnityEntry(TableEntry):
    """A table with the columns that Unity shows for it."""

    columns: Columns = field(default=(), repr=False)


class UnityLookup(UnityNamespaces):
    """Finding and listing tables."""

    def _find_table(self, table: Identifier) -> UnityEntry:
        return self._reachable(self._found(table))

    def _found(self, table: Identifier) -> TableInfo:
        """A Lance table. Raises TableNotFoundError, NamespaceNotFoundError and, for another's, InvalidInputError."""
        check_table(table)
        if table[0] != self._catalog:
            raise TableNotFoundError(
                f"There is no table {table}: the catalog here is {self._catalog!r}. Connect to another one with the "
                "setting catalog."
            )
        try:
            info = unity.read_table(self._ask("get_table", f"Looking for the table {table}", table))
        except TableNotFoundError as error:
            with suppress(PermissionDeniedError):  # may not look; the table is missing in any case
                self._need_schema(table.parent)  # older servers say the same of a missing schema
            raise TableNotFoundError(f"There is no table {table}.") from error
        except NamespaceNotFoundError as error:
            raise no_schema(table.parent) from error
        if not info.is_lance:
            raise InvalidInputError(
                f"{table} is no Lance table: in Unity it is a table of another kind. A Lance table has the type "
                f"{unity.EXTERNAL}, the property {unity.TABLE_TYPE}={unity.LANCE} and a location."
            )
        return info

    def _need_schema(self, schema: Identifier) -> None:
        try:
            self._namespace_properties(schema)
        except NamespaceNotFoundError as error:
            raise no_schema(schema) from error

    def _entry(self, info: TableInfo) -> UnityEntry:
        shown = {name: value for name, value in info.properties.items() if name != CLAIM}
        options = dict(self._settings["storage"]) or None
        return UnityEntry(info.location, options, shown, claim=claim_of(info), columns=info.columns)

    def _reachable(self, info: TableInfo) -> UnityEntry:
        """A table with what the server vends for its storage, where that is wanted."""
        entry = self._entry(info)
        if not self._settings["vended_credentials"]:
            return entry
        return replace(entry, storage_options={**(entry.storage_options or {}), **self._vended(info)} or None)

    def _vended(self, info: TableInfo) -> dict[str, str]:
        """Credentials to write, else to read: a server says only by refusing which of them a caller may have."""
        try:
            return self._vended_to(unity.READ_WRITE, info)
        except PermissionDeniedError:
            return self._vended_to(unity.READ, info)

    def _vended_to(self, operation: str, info: TableInfo) -> dict[str, str]:
        body = unity.vend_credentials_body(info.id or "", operation)
        what = f"Asking for credentials to the table {info.name}"
        # Safe to send again: it changes nothing.
        return options_of(unity.read_vended(self._ask("vend_credentials", what, body=body, repeat=Repeat.SAFE)))

    def _known_schema(self, entry: TableEntry) -> JsonArrowSchema | None:
        return unity_columns.read(entry.columns) if isinstance(entry, UnityEntry) else None

    def _child_tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        if namespace.is_root:
            return []
        self._check_known(namespace)
        if namespace.depth < TABLE_LEVEL - 1:
            self._namespace_properties(namespace)
            return []  # a catalog holds schemas alone
        query = [("catalog_name", namespace[0]), ("schema_name", namespace[1])]
        pages = self._pages("list_tables", f"Listing the tables in {namespace}", query)
        tables = (info for page in pages for info in unity.read_tables(page) if info.is_lance)
        found = {info.name: partial(self._reachable, info) for info in tables}
        return self._wanted_names(namespace, found, after, limit, include_declared)


def check_table(table: Identifier) -> None:
    """Refuse what cannot be a table's identifier: Unity has exactly three levels."""
    check(table)
    if table.depth < TABLE_LEVEL:
        raise InvalidInputError(
            f"{list(table)!r} is no table's identifier: it needs a catalog, a schema and a name, such as "
            "['main', 'sales', 'orders']."
        )
    if table.depth > TABLE_LEVEL:
        raise NamespaceNotFoundError(f"There is no namespace {table.parent}: a schema of Unity holds no namespaces.")


def claim_of(info: TableInfo) -> str | None:
    return info.properties.get(CLAIM) or info.id


def no_schema(schema: Identifier) -> NamespaceNotFoundError:
    return NamespaceNotFoundError(f"There is no namespace {schema}. Create it first.")
