"""The namespaces of a lake's catalog, one by one as the contract has them and by their logical paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.identifiers import Identifier
from lanceway.lake.tree import locations, namespaces, settings, subtrees
from lanceway.lake.tree.catalogs import get
from lanceway.tables.storage import own_files
from lanceway.tables.storage.store import open_store
from lanceway.tables.versions import manager as managers


class LakeNamespaces(LakeConnection):
    """Namespaces of any depth."""

    # -- by logical path -------------------------------------------------------------------------

    def list_schemas(self, parent: str | None = None) -> list[str]:
        """The logical paths of what lies directly in a namespace, in the root if none is given.

        Names are joined by the lake's `separator`: the children of `team` are `team:sales` and the like.
        """

        def listed(connection: Connection) -> list[str]:
            separator, nested = settings.separator(connection), get(connection, self._catalog.id).nested
            inside = separator.parse(parent, nested=nested)
            names = namespaces.children(connection, self._catalog.id, inside)
            return [separator.format(inside.child(name), nested=nested) for name in names]

        return self._lake.read(listed)

    def create_namespaces(
        self,
        path: str | Iterable[str],
        properties: Mapping[str, str] | None = None,
        *,
        comment: str | None = None,
        owner: str | None = None,
    ) -> Identifier:
        """Make a namespace and what is missing above it: all of it, with one owner, or nothing.

        The path is a logical one, such as `team:sales`, or a list of names. Properties and comment are the
        namespace's own. Raises NamespaceAlreadyExistsError.
        """

        def made(connection: Connection) -> Identifier:
            return namespaces.create(
                connection,
                self._catalog.id,
                self._parsed(connection, path),
                by=self._user,
                parents=True,
                owner=owner,
                comment=comment,
                properties=properties,
            ).identifier

        return self._lake.transact(made)

    def _parsed(self, connection: Connection, path: str | Iterable[str]) -> Identifier:
        if not isinstance(path, str):
            return Identifier(path)
        return settings.separator(connection).parse(path, nested=get(connection, self._catalog.id).nested)

    # -- the contract's questions ----------------------------------------------------------------

    def _namespace_properties(self, namespace: Identifier) -> Mapping[str, str] | None:
        return self._lake.read(namespaces.load, self._catalog.id, namespace).properties

    def _child_namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        return self._lake.read(namespaces.children, self._catalog.id, namespace, after=after, limit=limit)

    def _create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> Mapping[str, str] | None:
        return self._lake.transact(
            namespaces.create, self._catalog.id, namespace, by=self._user, properties=properties
        ).properties

    def _drop_namespace(self, namespace: Identifier, cascade: bool) -> Mapping[str, str] | None:
        if not cascade:
            return self._lake.transact(namespaces.drop, self._catalog.id, namespace).properties
        self._refuse_shared(namespace)
        properties, gone = self._lake.transact(self._drop_tree, namespace)
        for location in gone:
            self._remove(location)
        return properties

    def _drop_tree(self, connection: Connection, namespace: Identifier) -> tuple[Mapping[str, str], Sequence[str]]:
        properties = namespaces.load(connection, self._catalog.id, namespace).properties
        return properties, subtrees.drop(connection, self._catalog.id, namespace, by=self._user)

    # -- data of what was dropped ----------------------------------------------------------------

    def _is_foreign(self, location: str) -> bool:
        """Whether another lake manages the table at a location: then its data is that lake's to change and delete."""
        manager = managers.find(open_store(location, self._options))
        return manager is not None and manager.lake != self._lake.identity

    def finish_removals(self) -> list[str]:
        """Delete the data of dropped tables that a crash or an unreachable storage left; where it was."""
        found = [removal.location for removal in self._lake.read(locations.pending)]
        roots = self._lake.read(locations.roots) if found else ()  # they are those of all catalogs
        for location in found:
            self._remove(location, roots)
        return found

    def _refuse_shared(self, namespace: Identifier) -> None:
        """Refuse to drop what is in a namespace if at a table's location lies what is not the table's."""
        found = self._lake.read(subtrees.locations, self._catalog.id, namespace)
        for location in found:
            self._refuse_others(f"The namespace {namespace}" if namespace else "The catalog", location)

    def _refuse_others(self, what: str, location: str) -> None:
        """Refuse to drop a table if somebody chose its location and anything lies there that is not Lance's own."""
        if self._is_chosen(location) or not own_files.has_others(open_store(location, self._options)):
            return
        raise InvalidInputError(
            f"{what} cannot be dropped: at {location}, a location that was chosen for a table, are also files that are "
            "not Lance's. Move them away first, or deregister the table, which keeps all that is there."
        )

    def _is_chosen(self, location: str, roots: Sequence[str] = ()) -> bool:
        """Whether the lake itself chose a location, so that all that lies there is the table's."""
        return locations.is_chosen(location, (self._catalog.location, *roots))

    def _remove(self, location: str, roots: Sequence[str] = ()) -> None:
        """Delete a dropped table's data. Until it is gone, the lake remembers the location."""
        store = open_store(location, self._options)
        try:
            if self._is_foreign(location):
                pass  # another lake manages what is there
            elif self._is_chosen(location, roots):
                store.delete(*store.keys())
                store.remove_empty_folders()
            else:
                own_files.remove(store)
        except LanceNamespaceError as error:
            raise type(error)(
                f"What was dropped is gone from the catalog, but its data is still at {location}: {error} Once the "
                "cause is mended, finish_removals() deletes it."
            ) from error
        self._lake.transact(locations.done, location)
