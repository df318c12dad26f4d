"""Requests about generic tables, to the server whose warehouses and namespaces Iceberg REST has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

from lanceway.catalogs.metastore.http import pages
from lanceway.catalogs.metastore.iceberg.client import Content, IcebergClient, send
from lanceway.catalogs.polaris.settings import PolarisSettings
from lanceway.identifiers import Identifier
from lanceway.wire import generic_tables, iceberg


class GenericTablesClient:
    """A client of one server. It may be shared by threads, used after a fork, and closed; it opens again when used."""

    def __init__(self, settings: PolarisSettings, warehouses: IcebergClient) -> None:
        self._page_size = settings.iceberg.page_size
        self._warehouses = warehouses
        self._client = warehouses.beside(settings.tables)

    def close(self) -> None:
        self._client.close()

    def ask(
        self,
        operation: str,
        what: str,
        namespace: Identifier,
        table: str = "",
        **content: Unpack[Content],
    ) -> Any:
        """Return the JSON of the answer, None if it is empty. Raises what a refusal means."""
        warehouse, levels = self._warehouses.resolve(namespace)
        route, question = generic_tables.ROUTES[operation], "Do endpoint and dialect fit the server?"
        return send(self._client, route, warehouse.config, what, levels, table, question, **content)

    def names(self, namespace: Identifier) -> dict[str, str | None]:
        """Return the generic tables of a namespace by their names, with their formats where the service says them."""
        size = [] if self._page_size is None else [("pageSize", str(self._page_size))]
        what = f"Listing the tables in {namespace}"

        def fetch(token: str | None) -> Any:
            start = [("pageToken", token or "")]  # empty, it asks for pages at all
            return self.ask("list_generic_tables", what, namespace, query=[*start, *size])

        rows: Iterator[Any] = pages(what, fetch, iceberg.next_page)
        return {name: format_ for page in rows for name, format_ in generic_tables.read_tables(page).items()}
