"""Iceberg tables and views of a tree: those of lakes as they are, and the Lance tables of all other catalogs.

Identifiers begin with the name of a catalog. Catalogs of the tree's own lake keep Iceberg tables and views themselves.
Of a catalog of another service, an Iceberg client sees the Lance tables as companions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import lance_namespace as ln

from lanceway.catalogs.contract.iceberg import (
    IcebergCommit,
    KeepsIceberg,
    LoadedIceberg,
    NewIcebergTable,
    NewIcebergView,
)
from lanceway.catalogs.federated.mounts import Mount, canonical
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.wire.iceberg import TABLE_TYPE

Result = TypeVar("Result")

_PAGE = 1000  # names that a catalog is asked for at once
_LONG_AGO = 1  # milliseconds since 1970


class LakeCall(Protocol):
    """Calls a catalog of the tree's own lake, once more if it was dropped and made again since it was opened."""

    def __call__(self, mount: Mount, call: Callable[[KeepsIceberg], Result]) -> Result: ...


@dataclass(frozen=True, slots=True)
class FederatedIceberg:
    """Passes each call on to the catalog that its identifiers begin with."""

    mount: Callable[[str], Mount]
    in_lake: LakeCall
    companions: KeepsIceberg

    def _of(self, operation: str, id_: Sequence[str], call: Callable[[KeepsIceberg, Sequence[str]], Result]) -> Result:
        """Make a call to the catalog of an identifier, with the names that it has there."""
        if not id_:
            raise InvalidInputError(f"{operation} needs an identifier that begins with the name of a catalog.")
        mount = self.mount(id_[0])
        if mount.foreign:
            return call(self.companions, id_)
        return self.in_lake(mount, lambda lake: call(lake, id_[1:]))

    # -- tables ----------------------------------------------------------------------------------

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._of(
            "list_iceberg_tables",
            id_,
            lambda catalog, names: catalog.list_iceberg_tables(names, after=after, limit=limit),
        )

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        return self._of("create_iceberg_table", id_, lambda catalog, names: catalog.create_iceberg_table(names, table))

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._of("load_iceberg_table", id_, lambda catalog, names: catalog.load_iceberg_table(names))

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        return self._of("iceberg_table_exists", id_, lambda catalog, names: catalog.iceberg_table_exists(names))

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        catalogs = sorted({canonical(commit.id[0]) for commit in commits if commit.id})
        if len(catalogs) > 1:
            raise InvalidInputError(
                "commit_iceberg_tables is one transaction and stays within one catalog, but it names tables of "
                f"{' and '.join(map(repr, catalogs))}. Commit to each catalog on its own."
            )
        if not catalogs or not all(commit.id for commit in commits):
            raise InvalidInputError("commit_iceberg_tables needs at least one table, and an identifier for each.")
        mount = self.mount(catalogs[0])
        if mount.foreign:
            return self.companions.commit_iceberg_tables(commits)
        inside = [replace(commit, id=commit.id[1:]) for commit in commits]
        return self.in_lake(mount, lambda lake: lake.commit_iceberg_tables(inside))

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        return self._of(
            "register_iceberg_table",
            id_,
            lambda catalog, names: catalog.register_iceberg_table(names, metadata_location, overwrite=overwrite),
        )

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        refuse_other_catalog("rename_iceberg_table", id_, target)
        self._of(
            "rename_iceberg_table",
            id_,
            lambda catalog, names: catalog.rename_iceberg_table(names, target[len(id_) - len(names) :]),
        )

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        self._of(
            "drop_iceberg_table",
            id_,
            lambda catalog, names: catalog.drop_iceberg_table(names, purge=purge, expected=expected),
        )

    # -- views -----------------------------------------------------------------------------------

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._of(
            "list_iceberg_views",
            id_,
            lambda catalog, names: catalog.list_iceberg_views(names, after=after, limit=limit),
        )

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        return self._of("create_iceberg_view", id_, lambda catalog, names: catalog.create_iceberg_view(names, view))

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._of("load_iceberg_view", id_, lambda catalog, names: catalog.load_iceberg_view(names))

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        return self._of("iceberg_view_exists", id_, lambda catalog, names: catalog.iceberg_view_exists(names))

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        return self._of(
            "replace_iceberg_view",
            commit.id,
            lambda catalog, names: catalog.replace_iceberg_view(replace(commit, id=names)),
        )

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        return self._of(
            "register_iceberg_view",
            id_,
            lambda catalog, names: catalog.register_iceberg_view(names, metadata_location),
        )

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        refuse_other_catalog("rename_iceberg_view", id_, target)
        self._of(
            "rename_iceberg_view",
            id_,
            lambda catalog, names: catalog.rename_iceberg_view(names, target[len(id_) - len(names) :]),
        )

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        self._of("drop_iceberg_view", id_, lambda catalog, names: catalog.drop_iceberg_view(names))


@dataclass(frozen=True, slots=True)
class CompanionTables:
    """The Lance tables of catalogs that keep no Iceberg tables, as an Iceberg client sees them.

    All is asked of the `tree`, by the operations that every catalog has. Views and Iceberg tables are refused.
    """

    tree: ln.LanceNamespace

    # -- tables ----------------------------------------------------------------------------------

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        """Return a page of names. All are read for it: not every service lists in order, or from a name on."""
        return sorted(name for name in self._names(list(id_)) if after is None or name > after)[:limit]

    def _names(self, id_: list[str]) -> Iterator[str]:
        token: str | None = None
        while True:
            page = self.tree.list_tables(ln.ListTablesRequest(id=id_, limit=_PAGE, page_token=token))
            yield from page.tables
            if not page.page_token:
                return
            if page.page_token == token:
                raise InternalError(f"The catalog {id_[0]!r} answers with the same page of tables again and again.")
            token = page.page_token

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        """Declare a Lance table. Refuse any other."""
        from lanceway.tables.iceberg import companions

        if not companions.is_lance(table.properties):
            raise _lance_alone(id_, "an Iceberg table cannot be made there")
        if table.staged:
            raise UnsupportedOperationError(
                f"{Identifier(id_)} cannot be staged: a Lance table is declared at once, and written afterwards."
            )
        properties = {key: value for key, value in table.properties.items() if key != TABLE_TYPE}
        self.tree.declare_table(
            ln.DeclareTableRequest(id=list(id_), location=table.location, properties=properties or None)
        )
        return self.load_iceberg_table(id_)

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        from lanceway.tables.iceberg import companions

        table = self.tree.describe_table(ln.DescribeTableRequest(id=list(id_)))
        if not table.location:
            raise InternalError(f"The catalog {id_[0]!r} does not say where the table {Identifier(id_)} is.")
        location = f"file://{table.location}" if table.location.startswith("/") else table.location
        # The name is the only thing that every catalog tells a table by, and none says when it changed last.
        name = json.dumps([*id_, location])
        document = companions.metadata(
            name=name, location=location, properties=table.properties or {}, updated_at=_LONG_AGO
        )
        return LoadedIceberg(document, None, location, is_companion=True)

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        try:
            self.tree.table_exists(ln.TableExistsRequest(id=list(id_)))
        except (NamespaceNotFoundError, TableNotFoundError):
            return False
        return True

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        changed = (commit.id for commit in commits if not commit.creates)
        missing = next((id_ for id_ in changed if not self.iceberg_table_exists(id_)), None)
        if missing is not None:
            raise table_not_found(f"There is no table {Identifier(missing)}. Check the name.")
        raise _lance_alone(commits[0].id, "Iceberg commits cannot be made there: write the table with Lance")

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        raise _lance_alone(id_, "an Iceberg table cannot be registered there")

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        request = ln.RenameTableRequest(id=list(id_), new_namespace_id=list(target[:-1]), new_table_name=target[-1])
        self.tree.rename_table(request)

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        if purge:
            self.tree.drop_table(ln.DropTableRequest(id=list(id_)))
        else:
            self.tree.deregister_table(ln.DeregisterTableRequest(id=list(id_)))

    # -- views, of which there are none ----------------------------------------------------------

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        self.tree.namespace_exists(ln.NamespaceExistsRequest(id=list(id_)))
        return []

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        raise _lance_alone(id_, "a view cannot be made there")

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        raise _no_view(id_)

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        return False

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        raise _no_view(commit.id)

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        raise _lance_alone(id_, "a view cannot be registered there")

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        raise _no_view(id_)

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        raise _no_view(id_)


def refuse_other_catalog(operation: str, id_: Sequence[str], target: Sequence[str]) -> None:
    """Refuse to rename something into another catalog."""
    if not id_ or not target or canonical(id_[0]) != canonical(target[0]):
        raise InvalidInputError(
            f"{operation} stays within one catalog, but {list(id_)!r} would become {list(target)!r}. Make it in the "
            "other catalog and copy what it holds."
        )


def _lance_alone(id_: Sequence[str], what: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"The catalog {id_[0]!r} is mounted and shows its Lance tables alone: {what} "
        f"({Identifier(id_)}). Iceberg tables and views are kept by catalogs of the lake."
    )


def _no_view(id_: Sequence[str]) -> TableNotFoundError:
    return table_not_found(f"There is no view {Identifier(id_)}: a mounted catalog shows its Lance tables alone.")
