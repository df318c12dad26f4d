"""Catalogs of other services that were made through an interface: their rows, with secrets that are encrypted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, bindparam, delete, or_, select, update

from lanceway.errors import NamespaceAlreadyExistsError, NamespaceNotFoundError, recognized
from lanceway.lake.feed import outbox
from lanceway.lake.secrets import SealedSecrets, SecretKeys
from lanceway.lake.store.clock import now
from lanceway.lake.store.errors import RetryError
from lanceway.lake.store.rows import KEEP, Audit, Keep, altered, change, checked_properties, insert_audited
from lanceway.lake.store.schema import NAMESPACE, catalogs, foreign_objects, jobs, mounts
from lanceway.lake.store.schema import metalakes as metalake_rows
from lanceway.lake.tree import metalakes, settings
from lanceway.lake.tree.names import checked_name, checked_text, new_name

_INSERT = insert_audited(mounts)
_BY_NAME: Select[Any] = (
    select(mounts)
    .join_from(mounts, metalake_rows, mounts.c.metalake_id == metalake_rows.c.id)
    .where(metalake_rows.c.name == bindparam("metalake"), mounts.c.name == bindparam("mount"))
)
_CHANGING = _BY_NAME.with_for_update(of=mounts)
_ALL: Select[Any] = (
    select(mounts)
    .join_from(mounts, metalake_rows, mounts.c.metalake_id == metalake_rows.c.id)
    .where(metalake_rows.c.name == bindparam("metalake"))
    .order_by(mounts.c.name)
)
_DISABLED = (
    select(catalogs.c.name)
    .join_from(catalogs, metalake_rows, catalogs.c.metalake_id == metalake_rows.c.id)
    .where(metalake_rows.c.name == bindparam("metalake"), catalogs.c.disabled_at.is_not(None))
)
_CHANGE = change(mounts).where(mounts.c.id == bindparam("row")).returning(*mounts.c)
_HAS = select(mounts.c.id).where(mounts.c.metalake_id == bindparam("row"), mounts.c.name == bindparam("mount"))
_HAS_CATALOG = select(catalogs.c.id).where(
    catalogs.c.metalake_id == bindparam("row"), catalogs.c.name == bindparam("mount")
)


class CatalogNotFoundError(NamespaceNotFoundError):
    """There is no such catalog in the metalake."""


@dataclass(frozen=True, slots=True)
class MountRow:
    """A mounted catalog. Its `settings` are public; `secrets` are encrypted, and only their names are known."""

    id: int
    name: str
    key: str
    type: str
    settings: Mapping[str, str]
    secrets: SealedSecrets | None = field(repr=False)
    secret_names: tuple[str, ...]
    comment: str | None
    properties: Mapping[str, str]
    disabled: bool
    audit: Audit

    @classmethod
    def of(cls, row: Row[Any]) -> MountRow:
        sealed = None if row.secrets is None else SealedSecrets(row.secrets, row.key_id)
        texts = (row.comment, row.properties, row.disabled_at is not None)
        names = tuple(row.secret_names)
        return cls(row.id, row.name, row.key, row.type, row.settings, sealed, names, *texts, Audit.of(row))

    def opened(self, keys: SecretKeys) -> dict[str, str]:
        """Return all settings, the secret ones decrypted. Raises SecretsUnavailableError."""
        return {**self.settings, **self._secrets(keys)}

    def _secrets(self, keys: SecretKeys) -> dict[str, str]:
        return {} if self.secrets is None else keys.open(self.secrets, _context(self.key, self.type, self.settings))


@dataclass(frozen=True, slots=True)
class MountSettings:
    """How a catalog is connected to: settings that may be shown, and secrets."""

    type: str
    public: Mapping[str, str]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class MountsState(NamedTuple):
    """All that a process must know to route a request: what is mounted, and which of the lake's catalogs are off."""

    revision: str
    mounts: Sequence[MountRow]
    disabled: frozenset[str]


def load_state(connection: Connection, metalake: str) -> MountsState:
    """Return what is mounted; read it in a snapshot."""
    rows = [MountRow.of(row) for row in connection.execute(_ALL, {"metalake": metalake})]
    disabled = connection.execute(_DISABLED, {"metalake": metalake}).scalars()
    return MountsState(settings.mounts_revision(connection), rows, frozenset(disabled))


def names(connection: Connection, metalake: str) -> list[str]:
    """Return the names of the mounted catalogs, in code point order."""
    return [row.name for row in connection.execute(_ALL, {"metalake": metalake})]


def load(connection: Connection, metalake: str, name: str) -> MountRow:
    """Return a mounted catalog by its name. Raises NamespaceNotFoundError."""
    return MountRow.of(_row(connection, metalake, name, _BY_NAME))


def create(
    connection: Connection,
    metalake: str,
    name: str,
    new: MountSettings,
    *,
    keys: SecretKeys,
    by: str,
    comment: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> MountRow:
    """Mount a catalog, which `by` owns. Raises NamespaceNotFoundError for the metalake, NamespaceAlreadyExistsError."""
    parent, key = metalakes.lock(connection, metalake), new_name("catalog", name)
    if is_taken(connection, parent.id, key):
        raise taken(metalake, name)
    identity = uuid.uuid4().hex
    row = _INSERT(
        connection,
        {
            "metalake_id": parent.id,
            "name": key,
            "key": identity,
            "type": new.type,
            **_stored(identity, new, keys),
            "comment": checked_text("The comment", comment),
            "properties": checked_properties(properties or {}),
            "created_by": checked_text("The user", by),
            "changed_by": by,
        },
    )
    if row is None:
        raise RetryError(f"Another catalog {name!r} was made at the same time. Try again.")
    # What was granted on an earlier catalog of this name, such as one of the configuration, is not for this one.
    earlier = (foreign_objects.c.metalake_id == parent.id) & (foreign_objects.c.catalog == key)
    connection.execute(delete(foreign_objects).where(earlier))
    owned = {"metalake_id": parent.id, "catalog": key, "path": "", "kind": NAMESPACE, "mount_id": row.id}
    connection.execute(foreign_objects.insert().values(**owned, owner=by, created_by=by, created_at=now()))
    _record(connection, "catalog.created", metalake, key, by=by)
    settings.renew_mounts_revision(connection)
    return MountRow.of(row)


def alter(
    connection: Connection,
    metalake: str,
    name: str,
    *,
    by: str,
    keys: SecretKeys,
    resettle: Callable[[MountRow], MountSettings] | None = None,
    properties: Mapping[str, str | None] | None = None,
    comment: str | Keep | None = KEEP,
) -> MountRow:
    """Change what is given; a property given as None is taken away. `resettle` returns the settings from now on."""
    row = _row(connection, metalake, name, _CHANGING)
    values = altered(row, properties, by=by, comment=comment)
    if resettle is not None:
        values |= _stored(row.key, resettle(MountRow.of(row)), keys)
    _record(connection, "catalog.altered", metalake, row.name, by=by, data={"revision": row.revision + 1})
    settings.renew_mounts_revision(connection)
    return MountRow.of(connection.execute(_CHANGE.values(values), {"row": row.id}).one())


def set_enabled(connection: Connection, metalake: str, name: str, enabled: bool, *, by: str) -> MountRow:
    """Enable or disable a mounted catalog. One that is so already stays as it is."""
    row = _row(connection, metalake, name, _CHANGING)
    _record(connection, "catalog.altered", metalake, row.name, by=by, data={"enabled": enabled})
    settings.renew_mounts_revision(connection)
    return MountRow.of(connection.execute(_CHANGE.values(enabling(row, enabled, by=by)), {"row": row.id}).one())


def rename(connection: Connection, metalake: str, name: str, new: str, *, by: str) -> MountRow:
    """Give a mounted catalog another name, with all that was granted in it.

    Raises NamespaceNotFoundError, NamespaceAlreadyExistsError.
    """
    parent = metalakes.lock(connection, metalake)
    row, key = _row(connection, metalake, name, _CHANGING), new_name("catalog", new)
    if is_taken(connection, parent.id, key):
        raise taken(metalake, new)
    earlier = (foreign_objects.c.metalake_id == parent.id) & (foreign_objects.c.catalog == key)
    connection.execute(delete(foreign_objects).where(earlier))
    connection.execute(update(foreign_objects).where(foreign_objects.c.mount_id == row.id).values(catalog=key))
    rename_jobs(connection, metalake, row.name, key)
    _record(connection, "catalog.renamed", metalake, key, by=by, data={"previous": row.name})
    settings.renew_mounts_revision(connection)
    return MountRow.of(connection.execute(_CHANGE.values(name=key, changed_by=by), {"row": row.id}).one())


def drop(connection: Connection, metalake: str, name: str, *, by: str) -> MountRow:
    """Take a mounted catalog out of the tree, with all that was granted in it. Its service keeps what it has."""
    row = _row(connection, metalake, name, _CHANGING)
    # Rows of its objects that older code has made do not refer to it.
    own = (foreign_objects.c.metalake_id == row.metalake_id) & (foreign_objects.c.catalog == row.name)
    connection.execute(delete(foreign_objects).where(or_(foreign_objects.c.mount_id == row.id, own)))
    connection.execute(delete(mounts).where(mounts.c.id == row.id))
    _record(connection, "catalog.dropped", metalake, row.name, by=by)
    settings.renew_mounts_revision(connection)
    return MountRow.of(row)


def reseal(connection: Connection, keys: SecretKeys) -> int:
    """Encrypt the secrets of every mounted catalog again, with the first key; return how many catalogs those are."""
    rows = [MountRow.of(row) for row in connection.execute(select(mounts).where(mounts.c.secrets.is_not(None)))]
    for row in rows:
        sealed = keys.seal(row._secrets(keys), _context(row.key, row.type, row.settings))
        renewed = update(mounts).where(mounts.c.id == row.id)
        connection.execute(renewed.values(secrets=sealed.text, key_id=sealed.key_id))
    settings.renew_mounts_revision(connection)
    return len(rows)


def key_ids(connection: Connection) -> set[str]:
    """Return the ids of the keys that secrets are encrypted with."""
    return set(connection.execute(select(mounts.c.key_id).where(mounts.c.key_id.is_not(None))).scalars())


# -- names, which catalogs of both kinds share ---------------------------------------------------


def has(connection: Connection, metalake: int, name: str) -> bool:
    """Return whether a mounted catalog has a name, in the metalake with this id."""
    return connection.execute(_HAS, {"row": metalake, "mount": name}).first() is not None


def is_taken(connection: Connection, metalake: int, name: str) -> bool:
    """Return whether a catalog has a name, mounted or the lake's own; the metalake must be locked."""
    given = {"row": metalake, "mount": name}
    return has(connection, metalake, name) or connection.execute(_HAS_CATALOG, given).first() is not None


def taken(metalake: str, name: str) -> NamespaceAlreadyExistsError:
    return NamespaceAlreadyExistsError(
        f"The catalog {name!r} exists already in the metalake {metalake!r}. Use it, or choose another name."
    )


def missing(metalake: str, name: str) -> CatalogNotFoundError:
    return recognized(
        CatalogNotFoundError, f"There is no catalog {name!r} in the metalake {metalake!r}. Create it first."
    )


def enabling(row: Any, enabled: bool, *, by: str) -> dict[str, object]:
    """Return the values of a row of a catalog that is enabled or disabled. When it was disabled first, stays."""
    user = checked_text("The user", by)
    if enabled:
        return {"disabled_by": None, "disabled_at": None, "changed_by": user}
    if row.disabled_at is not None:
        return {"changed_by": user}
    return {"disabled_by": user, "disabled_at": now(), "changed_by": user}


def rename_jobs(connection: Connection, metalake: str, name: str, new: str) -> None:
    """Let the jobs of a catalog be those of its new name."""
    renamed = update(jobs).where(jobs.c.metalake == metalake, jobs.c.catalog == name)
    connection.execute(renamed.values(catalog=new))


def _record(
    connection: Connection, event: str, metalake: str, name: str, *, by: str, data: Mapping[str, object] | None = None
) -> None:
    outbox.record(connection, event, "", by=by, metalake=metalake, catalog=name, space="", data=data)


def _row(connection: Connection, metalake: str, name: str, statement: Select[Any]) -> Row[Any]:
    parameters = {"metalake": checked_name("metalake", metalake), "mount": checked_name("catalog", name)}
    row = connection.execute(statement, parameters).one_or_none()
    if row is None:
        raise missing(metalake, name)
    return row


def _stored(key: str, new: MountSettings, keys: SecretKeys) -> dict[str, object]:
    public = checked_properties(new.public)
    secrets = checked_properties(new.secrets)
    sealed = keys.seal(secrets, _context(key, new.type, public)) if secrets else None
    return {
        "settings": public,
        "secrets": None if sealed is None else sealed.text,
        "key_id": None if sealed is None else sealed.key_id,
        "secret_names": sorted(secrets),
    }


def _context(key: str, type_: str, public: Mapping[str, str]) -> list[object]:
    """Return what secrets are bound to: the row, and where they are sent."""
    return [key, type_, dict(public)]
