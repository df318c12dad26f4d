"""Generic tables as data: what Polaris and Lakekeeper keep beside Iceberg tables, with the words of Iceberg REST.

Both have the same paths below an address of their own, and nearly the same bodies. What differs is a `GenericDialect`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType
from typing import Any

from lanceway.errors import InternalError
from lanceway.wire.iceberg import TABLE_TYPE, IcebergRoute, LoadedTable

LANCE = "lance"
COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class GenericDialect:
    """A service: where its two APIs are below the server's address, and what else it does."""

    name: str
    iceberg: str
    tables: str
    renames: bool = False
    chooses_location: bool = False  # where none is given
    takes_data: bool = True  # whether a row may be made where data is already
    refused: str = ""  # what no new name may hold
    drop_query: tuple[tuple[str, str], ...] = ()


POLARIS = GenericDialect("polaris", "/api/catalog", "/api/catalog/polaris", refused='/\\:*?"<>|#+`')
LAKEKEEPER = GenericDialect(
    "lakekeeper",
    "/catalog",
    "/lakekeeper",
    renames=True,
    chooses_location=True,
    takes_data=False,
    drop_query=(("purgeRequested", "false"),),  # the catalog itself deletes what is the table's
)
DIALECTS: Mapping[str, GenericDialect] = MappingProxyType({row.name: row for row in (POLARIS, LAKEKEEPER)})

_TABLES = "/v1/{prefix}/namespaces/{namespace}/generic-tables"
_TABLE = f"{_TABLES}/{{table}}"
# In codes of the contract: 1 a namespace that is missing, 4 and 5 a table.
ROUTES: Mapping[str, IcebergRoute] = MappingProxyType(
    {
        row.operation: row
        for row in (
            IcebergRoute("list_generic_tables", "GET", _TABLES, ("pageToken", "pageSize"), codes={404: 1}),
            IcebergRoute("create_generic_table", "POST", _TABLES, codes={404: 1, 409: 5}),
            IcebergRoute("load_generic_table", "GET", _TABLE, codes={404: 4}),
            IcebergRoute("drop_generic_table", "DELETE", _TABLE, status=204, codes={404: 4}),
            IcebergRoute(
                "rename_generic_table",
                "POST",
                "/v1/{prefix}/generic-tables/rename",
                status=204,
                codes={404: 4, 409: 5},
            ),
        )
    }
)


def create_body(name: str, location: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the body that makes a Lance table; without a location the service chooses one."""
    rest = {key: value for key, value in properties.items() if key != COMMENT}
    body = {"name": name, "format": LANCE, "doc": properties.get(COMMENT), "properties": {**rest, TABLE_TYPE: LANCE}}
    return {key: value for key, value in {**body, "base-location": location}.items() if value}


def rename_body(source: Iterable[str], name: str, target: Iterable[str], new_name: str) -> dict[str, Any]:
    return {
        "source": {"namespace": list(source), "name": name},
        "destination": {"namespace": list(target), "name": new_name},
    }


@dataclass(frozen=True, slots=True)
class GenericTable:
    """A table as a service describes it, with what it vends for the table's storage."""

    name: str
    format: str
    loaded: LoadedTable
    comment: str | None = None

    @property
    def is_lance(self) -> bool:
        return self.format.lower() == LANCE and bool(self.loaded.location)


def read_table(body: object) -> GenericTable:
    """Read a table's description. Raises InternalError for an answer that is not one."""
    row = body.get("table") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise _unreadable("a generic table", "its name")
    vended = body.get("storage-credentials") or []
    if not isinstance(vended, list) or not all(isinstance(each, dict) for each in vended):
        raise _unreadable("a generic table", "a list of storage-credentials")
    loaded = LoadedTable(
        location=str(row.get("base-location") or ""),
        metadata_files=(),
        uuid=None,
        properties=_texts(row.get("properties")),
        config=_texts(body.get("config")),
        credentials=tuple((str(each.get("prefix") or ""), _texts(each.get("config"))) for each in vended),
    )
    doc = row.get("doc")
    return GenericTable(row["name"], str(row.get("format") or ""), loaded, doc if isinstance(doc, str) else None)


def read_tables(body: object) -> dict[str, str | None]:
    """Return the names of a page with their formats, None where the service does not say."""
    rows = body.get("identifiers") if isinstance(body, dict) else None
    if rows is None and isinstance(body, dict):
        return {}
    if not isinstance(rows, list) or not all(map(_is_entry, rows)):
        raise _unreadable("generic tables", "a list of identifiers")
    return {row["name"]: row.get("format") for row in rows}


def _is_entry(row: object) -> bool:
    return isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("format"), str | NoneType)


def _texts(values: object) -> dict[str, str]:
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise _unreadable("a generic table", "a JSON object of texts")
    return {str(key): str(value) for key, value in values.items() if value is not None}


def _unreadable(what: str, missing: str) -> InternalError:
    return InternalError(
        f"The answer about {what} cannot be read: {missing} is missing. Check that endpoint and dialect fit the server."
    )
