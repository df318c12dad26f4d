"""Answers from one indexed read of SQLite: where a table is, that it exists, a page of names.

They never wait for a lock, so that a server may ask for them in its event loop.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.catalogs.contract.metadata import list_scope
from lanceway.catalogs.contract.requests import page_of, page_start
from lanceway.catalogs.lake.iceberg import places
from lanceway.catalogs.lake.iceberg.pointers import check_written
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.fast_reads import FastDetailsRow, FastReads, FastTableRow
from lanceway.lake.tree.catalogs import CatalogRow
from lanceway.tables.iceberg.files import MetadataFiles, unescaped

# A longer page is worth a thread.
_LONGEST_PAGE = 200
_LARGEST_METADATA = 2**20  # bytes; more is worth a thread too
_LARGEST_UNREAD = 2**16  # bytes of a metadata file that no one has read yet
_DESCRIBE = frozenset(
    {"id", "context", "check_declared", "load_detailed_metadata", "vend_credentials", "with_table_uri"}
)
_MORE = ("check_declared", "load_detailed_metadata", "with_table_uri")  # of a description than is in the row
_EXISTS = frozenset({"id", "context"})
_LIST = frozenset({"id", "context", "limit", "page_token", "include_declared"})


@dataclass(frozen=True, slots=True)
class LakeFastReads:
    """Answers as dictionaries, from fields that no model has checked yet: what is not plain is not answered here.

    Metadata files of Iceberg are read in a warehouse `beside` the database alone: another device may be a network's.
    """

    reads: FastReads
    catalog: int
    options: Mapping[str, str] | None
    store: str  # the address of the database
    beside: str | None  # what the paths of the warehouse begin with, if it is on the database's device

    @classmethod
    def of(cls, store: LakeStore, catalog: CatalogRow, options: Mapping[str, str] | None) -> Self | None:
        """Return the fast reads of a catalog; None if its database has none."""
        reads = store.fast_reads
        if reads is None:
            return None
        return cls(reads, catalog.id, options, store.uri, _beside(reads.path, catalog.location))

    def answer(self, operation: str, names: list[str], fields: Mapping[str, Any]) -> dict[str, Any] | None:
        if not _is_context(fields.get("context")):
            return None
        if operation == "describe_table":
            return self._describe_table(names, fields)
        if operation == "table_exists":
            return {} if fields.keys() <= _EXISTS and self._row(names) else None
        if operation in ("list_tables", "list_iceberg_tables"):
            return self._list_tables(names, fields, with_iceberg=operation == "list_iceberg_tables")
        return None

    def naming(self) -> tuple[str, bool] | None:
        """Return the lake's separator, and whether namespaces nest in the catalog."""
        return self.reads.naming(self.catalog)

    def details(self, names: list[str], *, is_namespace: bool) -> ObjectDetails | None:
        """Return what is recorded of a namespace or a table."""
        if not names or not _is_plain(names):
            return None
        if is_namespace:
            row = self.reads.namespace_details(self.catalog, _physical(names))
        else:
            row = self.reads.table_details(self.catalog, _physical(names[:-1]), names[-1])
        return None if row is None else _details(row)

    def iceberg_table(self, names: list[str]) -> LoadedIceberg | None:
        """Return an Iceberg table whose metadata was read before, or is in a small file beside the database."""
        if not names or not _is_plain(names):
            return None
        row = self.reads.iceberg_table(self.catalog, _physical(names[:-1]), names[-1])
        if row is None:
            return None
        files, owner = MetadataFiles(self.options), (self.store, row.id)
        data = files.at_hand(row.pointer, owner)
        if data is None and self.beside is not None and unescaped(row.pointer).startswith(self.beside):
            check = partial(check_written, Identifier(names), row.location)
            data = files.read_at_once(row.pointer, owner, check, _LARGEST_UNREAD)
        if data is None or len(data) > _LARGEST_METADATA:
            return None
        return LoadedIceberg(data, row.pointer, places.uri_of(row.location), storage_options=self.options)

    def _describe_table(self, names: list[str], fields: Mapping[str, Any]) -> dict[str, Any] | None:
        if not fields.keys() <= _DESCRIBE or any(fields.get(name) not in (None, False) for name in _MORE):
            return None
        if fields.get("vend_credentials") not in (None, True, False):
            return None
        row = self._row(names)
        if row is None:
            return None
        return {
            "location": row.location,
            "storage_options": self.options,
            "properties": {} if row.properties == "{}" else json.loads(row.properties),
            "managed_versioning": row.managed,
        }

    def _list_tables(self, names: list[str], fields: Mapping[str, Any], *, with_iceberg: bool) -> dict[str, Any] | None:
        limit, token = fields.get("limit"), fields.get("page_token")
        if not fields.keys() <= _LIST or fields.get("include_declared") not in (None, True):
            return None
        if type(limit) is not int or not 0 < limit <= _LONGEST_PAGE or not (token is None or isinstance(token, str)):
            return None
        if not _is_plain(names):
            return None
        scope = list_scope(Identifier(names))
        after = page_start(scope, token) or ""
        page = self.reads.tables(self.catalog, _physical(names), after, limit + 1, with_iceberg=with_iceberg)
        if page is None:
            return None
        tables, following = page_of(page, limit, scope, str)
        return {"tables": tables, "page_token": following}

    def _row(self, names: list[str]) -> FastTableRow | None:
        if not names or not _is_plain(names):
            return None
        return self.reads.table(self.catalog, _physical(names[:-1]), names[-1])


def _beside(database: str, root: str | None) -> str | None:
    if root is None or not os.path.isabs(root):
        return None
    existing = Path(root)
    try:
        while not existing.exists():  # a warehouse is made with its first table
            existing = existing.parent
        is_beside = existing.stat().st_dev == os.stat(database).st_dev
    except OSError:
        return None
    return os.path.join(root, "") if is_beside else None


def _details(row: FastDetailsRow) -> ObjectDetails:
    changes = (row.created_by, row.created_at, row.changed_by, row.changed_at)
    state = None if row.version is None else (row.id, row.version, row.claimed_at or 0)
    properties = {} if row.properties == "{}" else json.loads(row.properties)
    return ObjectDetails(properties, row.comment, *changes, row.location, row.version, state)


def _is_context(context: object) -> bool:
    return context is None or (
        isinstance(context, Mapping) and all(isinstance(value, str) for value in context.values())
    )


def _is_plain(names: list[str]) -> bool:
    """Return whether names are stored as they are written: such names need neither a normal form nor a refusal."""
    return all(name and name.isascii() and name.isprintable() for name in names)


def _physical(namespace: list[str]) -> str:
    # `HierarchicalName.physical` without the checks that plain names do not need.
    return ".".join(name.replace("%", "%25").replace(".", "%2E") for name in namespace)
