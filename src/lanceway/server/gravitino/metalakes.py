"""The metalake, of which a server has one, and what is known of the server itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from lanceway import __version__
from lanceway.access.rights.questions import is_enabled
from lanceway.errors import namespace_not_found
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import metalakes, settings
from lanceway.server.gravitino.calls import GravitinoCall, Handler, audited
from lanceway.server.home import METALAKE
from lanceway.wire import gravitino


def version() -> dict[str, Any]:
    """Return the version of the protocol that is spoken; what a client shows besides is the server's own."""
    return {"version": {"version": gravitino.VERSION, "compileDate": "-", "gitCommit": f"lanceway {__version__}"}}


def configs(store: LakeStore) -> dict[str, Any]:
    """Return what clients must know before they sign in: how names are joined, and whether rights count."""

    def work(connection: Connection) -> dict[str, Any]:
        return {
            gravitino.SEPARATOR_KEY: settings.separator(connection).character,
            gravitino.AUTHORIZATION_KEY: is_enabled(connection),
        }

    return store.read(work)


def check(name: str) -> None:
    """Raise NamespaceNotFoundError for any other metalake than the server's own."""
    if name != METALAKE:
        raise namespace_not_found(f"There is no metalake {name!r}: this server has one, {METALAKE!r}. Use that.")


def _described(store: LakeStore) -> dict[str, Any]:
    row = store.read(metalakes.load, METALAKE)
    changes = (row.audit.created_by, row.audit.created_at, row.audit.changed_by, row.audit.changed_at)
    facts = {"name": row.name, "comment": row.comment, "properties": {"in-use": "true"}, "audit": audited(*changes)}
    return {key: value for key, value in facts.items() if value is not None}


def get_version(call: GravitinoCall) -> dict[str, Any]:
    """Return the version of the protocol."""
    return version()


def list_metalakes(call: GravitinoCall) -> dict[str, Any]:
    """List the one metalake."""
    return {"metalakes": [_described(call.store)]}


def load_metalake(call: GravitinoCall) -> dict[str, Any]:
    """Return the metalake."""
    return {"metalake": _described(call.store)}


HANDLERS: Mapping[str, Handler] = {
    "get_version": get_version,
    "list_metalakes": list_metalakes,
    "load_metalake": load_metalake,
}
