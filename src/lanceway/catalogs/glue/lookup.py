"""What lies in Glue: catalogs, which hold catalogs and databases, and databases, which hold tables."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast

from lanceway.catalogs.glue import names as glue_names
from lanceway.catalogs.glue.client import Answer
from lanceway.catalogs.glue.connection import GlueConnection
from lanceway.catalogs.glue.errors import FederationError, GlueForbiddenError
from lanceway.catalogs.glue.settings import DATABASES
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, UnsupportedOperationError
from lanceway.identifiers import ROOT, Identifier

log = logging.getLogger(__name__)


class GlueKind(Enum):
    CATALOG = "catalog"
    DATABASE = "database"


class GlueLookup(GlueConnection):
    """Finding and listing namespaces."""

    # -- finding ---------------------------------------------------------------------------------

    def _catalog(self, path: Identifier) -> Answer | None:
        """A catalog below the root, None if there is none of this path."""
        if not glue_names.may_be_catalogs(path):
            return None
        try:
            answer = self._glue.call("GetCatalog", f"The catalog {path}", **self._in(path))
        except (NamespaceNotFoundError, InvalidInputError, UnsupportedOperationError):
            return None  # a compatible service may have no catalogs at all
        return cast(Answer, answer["Catalog"])

    def _database(self, path: Identifier) -> Answer:
        """A database. Raises NamespaceNotFoundError."""
        catalog = Identifier(path[:-1])
        if not glue_names.may_be_catalogs(catalog):
            raise NamespaceNotFoundError(f"There is no namespace {path}: no catalog of Glue has such a name.")
        answer = self._glue.call("GetDatabase", f"The namespace {path}", Name=path.name, **self._in(catalog))
        return cast(Answer, answer["Database"])

    def _found(self, namespace: Identifier) -> tuple[GlueKind, Answer]:
        """What a namespace is: a catalog if one has the name, else a database; the other way round if set so."""
        if self._settings["hierarchy"] == DATABASES:
            return self._found_as_database(namespace)
        denied: GlueForbiddenError | None = None
        try:
            catalog = self._catalog(namespace)
        except GlueForbiddenError as error:  # Lake Formation says so of catalogs that are not there, too
            catalog, denied = None, error
        if catalog is not None:
            return GlueKind.CATALOG, catalog
        try:
            return GlueKind.DATABASE, self._database(namespace)
        except NamespaceNotFoundError as error:
            raise denied or error from None

    def _found_as_database(self, namespace: Identifier) -> tuple[GlueKind, Answer]:
        try:
            return GlueKind.DATABASE, self._database(namespace)
        except NamespaceNotFoundError:
            catalog = self._catalog(namespace)
            if catalog is None:
                raise
            return GlueKind.CATALOG, catalog

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        _, found = self._found(glue_names.folded(namespace))
        return dict(found.get("Parameters") or {})

    # -- listing ---------------------------------------------------------------------------------

    def _catalogs_in(self, path: Identifier) -> Iterator[str]:
        """The names of the catalogs directly inside a catalog. Names come from ids, where they are never shortened."""
        id_ = self._catalog_id(path)
        # Glue refuses IncludeRoot beside a parent. With it, the account's own catalog is in the answer: it is the root.
        asked: dict[str, Any] = {"ParentCatalogId": id_} if id_ else {"IncludeRoot": True}
        for row in self._glue.rows("GetCatalogs", f"The catalogs in {path}", Recursive=False, **asked):
            found = row.get("CatalogId") or row["Name"]
            if found != id_ and not glue_names.is_account(found):
                yield glue_names.name_of(found)

    def _databases_in(self, path: Identifier) -> Iterator[str]:
        for row in self._glue.rows("GetDatabases", f"The databases in {path}", **self._in(path)):
            yield row["Name"]

    def _children(self, path: Identifier) -> set[str]:
        """What lies in a catalog, as far as the caller may see it.

        Who may list databases but no catalogs, or the reverse, gets what there is of the one kind; some federated
        catalogs refuse to be asked for databases. Whoever may see neither is told so.
        """
        names: set[str] = set()
        try:
            names.update(self._catalogs_in(path))
        except (FederationError, GlueForbiddenError, UnsupportedOperationError):
            return {*self._databases_in(path)}
        try:
            names.update(self._databases_in(path))
        except (GlueForbiddenError, InvalidInputError):
            if not names and (path.is_root or not self._is_federated(path)):
                raise
        return names

    def _is_federated(self, path: Identifier) -> bool:
        return bool((self._catalog(path) or {}).get("FederatedCatalog"))

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        namespace = glue_names.folded(namespace)
        if not namespace.is_root and self._found(namespace)[0] is GlueKind.DATABASE:
            return []
        return sorted(name for name in self._children(namespace) if after is None or name > after)[:limit]

    def _walk(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """As every catalog's, but a database is read once: Glue cannot begin a list in the middle."""
        depth = namespace.depth
        resumed = after[depth] if after.startswith(namespace) and after.depth > depth else None
        if resumed is not None and after.depth > depth + 1:
            yield from self._walk_visible(namespace.child(resumed), after, include_declared)
        tables = self._child_tables(namespace, resumed, None, include_declared)
        children = self._child_namespaces(namespace, resumed, None)
        for name, is_table in heapq.merge(((name, True) for name in tables), ((name, False) for name in children)):
            if is_table:
                yield namespace.child(name)
            else:
                yield from self._walk_visible(namespace.child(name), ROOT, include_declared)

    def _walk_visible(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """The same for what lies somewhere below.

        What a caller may not read is nothing that a list could show; and a federated catalog shows what its source
        keeps, where no Lance table can be, so that a source that is down takes none away.
        """
        try:
            yield from self._walk(namespace, after, include_declared)
        except GlueForbiddenError as error:
            log.info("%s is passed over: %s", namespace, error)
        except FederationError as error:
            log.warning("%s is passed over: %s", namespace, error)

    def _rows_of(self, database: Identifier) -> Iterator[Answer]:
        """Every table of a database as Glue has it, Lance or not. Raises NamespaceNotFoundError."""
        catalog = Identifier(database[:-1])
        if not glue_names.may_be_catalogs(catalog):
            raise NamespaceNotFoundError(f"There is no namespace {database}: no catalog of Glue has such a name.")
        yield from self._glue.rows(
            "GetTables", f"The tables of {database}", DatabaseName=database.name, **self._in(catalog)
        )
