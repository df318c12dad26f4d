"""Iceberg tables and views as one caller has them: each call asks for the rights that `operations` names, and is made.

What is hidden is reported like what is missing: neither the kind nor the presence of another object of the name shows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lanceway.catalogs.contract.iceberg import (
    IcebergCommit,
    KeepsIceberg,
    LoadedIceberg,
    NewIcebergTable,
    NewIcebergView,
)
from lanceway.catalogs.federated.iceberg import refuse_other_catalog
from lanceway.catalogs.federated.mounts import canonical
from lanceway.errors import TableNotFoundError, table_not_found
from lanceway.identifiers import Identifier
from lanceway.lake.store.schema import TABLE, VIEW


@dataclass(frozen=True, slots=True)
class IcebergTarget:
    """What the rights for an operation depend on: the object, and the namespace that it moves to."""

    id: list[str]
    new_namespace_id: list[str] | None = None


Step = tuple[str, IcebergTarget]


@dataclass(frozen=True, slots=True)
class GuardedIceberg:
    """Asks `require` for what a call needs, then makes it: in the `tree`, or by `companions` for a mounted catalog.

    From one who `sees_all` nothing is hidden.
    """

    tree: KeepsIceberg
    companions: KeepsIceberg
    mounted: Callable[[], Collection[str]]
    require: Callable[[Iterable[Step]], None]
    sees_all: bool

    def _allowed(self, operation: str, id_: Sequence[str]) -> KeepsIceberg:
        """Ask for what an operation needs, and return what carries it out."""
        self.require([(operation, IcebergTarget(list(id_)))])
        return self._of(id_)

    def _of(self, id_: Sequence[str]) -> KeepsIceberg:
        return self.companions if id_ and canonical(id_[0]) in self.mounted() else self.tree

    def _allowed_to_rename(self, operation: str, id_: Sequence[str], target: Sequence[str]) -> KeepsIceberg:
        refuse_other_catalog(operation, id_, target)
        self.require([(operation, IcebergTarget(list(id_), list(target[:-1])))])
        return self._of(id_)

    @contextmanager
    def _alike(self, kind: str, *ids: Sequence[str]) -> Iterator[None]:
        """Say of a name that something else has what is said of one that nothing has."""
        try:
            yield
        except TableNotFoundError:
            if self.sees_all:
                raise
            names = " or ".join(str(Identifier(id_)) for id_ in ids)
            raise table_not_found(f"There is no {kind} {names}. Check the name.") from None

    # -- tables ----------------------------------------------------------------------------------

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._allowed("list_iceberg_tables", id_).list_iceberg_tables(id_, after=after, limit=limit)

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        return self._allowed("create_iceberg_table", id_).create_iceberg_table(id_, table)

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        catalog = self._allowed("load_iceberg_table", id_)
        with self._alike(TABLE, id_):
            return catalog.load_iceberg_table(id_)

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        return self._allowed("iceberg_table_exists", id_).iceberg_table_exists(id_)

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        self.require(
            ("create_iceberg_table" if commit.creates else "commit_iceberg_table", IcebergTarget(list(commit.id)))
            for commit in commits
        )
        # Those of several catalogs the tree refuses; those of one that is mounted are for the companions.
        catalogs = {self._of(commit.id) is self.companions for commit in commits}
        with self._alike(TABLE, *(commit.id for commit in commits)):
            return (self.companions if catalogs == {True} else self.tree).commit_iceberg_tables(commits)

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        catalog = self._allowed("register_iceberg_table", id_)
        # What appears in the meantime is another's: it is not replaced, but a conflict.
        overwrite = overwrite and catalog.iceberg_table_exists(id_)
        if overwrite:
            self.require([("overwrite_iceberg_table", IcebergTarget(list(id_)))])
        return catalog.register_iceberg_table(id_, metadata_location, overwrite=overwrite)

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        catalog = self._allowed_to_rename("rename_iceberg_table", id_, target)
        with self._alike(TABLE, id_):
            catalog.rename_iceberg_table(id_, target)

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        catalog = self._allowed("drop_iceberg_table", id_)
        with self._alike(TABLE, id_):
            catalog.drop_iceberg_table(id_, purge=purge, expected=expected)

    # -- views -----------------------------------------------------------------------------------

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._allowed("list_iceberg_views", id_).list_iceberg_views(id_, after=after, limit=limit)

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        return self._allowed("create_iceberg_view", id_).create_iceberg_view(id_, view)

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        catalog = self._allowed("load_iceberg_view", id_)
        with self._alike(VIEW, id_):
            return catalog.load_iceberg_view(id_)

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        return self._allowed("iceberg_view_exists", id_).iceberg_view_exists(id_)

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        catalog = self._allowed("replace_iceberg_view", commit.id)
        with self._alike(VIEW, commit.id):
            return catalog.replace_iceberg_view(commit)

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        return self._allowed("register_iceberg_view", id_).register_iceberg_view(id_, metadata_location)

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        catalog = self._allowed_to_rename("rename_iceberg_view", id_, target)
        with self._alike(VIEW, id_):
            catalog.rename_iceberg_view(id_, target)

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        catalog = self._allowed("drop_iceberg_view", id_)
        with self._alike(VIEW, id_):
            catalog.drop_iceberg_view(id_)
