"""Where Iceberg tables and views are: locations as their metadata says them, and as the lake's rows do.

Iceberg's clients expect URIs, so that a folder is written `file:///…`. The rows have the one spelling of the lake.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.errors import InvalidInputError
from lanceway.lake.tree import locations

_FILE = "file:"
# Lance's clients read these as escapes and as the beginning of a query, Iceberg's as they are.
_AMBIGUOUS = "%#?"


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


def chosen(lake: LakeConnection, location: str) -> IcebergPlace:
    """Return the place that a client chose. It looks at the file system: never call it in a transaction.

    Raises InvalidInputError for a text that is no location, or one that a table has in another spelling.
    """
    text = location.rstrip("/")
    if any(character in text for character in _AMBIGUOUS):
        raise InvalidInputError(
            f"The location {location[:200]!r} cannot be used: '%', '#' and '?' mean different places to different "
            "clients. Choose another one, or leave it to the catalog."
        )
    is_single = text.startswith("file:/") and not text.startswith("file://")
    placed = LakeTables(lake).placed(f"file://{text.removeprefix(_FILE)}" if is_single else text)
    is_uri = text.lower().startswith(_FILE)
    return IcebergPlace(text if is_uri else uri_of(placed), placed, is_chosen=True)


def after(
    lake: LakeConnection, updates: Sequence[Mapping[str, Any]], place: IcebergPlace
) -> tuple[Sequence[Mapping[str, Any]], IcebergPlace]:
    """Return updates with the locations in them as they are kept, and where their table or view is then."""
    kept = []
    for update in updates:
        location = update.get("location")
        if update.get("action") == "set-location" and isinstance(location, str):
            moved = chosen(lake, location)
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
