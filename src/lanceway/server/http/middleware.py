"""The edge: what surrounds every request, whatever it asks for. Its id, its line in the log, its errors."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanceway.errors import LanceNamespaceError
from lanceway.server.http import errors, log, request_context
from lanceway.server.http.metrics import Metrics
from lanceway.server.http.request_context import RequestContext
from lanceway.wire.lance import REQUEST_ID

_REQUEST_ID = REQUEST_ID.encode()
_SERVER_ERRORS = 500


class RequestMiddleware:
    """Surrounds an application. Any error of the contract that leaves it becomes the protocol's answer."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = RequestContext(request_context.request_id(scope["headers"]))
        scope[request_context.KEY] = asked
        stamp = (_REQUEST_ID, asked.request_id.encode())
        path = scope["raw_path"].decode("latin-1")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                asked.status = message["status"]
                message["headers"] = [*message.get("headers", ()), stamp]
            else:
                asked.sent += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._answered(asked, scope, receive, answer)
        finally:
            self._metrics.end(asked)
            log.access(scope, asked, path)

    async def _answered(self, asked: RequestContext, scope: Scope, receive: Receive, answer: Send) -> None:
        try:
            await self._app(scope, receive, answer)
        except LanceNamespaceError as error:
            await self._refuse(asked, error, answer)
        except asyncio.CancelledError:  # the server stops, and its patience is over
            asked.status = asked.status or 503
            raise
        except Exception as error:  # noqa: BLE001 - the last place before the client, who must not see it
            log.failed("A request failed in a way that is not expected.", asked, error)
            await self._refuse(asked, error, answer)

    async def _refuse(self, asked: RequestContext, error: Exception, answer: Send) -> None:
        """Say what is wrong. Once the answer has begun it is too late: left unfinished, its connection is cut."""
        if asked.status:
            log.told("An answer broke off.", asked, error)
            asked.status = 599
            return
        rendered = errors.render(error, asked.request_id)
        if rendered.status >= _SERVER_ERRORS and isinstance(error, LanceNamespaceError):
            log.told("A request failed.", asked, error)
        with suppress(OSError):  # the client has gone
            await answer({"type": "http.response.start", "status": rendered.status, "headers": rendered.headers})
            await answer({"type": "http.response.body", "body": rendered.body})
