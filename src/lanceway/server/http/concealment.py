"""What stands behind the server, taken out of messages for clients: addresses, host names, paths.

An error says what was asked and what is wrong, often with the address of what did not answer. In process that helps; a
client of a server can do nothing with it but attack. The log keeps the whole message under the request's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

from lanceway.config import ServerSettings

HIDDEN = "…"
_SERVER_ERRORS = 500
# A name of this machine is no secret, and stands in ordinary sentences.
_PUBLIC = frozenset({"localhost", "127.0.0.1", "::1", ""})
_SHORTEST_NAME = 4
_DATABASES = re.compile(r"\b(?:postgres(?:ql)?|sqlite)(?:\+\w+)?:/[^\s'\"`)]*", re.IGNORECASE)
# What an error of the server's own may have of its surroundings: addresses, numbers of hosts, paths. No part that may
# begin in the middle of another is without an end, or a long message would be searched as often as it has words.
_SURROUNDINGS = re.compile(
    r"""\b[a-z][a-z0-9+.-]{0,30}://[^\s'"`)]+
    | (?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.])
    | (?<![\w./])\[?[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}\]?(?::\d+)?(?![\w:])
    | (?<![\w./:])/(?:[\w.@%+-]+/)+[\w.@%+-]*
    | \bport\s+\d+ """,
    re.VERBOSE | re.IGNORECASE,
)


class Concealment:
    """Takes the addresses of one server's surroundings out of messages."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Longer ones first: an address holds its host.
        texts = sorted({text for text in known if text}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, texts)), re.IGNORECASE) if texts else None

    @classmethod
    def from_settings(cls, settings: ServerSettings) -> Concealment:
        """Know the database and the services of all mounted catalogs. Locations of tables are no secret."""
        return cls([*_of_address(settings.database or ""), *_of_mounts(settings)])

    def __call__(self, message: str, status: int) -> str:
        """Return the message for a client. One of an error of the server's own is searched more closely."""
        message = _DATABASES.sub(HIDDEN, message)
        if self._known is not None:
            message = self._known.sub(HIDDEN, message)
        return _SURROUNDINGS.sub(HIDDEN, message) if status >= _SERVER_ERRORS else message


def _of_mounts(settings: ServerSettings) -> Iterator[str]:
    for mount in settings.catalogs.values():
        yield from _of_settings(mount.settings)


def _of_settings(values: Mapping[str, str]) -> Iterator[str]:
    for value in values.values():
        # A bucket or a folder shows in the locations of tables anyway.
        if value.lower().startswith(("http://", "https://", "thrift://", "postgresql", "sqlite")):
            yield from _of_address(value)


def _of_address(address: str) -> Iterator[str]:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # no address after all
        return
    if not parts.scheme:
        return
    yield address
    yield f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if port is not None:
        yield f"{host}:{port}"
    if host not in _PUBLIC and len(host) >= _SHORTEST_NAME:
        yield host
