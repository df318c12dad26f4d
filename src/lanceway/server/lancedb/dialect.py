"""The dialect of LanceDB's remote client: an ASGI application in front of Lance REST.

The client marks its requests by the header `x-lancedb-database`, which has the NAME of `db://NAME`. What has no such
mark is Lance REST. The answers name a version of LanceDB's service, by which the client chooses what it sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanceway.access.guard import Guards
from lanceway.access.records.audit import object_path
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    TableColumnNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.lake.store.database import LakeStore
from lanceway.server.branches import Branches
from lanceway.server.http import downloads, log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.errors import ENVELOPE_KEY, LanceEnvelope
from lanceway.server.http.middleware import principal_of
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.http.uploads import BodyLimits
from lanceway.server.lance import fields
from lanceway.server.lance.answers import EncodedAnswer, SafeCatalog, send_answer
from lanceway.server.lance.dialect import LanceDialect, find_route
from lanceway.server.lancedb import blobs, multipart, queries, routes
from lanceway.server.lancedb.blobs import BlobRange
from lanceway.server.lancedb.calls import TABLE_HANDLERS, LanceDbCall, LanceDbHandler, add_null_columns
from lanceway.server.lancedb.form import LanceDbForm
from lanceway.server.lancedb.jobs import JOB_HANDLERS
from lanceway.server.lancedb.multipart import MULTIPART_HANDLERS
from lanceway.server.lancedb.routes import LanceDbMatch, LanceDbRoute
from lanceway.tables.read.ipc_limits import StreamLimits
from lanceway.wire import lance
from lanceway.wire.lance import BY_OPERATION, DELIMITER, Match

_DATABASE, _PREFIX = b"x-lancedb-database", b"x-lancedb-database-prefix"
# From 0.2 a query may have several vectors, from 0.3 text queries are structured, from 0.4 a write comes in parts, from
# 0.5 there are blobs.
_WHOLE, _PARTS = b"0.3.0", b"0.5.0"
_CONFLICT, _REFUSED = 409, 400
# Of a missing version the client itself says so, but not where a tag is to lead to it.
_TO_VERSIONS = ("create_table_tag", "update_table_tag")
_LIST_TABLES = BY_OPERATION["list_tables"]
_HANDLERS: Mapping[str, LanceDbHandler] = {**TABLE_HANDLERS, **JOB_HANDLERS, **MULTIPART_HANDLERS}


class LanceDbEnvelope(LanceEnvelope):
    """Errors as LanceDB's client understands them."""

    operation = ""

    def status(self, error: LanceNamespaceError) -> int:
        status = super().status(error)
        of_tag = isinstance(error, TableVersionNotFoundError) and self.operation in _TO_VERSIONS
        if of_tag or isinstance(error, TableColumnNotFoundError | TableTagNotFoundError):
            return _REFUSED  # the client says of any 404 that the table was not found
        # At a conflict the client asks again some times and then forgets the reason, so it is told of those alone that
        # another try may settle. Whether a table is there already it reads in the words of a 400, a branch in a 409.
        settled = isinstance(error, ConcurrentModificationError) or self.operation == "create_table_branch"
        return status if status != _CONFLICT or settled else _REFUSED


class LanceDbDialect:
    """Serves LanceDB's client, and hands every other request to Lance REST.

    `coated` serves the operations that Lance REST has as well, in the client's form.
    """

    def __init__(
        self,
        rest: ASGIApp,
        coated: LanceDialect,
        guards: Guards,
        store: LakeStore,
        branches: Branches,
        bodies: BodyLimits,
        streams: StreamLimits,
        seal: PageTokenSeal,
        auditor: Auditor,
    ) -> None:
        self._rest, self._coated, self._seal, self._audit = rest, coated, seal, auditor
        self._guards, self._store = guards, store
        self._branches, self._threads = branches, branches.threads
        self._bodies, self._streams = bodies, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        database = _database(scope["headers"])
        if database is None:
            await self._rest(scope, receive, send)
            return
        scope[ENVELOPE_KEY] = envelope = LanceDbEnvelope()
        mount = canonical(database[0])
        await self._branches.follow(mount)
        # Rows of a mounted catalog are written by the service behind it, which takes them whole.
        version = _WHOLE if mount in self._guards.tree.mounts() else _PARTS

        async def send_versioned(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"phalanx-version", version)]
            await send(message)

        query = dict(fields.read_query(scope["query_string"]))
        raw = scope["raw_path"][len(scope["root_path"].encode()) :].decode(errors="surrogateescape")
        own = self._own(scope, raw, query)
        if own is not None:
            envelope.operation = log.of(scope).operation = own.route.operation
            await self._serve_own(own, database, query, scope, receive, send_versioned)
            return
        route, match = find_route(scope)
        if route.operation == "list_all_tables":
            route, match = (
                _LIST_TABLES,
                Match({_LIST_TABLES.method: _LIST_TABLES}, id=query.get("delimiter", DELIMITER)),
            )
        envelope.operation = route.operation
        queries.refuse_lsm(query.get("use_lsm"))  # of a merge; a query has it in its body
        await self._coated.serve(route, match, LanceDbForm(database, self._seal), scope, receive, send_versioned)

    @staticmethod
    def _own(scope: Scope, path: str, query: Mapping[str, str]) -> LanceDbMatch | None:
        """Return the operation of a request that Lance REST does not have, if it is for one."""
        match = lance.match(path)
        route = match.methods.get(scope["method"])
        if route is None:
            return None if match.methods else routes.match(scope["method"], path)
        if route.operation == "insert_into_table" and multipart.UPLOAD_ID in query:
            return LanceDbMatch(routes.ADD_PART, {"id": match.id or ""})
        if route.operation == "alter_table_add_columns" and _is_arrow(scope["headers"]):
            return LanceDbMatch(routes.ADD_NULL_COLUMNS, {"id": match.id or ""})
        return None

    async def _serve_own(
        self,
        match: LanceDbMatch,
        database: list[str],
        query: Mapping[str, str],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        route = match.route
        if route.refusal:
            raise UnsupportedOperationError(route.refusal)
        with_rows = route in (routes.ADD_PART, routes.ADD_NULL_COLUMNS)
        body = None if with_rows else await uploads.read_json(receive, scope["headers"], self._bodies)
        call = self._call(match, database, query, body, scope)
        mount, objects = canonical(call.id[0]), [object_path(call.id)]
        try:
            if route.operation == "fetch_blobs":
                stream = await self._threads.run(mount, blobs.begin_fetch, call)
                await downloads.send_rows(stream, self._threads, mount, receive, send)
            elif route.operation == "read_blob":
                blob = await self._threads.run(mount, BlobRange.find, call)
                await blob.send(partial(self._threads.run, mount), send)
            elif route.is_read:
                await send_answer(send, await self._threads.run(mount, _HANDLERS[route.operation], call))
            else:
                async with self._audit.change(scope, route.operation, objects):
                    answer = await self._change(call, route, mount, scope, receive)
                await send_answer(send, answer)
        except PermissionDeniedError as error:
            self._audit.deny(scope, route.operation, objects, error)
            raise

    async def _change(
        self, call: LanceDbCall, route: LanceDbRoute, mount: str, scope: Scope, receive: Receive
    ) -> EncodedAnswer:
        if route not in (routes.ADD_PART, routes.ADD_NULL_COLUMNS):
            return await self._threads.run(mount, _HANDLERS[route.operation], call)
        uploads.check_type(scope["headers"], uploads.ARROW_TYPES)
        uploads.check_length(scope["headers"], self._bodies.arrow)
        handler = multipart.add_part if route is routes.ADD_PART else add_null_columns
        return await self._coated.upload(mount, call.principal.name, partial(handler, call, self._streams), receive)

    def _call(
        self, match: LanceDbMatch, database: list[str], query: Mapping[str, str], body: object, scope: Scope
    ) -> LanceDbCall:
        if body is not None and not isinstance(body, dict):
            raise InvalidInputError("The body must be a JSON object.")
        principal = principal_of(scope)
        guard = self._guards.of(principal)
        delimiter = fields.read_delimiter(list(query.items()))
        inside = lance.read_id(match.names["id"], delimiter) if "id" in match.names else ()
        catalog = SafeCatalog(guard, self._seal, log.of(scope).request_id)
        id_, headers = [*database, *inside], dict(scope["headers"])
        return LanceDbCall(
            principal, guard, catalog, self._store, self._seal, database, id_, match.names, query, headers, body or {}
        )


def _is_arrow(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(uploads.ARROW_TYPES) for name, value in headers)


def _database(headers: Iterable[tuple[bytes, bytes]]) -> list[str] | None:
    """Return the identifier of the database that a request is for, None if no LanceDB client sent it."""
    named = {name: value.decode(errors="surrogateescape") for name, value in headers if name in (_DATABASE, _PREFIX)}
    database = named.get(_DATABASE)
    if database is None:
        return None
    # The client decodes what is percent-encoded in the name of the database, and encodes the path behind it.
    inside = (unquote(part, errors="surrogateescape") for part in named.get(_PREFIX, "").split("/") if part)
    names = [database, *inside]
    if not database:
        raise InvalidInputError("The header x-lancedb-database is empty. Connect to db://NAME, the name of a catalog.")
    return names
