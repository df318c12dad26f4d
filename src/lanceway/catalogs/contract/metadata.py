"""Operations on a catalog's metadata: namespaces, and where tables are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import lance_namespace as ln

from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.requests import accept, mode, page_limit, page_of, page_start, page_token, table_id
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
)
from lanceway.identifiers import ROOT, Identifier
from lanceway.tables import dataset

# Walking a whole tree asks for its namespaces and tables in pages of this size.
_WALK_PAGE = 1000
# list_all_tables gives identifiers as strings, joined as on the Lance REST wire.
WIRE_DELIMITER = "$"


class MetadataOperations(CatalogHooks):
    """Modes, paging, existence and lists, equal in every catalog."""

    # -- namespaces ------------------------------------------------------------------------------

    def list_namespaces(
        self, request: ln.ListNamespacesRequest | Mapping[str, Any] | None = None
    ) -> ln.ListNamespacesResponse:
        request = accept(ln.ListNamespacesRequest, request)
        namespace = Identifier(request.id or ())
        limit, scope = page_limit(request.limit), _scope("namespaces", namespace)
        names = self._child_namespaces(namespace, page_start(scope, request.page_token), limit and limit + 1)
        names, token = page_of(names, limit, scope, str)
        return ln.ListNamespacesResponse(namespaces=names, page_token=token)

    def describe_namespace(
        self, request: ln.DescribeNamespaceRequest | Mapping[str, Any]
    ) -> ln.DescribeNamespaceResponse:
        request = accept(ln.DescribeNamespaceRequest, request)
        return ln.DescribeNamespaceResponse(properties=_plain(self._properties_of(Identifier(request.id or ()))))

    def namespace_exists(self, request: ln.NamespaceExistsRequest | Mapping[str, Any]) -> ln.NamespaceExistsResponse:
        request = accept(ln.NamespaceExistsRequest, request)
        self._properties_of(Identifier(request.id or ()))
        return ln.NamespaceExistsResponse()

    def create_namespace(self, request: ln.CreateNamespaceRequest | Mapping[str, Any]) -> ln.CreateNamespaceResponse:
        request = accept(ln.CreateNamespaceRequest, request)
        namespace, properties = Identifier(request.id or ()), request.properties or {}
        if namespace.is_root:
            return create_root(request.mode)
        chosen = _create_mode(request.mode)
        try:
            created = self._create_namespace(namespace, properties)
        except NamespaceAlreadyExistsError:
            if chosen == "create":
                raise
            created = self._keep_or_replace(namespace, properties, replace=chosen == "overwrite")
        return ln.CreateNamespaceResponse(properties=_plain(created))

    def _keep_or_replace(
        self, namespace: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> Mapping[str, str] | None:
        try:
            current = self._namespace_properties(namespace)
        except NamespaceNotFoundError as error:
            raise NamespaceAlreadyExistsError(
                f"{namespace} cannot be made a namespace: a table has this name. Rename or drop the table first."
            ) from error
        if not replace:
            return current
        self._drop_namespace(namespace, cascade=True)
        return self._create_namespace(namespace, properties)

    def drop_namespace(self, request: ln.DropNamespaceRequest | Mapping[str, Any]) -> ln.DropNamespaceResponse:
        request = accept(ln.DropNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        missing = mode("The mode of drop_namespace", request.mode, "fail", "skip")
        behavior = mode("The behavior of drop_namespace", request.behavior, "restrict", "cascade")
        if namespace.is_root:
            refuse_drop_of_root()
        try:
            return ln.DropNamespaceResponse(
                properties=_plain(self._drop_namespace(namespace, cascade=behavior == "cascade"))
            )
        except NamespaceNotFoundError:
            if missing == "skip":
                return ln.DropNamespaceResponse()
            raise

    def _properties_of(self, namespace: Identifier) -> Mapping[str, str] | None:
        return {} if namespace.is_root else self._namespace_properties(namespace)

    # -- tables ----------------------------------------------------------------------------------

    def list_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        request = accept(ln.ListTablesRequest, request)
        namespace = Identifier(request.id or ())
        limit, scope = page_limit(request.limit), list_scope(namespace)
        names = self._child_tables(
            namespace,
            page_start(scope, request.page_token),
            limit and limit + 1,
            request.include_declared is not False,
        )
        names, token = page_of(names, limit, scope, str)
        return ln.ListTablesResponse(tables=names, page_token=token)

    def list_all_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        """List every table below a namespace, or below the root, in order of its identifier."""
        request = accept(ln.ListTablesRequest, request)
        namespace, limit = Identifier(request.id or ()), page_limit(request.limit)
        scope = _scope("all", namespace)
        after = page_start(scope, request.page_token)
        start = Identifier.parse(after, WIRE_DELIMITER) if after else ROOT
        self._properties_of(namespace)
        tables: list[str] = []
        for table in self._walk(namespace, start, request.include_declared is not False):
            if limit is not None and len(tables) == limit:
                return ln.ListTablesResponse(tables=tables, page_token=page_token(scope, tables[-1]))
            tables.append(table.format(WIRE_DELIMITER))
        return ln.ListTablesResponse(tables=tables)

    def _walk(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """Yield the tables after `after`, depth first; a table comes before a namespace of the same name."""
        depth = namespace.depth
        resumed = after[depth] if after.startswith(namespace) and after.depth > depth else None
        if resumed is not None and after.depth > depth + 1:
            yield from self._walk_below(namespace.child(resumed), after, include_declared)
        tables = self._paged(lambda start: self._child_tables(namespace, start, _WALK_PAGE, include_declared), resumed)
        children = self._children_from(namespace, resumed, with_first=self.SHARES_NAMES and after.depth == depth + 1)
        named = heapq.merge(((name, False) for name in tables), ((name, True) for name in children))
        for name, is_namespace in named:
            if is_namespace:
                yield from self._walk_below(namespace.child(name), ROOT, include_declared)
            else:
                yield namespace.child(name)

    def _children_from(self, namespace: Identifier, first: str | None, *, with_first: bool) -> Iterator[str]:
        """Yield the namespaces after `first`, or from it on, if that was a table and a namespace may share its name."""
        before = first[:-1] if first and with_first else first
        names = self._paged(lambda start: self._child_namespaces(namespace, start, _WALK_PAGE), before)
        return (name for name in names if not first or name > first or (with_first and name == first))

    def _walk_below(self, namespace: Identifier, after: Identifier, include_declared: bool) -> Iterator[Identifier]:
        """Yield the tables of a namespace inside a walk; none if it was dropped since it was listed."""
        with suppress(NamespaceNotFoundError):
            yield from self._walk(namespace, after, include_declared)

    @staticmethod
    def _paged(page: Callable[[str | None], Sequence[str]], after: str | None) -> Iterator[str]:
        while names := page(after):
            yield from names
            if len(names) < _WALK_PAGE:
                return
            after = names[-1]

    def describe_table(self, request: ln.DescribeTableRequest | Mapping[str, Any]) -> ln.DescribeTableResponse:
        request = accept(ln.DescribeTableRequest, request)
        table = table_id(request.id, "describe_table")
        entry = self._find_table(table)
        response = ln.DescribeTableResponse(
            location=entry.location,
            storage_options=_plain(entry.storage_options),
            properties=_plain(entry.properties),
            managed_versioning=entry.managed,
            table_uri=dataset.uri(entry.location) if request.with_table_uri else None,
        )
        if request.check_declared or request.load_detailed_metadata:
            response.is_only_declared = self._is_declared_only(table, entry)
        if request.load_detailed_metadata:
            response.table, response.namespace = table.name, list(table.parent)
        if request.version is None and request.tag is None and request.branch is None:
            response.var_schema = self._known_schema(entry)
        dataset.describe(self._handle(table, entry), request, response)
        return response

    def table_exists(self, request: ln.TableExistsRequest | Mapping[str, Any]) -> ln.TableExistsResponse:
        request = accept(ln.TableExistsRequest, request)
        table = table_id(request.id, "table_exists")
        entry = self._find_table(table)
        if request.version is not None:
            dataset.open_at(self._handle(table, entry), version=request.version)
        return ln.TableExistsResponse()

    def declare_table(self, request: ln.DeclareTableRequest | Mapping[str, Any]) -> ln.DeclareTableResponse:
        request = accept(ln.DeclareTableRequest, request)
        table = table_id(request.id, "declare_table")
        entry = self._declare_table(table, request.location, request.properties or {})
        return ln.DeclareTableResponse(
            location=entry.location,
            storage_options=_plain(entry.storage_options),
            properties=_plain(entry.properties),
            managed_versioning=entry.managed,
        )

    def register_table(self, request: ln.RegisterTableRequest | Mapping[str, Any]) -> ln.RegisterTableResponse:
        request = accept(ln.RegisterTableRequest, request)
        table = table_id(request.id, "register_table")
        chosen = mode("The mode of register_table", request.mode, "create", "overwrite")
        if not request.location:
            raise InvalidInputError(f"register_table needs the location of {table}, but it is empty.")
        entry = self._register_table(table, request.location, request.properties or {}, chosen == "overwrite")
        return ln.RegisterTableResponse(location=entry.location, properties=_plain(entry.properties))

    def deregister_table(self, request: ln.DeregisterTableRequest | Mapping[str, Any]) -> ln.DeregisterTableResponse:
        request = accept(ln.DeregisterTableRequest, request)
        table = table_id(request.id, "deregister_table")
        entry = self._deregister_table(table)
        return ln.DeregisterTableResponse(id=list(table), location=entry.location, properties=_plain(entry.properties))

    def drop_table(self, request: ln.DropTableRequest | Mapping[str, Any]) -> ln.DropTableResponse:
        request = accept(ln.DropTableRequest, request)
        table = table_id(request.id, "drop_table")
        entry = self._drop_table(table)
        return ln.DropTableResponse(id=list(table), location=entry.location, properties=_plain(entry.properties))

    def rename_table(self, request: ln.RenameTableRequest | Mapping[str, Any]) -> ln.RenameTableResponse:
        request = accept(ln.RenameTableRequest, request)
        table = table_id(request.id, "rename_table")
        parent = table.parent if request.new_namespace_id is None else Identifier(request.new_namespace_id)
        target = parent.child(request.new_table_name)
        if target == table:
            raise TableAlreadyExistsError(f"{table} already has this name; nothing was renamed.")
        self._rename_table(table, target)
        return ln.RenameTableResponse()


def create_root(requested: str | None) -> ln.CreateNamespaceResponse:
    """Answer the creation of the root, which always exists: refused unless the mode is exist_ok."""
    chosen = _create_mode(requested)
    if chosen == "exist_ok":
        return ln.CreateNamespaceResponse(properties={})
    if chosen == "overwrite":
        raise InvalidInputError("The root namespace cannot be overwritten: it always exists.")
    raise NamespaceAlreadyExistsError("The root namespace always exists; give id the names of the new one.")


def refuse_drop_of_root() -> NoReturn:
    """Refuse to drop the root."""
    raise InvalidInputError("The root namespace cannot be dropped; drop the namespaces and tables in it.")


def _create_mode(requested: str | None) -> str:
    return mode("The mode of create_namespace", requested, "create", "exist_ok", "overwrite")


def list_scope(namespace: Identifier) -> str:
    """Return the scope of the page tokens of a namespace's tables."""
    return _scope("tables", namespace)


def _scope(kind: str, namespace: Identifier) -> str:
    return "\x00".join((kind, *namespace))


def _plain(mapping: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if mapping is None else dict(mapping)
