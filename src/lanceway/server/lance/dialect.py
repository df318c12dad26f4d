"""The dialect Lance REST: an ASGI application that finds the operation of a path in the protocol's routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from lance_namespace import ListTablesRequest, ListTablesResponse, QueryTableRequest
from starlette.types import Receive, Scope, Send

from lanceway.access.guard import Guards
from lanceway.access.records.audit import AuditTrail
from lanceway.catalogs.contract.hooks import stream_twin
from lanceway.catalogs.contract.requests import received
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import LanceNamespaceError, PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.server.branches import Branches
from lanceway.server.http import downloads, log, uploads
from lanceway.server.http.audit import Auditor, objects_of
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.http.middleware import principal_of
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.http.uploads import BodyLimits, UploadStream
from lanceway.server.lance import fields
from lanceway.server.lance.answers import EncodedAnswer, SafeCatalog, send_answer
from lanceway.server.lance.form import LANCE_REST, WireForm
from lanceway.tables.read import ipc
from lanceway.tables.read.ipc import BinaryReader
from lanceway.tables.read.ipc_limits import StreamLimits
from lanceway.wire import lance
from lanceway.wire.lance import Body, LanceRoute, Match

_LIST_ALL = "list_all_tables"
# Operations that the event loop tries first, without a thread (docs/decisions/019).
_FAST = frozenset({"describe_table", "table_exists", "list_tables"})
# Operations on a catalog that the tree answers itself.
_OF_THE_ROOT = frozenset({"create_namespace", "describe_namespace", "drop_namespace", "namespace_exists"})


class LanceDialect:
    """Serves the tree of all catalogs as Lance REST."""

    def __init__(
        self,
        guards: Guards,
        branches: Branches,
        bodies: BodyLimits,
        streams: StreamLimits,
        seal: PageTokenSeal,
        forwarded: Iterable[str] = (),
        audit: AuditTrail | None = None,
        via: str = "Lance REST",
    ) -> None:
        self._audit = Auditor(audit, via)
        self._forwarded = fields.forwarded_headers(forwarded)
        self._guards, self._branches, self._threads = guards, branches, branches.threads
        self._bodies, self._streams, self._seal = bodies, streams, seal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, match = find_route(scope)
        await self.serve(route, match, LANCE_REST, scope, receive, send)

    async def serve(
        self, route: LanceRoute, match: Match, form: WireForm, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve an operation, in the form in which a client writes it."""
        log.of(scope).operation = route.operation
        pairs = fields.read_query(scope["query_string"])
        delimiter = fields.read_delimiter(pairs)
        id_ = form.place(fields.read_id(route, match, delimiter))
        uploads.check_length(scope["headers"], self._bodies.arrow)
        takes_json = route.body is not Body.ARROW and route.method != "GET"
        body = await uploads.read_json(receive, scope["headers"], self._bodies) if takes_json else None
        collected = fields.collect(route, match, id_, delimiter, pairs, body, scope["headers"], self._forwarded)
        request = form.read(route, collected)
        try:
            if route.operation in lance.READS:
                await self._read(route, form, request, delimiter, scope, receive, send)
            else:
                async with self._audit.change(scope, route.operation, objects_of(request)):
                    answer = await self._change(route, form, request, scope, receive)
                await send_answer(send, answer)
        except LanceNamespaceError as error:
            error.args = (form.said(str(error), id_), *error.args[1:])
            if isinstance(error, PermissionDeniedError):
                self._audit.deny(scope, route.operation, objects_of(request), error)
            raise

    async def _read(
        self,
        route: LanceRoute,
        form: WireForm,
        request: Mapping[str, Any],
        delimiter: str,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        catalog, mount = self._view(scope), _mount(route, request)
        await self._branches.follow(mount)
        if route.answer is lance.Success.ARROW:
            await self._query(partial(form.model, route, request), catalog, mount, scope, receive, send)
        elif route.operation == _LIST_ALL:
            await send_answer(send, form.write(route, await self._list_all(catalog, request, delimiter)))
        else:
            fast = route.operation in _FAST
            response = catalog.try_fast(route.operation, request.get("id"), request) if fast else None
            if response is not None:
                await send_answer(send, form.write(route, response))
            else:
                await send_answer(send, await self._threads.run(mount, _ask, route, form, catalog, request))

    async def _change(
        self, route: LanceRoute, form: WireForm, request: Mapping[str, Any], scope: Scope, receive: Receive
    ) -> EncodedAnswer:
        catalog, mount = self._view(scope), _mount(route, request)
        await self._branches.follow(mount)
        if route.body is not Body.ARROW:
            return await self._threads.run(mount, _ask, route, form, catalog, request)
        uploads.check_type(scope["headers"], uploads.ARROW_TYPES)
        insert = partial(_insert, route, form, catalog, request, self._streams)
        return await self.upload(mount, principal_of(scope).name, insert, receive)

    async def _list_all(self, catalog: SafeCatalog, request: Mapping[str, Any], delimiter: str) -> ListTablesResponse:
        """List the tables of all catalogs, each on its own threads, so that a dead one delays only this list."""
        steps = catalog.listing(received(ListTablesRequest, request))
        page: Any = None
        try:
            while True:
                step = steps.send(page)
                page = await self._threads.run(step.mount, step.call)
        except StopIteration as done:
            response: ListTablesResponse = done.value
        if delimiter != lance.DELIMITER:
            response.tables = [Identifier.parse(name, lance.DELIMITER).format(delimiter) for name in response.tables]
        return response

    async def _query(
        self,
        read: Callable[[], QueryTableRequest],
        catalog: SafeCatalog,
        mount: str | None,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if downloads.wants_json(scope["headers"]):
            await send_answer(send, await self._threads.run(mount, _query_as_json, catalog, read))
        else:
            stream = await self._threads.run(mount, _begin_query, catalog, read)
            await downloads.send_rows(stream, self._threads, mount, receive, send)

    async def upload(
        self, mount: str | None, user: str, insert: Callable[[BinaryReader], EncodedAnswer], receive: Receive
    ) -> EncodedAnswer:
        """Let a thread of the mount read the body, like a file, while the client sends it."""
        async with self._threads.upload_share(mount, user):
            stream = UploadStream()
            result = self._threads.upload(mount, insert, stream)
            filling = asyncio.ensure_future(stream.fill(receive, self._bodies))
            try:
                await asyncio.wait((result, filling), return_when=asyncio.FIRST_COMPLETED)
                if not result.done():
                    await asyncio.wait({result}, timeout=self._threads.deadline(mount))
                if not result.done():
                    raise self._threads.late_error(mount)
                return result.result()
            finally:
                filling.cancel()
                # Whatever ended this, a thread that still reads must not wait for ever.
                gone = "The server stopped before the body had arrived. Nothing was changed."
                stream.end(uploads.ClientGoneError(gone))

    def _view(self, scope: Scope) -> SafeCatalog:
        return SafeCatalog(self._guards.of(principal_of(scope)), self._seal, log.of(scope).request_id)


def find_route(scope: Scope) -> tuple[LanceRoute, Match]:
    """Return the operation of a path, as it was sent: names may hold an encoded slash."""
    raw: bytes = scope["raw_path"]
    match = lance.match(raw[len(scope["root_path"].encode()) :].decode(errors="surrogateescape"))
    if not match.methods:
        raise RouteNotFoundError("Lance REST has no operation with this path. /openapi.json lists those there are.")
    route = match.methods.get(scope["method"])
    if route is None:
        allowed = tuple(match.methods)
        raise MethodNotAllowedError(f"This path takes {' and '.join(allowed)}, not {scope['method']}.", allowed)
    return route, match


def _mount(route: LanceRoute, request: Mapping[str, Any]) -> str | None:
    """Return the catalog that a request is for: the first name of its identifier, or of the first one in a batch."""
    id_ = request.get("id") if route.has_id else _first_id(request)
    if not isinstance(id_, list) or not id_ or not isinstance(id_[0], str):
        return None
    return None if len(id_) == 1 and route.operation in _OF_THE_ROOT else canonical(id_[0])


def _first_id(request: Mapping[str, Any]) -> object:
    for entry in (*_listed(request, "entries"), *_listed(request, "operations")):
        if isinstance(entry, Mapping):
            inner = entry if "id" in entry else next((part for part in entry.values() if isinstance(part, Mapping)), {})
            return inner.get("id")
    return None


def _listed(request: Mapping[str, Any], name: str) -> list[Any]:
    value = request.get(name)
    return value[:1] if isinstance(value, list) else []


# -- on a catalog's thread -----------------------------------------------------------------------


def _ask(route: LanceRoute, form: WireForm, catalog: SafeCatalog, request: Mapping[str, Any]) -> EncodedAnswer:
    return form.write(route, getattr(catalog, route.operation)(form.model(route, request)))


def _insert(
    route: LanceRoute,
    form: WireForm,
    catalog: SafeCatalog,
    request: Mapping[str, Any],
    limits: StreamLimits,
    stream: BinaryReader,
) -> EncodedAnswer:
    insert = getattr(catalog, stream_twin(route.operation))
    return form.write(route, insert(form.model(route, request), ipc.read_from(stream, limits)))


def _begin_query(catalog: SafeCatalog, read: Callable[[], QueryTableRequest]) -> downloads.DownloadStream:
    return downloads.begin(catalog.query_table_stream(read()))


def _query_as_json(catalog: SafeCatalog, read: Callable[[], QueryTableRequest]) -> EncodedAnswer:
    return downloads.as_json(catalog.query_table_stream(read()))
