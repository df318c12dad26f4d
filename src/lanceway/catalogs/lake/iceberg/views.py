"""The Iceberg views of a lake's catalog."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergView
from lanceway.catalogs.lake.connection import location_of
from lanceway.catalogs.lake.iceberg import places
from lanceway.catalogs.lake.iceberg.pointers import MetadataChange, NamedIceberg, StalePointerError
from lanceway.catalogs.lake.removals import Removals
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.lake.store.schema import VIEW
from lanceway.lake.tree import locations, tables
from lanceway.lake.tree.lookups import TableRow
from lanceway.tables.iceberg import views

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class LakeIcebergViews(NamedIceberg):
    """Views: rows that point to metadata files."""

    kinds = (VIEW,)

    def load(self, view: Identifier) -> LoadedIceberg:
        row = self.row(view)
        return LoadedIceberg(self._pointers.read(row), row.metadata_pointer, places.uri_of(location_of(row)))

    # -- making ----------------------------------------------------------------------------------

    def create(self, view: Identifier, new: NewIcebergView) -> LoadedIceberg:
        self._pointers.refuse_taken(view)
        place = places.new(self.lake, str(view)) if new.location is None else places.chosen(self.lake, new.location)
        data = views.write(views.build(new.schema, new.version, location=place.uri, properties=new.properties))
        (pointer,) = self._pointers.carry_out([MetadataChange(view, VIEW, place, data)])
        return LoadedIceberg(data, pointer, place.uri)

    def register(self, view: Identifier, pointer: str) -> LoadedIceberg:
        self._pointers.refuse_taken(view)
        file, data = self._pointers.read_foreign(pointer, None)
        foreign = views.read(data)
        place = places.chosen(self.lake, foreign.location)
        if not file.location.startswith(f"{place.location}/"):
            raise InvalidInputError(
                f"{view} cannot be registered from {pointer}: the file says that its view is at {foreign.location}, "
                "and is not there itself. Register a metadata file below the location of its view."
            )
        self._pointers.carry_out([MetadataChange(view, VIEW, place, data, pointer=file.uri)])
        return LoadedIceberg(data, file.uri, place.uri)

    # -- changing --------------------------------------------------------------------------------

    def replace(self, commit: IcebergCommit) -> LoadedIceberg:
        """Carry out the updates of a view. Where others were faster, they are computed and checked again."""
        view = Identifier(commit.id)
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._replace(view, commit)
            except StalePointerError:
                continue
        return self._replace(view, commit)

    def _replace(self, view: Identifier, commit: IcebergCommit) -> LoadedIceberg:
        row = self.row(view)
        data = self._pointers.read(row)
        before = views.read(data)
        views.require(commit.requirements, before)
        moved, place = places.after(self.lake, commit.updates, self._pointers.place_of(row, before.location))
        after = views.change(before, moved)
        if after is before:
            return LoadedIceberg(data, row.metadata_pointer, place.uri)
        written = views.write(after)
        (pointer,) = self._pointers.carry_out([MetadataChange(view, VIEW, place, written, row)])
        return LoadedIceberg(written, pointer, place.uri)

    def rename(self, view: Identifier, target: Identifier) -> None:
        self.row(view)
        self.lake.store.transact(tables.rename, self.lake.catalog.id, view, target, by=self.lake.user, kind=VIEW)

    def drop(self, view: Identifier) -> None:
        """Drop a view and the metadata files that were written for it; those at a chosen location stay."""
        self.row(view)
        row = self.lake.store.transact(self._drop_row, view)
        if self._is_generated(location_of(row)):
            Removals(self.lake).remove(location_of(row))

    def _drop_row(self, connection: Connection, view: Identifier) -> TableRow:
        row = tables.drop(connection, self.lake.catalog.id, view, by=self.lake.user, kind=VIEW)
        if not self._is_generated(location_of(row)):
            locations.done(connection, location_of(row))
        return row

    def _is_generated(self, location: str) -> bool:
        return locations.is_chosen(location, (self.lake.catalog.location,))
