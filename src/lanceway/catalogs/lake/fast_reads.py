"""Answers from one indexed read of SQLite: where a table is, that it exists, a page of names.

They never wait for a lock, so that a server may ask for them in its event loop.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.contract.metadata import list_scope
from lanceway.catalogs.contract.requests import page_of, page_start
from lanceway.identifiers import Identifier
from lanceway.lake.store.fast_reads import FastDetailsRow, FastReads, FastTableRow

# A longer page is worth a thread.
_LONGEST_PAGE = 200
_DESCRIBE = frozenset(
    {"id", "context", "check_declared", "load_detailed_metadata", "vend_credentials", "with_table_uri"}
)
_MORE = ("check_declared", "load_detailed_metadata", "with_table_uri")  # of a description than is in the row
_EXISTS = frozenset({"id", "context"})
_LIST = frozenset({"id", "context", "limit", "page_token", "include_declared"})


@dataclass(frozen=True, slots=True)
class LakeFastReads:
    """Answers as dictionaries, from fields that no model has checked yet: what is not plain is not answered here."""

    reads: FastReads
    catalog: int
    options: Mapping[str, str] | None

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
