"""The namespaces of a Gravitino server: the catalogs of Lance tables in its metalake, and the schemas in them."""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.gravitino import messages
from lanceway.catalogs.gravitino.client import GravitinoClient
from lanceway.catalogs.gravitino.messages import GravitinoObject
from lanceway.catalogs.gravitino.names import CATALOG_LEVEL, check, check_new
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
    namespace_not_empty,
    namespace_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.wire.gravitino import LANCE_PROVIDER

_PARENT = "parentSchema"


class GravitinoNamespaces:
    """The root holds the catalogs of the metalake, a catalog holds schemas, and they hold tables and, where the server
    has them, schemas."""

    def __init__(self, client: GravitinoClient) -> None:
        self._client = client

    def load(self, namespace: Identifier) -> GravitinoObject:
        """Return a catalog or a schema. Raises NamespaceNotFoundError."""
        check(namespace)
        noun = "catalog" if namespace.depth == CATALOG_LEVEL else "schema"
        answer = self._client.ask(f"load_{noun}", f"Looking for the namespace {namespace}", namespace)
        return messages.read_object(answer, noun)

    def properties(self, namespace: Identifier) -> Mapping[str, str]:
        """Return the properties of a namespace, its comment among them. Raises NamespaceNotFoundError."""
        return self.load(namespace).public()

    def require(self, namespace: Identifier) -> None:
        """Raise NamespaceNotFoundError, with the namespace's own name, if it is missing."""
        try:
            self.load(namespace)
        except NamespaceNotFoundError as error:
            raise namespace_not_found(f"There is no namespace {namespace}. Create it first.") from error

    def details(self, namespace: Identifier) -> ObjectDetails:
        """Return what Gravitino records of a namespace."""
        row = self.load(namespace)
        properties = {key: value for key, value in row.public().items() if key != messages.COMMENT}
        return ObjectDetails(properties, row.comment, row.created_by, row.created_at, row.changed_by, row.changed_at)

    def storage(self, catalog: str) -> Mapping[str, str]:
        """Return the storage options that Gravitino keeps with a catalog."""
        return self.load(Identifier((catalog,))).storage

    # -- lists -----------------------------------------------------------------------------------

    def children(self, namespace: Identifier) -> list[str]:
        """Return the names in a namespace, in no order. Raises NamespaceNotFoundError."""
        if namespace.is_root:
            return self._catalogs()
        check(namespace)
        try:
            names = self._schemas(namespace)
        except UnsupportedOperationError:  # of a catalog whose schemas do not nest
            names = []
        if not names and namespace.depth > CATALOG_LEVEL:
            self.require(namespace)  # servers before 1.3 take no notice of the parent
        return names

    def _catalogs(self) -> list[str]:
        answer = self._client.ask("list_catalogs", "Listing the catalogs", query=[("details", "true")])
        return [row.name for row in messages.read_catalogs(answer) if row.provider == LANCE_PROVIDER]

    def _schemas(self, parent: Identifier) -> list[str]:
        """Return the names of the schemas directly in a catalog or a schema. Raises UnsupportedOperationError."""
        nested = parent.depth > CATALOG_LEVEL
        query = [(_PARENT, self._client.logical(parent))] if nested else []
        answer = self._client.ask("list_schemas", f"Listing the namespaces in {parent}", parent, query=query)
        inside = tuple(parent[1:])
        paths = [tuple(name.split(self._client.separator)) for name in messages.read_names(answer)]
        return [path[-1] for path in paths if path[:-1] == inside and all(path)]

    # -- changes ---------------------------------------------------------------------------------

    def create(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Make a schema in a catalog or in a schema that is there."""
        check_new(namespace)
        if namespace.depth == CATALOG_LEVEL:
            self._refuse_catalog(namespace)
        if namespace.depth > CATALOG_LEVEL + 1:
            self._require_nesting(namespace.parent)
        body = messages.schema_body(self._client.logical(namespace), properties)
        answer = self._client.ask("create_schema", f"Creating the namespace {namespace}", namespace, body=body)
        messages.read_object(answer, "schema")
        return dict(properties)

    def _refuse_catalog(self, catalog: Identifier) -> None:
        try:
            self.load(catalog)
        except NamespaceNotFoundError as error:
            raise InvalidInputError(
                f"The catalog {catalog} cannot be created from here: a catalog is made in Gravitino itself, with the "
                f"provider {LANCE_PROVIDER}."
            ) from error
        raise NamespaceAlreadyExistsError(f"The catalog {catalog} exists already, and is made in Gravitino itself.")

    def _require_nesting(self, parent: Identifier) -> None:
        """Raise NamespaceNotFoundError for a parent that is missing, InvalidInputError for one that nests nothing."""
        self.require(parent)  # Gravitino would make what is missing
        try:
            self._schemas(parent)
        except UnsupportedOperationError as error:
            raise InvalidInputError(
                f"{parent} cannot hold a namespace: the schemas of the catalog {parent[0]!r} do not nest. Use two "
                f"names, such as {list(parent[:2])!r}."
            ) from error

    def replace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str]:
        """Overwrite an existing schema in place if it is empty: at no moment is it missing."""
        self._refuse_whole_catalog(namespace, "overwritten")
        inside = next(iter(self.children(namespace)), None) or next(iter(self.tables(namespace)), None)
        if inside is not None:
            raise namespace_not_empty(
                f"{namespace} cannot be overwritten: it holds {inside!r}. Drop what is inside first."
            )
        changes = messages.updates(self.properties(namespace), properties)
        if changes:
            what = f"Overwriting the namespace {namespace}"
            self._client.ask("alter_schema", what, namespace, body=messages.changes_body(changes))
        return dict(properties)

    def tables(self, namespace: Identifier) -> list[str]:
        """Return the names of all the tables in a schema, Lance or not. Raises NamespaceNotFoundError."""
        answer = self._client.ask("list_tables", f"Listing the tables in {namespace}", namespace)
        return messages.read_names(answer)

    def drop(self, namespace: Identifier, cascade: bool) -> None:
        """Drop an empty schema."""
        check(namespace)
        self._refuse_whole_catalog(namespace, "dropped")
        if cascade:
            raise UnsupportedOperationError(
                f"{namespace} cannot be dropped with what it holds: Gravitino would keep the data of its tables. Drop "
                "its tables and namespaces first."
            )
        what = f"Dropping the namespace {namespace}"
        answer = self._client.ask("drop_schema", what, namespace, query=[("cascade", "false")])
        if not messages.read_dropped(answer):
            raise namespace_not_found(f"There is no namespace {namespace}.")

    def _refuse_whole_catalog(self, namespace: Identifier, verb: str) -> None:
        if namespace.depth == CATALOG_LEVEL:
            self.require(namespace)
            raise InvalidInputError(f"The catalog {namespace} cannot be {verb} from here. Do it in Gravitino itself.")
