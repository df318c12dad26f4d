"""What a lake answers at once, waiting for nobody: where a table lies, that it is there, a page of names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lanceway.catalogs.contract.metadata import list_scope
from lanceway.catalogs.contract.requests import page_of, page_start
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.identifiers import Identifier
from lanceway.lake.store.fast_reads import FastReads

# A longer page is worth a thread.
_LONGEST_PAGE = 200
_DESCRIBE = frozenset(
    {"id", "context", "check_declared", "load_detailed_metadata", "vend_credentials", "with_table_uri"}
)
_MORE = ("check_declared", "load_detailed_metadata", "with_table_uri")  # of a description than is in the row
_EXISTS = frozenset({"id", "context"})
_LIST = frozenset({"id", "context", "limit", "page_token", "include_declared"})


class LakeGlances(LakeConnection):
    """Answers as dictionaries, from fields that no model has checked yet: what is not plain is not answered here."""

    def glance(self, operation: str, names: list[str], fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, if it can be had at once; None means that the operation itself is to be asked.

        `names` are the identifier, whatever `fields` say of it.
        """
        glances = self._lake.fast_reads
        if glances is None or not _is_context(fields.get("context")):
            return None
        if operation == "describe_table":
            return self._describe_at_once(glances, names, fields)
        if operation == "table_exists":
            return {} if fields.keys() <= _EXISTS and self._seen(glances, names) else None
        if operation == "list_tables":
            return self._list_at_once(glances, names, fields)
        return None

    def _describe_at_once(
        self, glances: FastReads, names: list[str], fields: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        if not fields.keys() <= _DESCRIBE or any(fields.get(name) not in (None, False) for name in _MORE):
            return None
        if fields.get("vend_credentials") not in (None, True, False):
            return None
        seen = self._seen(glances, names)
        if seen is None:
            return None
        return {
            "location": seen.location,
            "storage_options": self._options,
            "properties": {} if seen.properties == "{}" else json.loads(seen.properties),
            "managed_versioning": seen.managed,
        }

    def _list_at_once(self, glances: FastReads, names: list[str], fields: Mapping[str, Any]) -> dict[str, Any] | None:
        limit, token = fields.get("limit"), fields.get("page_token")
        if not fields.keys() <= _LIST or fields.get("include_declared") not in (None, True):
            return None
        if type(limit) is not int or not 0 < limit <= _LONGEST_PAGE or not (token is None or isinstance(token, str)):
            return None
        if not _is_plain(names):
            return None
        scope = list_scope(Identifier(names))
        found = glances.tables(self._catalog.id, _physical(names), page_start(scope, token) or "", limit + 1)
        if found is None:
            return None
        tables, following = page_of(found, limit, scope, str)
        return {"tables": tables, "page_token": following}

    def _seen(self, glances: FastReads, names: list[str]) -> Any:
        if not names or not _is_plain(names):
            return None
        return glances.table(self._catalog.id, _physical(names[:-1]), names[-1])


def _is_context(given: object) -> bool:
    return given is None or (isinstance(given, Mapping) and all(isinstance(value, str) for value in given.values()))


def _is_plain(names: list[str]) -> bool:
    """Whether the names are stored as they are written: such names need neither a normal form nor a refusal."""
    return all(name and name.isascii() and name.isprintable() for name in names)


def _physical(namespace: list[str]) -> str:
    return ".".join(name.replace("%", "%25").replace(".", "%2E") for name in namespace)
