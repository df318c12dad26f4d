"""The methods of a catalog that keeps Iceberg tables and views, each passed on to what keeps them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from lanceway.catalogs.contract.iceberg import (
    IcebergCommit,
    KeepsIceberg,
    LoadedIceberg,
    NewIcebergTable,
    NewIcebergView,
)


class IcebergForwarder:
    """Has every method of `KeepsIceberg`, and passes each on to `_iceberg`, which a subclass makes for a call."""

    @property
    @abstractmethod
    def _iceberg(self) -> KeepsIceberg:
        """Return what carries the methods out."""

    # -- tables ----------------------------------------------------------------------------------

    def list_iceberg_tables(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._iceberg.list_iceberg_tables(id_, after=after, limit=limit)

    def create_iceberg_table(self, id_: Sequence[str], table: NewIcebergTable) -> LoadedIceberg:
        return self._iceberg.create_iceberg_table(id_, table)

    def load_iceberg_table(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._iceberg.load_iceberg_table(id_)

    def iceberg_table_exists(self, id_: Sequence[str]) -> bool:
        return self._iceberg.iceberg_table_exists(id_)

    def commit_iceberg_tables(self, commits: Sequence[IcebergCommit]) -> list[LoadedIceberg]:
        return self._iceberg.commit_iceberg_tables(commits)

    def register_iceberg_table(
        self, id_: Sequence[str], metadata_location: str, *, overwrite: bool = False
    ) -> LoadedIceberg:
        return self._iceberg.register_iceberg_table(id_, metadata_location, overwrite=overwrite)

    def rename_iceberg_table(self, id_: Sequence[str], target: Sequence[str]) -> None:
        self._iceberg.rename_iceberg_table(id_, target)

    def drop_iceberg_table(self, id_: Sequence[str], *, purge: bool = False, expected: str | None = None) -> None:
        self._iceberg.drop_iceberg_table(id_, purge=purge, expected=expected)

    # -- views -----------------------------------------------------------------------------------

    def list_iceberg_views(
        self, id_: Sequence[str], *, after: str | None = None, limit: int | None = None
    ) -> Sequence[str]:
        return self._iceberg.list_iceberg_views(id_, after=after, limit=limit)

    def create_iceberg_view(self, id_: Sequence[str], view: NewIcebergView) -> LoadedIceberg:
        return self._iceberg.create_iceberg_view(id_, view)

    def load_iceberg_view(self, id_: Sequence[str]) -> LoadedIceberg:
        return self._iceberg.load_iceberg_view(id_)

    def iceberg_view_exists(self, id_: Sequence[str]) -> bool:
        return self._iceberg.iceberg_view_exists(id_)

    def replace_iceberg_view(self, commit: IcebergCommit) -> LoadedIceberg:
        return self._iceberg.replace_iceberg_view(commit)

    def register_iceberg_view(self, id_: Sequence[str], metadata_location: str) -> LoadedIceberg:
        return self._iceberg.register_iceberg_view(id_, metadata_location)

    def rename_iceberg_view(self, id_: Sequence[str], target: Sequence[str]) -> None:
        self._iceberg.rename_iceberg_view(id_, target)

    def drop_iceberg_view(self, id_: Sequence[str]) -> None:
        self._iceberg.drop_iceberg_view(id_)
