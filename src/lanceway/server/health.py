"""Pages for those who operate a server: health, readiness, metrics and the OpenAPI documents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec
from sqlalchemy import Connection, text
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceway import __version__
from lanceway.errors import ServiceUnavailableError
from lanceway.lake.store.database import LakeStore
from lanceway.server.gravitino import metalakes
from lanceway.server.http import log
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.http.log import CONTENT_TYPE, Metrics
from lanceway.server.threads import CatalogThreads, ThreadLimits
from lanceway.wire.lance import JSON

_ONE = text("SELECT 1")
# How long `/ready` waits for the database.
READY_SECONDS = 3.0
# Its own threads, so that the answer does not depend on how busy the catalogs are.
_LIMITS = ThreadLimits("of the lake's database", threads=2, deadline=READY_SECONDS)
_METHODS = ("GET", "HEAD")


class Health:
    """An ASGI application for pages that need no credentials and name no table."""

    def __init__(self, store: LakeStore, metrics: Metrics, descriptions: Mapping[str, bytes]) -> None:
        self._store, self._metrics = store, metrics
        self._threads = CatalogThreads(_LIMITS, {})
        self._loading: asyncio.Future[None] | None = None
        self._pages: Mapping[str, Callable[[], Awaitable[Response]]] = {
            "/health": self._health,
            "/ready": self._ready,
            "/metrics": self._metrics_page,
            "/configs": self._configs,
            **{page: partial(_description, document) for page, document in descriptions.items()},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope["root_path"])
        page = self._pages.get(path)
        if page is None:
            raise RouteNotFoundError(
                "There is nothing at this path. Lance REST is below /lance, see /openapi.json; Gravitino "
                "REST below /api; Iceberg REST below /iceberg."
            )
        log.of(scope).operation = path[1:]
        if scope["method"] not in _METHODS:
            raise MethodNotAllowedError(f"This path takes {' and '.join(_METHODS)} only.", _METHODS)
        response = await page()
        await response(scope, receive, send)

    def load(self) -> asyncio.Future[None]:
        """Start importing pylance in the background: it takes seconds, which no client's first query should wait."""
        if self._loading is None:
            self._loading = asyncio.get_running_loop().run_in_executor(None, _import_lance)
        return self._loading

    async def close(self) -> None:
        await self._threads.close(0)

    async def _health(self) -> Response:
        return _json({"status": "ok", "version": __version__})

    async def _ready(self) -> Response:
        """Check that all is loaded and the database answers. Raises ServiceUnavailableError (503) within seconds."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await asyncio.shield(self.load())
        except TimeoutError as error:
            raise ServiceUnavailableError("The server is still starting. Try again later.") from error
        try:
            await self._threads.run(None, self._store.read, _ask)
        except ServiceUnavailableError as error:
            # The reason may hold names of hosts, and this page needs no credentials.
            raise ServiceUnavailableError("The lake's database cannot be reached. Try again later.") from error
        return _json({"status": "ready"})

    async def _configs(self) -> Response:
        """Say how clients of Gravitino REST write names. They may have to know it before they sign in."""
        return _json(await self._threads.run(None, metalakes.configs, self._store))

    async def _metrics_page(self) -> Response:
        page = await asyncio.get_running_loop().run_in_executor(None, self._metrics.page)
        return Response(page, media_type=CONTENT_TYPE)


async def _description(document: bytes) -> Response:
    return Response(document, media_type=JSON)


def _import_lance() -> None:
    import lance  # noqa: F401


def _ask(connection: Connection) -> None:
    connection.execute(_ONE).scalar_one()


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type=JSON)
