"""What is in a catalog, by name: methods for users that every catalog has beside the operations of the contract."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import lance_namespace as ln

from lanceway.catalogs.handles import names, suggestions
from lanceway.catalogs.handles.names import Name, joined, table_name
from lanceway.catalogs.handles.packages import require
from lanceway.catalogs.handles.sql import Query
from lanceway.catalogs.handles.table import Table, existing_table
from lanceway.catalogs.handles.tree import NamespaceTree
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import (
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    namespace_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables.write.data import for_new_table

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lancedb.namespace import LanceNamespaceDBConnection

# How many namespaces, and how many tables, a notebook shows of a catalog.
_SHOWN = 50


class CatalogContents(ln.LanceNamespace):
    """Tables and namespaces by name. A name is a text with dots, or a list where a name has dots in it."""

    def tables(self, namespace: Name = (), *, recursive: bool = False) -> list[str]:
        """Return the names of the tables in a namespace, with `recursive` of those in the namespaces below it too."""
        above = Identifier.of(namespace)
        with self._suggesting(above):
            if recursive:
                return [joined(table) for table in names.list_all_tables(self, above)]
            return [joined(above.child(name)) for name in names.list_tables(self, above)]

    def namespaces(self, namespace: Name = (), *, recursive: bool = False) -> list[str]:
        """Return the names of the namespaces in a namespace, with `recursive` of those below them too."""
        above = Identifier.of(namespace)
        with self._suggesting(above):
            return [joined(found) for found in self._namespaces_in(above, recursive)]

    def _namespaces_in(self, above: Identifier, recursive: bool) -> Iterator[Identifier]:
        for name in names.list_namespaces(self, above):
            yield above.child(name)
            if recursive:
                yield from self._namespaces_in(above.child(name), recursive)

    def tree(self, namespace: Name = ()) -> NamespaceTree:
        """Return a namespace with all that is in it, to be looked at."""
        above = Identifier.of(namespace)
        with self._suggesting(above):
            below = [self.tree(above.child(name)) for name in names.list_namespaces(self, above)]
            return NamespaceTree(above.name, names.list_tables(self, above), below)

    @contextmanager
    def _suggesting(self, namespace: Identifier) -> Iterator[None]:
        """Add the nearest name that there is to the error for a namespace that is missing."""
        try:
            yield
        except NamespaceNotFoundError as error:
            hint = suggestions.for_namespace(self, namespace)
            if not hint:
                raise
            raise namespace_not_found(f"There is no namespace {namespace}.{hint}") from error

    def table(self, name: Name) -> Table:
        """Return a table. Raises TableNotFoundError, with the nearest name that there is."""
        return existing_table(self, table_name(name))

    def sql(self, query: str, **tables: Table) -> Query:
        """Run an SQL query over tables, by their whole names: `SELECT … FROM team.fruit JOIN team.prices USING (id)`.

        Nothing but a query is run. It runs in this process, on the storage of the tables that it names, and reads the
        columns and rows that it needs. `tables` are further ones by a name of their own, such as older versions.
        """

        def open_table(identifier: Identifier) -> lance.LanceDataset:
            named = tables.get(identifier.name) if identifier.depth == 1 else None
            return (named or existing_table(self, identifier)).lance()

        return Query(query, open_table)

    def create(
        self,
        name: Name,
        data: Any = None,
        *,
        schema: pa.Schema | None = None,
        mode: str = "create",
        properties: Mapping[str, str] | None = None,
        vectors: Sequence[str] = (),
    ) -> Table:
        """Create a table of data, or an empty one of a schema, and the namespaces that are missing above it.

        Data is an Arrow table, batches or a reader, a pandas or polars data frame, a list of dictionaries, a dictionary
        of columns, or the path of a Parquet file. Lists of floats of one length in dictionaries become vectors;
        `vectors` names columns of other data that are to. The mode `overwrite` replaces a table that there is, and
        `exist_ok` keeps it.
        """
        identifier = table_name(name)
        reader = for_new_table(data, schema, vectors)
        kept = None if properties is None else dict(properties)
        request = ln.CreateTableRequest(id=list(identifier), mode=mode, properties=kept)
        with self._made_for(identifier):
            carry_out(self, "create_table_stream", request, reader)
        return Table(self, identifier)

    def drop(self, name: Name) -> None:
        """Drop a table with its data."""
        self.drop_table(ln.DropTableRequest(id=list(table_name(name))))

    def rename(self, name: Name, new: Name) -> Table:
        """Give a table a new name, in the same namespace or in another one."""
        target = table_name(new)
        self.rename_table(
            ln.RenameTableRequest(
                id=list(table_name(name)), new_table_name=target.name, new_namespace_id=list(target.parent)
            )
        )
        return Table(self, target)

    def lancedb(self) -> LanceNamespaceDBConnection:
        """Return LanceDB's own connection over this catalog."""
        connection: LanceNamespaceDBConnection = require("lancedb.namespace", "lancedb()").LanceNamespaceDBConnection(
            self
        )
        return connection

    def __getitem__(self, name: Name) -> Table:
        return self.table(name)

    def __contains__(self, name: Name) -> bool:
        try:
            self.table_exists(ln.TableExistsRequest(id=list(table_name(name))))
        except (TableNotFoundError, NamespaceNotFoundError):
            return False
        return True

    # Or Python would ask `__getitem__` for 0, 1, 2 and so on.
    __iter__ = None

    def _repr_html_(self) -> str:
        """Show the first names of the root: a notebook waits for two pages, however large the catalog is."""
        try:
            namespaces = self.list_namespaces(ln.ListNamespacesRequest(id=[], limit=_SHOWN))
            tables = self.list_tables(ln.ListTablesRequest(id=[], limit=_SHOWN))
        except LanceNamespaceError:
            return html.escape(repr(self))  # out of reach: it still has its name
        more = ["…"] if namespaces.page_token or tables.page_token else []
        lines = [*(f"{name}/" for name in namespaces.namespaces), *tables.tables, *more]
        return f"<p>{html.escape(repr(self))}</p><pre>{html.escape(chr(10).join(lines))}</pre>"

    # -- namespaces above a new table ------------------------------------------------------------

    def _creates_in_root(self) -> bool:
        """Return whether a namespace made in the root is only that, and not a catalog of a server."""
        return True

    @contextmanager
    def _made_for(self, table: Identifier) -> Iterator[None]:
        """Make what is missing above a table; take it away again where the table is not made after all."""
        with ExitStack() as undo:
            for namespace in self._missing_above(table):
                self.create_namespace(ln.CreateNamespaceRequest(id=list(namespace), mode="exist_ok"))
                undo.callback(self._take_away, namespace)
            yield
            undo.pop_all()

    def _take_away(self, namespace: Identifier) -> None:
        with suppress(LanceNamespaceError):  # another client has put something into it
            self.drop_namespace(ln.DropNamespaceRequest(id=list(namespace)))

    def _missing_above(self, table: Identifier) -> list[Identifier]:
        """Return the namespaces to be made for a table, the highest first. Raises NamespaceNotFoundError in a root of
        catalogs.
        """
        missing: list[Identifier] = []
        for depth in range(table.depth - 1, 0, -1):
            namespace = Identifier(table[:depth])
            try:
                self.namespace_exists(ln.NamespaceExistsRequest(id=list(namespace)))
                break
            except NamespaceNotFoundError as error:
                if depth == 1 and not self._creates_in_root():
                    hint = suggestions.for_root_namespace(self, table)
                    raise namespace_not_found(
                        f"There is no {table[0]!r} at the root of this server, where create() makes no namespace: it "
                        f"might be a catalog.{hint}"
                    ) from error
                missing.insert(0, namespace)
        return missing
