"""Lance tables in Unity Catalog: external tables whose properties say that they are Lance.

Unity cannot change a table's row. A new one is made instead, and the old one put back if that fails.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.contract.base import TableEntry
from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.metastore.tables import CLAIM, NewTable, find_created, require_data
from lanceway.catalogs.unity import columns as unity_columns
from lanceway.catalogs.unity.client import UnityClient, UnitySettings
from lanceway.catalogs.unity.names import TABLE_LEVEL, absolute, check_new, check_table, default_location
from lanceway.catalogs.unity.namespaces import UnityNamespaces, check_properties, missing_schema
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableNotFoundError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import dataset
from lanceway.tables.storage.store import EXPIRES
from lanceway.wire import unity
from lanceway.wire.errors import Repeat
from lanceway.wire.unity import TableInfo, Vended

if TYPE_CHECKING:
    import pyarrow as pa

_LOG = logging.getLogger(__name__)

Columns = Sequence[Mapping[str, Any]]

# By what Unity calls each kind of credentials: its fields, and what pylance calls them.
_NAMES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "aws_temp_credentials": {
            "access_key_id": "aws_access_key_id",
            "secret_access_key": "aws_secret_access_key",
            "session_token": "aws_session_token",
        },
        "azure_user_delegation_sas": {"sas_token": "azure_storage_sas_token"},
        "gcp_oauth_token": {"oauth_token": "google_bearer_token"},
    }
)


@dataclass(frozen=True, slots=True)
class UnityEntry(TableEntry):
    """A table with the columns that Unity shows for it."""

    columns: Columns = field(default=(), repr=False)


class UnityTables:
    """The tables of the configured catalog."""

    name = "Unity"
    reserved = (CLAIM,)

    def __init__(self, client: UnityClient, namespaces: UnityNamespaces, settings: UnitySettings) -> None:
        self._client = client
        self._namespaces = namespaces
        self._settings = settings

    # -- finding ---------------------------------------------------------------------------------

    def load(self, table: Identifier) -> TableInfo:
        """Return a Lance table. Raises TableNotFoundError, NamespaceNotFoundError, InvalidInputError if not Lance."""
        self._check_known(table)
        try:
            info = unity.read_table(self._client.ask("get_table", f"Looking for the table {table}", table))
        except TableNotFoundError as error:
            with suppress(PermissionDeniedError):  # may not look; the table is missing in any case
                self._namespaces.require_schema(table.parent)  # older servers say the same of a missing schema
            raise table_not_found(f"There is no table {table}.") from error
        except NamespaceNotFoundError as error:
            raise missing_schema(table.parent) from error
        if not info.is_lance:
            raise InvalidInputError(
                f"{table} is not a Lance table: in Unity it is a table of another kind. A Lance table has the type "
                f"{unity.EXTERNAL}, the property {unity.TABLE_TYPE}={unity.LANCE} and a location."
            )
        return info

    peek = load

    def identity(self, table: Identifier) -> ObjectIdentity:
        """Return the id of a table, Lance or not, and when it was made. Raises TableNotFoundError."""
        self._check_known(table)
        response = self._client.ask("get_table", f"Looking for the table {table}", table)
        return unity.read_identity(response, "table_id")

    def _check_known(self, table: Identifier) -> None:
        """Raise TableNotFoundError for what cannot be a table here."""
        check_table(table)
        if table[0] != self._settings.catalog:
            raise table_not_found(
                f"There is no table {table}: the catalog here is {self._settings.catalog!r}. Connect to another one "
                "with the setting catalog."
            )

    def lance_tables(self, namespace: Identifier) -> Iterator[TableInfo]:
        """Yield the Lance tables of a schema; a catalog holds schemas alone. Raises NamespaceNotFoundError."""
        self._namespaces.check_known(namespace)
        if namespace.depth < TABLE_LEVEL - 1:
            self._namespaces.properties(namespace)
            return
        query = [("catalog_name", namespace[0]), ("schema_name", namespace[1])]
        for page in self._client.pages("list_tables", f"Listing the tables in {namespace}", query):
            yield from (info for info in unity.read_tables(page) if info.is_lance)

    # -- entries ---------------------------------------------------------------------------------

    def claim_of(self, info: TableInfo) -> str | None:
        return info.properties.get(CLAIM) or info.id

    def describe(self, info: TableInfo) -> UnityEntry:
        """Return the entry of a table without storage options."""
        properties = {name: value for name, value in info.properties.items() if name != CLAIM}
        return UnityEntry(info.location, None, properties, claim=self.claim_of(info), columns=info.columns)

    def entry(self, info: TableInfo) -> UnityEntry:
        return replace(self.describe(info), storage_options=dict(self._settings.storage) or None)

    def reach(self, info: TableInfo) -> UnityEntry:
        """Return the entry of a table with what the server vends for its storage, if the settings ask for it."""
        entry = self.entry(info)
        if not self._settings.vended_credentials:
            return entry
        return replace(entry, storage_options={**(entry.storage_options or {}), **self._vended(info)} or None)

    def _vended(self, info: TableInfo) -> dict[str, str]:
        """Return credentials to write, else to read: only by refusing says a server which a caller may have."""
        try:
            return self._vended_to(unity.READ_WRITE, info)
        except PermissionDeniedError:
            return self._vended_to(unity.READ, info)

    def _vended_to(self, operation: str, info: TableInfo) -> dict[str, str]:
        body = unity.vend_credentials_body(info.id or "", operation)
        what = f"Asking for credentials to the table {info.name}"
        # Safe to send again: it changes nothing.
        response = self._client.ask("vend_credentials", what, body=body, repeat=Repeat.SAFE)
        return vended_options(unity.read_vended(response))

    # -- new tables ------------------------------------------------------------------------------

    def check_new(self, table: Identifier) -> Identifier:
        """Return the identifier of a new table, if a table may have it."""
        check_table(table)
        check_new(table)
        self._namespaces.check_known(table.parent)
        return table

    def locate(self, table: Identifier, location: str | None, claim: str) -> str:
        """Return the given location as a URI, or a new folder below the root."""
        return absolute(location) if location else default_location(self._settings.root, table, claim)

    def storage_options(self, location: str, properties: Mapping[str, str]) -> Mapping[str, str]:
        return self._settings.storage

    def inspect(self, table: Identifier, location: str, properties: Mapping[str, str]) -> pa.Schema:
        """Return the schema of the table at a location. Raises InvalidInputError where no Lance table is."""
        self._namespaces.require_schema(table.parent)
        return dataset.open_at(require_data(table, location, self._settings.storage)).schema

    def create(self, table: Identifier, new: NewTable) -> TableInfo:
        columns = () if new.schema is None else unity_columns.to_columns(new.schema)
        return self._create_row(table, new.location, {**new.properties, CLAIM: new.claim}, columns)

    def _create_row(
        self, table: Identifier, location: str, properties: Mapping[str, str], columns: Columns
    ) -> TableInfo:
        """Make a table's row. Columns are there to be looked at: they never keep a table from being made."""
        with self._client.turn(table):
            try:
                info = self._post(table, location, properties, columns)
            except (InvalidInputError, InternalError) as error:
                if not columns:
                    raise
                _LOG.warning("Unity does not take the columns of %s: %s", table, error)
                info = self._post(table, location, properties, ())
            self._refuse_doubled(table)
        return info

    def _refuse_doubled(self, table: Identifier) -> None:
        """Raise InvalidTableStateError if another process has created the name at the same moment, and both rows stay.

        Any other failure of this look says nothing about the table, which is made.
        """
        try:
            self._client.ask("get_table", f"Looking at the new table {table}", table)
        except InvalidTableStateError:
            raise
        except LanceNamespaceError as error:
            _LOG.info("%s is made, but Unity does not show it: %s", table, error)

    def _post(self, table: Identifier, location: str, properties: Mapping[str, str], columns: Columns) -> TableInfo:
        body = unity.create_table_body(table, location, properties, columns)
        try:
            # The claim tells whether what is there then is ours. After no answer at all the first request may still be
            # on its way, and Unity would store both.
            what = f"Declaring the table {table}"
            response = self._client.ask("create_table", what, body=body, repeat=Repeat.REFUSED)
            return unity.read_table(response)
        except NamespaceNotFoundError as error:
            raise missing_schema(table.parent) from error
        except InternalError as error:
            check_properties(table, properties, error)
            raise
        except (TableAlreadyExistsError, ServiceUnavailableError) as error:
            return find_created(self, table, properties[CLAIM], error)

    def replace(self, table: Identifier, new: NewTable) -> TableInfo:
        """Delete the row and make another; the old one is put back if that fails. For a moment there is neither."""
        old = self.load(table)
        self.delete(table, old)
        try:
            return self.create(table, new)
        except LanceNamespaceError:
            with suppress(TableAlreadyExistsError):  # another client has taken the name in between
                self._create_row(table, old.location, {CLAIM: uuid.uuid4().hex, **old.properties}, old.columns)
            raise

    def copy(self, info: TableInfo, target: Identifier) -> TableInfo:
        properties = {**info.properties, CLAIM: uuid.uuid4().hex}
        return self._create_row(target, info.location, properties, info.columns)

    def delete(self, table: Identifier, info: TableInfo) -> None:
        """Take a table that was there a moment ago out of the catalog. Unity keeps an external table's data."""
        try:
            self._client.ask("delete_table", f"Deregistering the table {table}", table)
        except ServiceUnavailableError:
            if self._is_there(table, info):  # or the response got lost, and the row is deleted
                raise

    def _is_there(self, table: Identifier, info: TableInfo) -> bool:
        try:
            current = self.load(table)
        except (InvalidInputError, NamespaceNotFoundError, TableNotFoundError):
            return False
        return (self.claim_of(current), current.location) == (self.claim_of(info), info.location)


def vended_options(vended: Vended) -> dict[str, str]:
    """Return storage options; none for a location that needs no credentials, such as a local folder."""
    options = {
        name: vended.credentials[kind][field]
        for kind, names in _NAMES.items()
        for field, name in names.items()
        if vended.credentials.get(kind, {}).get(field)
    }
    if options and vended.expires_at_millis is not None:
        options[EXPIRES] = str(vended.expires_at_millis)
    return options
