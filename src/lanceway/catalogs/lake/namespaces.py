"""The namespaces of a lake's catalog, one by one as the contract has them and by their logical paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.catalogs.contract.capabilities import COMMENT
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.removals import Removals
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.lake.store.rows import KEEP
from lanceway.lake.tree import namespaces, nesting, settings
from lanceway.lake.tree.catalogs import get
from lanceway.lake.tree.namespaces import Namespace

Properties = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LakeNamespaces:
    """Namespaces of any depth."""

    lake: LakeConnection

    def properties(self, namespace: Identifier) -> Properties:
        return self.load(namespace).properties

    def load(self, namespace: Identifier) -> Namespace:
        """Return the row of a namespace. Raises NamespaceNotFoundError."""
        return self.lake.store.read(namespaces.load, self.lake.catalog.id, namespace)

    def children(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        catalog = self.lake.catalog.id
        return self.lake.store.read(namespaces.children, catalog, namespace, after=after, limit=limit)

    def create(self, namespace: Identifier, properties: Properties) -> Properties:
        catalog, user = self.lake.catalog.id, self.lake.user
        row = self.lake.store.transact_together(namespaces.create, catalog, namespace, by=user, properties=properties)
        return row.properties

    def drop(self, namespace: Identifier) -> Properties:
        return self.lake.store.transact(namespaces.drop, self.lake.catalog.id, namespace, by=self.lake.user).properties

    def drop_tree(self, namespace: Identifier) -> Properties:
        """Drop a namespace with everything inside, and delete the data of its tables."""
        removals = Removals(self.lake)
        removals.refuse_shared(namespace)
        holds = self.lake.store.read(nesting.holds, self.lake.catalog.id, namespace)
        properties, locations = self.lake.store.transact(self._drop_rows, namespace)
        removals.release(holds)
        for location in locations:
            removals.remove(location)
        return properties

    def _drop_rows(self, connection: Connection, namespace: Identifier) -> tuple[Properties, Sequence[str]]:
        catalog = self.lake.catalog.id
        properties = namespaces.load(connection, catalog, namespace).properties
        return properties, nesting.drop(connection, catalog, namespace, by=self.lake.user)

    def alter(self, connection: Connection, path: str | Iterable[str], changes: Mapping[str, str | None]) -> Properties:
        """Change properties of a namespace, of this one alone; a value of None takes one away."""
        namespace = self.parse(connection, path)
        if namespace.is_root:
            raise InvalidInputError("The root namespace has no properties to alter. Name a namespace.")
        catalog, user = self.lake.catalog.id, self.lake.user
        # One that was recorded when the namespace was made stands for the property, until that is changed.
        comment = None if COMMENT in changes else KEEP
        row = namespaces.alter(connection, catalog, namespace, by=user, properties=changes, comment=comment)
        return row.properties

    # -- by logical path -------------------------------------------------------------------------

    def parse(self, connection: Connection, path: str | Iterable[str]) -> Identifier:
        """Return the namespace that a logical path or a list of names means."""
        if not isinstance(path, str):
            return Identifier(path)
        catalog = get(connection, self.lake.catalog.id)  # read each time: nesting may be enabled while we run
        return settings.separator(connection).parse(path, nested=catalog.nested)

    def paths(self, namespace: Identifier, names: Iterable[str]) -> list[str]:
        """Return the logical paths of what is directly inside a namespace, by its names."""

        def format_all(connection: Connection) -> list[str]:
            catalog, separator = get(connection, self.lake.catalog.id), settings.separator(connection)
            return [separator.format(namespace.child(name), nested=catalog.nested) for name in names]

        return self.lake.store.read(format_all)

    def create_path(
        self,
        connection: Connection,
        path: str | Iterable[str],
        properties: Properties | None,
        comment: str | None,
        owner: str | None,
    ) -> Identifier:
        """Make a namespace and what is missing above it, and return its identifier."""
        row = namespaces.create(
            connection,
            self.lake.catalog.id,
            self.parse(connection, path),
            by=self.lake.user,
            parents=True,
            owner=owner,
            comment=comment,
            properties=properties,
        )
        return row.identifier
