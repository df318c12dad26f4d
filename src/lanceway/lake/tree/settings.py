"""Settings of the whole lake, stored in its database."""

from __future__ import annotations

import secrets
import uuid

from sqlalchemy import Connection, false, insert, select, update

from lanceway.lake.store.rows import Insert, execute_compiled
from lanceway.lake.store.schema import objects, settings
from lanceway.lake.tree.separators import Separator

SEPARATOR, POLICY, OLDEST_CODE, IDENTITY = "separator", "separator_policy", "oldest_code", "identity"
# Whether rights are asked for: on in new lakes, and off in those that were made without.
ACCESS_CONTROL, ON, OFF = "access_control", "on", "off"
PAGE_KEY = "page_key"
# For how many seconds a credential to the files of a table may live, the longest that any server was set to.
CREDENTIAL_LIFE = "credential_life"
# Another text after each change of what is mounted or disabled: by it every process notices.
MOUNTS_REVISION = "mounts_revision"
# They stay in the database: no backup, answer or list has them. Where the feed begins is no secret, but a restored lake
# has a feed of its own.
FEED_BEGINNING = "feed_beginning"
SECRETS = frozenset({PAGE_KEY, FEED_BEGINNING})

_PAGE_KEY_BYTES = 64
_INSERT = Insert(settings)
# It changes no row. Databases refuse it all the same where they are read-only or the user may not write.
_CHANGE_NOTHING = update(objects).where(false()).values(name=objects.c.name)
_ALL = select(settings.c.key, settings.c.value)
_MOUNTS_REVISION = select(settings.c.value).where(settings.c.key == MOUNTS_REVISION)


def load(connection: Connection) -> dict[str, str]:
    return {row.key: row.value for row in execute_compiled(connection, _ALL, {})}


def separator(connection: Connection) -> Separator:
    """Return the separator of the lake and its policy."""
    values = load(connection)
    return Separator(values[SEPARATOR], values[POLICY])


def identity(connection: Connection) -> str:
    """Return the id of the lake, made on first use. A backup holds it too."""
    id_ = load(connection).get(IDENTITY)
    if id_ is None:
        _INSERT(connection, {"key": IDENTITY, "value": uuid.uuid4().hex})  # or another process has been faster
        id_ = load(connection)[IDENTITY]
    return id_


def page_key(connection: Connection) -> bytes:
    """Return the key that seals page tokens, made on first use. It is a secret of the lake's servers."""
    key = load(connection).get(PAGE_KEY)
    if key is None:
        _INSERT(connection, {"key": PAGE_KEY, "value": secrets.token_hex(_PAGE_KEY_BYTES)})  # as above
        key = load(connection)[PAGE_KEY]
    return bytes.fromhex(key)


def renew_mounts_revision(connection: Connection) -> None:
    """Let every process read again which catalogs are mounted and which are disabled."""
    _INSERT(connection, {"key": MOUNTS_REVISION, "value": ""})  # or it is there
    changed = update(settings).where(settings.c.key == MOUNTS_REVISION)
    connection.execute(changed.values(value=secrets.token_hex(8)))


def mounts_revision(connection: Connection) -> str:
    """Return what changes with the catalogs that are mounted or disabled; empty before the first such change."""
    return str(connection.execute(_MOUNTS_REVISION).scalar() or "")


def require_writable(connection: Connection) -> None:
    """Raise what the database raises if this user cannot change tables and namespaces in it."""
    connection.execute(_CHANGE_NOTHING)


def store(connection: Connection, values: dict[str, str]) -> None:
    """Set some values, new ones or others."""
    for key, value in values.items():
        if not connection.execute(update(settings).where(settings.c.key == key).values(value=value)).rowcount:
            connection.execute(insert(settings).values(key=key, value=value))
