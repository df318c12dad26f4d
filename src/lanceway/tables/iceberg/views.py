"""Metadata of Iceberg views: built, read and changed, on pyiceberg's models, which know no updates of views."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.tables.iceberg import properties as view_properties
from lanceway.tables.iceberg.metadata import FORMAT_VERSION, Json, checked_json, decoded, rows_of, valid

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.view.metadata import ViewMetadata, ViewVersion

FORMAT = 1
LAST_ADDED = -1
# How many versions a view keeps, and whether one may go on without a dialect that it had.
HISTORY, _HISTORY_DEFAULT = "version.history.num-entries", 10
DROP_DIALECT = "replace.drop-dialect.allowed"


def build(schema: Json, version: Json, *, location: str, properties: Mapping[str, str] | None = None) -> ViewMetadata:
    """Return the metadata of a new view. Raises InvalidInputError for what the format does not allow."""
    what = "The view cannot be created"
    if not isinstance(version, Mapping):
        raise InvalidInputError(f"{what}: its version is not a JSON object.")
    checked_json(what, schema, version, properties)
    draft = _Draft.new(location)
    draft.set_properties({"updates": dict(properties or {})})
    draft.add_schema({"schema": schema})
    draft.add_version({"view-version": {**version, "schema-id": LAST_ADDED}})
    draft.set_version({"view-version-id": LAST_ADDED})
    return draft.finish()


def read(data: bytes) -> ViewMetadata:
    """Return the metadata that a file holds. Raises InvalidInputError for a file that holds none."""
    from pyiceberg.view.metadata import ViewMetadata

    with valid("The metadata of the view cannot be read"):
        document = decoded(data)
        if document.get(FORMAT_VERSION) != FORMAT:
            raise ValueError("it is not a JSON object with a format-version of 1, the one that there is for views")
        metadata = ViewMetadata.model_validate(document)
        uuid.UUID(metadata.view_uuid)
    if metadata.current_version_id not in {version.version_id for version in metadata.versions}:
        raise InvalidInputError(
            f"The metadata of the view cannot be read: its current version {metadata.current_version_id} is missing."
        )
    return metadata


def write(metadata: ViewMetadata) -> bytes:
    return metadata.model_dump_json().encode()


def require(requirements: Sequence[Json], metadata: ViewMetadata) -> None:
    """Raise ConcurrentModificationError for a requirement that does not hold, InvalidInputError for an unknown one."""
    for requirement in rows_of("A requirement of the commit cannot be checked", requirements):
        if requirement.get("type") != "assert-view-uuid":
            raise InvalidInputError(
                f"A requirement of the commit cannot be checked: {str(requirement.get('type'))[:80]!r} is not for "
                "views. Use assert-view-uuid."
            )
        expected = str(requirement.get("uuid"))
        if expected.lower() != metadata.view_uuid.lower():
            raise ConcurrentModificationError(
                f"Requirement failed: view UUID does not match: expected {expected[:80]} != {metadata.view_uuid}. Load "
                "the view again, and repeat."
            )


def change(metadata: ViewMetadata, updates: Sequence[Json]) -> ViewMetadata:
    """Return the metadata after some updates; the very same where they change nothing.

    Raises InvalidInputError for an update that is unknown, or that the format does not allow.
    """
    draft = _Draft(metadata)
    for update in rows_of("An update of the commit cannot be carried out", updates):
        action = str(update.get("action"))
        if action not in _RULES:
            raise InvalidInputError(
                f"An update of the commit cannot be carried out: {action[:80]!r} is not for views. Use one of "
                f"{', '.join(_RULES)}."
            )
        _RULES[action](draft, update)
    return draft.finish()


class _Draft:
    """A view's metadata while a commit changes it."""

    def __init__(self, metadata: ViewMetadata, *, is_new: bool = False) -> None:
        self._before, self._is_new = metadata, is_new
        self._uuid, self._location = metadata.view_uuid, metadata.location
        self._properties = dict(metadata.properties)
        self._schemas = list(metadata.schemas)
        self._versions = list(metadata.versions)
        self._log = list(metadata.version_log)
        self._current = metadata.current_version_id
        self._added_schema: int | None = None
        self._added_version: int | None = None
        self._added: dict[int, int] = {}  # ids of versions in the commit, and what they are here
        self._is_changed = is_new

    @classmethod
    def new(cls, location: str) -> _Draft:
        from pyiceberg.view.metadata import ViewMetadata

        empty = ViewMetadata.model_construct(
            view_uuid=str(uuid.uuid4()),
            format_version=FORMAT,
            location=location,
            schemas=[],
            current_version_id=0,
            versions=[],
            version_log=[],
            properties={},
        )
        return cls(empty, is_new=True)

    # -- one rule a kind -------------------------------------------------------------------------

    def assign_uuid(self, update: Json) -> None:
        with valid("A UUID cannot be assigned"):
            chosen = str(uuid.UUID(str(update["uuid"])))
        if chosen != self._uuid and not self._is_new:
            raise InvalidInputError(f"The view has the UUID {self._uuid}, and keeps it: {chosen} cannot be assigned.")

    def upgrade(self, update: Json) -> None:
        version = update.get(FORMAT_VERSION)
        if version != FORMAT:
            raise InvalidInputError(
                f"The view cannot have format version {str(version)[:20]}: there is version 1 alone for views."
            )

    def set_location(self, update: Json) -> None:
        location = update.get("location")
        if not isinstance(location, str) or not location:
            raise InvalidInputError("An update of the commit cannot be carried out: set-location names no location.")
        self._is_changed |= location != self._location
        self._location = location

    def set_properties(self, update: Json) -> None:
        updates = update.get("updates")
        if not isinstance(updates, Mapping):
            raise InvalidInputError("An update of the commit cannot be carried out: set-properties has no updates.")
        chosen = view_properties.checked(updates)
        self._is_changed |= bool(chosen)
        self._properties |= chosen

    def remove_properties(self, update: Json) -> None:
        removals = update.get("removals")
        if not isinstance(removals, Sequence) or isinstance(removals, str):
            raise InvalidInputError("An update of the commit cannot be carried out: remove-properties has no removals.")
        for key in removals:
            self._is_changed |= self._properties.pop(str(key), None) is not None

    def add_schema(self, update: Json) -> None:
        from pyiceberg.schema import Schema

        with valid("A schema cannot be added"):
            schema = Schema.model_validate(update["schema"])
        self._added_schema = next((known.schema_id for known in self._schemas if known == schema), None)
        if self._added_schema is None:
            self._added_schema = max((known.schema_id for known in self._schemas), default=-1) + 1
            self._schemas.append(_numbered(schema, self._added_schema))
            self._is_changed = True

    def add_version(self, update: Json) -> None:
        from pyiceberg.view.metadata import ViewVersion

        with valid("A version cannot be added"):
            version = ViewVersion.model_validate(update["view-version"])
        schema = version.schema_id
        if schema == LAST_ADDED:
            if self._added_schema is None:
                raise InvalidInputError("A version cannot be added: it has the last added schema, and none was added.")
            schema = self._added_schema
        if schema not in {known.schema_id for known in self._schemas}:
            raise InvalidInputError(f"A version cannot be added: the view has no schema with the id {schema}.")
        dialects = _dialects(version)
        if not dialects or len(dialects) != len(version.representations):
            raise InvalidInputError("A version cannot be added: it needs one query for each dialect, and one at least.")
        asked, version = version.version_id, version.model_copy(update={"schema_id": schema})
        known = next((other.version_id for other in self._versions if _is_same(version, other)), None)
        if known is None:
            known = max((other.version_id for other in self._versions), default=0) + 1
            self._versions.append(version.model_copy(update={"version_id": known}))
            self._is_changed = True
        self._added[asked] = self._added_version = known

    def set_version(self, update: Json) -> None:
        asked = update.get("view-version-id")
        number: int | None
        if asked == LAST_ADDED:
            if self._added_version is None:
                raise InvalidInputError("The commit makes the last added version current, and adds none.")
            number = self._added_version
        else:
            number = self._added.get(asked, asked) if isinstance(asked, int) else None
        chosen = next((version for version in self._versions if version.version_id == number), None)
        if chosen is None:
            raise InvalidInputError(f"The view has no version with the id {str(asked)[:20]}. Add it first.")
        if chosen.version_id == self._current:
            return
        self._refuse_lost_dialects(chosen)
        self._current, self._is_changed = chosen.version_id, True

    def _refuse_lost_dialects(self, chosen: ViewVersion) -> None:
        before = next((version for version in self._versions if version.version_id == self._current), None)
        lost = set() if before is None else _dialects(before) - _dialects(chosen)
        if lost and self._properties.get(DROP_DIALECT, "false").lower() != "true":
            raise InvalidInputError(
                f"Cannot replace view due to loss of view dialects ({DROP_DIALECT}=false): {', '.join(sorted(lost))}. "
                f"Give a query for each, or set {DROP_DIALECT} to true."
            )

    # -- the end ---------------------------------------------------------------------------------

    def finish(self) -> ViewMetadata:
        """Return the metadata with its history, the one from before if nothing was changed."""
        from pyiceberg.view.metadata import ViewHistoryEntry

        if not self._is_changed:
            return self._before
        if not self._versions or (self._is_new and self._current == 0):
            raise InvalidInputError("The view has no current version. Add one, and make it current.")
        if self._current != self._before.current_version_id or self._is_new:
            is_added = self._current in self._added.values()
            version = next(version for version in self._versions if version.version_id == self._current)
            at = version.timestamp_ms if is_added else int(time.time() * 1000)
            self._log.append(ViewHistoryEntry.model_validate({"timestamp-ms": at, "version-id": self._current}))
        versions = self._retained()
        kept = {version.version_id for version in versions}
        changed = self._before.model_copy(
            update={
                "location": self._location,
                "properties": self._properties,
                "schemas": self._schemas,
                "versions": versions,
                "current_version_id": self._current,
                "version_log": list(_since_the_gap(self._log, kept)),
            }
        )
        return read(write(changed))

    def _retained(self) -> list[ViewVersion]:
        """Return the newest versions, as many as the view's properties say, and the current one whatever its age."""
        with valid(f"The property {HISTORY} cannot be used"):
            most = max(1, int(self._properties.get(HISTORY, _HISTORY_DEFAULT)))
        newest = sorted((version.version_id for version in self._versions), reverse=True)
        added = set(self._added.values())
        kept = {self._current, *added, *newest[:most]}
        while len(kept) > max(most, len(added | {self._current})):
            kept.remove(min(kept - {self._current} - added))
        return [version for version in self._versions if version.version_id in kept]


def _since_the_gap(log: Sequence[Any], kept: set[int]) -> Iterator[Any]:
    """Yield the entries of a history after the last one whose version is gone: with a gap it would not be true."""
    last_gone = max((place for place, entry in enumerate(log) if entry.version_id not in kept), default=-1)
    return iter(log[last_gone + 1 :])


def _dialects(version: ViewVersion) -> set[str]:
    return {representation.root.dialect.lower() for representation in version.representations}


def _is_same(version: ViewVersion, other: ViewVersion) -> bool:
    """Return whether two versions differ in nothing but their ids and when they were made."""
    ignored = {"version_id": 0, "timestamp_ms": 0}
    return bool(version.model_copy(update=ignored) == other.model_copy(update=ignored))


def _numbered(schema: Schema, number: int) -> Schema:
    return schema.model_copy(update={"schema_id": number})


_RULES: Mapping[str, Callable[[_Draft, Json], None]] = {
    "assign-uuid": _Draft.assign_uuid,
    "upgrade-format-version": _Draft.upgrade,
    "add-schema": _Draft.add_schema,
    "set-location": _Draft.set_location,
    "set-properties": _Draft.set_properties,
    "remove-properties": _Draft.remove_properties,
    "add-view-version": _Draft.add_version,
    "set-current-view-version": _Draft.set_version,
}
