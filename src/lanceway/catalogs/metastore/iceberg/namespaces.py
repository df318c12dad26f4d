"""The namespaces of an Iceberg REST catalog, below warehouses, to any depth."""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.catalogs.metastore.iceberg.client import IcebergClient
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.identifiers import Identifier, check_visible
from lanceway.wire import iceberg


class IcebergNamespaces:
    """The root holds the configured warehouse, a warehouse holds namespaces, and they hold namespaces and tables."""

    def __init__(self, client: IcebergClient, warehouse: str | None, owner: str) -> None:
        self._client = client
        self._configured = warehouse
        self._owner = owner

    def properties(self, namespace: Identifier) -> Mapping[str, str]:
        """Return the properties of a namespace. Raises NamespaceNotFoundError."""
        warehouse, names = self._client.resolve(namespace)
        if not names:
            return {}
        response = self._client.ask(warehouse, "load_namespace", f"Loading the namespace {namespace}", names)
        return iceberg.read_properties(response)

    def require(self, namespace: Identifier) -> None:
        """Raise NamespaceNotFoundError, with the namespace's own name, if it is missing."""
        try:
            self.properties(namespace)
        except NamespaceNotFoundError as error:
            raise namespace_not_found(f"There is no namespace {namespace}. Create it first.") from error

    def _exists(self, namespace: Identifier) -> bool:
        try:
            self.properties(namespace)
        except NamespaceNotFoundError:
            return False
        return True

    def configured_warehouse(self) -> str:
        """Return the warehouse that the root lists. Raises InvalidInputError if none is set."""
        if self._configured is None:
            raise InvalidInputError(
                f"{self._owner} cannot list its root: no server lists its warehouses. Set warehouse, or begin the "
                "identifier with the name of one."
            )
        return self._configured

    def ask_service(self) -> None:
        """Ask for a namespace of the configured warehouse. Raises InvalidInputError if none is set."""
        warehouse, _ = self._client.resolve(Identifier((self.configured_warehouse(),)))
        what = f"Listing the namespaces in {warehouse.name}"
        self._client.ask(warehouse, "list_namespaces", what, query=[("pageSize", "1")])

    def children(self, namespace: Identifier) -> list[str]:
        """Return the names in a namespace, in no order. Raises NamespaceNotFoundError."""
        if namespace.is_root:
            return [self.configured_warehouse()]
        children = self._list(namespace)
        if not children and namespace.depth > 1:
            self.require(namespace)  # some servers answer nothing for a namespace that is missing
        return children

    def _list(self, namespace: Identifier) -> list[str]:
        warehouse, names = self._client.resolve(namespace)
        parent = [("parent", iceberg.write_namespace(names, warehouse.config.separator))] if names else []
        pages = self._client.pages(warehouse, "list_namespaces", f"Listing the namespaces in {namespace}", query=parent)
        rows = {row for page in pages for row in iceberg.read_namespaces(page)}
        # Some servers give grandchildren too, or what begins with the same letters.
        return [row[-1] for row in rows if row and row[:-1] == names]

    def create(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Make a namespace in an existing parent."""
        warehouse, names = self._client.resolve(namespace)
        if not names:
            raise NamespaceAlreadyExistsError(f"The warehouse {namespace} exists already, and is made by its server.")
        check_visible(namespace.name)
        if len(names) > 1:
            self.require(namespace.parent)  # some servers make orphans
        body = iceberg.create_namespace_body(names, properties)
        try:
            response = self._client.ask(warehouse, "create_namespace", f"Creating the namespace {namespace}", body=body)
        except InternalError as error:
            if not self._exists(namespace):
                raise
            # Some servers break down where several clients make the same one.
            raise ConcurrentModificationError(
                f"{namespace} is there now, but its server failed while it was made: {error} Another client may have "
                "made it; describe it before you use it."
            ) from error
        return iceberg.read_properties(response)

    def replace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Overwrite an existing namespace in place if it is empty: at no moment is it missing."""
        warehouse, names = self._client.resolve(namespace)
        if not names:
            raise InvalidInputError(f"The warehouse {namespace} cannot be overwritten: it is its server's.")
        self._refuse_filled(namespace, "overwritten")
        removals = sorted(set(self.properties(namespace)) - set(properties))
        if removals or properties:
            body = iceberg.update_properties_body(removals, properties)
            what = f"Overwriting the namespace {namespace}"
            self._client.ask(warehouse, "update_properties", what, names, body=body)
        return dict(properties)

    def _refuse_filled(self, namespace: Identifier, verb: str) -> None:
        inside = next(iter(self._list(namespace)), None) or self._first_table(namespace)
        if inside is not None:
            raise namespace_not_empty(
                f"{namespace} cannot be {verb}: it holds {inside!r}. Iceberg catalogs drop empty namespaces alone, so "
                "drop what is inside first."
            )

    def _first_table(self, namespace: Identifier) -> str | None:
        """Return the name of a table in a namespace, Lance or not, None if there is none."""
        warehouse, names = self._client.resolve(namespace)
        pages = self._client.pages(warehouse, "list_tables", f"Looking for tables in {namespace}", names)
        rows = (name for page in pages for parent, name in iceberg.read_tables(page) if parent == names)
        return next(rows, None)

    def drop(self, namespace: Identifier, cascade: bool) -> None:
        """Drop an empty namespace."""
        if cascade:
            raise UnsupportedOperationError(
                f"{namespace} cannot be dropped with what it holds: Iceberg catalogs drop empty namespaces alone. Drop "
                "its tables and namespaces first."
            )
        warehouse, names = self._client.resolve(namespace)
        if not names:
            raise InvalidInputError(f"The warehouse {namespace} cannot be dropped: it is its server's.")
        if self._list(namespace):  # some servers leave them behind as orphans
            raise namespace_not_empty(f"{namespace} cannot be dropped: it holds namespaces. Drop them first.")
        self._client.ask(warehouse, "drop_namespace", f"Dropping the namespace {namespace}", names)
