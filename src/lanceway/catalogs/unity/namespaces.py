"""The namespaces of Unity Catalog: the configured catalog, and the schemas in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lanceway.catalogs.unity.connection import UnityConnection
from lanceway.catalogs.unity.names import check, check_new
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.wire import unity

CATALOG_LEVEL, SCHEMA_LEVEL = 1, 2


class UnityNamespaces(UnityConnection):
    """The root holds the configured catalog, the catalog holds schemas, and they hold tables."""

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        self._check_known(namespace)
        operation = "get_catalog" if namespace.depth == CATALOG_LEVEL else "get_schema"
        return unity.read_properties(self._ask(operation, f"Looking for the namespace {namespace}", namespace))

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        if namespace.depth >= SCHEMA_LEVEL:
            self._namespace_properties(namespace)
            return []
        found = [self._catalog] if namespace.is_root else self._schemas(namespace)
        return sorted(name for name in found if after is None or name > after)[:limit]

    def _schemas(self, catalog: Identifier) -> set[str]:
        self._check_known(catalog)
        query = [("catalog_name", self._catalog)]
        pages = self._pages("list_schemas", f"Listing the namespaces in {catalog}", query)
        return {name for page in pages for name in unity.read_schemas(page)}

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
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
            self._namespace_properties(namespace)  # raises if it is missing
            raise NamespaceAlreadyExistsError(f"The catalog {namespace} is there already, and Unity's to make.")
        body = unity.create_schema_body(self._catalog, namespace.name, properties)
        try:
            answer = self._ask("create_schema", f"Creating the namespace {namespace}", body=body)
        except InternalError as error:
            check_properties(namespace, properties, error)
            raise
        return unity.read_properties(answer)

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        self._check_known(namespace)
        if namespace.depth == CATALOG_LEVEL:
            raise InvalidInputError(f"The catalog {namespace} cannot be dropped from here. Drop it in Unity itself.")
        query = [(unity.FORCE, "true")] if cascade else []
        self._ask("delete_schema", f"Dropping the namespace {namespace}", namespace, query=query)
        return None

    def _check_known(self, namespace: Identifier) -> None:
        """Raises NamespaceNotFoundError for what cannot be a namespace here."""
        check(namespace)
        if namespace[0] != self._catalog:
            raise NamespaceNotFoundError(
                f"There is no namespace {namespace}: the catalog here is {self._catalog!r}. Connect to another one "
                "with the setting catalog."
            )
        if namespace.depth > SCHEMA_LEVEL:
            raise NamespaceNotFoundError(f"There is no namespace {namespace}: a schema of Unity holds no namespaces.")


def check_properties(owner: Identifier, properties: Mapping[str, str], error: InternalError) -> None:
    """Explain a failure of the server by properties that are too long, where there are such."""
    for name, value in properties.items():
        if max(len(name), len(value)) > unity.LONGEST_PROPERTY:
            raise InvalidInputError(
                f"{owner} cannot be created with the property {name[:100]!r}: it has {max(len(name), len(value))} "
                f"characters, and this server fails on more than {unity.LONGEST_PROPERTY}."
            ) from error
