"""The tree's root: its namespaces are the catalogs, and it holds no tables."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lance_namespace import (
    CreateNamespaceRequest,
    CreateNamespaceResponse,
    DescribeNamespaceRequest,
    DescribeNamespaceResponse,
    DropNamespaceRequest,
    DropNamespaceResponse,
    ListNamespacesRequest,
    ListNamespacesResponse,
    ListTablesRequest,
    ListTablesResponse,
    NamespaceExistsRequest,
    NamespaceExistsResponse,
)

from lanceway.catalogs.contract.metadata import create_root, refuse_drop_of_root
from lanceway.catalogs.contract.requests import accept, mode, page_limit, page_of, page_start
from lanceway.catalogs.federated.mounts import check_name
from lanceway.catalogs.federated.tree import FederatedTree, canonical
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lanceway.catalogs.federated.own_lake import OwnLake


class FederatedRoot(FederatedTree):
    """Catalogs as namespaces."""

    # -- looking ---------------------------------------------------------------------------------

    def list_namespaces(self, request: ListNamespacesRequest) -> ListNamespacesResponse:
        """At the root, every catalog; none of them is asked."""
        request = accept(ListNamespacesRequest, request)
        if request.id:
            answer: ListNamespacesResponse = self._forward("list_namespaces", request)
            return answer
        limit, scope = page_limit(request.limit), "catalogs"
        names = self._names(page_start(scope, request.page_token), limit and limit + 1)
        names, token = page_of(names, limit, scope, str)
        return ListNamespacesResponse(namespaces=names, page_token=token)

    def _names(self, after: str | None, limit: int | None = None) -> Sequence[str]:
        """The first `limit` catalogs after `after`, in code point order."""
        configured = sorted(name for name in self._configured if name > (after or ""))
        own = [] if self._lake is None else self._lake.names(after, limit)
        return list(heapq.merge(configured, (name for name in own if name not in self._configured)))[:limit]

    def describe_namespace(self, request: DescribeNamespaceRequest) -> DescribeNamespaceResponse:
        """Of a catalog, its type and properties; one from the configuration is not asked."""
        request = accept(DescribeNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.depth > 1:
            answer: DescribeNamespaceResponse = self._forward("describe_namespace", request)
            return answer
        return DescribeNamespaceResponse(properties=self._properties(namespace))

    def namespace_exists(self, request: NamespaceExistsRequest) -> NamespaceExistsResponse:
        request = accept(NamespaceExistsRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.depth > 1:
            answer: NamespaceExistsResponse = self._forward("namespace_exists", request)
            return answer
        self._properties(namespace)
        return NamespaceExistsResponse()

    def _properties(self, namespace: Identifier) -> dict[str, str]:
        return {} if namespace.is_root else self._properties_of(canonical(namespace.name))

    def _properties_of(self, name: str) -> dict[str, str]:
        configured = self._configured.get(name)
        if configured is not None:
            return dict(configured.properties)
        if self._lake is None:
            raise self._missing(name)
        return self._lake.properties(name)

    def list_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """At the root there are none."""
        request = accept(ListTablesRequest, request)
        if request.id:
            answer: ListTablesResponse = self._forward("list_tables", request)
            return answer
        page_limit(request.limit)
        page_start("no tables", request.page_token)
        return ListTablesResponse(tables=[])

    # -- changing --------------------------------------------------------------------------------

    def create_namespace(self, request: CreateNamespaceRequest) -> CreateNamespaceResponse:
        """At the root, a nested catalog of the lake."""
        request = accept(CreateNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.is_root:
            return create_root(request.mode)
        if namespace.depth > 1:
            answer: CreateNamespaceResponse = self._forward("create_namespace", request)
            return answer
        chosen = mode("The mode of create_namespace", request.mode, "create", "exist_ok", "overwrite")
        name = canonical(namespace.name)
        if name in self._configured:
            return CreateNamespaceResponse(properties=self._keep_configured(name, chosen))
        made = self._create_catalog(name, request.properties or {}, chosen)
        return CreateNamespaceResponse(properties=made)

    def _keep_configured(self, name: str, chosen: str) -> dict[str, str]:
        if chosen == "overwrite":
            raise self._read_only(name)
        if chosen == "create":
            raise NamespaceAlreadyExistsError(
                f"The catalog {name!r} cannot be made: the configuration has one of this name. Choose another name."
            )
        return dict(self._configured[name].properties)

    def _create_catalog(self, name: str, properties: Mapping[str, str], chosen: str) -> dict[str, str]:
        check_name(name)
        lake, by = self._own("create_namespace"), self._by
        try:
            lake.create(name, properties, by=by, replace=chosen == "overwrite")
        except NamespaceAlreadyExistsError:
            if chosen != "exist_ok":
                raise
        return lake.properties(name)

    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """At the root, a catalog of the lake: an empty one, or with `cascade` all that is in it too."""
        request = accept(DropNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        missing = mode("The mode of drop_namespace", request.mode, "fail", "skip")
        behavior = mode("The behavior of drop_namespace", request.behavior, "restrict", "cascade")
        if namespace.is_root:
            refuse_drop_of_root()
        if namespace.depth > 1:
            answer: DropNamespaceResponse = self._forward("drop_namespace", request)
            return answer
        name = canonical(namespace.name)
        if name in self._configured:
            raise self._read_only(name)
        lake, by = self._own("drop_namespace"), self._by
        try:
            return DropNamespaceResponse(properties=lake.drop(name, by=by, cascade=behavior == "cascade"))
        except NamespaceNotFoundError:
            if missing == "skip":
                return DropNamespaceResponse()
            raise

    @property
    def _by(self) -> str:
        return self._user or self._own("create_namespace").user

    def _own(self, operation: str) -> OwnLake:
        if self._lake is None:
            raise UnsupportedOperationError(
                f"The root does not support {operation}: its catalogs all come from the configuration, and there is no "
                "lake to make others in."
            )
        return self._lake

    def _read_only(self, name: str) -> InvalidInputError:
        return InvalidInputError(
            f"The catalog {name!r} comes from the configuration and is read-only here. Change its section "
            f"[catalogs.{name}] instead."
        )
