"""Where Iceberg tables and views are: locations as their metadata says them, and as the lake's rows do.

Iceberg's clients expect URIs, so that a folder is written `file:///…`. The rows have the one spelling of the lake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.errors import InvalidInputError, PermissionDeniedError
from lanceway.lake.tree import locations
from lanceway.tables.iceberg.metadata import rows_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

_FILE = "file:"
# Lance's clients read these as escapes and as the beginning of a query, Iceberg's as they are.
_AMBIGUOUS = "%#?"
# Properties that say where clients write files.
_PATHS = ("write.data.path", "write.folder-storage.path", "write.metadata.path", "write.object-storage.path")


@dataclass(frozen=True, slots=True)
class IcebergPlace:
    """The location of a table or a view: as its metadata says it, and as its row does."""

    uri: str
    location: str
    is_chosen: bool  # by a client, and so to be compared with all others


def uri_of(location: str) -> str:
    """Return the location of a row as Iceberg's clients write it."""
    return f"file://{location}" if location.startswith("/") else location


def new(lake: LakeConnection, name: str) -> IcebergPlace:
    """Return a place that nothing else has. Raises InvalidInputError where the catalog has none to put it under."""
    root = lake.catalog.location
    if root is None:
        raise InvalidInputError(f"{name} needs a location: its catalog has none to put it under.")
    location = locations.under(root)
    return IcebergPlace(uri_of(location), location, is_chosen=False)


def chosen(lake: LakeConnection, location: str, *, own: str | None = None, is_staged: bool = False) -> IcebergPlace:
    """Return the place that a client chose. It looks at the file system: never call it in a transaction.

    A table may always stay in its `own` location, and one that `is_staged` be where the lake said. Raises
    PermissionDeniedError for another one that the user may not choose, and InvalidInputError for a text that is no
    location, or one that a table has in another spelling.
    """
    text = location.rstrip("/")
    if any(character in text for character in _AMBIGUOUS):
        raise InvalidInputError(
            f"The location {location[:200]!r} cannot be used: '%', '#' and '?' mean different places to different "
            "clients. Choose another one, or leave it to the catalog."
        )
    is_single = text.startswith("file:/") and not text.startswith("file://")
    placed = LakeTables(lake).placed(f"file://{text.removeprefix(_FILE)}" if is_single else text)
    is_own = own is not None and f"{placed}/".startswith(f"{own}/")
    if not is_own and not (is_staged and locations.is_chosen(placed, (lake.catalog.location,))):
        lake.check_location(placed)
    is_uri = text.lower().startswith(_FILE)
    return IcebergPlace(text if is_uri else uri_of(placed), placed, is_chosen=True)


def after(
    lake: LakeConnection, updates: Sequence[Mapping[str, Any]], place: IcebergPlace
) -> tuple[Sequence[Mapping[str, Any]], IcebergPlace]:
    """Return updates with the locations in them as they are kept, and where their table or view is then."""
    kept, own, is_staged = [], place.location, not place.is_chosen
    for update in rows_of("An update of the commit cannot be carried out", updates):
        location = update.get("location")
        if update.get("action") == "set-location" and isinstance(location, str):
            moved = chosen(lake, location, own=own, is_staged=is_staged)
            # One that stays where it is keeps the spelling.
            place = place if moved.location == place.location and place.is_chosen else moved
            update = {**update, "location": place.uri}
        kept.append(update)
    return kept, place


def is_within(pointer: str, place: IcebergPlace) -> bool:
    """Return whether a metadata file is below the location of its table."""
    base = place.uri.rstrip("/")
    folder, _, name = pointer.removeprefix(f"{base}/").rpartition("/")
    return pointer.startswith(f"{base}/") and bool(name) and ".." not in folder.split("/")


def refuse_file_of_another(lake: LakeConnection, file: IcebergPlace, own: str | None) -> None:
    """Refuse to read a metadata file that belongs to another table or view than the one at its `own` location."""
    other = lake.store.read(locations.overlapping, file.location)
    if other is not None and other != own:
        raise InvalidInputError(
            f"The metadata file {file.uri} cannot be registered: it belongs to another table or view."
        )


def check_files(
    lake: LakeConnection, place: IcebergPlace, after: TableMetadata, before: TableMetadata | None = None
) -> None:
    """Refuse metadata that names files elsewhere, where the user is confined; what was there `before` stays.

    Whoever reads a table follows these paths, with rights of their own: a worker with those of the server. Raises
    PermissionDeniedError, since an administrator may do it.
    """
    if lake.confinement is None:
        return
    known = set() if before is None else set(_files(before))
    for path in _files(after):
        if path not in known and not is_within(path, place):
            raise PermissionDeniedError(
                f"The file {path[:200]!r} cannot be a table's at {place.uri}: manifest lists and statistics of a table "
                "are stored below its location. Write them there, or ask an administrator to do this."
            )
    old = {} if before is None else before.properties
    for key in _PATHS:
        path = after.properties.get(key, "")
        if path and path != old.get(key) and not is_within(f"{path.rstrip('/')}/file", place):
            chosen(lake, path)


def _files(metadata: TableMetadata) -> Iterator[str]:
    yield from (snapshot.manifest_list for snapshot in metadata.snapshots if snapshot.manifest_list)
    yield from (statistics.statistics_path for statistics in metadata.statistics)
    yield from (statistics.statistics_path for statistics in metadata.partition_statistics)
