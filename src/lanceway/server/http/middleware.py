"""What surrounds every request: its id, its line in the log, its metrics, its errors."""

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
    """An ASGI application around another one, which turns its errors into the protocol's answers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        context = RequestContext(request_context.request_id(scope["headers"]))
        scope[request_context.KEY] = context
        stamp = (_REQUEST_ID, context.request_id.encode())
        path = scope["raw_path"].decode("latin-1")

        async def send_stamped(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                message["headers"] = [*message.get("headers", ()), stamp]
            else:
                context.sent += len(message.get("body", b""))
            await send(message)

        self._metrics.begin()
        try:
            await self._serve(context, scope, receive, send_stamped)
        finally:
            self._metrics.end(context)
            log.access(scope, context, path)

    async def _serve(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except LanceNamespaceError as error:
            await self._refuse(context, error, send)
        except asyncio.CancelledError:  # the server stops, and its grace period is over
            context.status = context.status or 503
            raise
        except Exception as error:  # noqa: BLE001 - the last place before the client, who must not see it
            log.failed("A request failed in a way that is not expected.", context, error)
            await self._refuse(context, error, send)

    async def _refuse(self, context: RequestContext, error: Exception, send: Send) -> None:
        """Send an error. An answer that has begun is left unfinished instead, and its connection is cut."""
        if context.status:
            log.refused("An answer broke off.", context, error)
            context.status = 599
            return
        rendered = errors.render(error, context.request_id)
        if rendered.status >= _SERVER_ERRORS and isinstance(error, LanceNamespaceError):
            log.refused("A request failed.", context, error)
        with suppress(OSError):  # the client has gone
            await send({"type": "http.response.start", "status": rendered.status, "headers": rendered.headers})
            await send({"type": "http.response.body", "body": rendered.body})
