"""The namespaces of Unity Catalog: the configured catalog, and the schemas in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lanceway.catalogs.contract.capabilities import ObjectIdentity
from lanceway.catalogs.unity.client import UnityClient
from lanceway.catalogs.unity.names import check, check_new
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    namespace_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.wire import unity

CATALOG_LEVEL, SCHEMA_LEVEL = 1, 2


class UnityNamespaces:
    """The root holds the configured catalog, the catalog holds schemas, and they hold tables."""

    def __init__(self, client: UnityClient, catalog: str) -> None:
        self._client = client
        self._catalog = catalog

    def properties(self, namespace: Identifier) -> Mapping[str, str]:
        """Return the properties of a namespace. Raises NamespaceNotFoundError."""
        return unity.read_properties(self._load(namespace))

    def identity(self, namespace: Identifier) -> ObjectIdentity:
        """Return the id of a namespace and when it was made. Raises NamespaceNotFoundError."""
        return unity.read_identity(self._load(namespace), "id" if namespace.depth == CATALOG_LEVEL else "schema_id")

    def _load(self, namespace: Identifier) -> Any:
        self.check_known(namespace)
        operation = "get_catalog" if namespace.depth == CATALOG_LEVEL else "get_schema"
        return self._client.ask(operation, f"Looking for the namespace {namespace}", namespace)

    def require_schema(self, schema: Identifier) -> None:
        """Raise NamespaceNotFoundError, with the schema's own name, if it is missing."""
        try:
            self.properties(schema)
        except NamespaceNotFoundError as error:
            raise missing_schema(schema) from error

    def children(self, namespace: Identifier) -> Iterable[str]:
        """Return the names in a namespace, in no order. Raises NamespaceNotFoundError."""
        if namespace.depth >= SCHEMA_LEVEL:
            self.properties(namespace)
            return []
        return [self._catalog] if namespace.is_root else self._schemas(namespace)

    def _schemas(self, catalog: Identifier) -> set[str]:
        self.check_known(catalog)
        query = [("catalog_name", self._catalog)]
        pages = self._client.pages("list_schemas", f"Listing the namespaces in {catalog}", query)
        return {name for page in pages for name in unity.read_schemas(page)}

    def create(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Make a schema in the configured catalog."""
        check_new(namespace)
        if namespace[0] != self._catalog:
            raise InvalidInputError(
                f"{namespace} cannot be created: the first name must be {self._catalog!r}, the catalog that is "
                "configured. Connect to another one with the setting catalog."
            )
        if namespace.depth > SCHEMA_LEVEL:
            raise InvalidInputError(
                f"{namespace} cannot be created: a schema of Unity holds no namespaces. Use two names, such as "
                f"{list(namespace[:SCHEMA_LEVEL])!r}."
            )
        if namespace.depth == CATALOG_LEVEL:
            self.properties(namespace)  # raises if it is missing
            raise NamespaceAlreadyExistsError(f"The catalog {namespace} exists already, and is made in Unity itself.")
        body = unity.create_schema_body(self._catalog, namespace.name, properties)
        with self._client.turn(namespace):
            try:
                response = self._client.ask("create_schema", f"Creating the namespace {namespace}", body=body)
            except InternalError as error:
                check_properties(namespace, properties, error)
                raise
        return unity.read_properties(response)

    def drop(self, namespace: Identifier, cascade: bool) -> None:
        """Drop a schema, with all that it holds if `cascade`."""
        self.check_known(namespace)
        if namespace.depth == CATALOG_LEVEL:
            raise InvalidInputError(f"The catalog {namespace} cannot be dropped from here. Drop it in Unity itself.")
        query = [(unity.FORCE, "true")] if cascade else []
        self._client.ask("delete_schema", f"Dropping the namespace {namespace}", namespace, query=query)

    def check_known(self, namespace: Identifier) -> None:
        """Raise NamespaceNotFoundError for what cannot be a namespace here."""
        check(namespace)
        if namespace[0] != self._catalog:
            raise namespace_not_found(
                f"There is no namespace {namespace}: the catalog here is {self._catalog!r}. Connect to another one "
                "with the setting catalog."
            )
        if namespace.depth > SCHEMA_LEVEL:
            raise namespace_not_found(f"There is no namespace {namespace}: a schema of Unity holds no namespaces.")


def check_properties(owner: Identifier, properties: Mapping[str, str], error: InternalError) -> None:
    """Explain a failure of the server by a property that is too long, if there is one."""
    for name, value in properties.items():
        if max(len(name), len(value)) > unity.LONGEST_PROPERTY:
            raise InvalidInputError(
                f"{owner} cannot be created with the property {name[:100]!r}: it has {max(len(name), len(value))} "
                f"characters, and this server fails on more than {unity.LONGEST_PROPERTY}."
            ) from error


def missing_schema(schema: Identifier) -> NamespaceNotFoundError:
    return namespace_not_found(f"There is no namespace {schema}. Create it first.")
