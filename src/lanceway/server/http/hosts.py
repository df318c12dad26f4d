"""Which names of its host a server answers to.

A web page can have its own name lead to 127.0.0.1 for a moment (DNS rebinding), and then its visitor's browser treats a
server on that machine as part of the page. The server sees it by the header Host, which still has the page's name.
Where a token is needed such a page has none; where anyone may ask, only names of this machine are answered.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.exposure import is_loopback
from lanceway.config import ServerSettings
from lanceway.errors import PermissionDeniedError

ANY = "*"


class HostCheck:
    """An ASGI application that lets a request through only if its header Host has a known name."""

    def __init__(self, app: ASGIApp, names: tuple[str, ...]) -> None:
        self._app, self._names = app, frozenset(map(_plain, names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._check(scope["headers"])
        await self._app(scope, receive, send)

    def _check(self, headers: list[tuple[bytes, bytes]]) -> None:
        hosts = [_without_port(value.decode("latin-1")) for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not self._is_known(_plain(hosts[0])):
            raise PermissionDeniedError(
                "This server does not answer to the name in the header Host. Ask for it as localhost or 127.0.0.1, or "
                "have its operator add the name to allowed_hosts in [server]."
            )

    def _is_known(self, name: str) -> bool:
        return name in self._names or is_loopback(name)


def check_host(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """Serve only the names that the settings allow: loopback's where anyone may ask on loopback, else any."""
    names = settings.allowed_hosts
    local = settings.anonymous and is_loopback(settings.host)
    return HostCheck(app, names) if ANY not in names and (names or local) else app


def _without_port(host: str) -> str:
    """`[::1]:8400` is `::1`, and `localhost:8400` is `localhost`."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _plain(name: str) -> str:
    return name.strip("[]").lower().removesuffix(".")
