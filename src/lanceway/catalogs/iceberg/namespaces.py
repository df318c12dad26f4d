"""The namespaces of an Iceberg REST catalog, below warehouses, to any depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lance_namespace import DropNamespaceRequest, DropNamespaceResponse

from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.iceberg.connection import IcebergConnection, Warehouse
from lanceway.catalogs.iceberg.names import check, check_levels
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.wire import iceberg


class IcebergNamespaces(IcebergConnection):
    """The root holds the configured warehouse, a warehouse holds namespaces, and they hold both."""

    SHARES_NAMES = True

    def drop_namespace(self, request: DropNamespaceRequest) -> DropNamespaceResponse:
        """A namespace that is missing is fine, as the specification has it, unless mode `fail` is asked for."""
        request = accept(DropNamespaceRequest, request)
        return super().drop_namespace(request if request.mode else request.model_copy(update={"mode": "skip"}))

    # -- the contract's questions ----------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        warehouse, names = self._inside(namespace)
        if not names:
            return {}
        answer = self._ask(warehouse, "load_namespace", f"Loading the namespace {namespace}", names)
        return iceberg.read_properties(answer)

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        found = [self._configured()] if namespace.is_root else self._listed(namespace)
        return sorted(name for name in found if after is None or name > after)[:limit]

    def _listed(self, namespace: Identifier) -> list[str]:
        children = self._children(namespace)
        if not children and namespace.depth > 1:
            self._need_namespace(namespace)  # some servers answer nothing for a namespace that is missing
        return children

    def _children(self, namespace: Identifier) -> list[str]:
        warehouse, names = self._inside(namespace)
        parent = [("parent", iceberg.write_namespace(names, warehouse.config.separator))] if names else []
        pages = self._pages(warehouse, "list_namespaces", f"Listing the namespaces in {namespace}", query=parent)
        rows = {row for page in pages for row in iceberg.read_namespaces(page)}
        # Some servers give grandchildren too, or what begins with the same letters.
        return [row[-1] for row in rows if row and row[:-1] == names]

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        warehouse, names = self._inside(namespace)
        if not names:
            raise NamespaceAlreadyExistsError(f"The warehouse {namespace} is there already, and its server's to make.")
        if len(names) > 1:
            self._need_namespace(namespace.parent)  # some servers make orphans
        body = iceberg.create_namespace_body(names, properties)
        try:
            answer = self._ask(warehouse, "create_namespace", f"Creating the namespace {namespace}", body=body)
        except InternalError as error:
            if not self._has_namespace(namespace):
                raise
            # Some servers break down where several make the same one.
            raise ConcurrentModificationError(
                f"{namespace} is there now, but its server failed while it was made: {error} Somebody else may have "
                "made it; describe it before you use it."
            ) from error
        return iceberg.read_properties(answer)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        if cascade:
            raise UnsupportedOperationError(
                f"{namespace} cannot be dropped with what it holds: Iceberg catalogs drop empty namespaces alone. Drop "
                "its tables and namespaces first."
            )
        warehouse, names = self._inside(namespace)
        if not names:
            raise InvalidInputError(f"The warehouse {namespace} cannot be dropped: it is its server's.")
        if self._children(namespace):  # some servers leave them behind as orphans
            raise NamespaceNotEmptyError(f"{namespace} cannot be dropped: it holds namespaces. Drop them first.")
        self._ask(warehouse, "drop_namespace", f"Dropping the namespace {namespace}", names)
        return None

    # -- help ------------------------------------------------------------------------------------

    def _inside(self, namespace: Identifier) -> tuple[Warehouse, tuple[str, ...]]:
        """The warehouse of a namespace, and the names inside it."""
        check(namespace)
        warehouse = self._warehouse(namespace[0])
        names = tuple(namespace[1:])
        check_levels(Identifier(names), warehouse.config.separator)
        return warehouse, names

    def _configured(self) -> str:
        found: str | None = self._settings["warehouse"]
        if found is None:
            raise InvalidInputError(
                f"{self._owner()} cannot list its root: no server lists its warehouses. Set warehouse, or begin the "
                "identifier with the name of one."
            )
        return found

    def _has_namespace(self, namespace: Identifier) -> bool:
        try:
            self._namespace_properties(namespace)
        except NamespaceNotFoundError:
            return False
        return True

    def _need_namespace(self, namespace: Identifier) -> None:
        """Raises NamespaceNotFoundError, with the namespace's own name."""
        try:
            self._namespace_properties(namespace)
        except NamespaceNotFoundError as error:
            raise NamespaceNotFoundError(f"There is no namespace {namespace}. Create it first.") from error
