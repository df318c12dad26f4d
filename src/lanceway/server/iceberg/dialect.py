"""The dialect Iceberg REST: an ASGI application that finds the operation of a path in the protocol's routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.guard import Guards
from lanceway.access.records.audit import object_path
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    PermissionDeniedError,
    ServiceUnavailableError,
)
from lanceway.lake.idempotency import KeptAnswer
from lanceway.server.branches import Branches
from lanceway.server.http import inputs, log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.errors import ENVELOPE_KEY, MethodNotAllowedError, RouteNotFoundError
from lanceway.server.http.middleware import principal_of
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.http.uploads import BodyLimits
from lanceway.server.iceberg import configuration, credentials, idempotency, namespaces, replays, tables, views
from lanceway.server.iceberg.calls import Handler, IcebergRestCall
from lanceway.server.iceberg.envelope import COMMITS, CommitUnknownError, IcebergEnvelope
from lanceway.server.iceberg.idempotency import IdempotencyKeys
from lanceway.server.lance.answers import EncodedAnswer, send_answer
from lanceway.server.threads import LateCallError
from lanceway.wire import iceberg
from lanceway.wire.iceberg import IcebergMatch, IcebergRoute
from lanceway.wire.iceberg_requests import NameChange, NamespaceCreation, TransactionCommit

HANDLERS: Mapping[str, Handler] = {
    **namespaces.HANDLERS,
    **tables.HANDLERS,
    **views.HANDLERS,
    **credentials.HANDLERS,
}
# Announced to clients; the configuration itself and the tokens are not among them.
OPERATIONS = tuple(route.operation for route in iceberg.ROUTES if route.operation in HANDLERS)
# They change nothing, whatever their method.
_READS = frozenset({"report_metrics", "sign_request"})
_LONGEST_AUDITED = 1_000  # characters of a name that the body has
_ABSENT = b"bearer none"  # what pyiceberg sends where it has no token
_MOST_HEADERS = ("user-agent", "if-none-match", idempotency.HEADER, iceberg.DELEGATION)


class IcebergEntry:
    """An ASGI application in front of the dialect: errors are the protocol's from the beginning."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ENVELOPE_KEY] = IcebergEnvelope()
        scope["headers"] = [row for row in scope["headers"] if row[0] != b"authorization" or not _is_absent(row[1])]
        await self._app(scope, receive, send)


def _is_absent(value: bytes) -> bool:
    return value.strip().lower() == _ABSENT


class IcebergDialect:
    """Serves each catalog of the tree as a warehouse of Iceberg REST. It stands behind `Authentication`."""

    def __init__(
        self,
        guards: Guards,
        branches: Branches,
        bodies: BodyLimits,
        seal: PageTokenSeal,
        keys: IdempotencyKeys,
        auditor: Auditor,
    ) -> None:
        self._guards, self._branches, self._threads = guards, branches, branches.threads
        self._bodies, self._seal, self._keys, self._audit = bodies, seal, keys, auditor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, match = _find_route(scope)
        log.of(scope).operation = route.operation
        envelope: IcebergEnvelope = scope[ENVELOPE_KEY]
        envelope.operation = route.operation
        content = await uploads.read_body(receive, self._bodies.json, self._bodies.pace, "max_json_bytes")
        call = await self._read(scope, route, match, content)
        objects = _subject_of(call, envelope)
        mount = call.catalog if "prefix" in call.names else None
        await self._branches.follow(mount)
        try:
            if route.method in ("GET", "HEAD") or route.operation in _READS:
                fast = _try_fast(call)
                answer = await self._threads.run(mount, _answer, call) if fast is None else fast
            else:
                answer = await self._change(scope, call, mount, [object_path(each) for each in objects], content)
        except PermissionDeniedError as error:
            self._audit.deny(scope, route.operation, [object_path(each) for each in objects], error)
            raise
        await send_answer(send, answer)

    async def _read(self, scope: Scope, route: IcebergRoute, match: IcebergMatch, content: bytes) -> IcebergRestCall:
        if content and route.body is not None:
            uploads.check_type(scope["headers"], uploads.JSON_TYPES)
        body = None
        if route.body is not None:
            help_ = f"/openapi-iceberg.json describes what {route.operation} takes."
            body = await inputs.read_struct(content, route.body, help_)
        principal = principal_of(scope)
        names = {name: iceberg.read_segment(raw) for name, raw in match.raw.items()}
        if "prefix" in names:
            names["prefix"] = canonical(names["prefix"])
        return IcebergRestCall(
            route,
            principal,
            self._guards.of(principal),
            self._seal,
            names,
            inputs.read_query(scope["query_string"]),
            _read_headers(scope["headers"]),
            body,
            log.of(scope).request_id,
        )

    async def _change(
        self, scope: Scope, call: IcebergRestCall, mount: str | None, objects: list[str], content: bytes
    ) -> EncodedAnswer:
        carry_out = partial(self._carry_out, scope, call, mount, objects)
        parts = (call.route.method.encode(), scope["raw_path"], scope["query_string"], content)
        key = idempotency.read_key(call.headers, call.principal.name, parts)
        if key is None:
            return await carry_out()
        seconds = self._threads.deadline(mount)
        ended = await self._keys.once(key, call.route.operation, scope[ENVELOPE_KEY], seconds, carry_out)
        return await self._threads.run(mount, replays.replay, call, ended) if isinstance(ended, KeptAnswer) else ended

    async def _carry_out(
        self, scope: Scope, call: IcebergRestCall, mount: str | None, objects: list[str]
    ) -> EncodedAnswer:
        async with self._audit.change(scope, call.route.operation, objects):
            try:
                return await self._threads.run(mount, _answer, call)
            except LateCallError as error:
                if call.route.operation not in COMMITS:
                    raise
                raise _unknown(error) from error


def _find_route(scope: Scope) -> tuple[IcebergRoute, IcebergMatch]:
    """Return the operation of a path, as it was sent: names may hold an encoded slash."""
    raw: bytes = scope["raw_path"]
    match = iceberg.match(raw[len(scope["root_path"].encode()) :].decode(errors="surrogateescape"))
    methods = {method: row for method, row in match.methods.items() if _is_served(row)}
    route = methods.get(scope["method"])
    if route is not None:
        return route, match
    if not methods:
        raise RouteNotFoundError(
            "Iceberg REST has no operation with this path here. Ask /iceberg/v1/config for the prefix of your "
            "warehouse, which follows /v1/; /openapi-iceberg.json lists the operations there are."
        )
    raise MethodNotAllowedError(f"This path takes {' and '.join(methods)}, not {scope['method']}.", tuple(methods))


def _is_served(route: IcebergRoute) -> bool:
    return route.operation in HANDLERS or route.operation == "get_config"


def _read_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name: value for name, value in pairs if name in _MOST_HEADERS}


# -- what a request is about ---------------------------------------------------------------------


def _subject_of(call: IcebergRestCall, envelope: IcebergEnvelope) -> list[list[str]]:
    """Tell the envelope what a request is about, and return the identifiers of all that it is about."""
    operation, names = call.route.operation, call.names
    envelope.noun = "view" if operation.endswith(("_view", "_views")) or operation == "view_exists" else "table"
    if "namespace" in names:
        envelope.namespace = iceberg.read_namespace(names["namespace"])
    elif operation == "list_namespaces":
        envelope.namespace = iceberg.read_namespace(call.query.get("parent", ""))
    elif isinstance(call.body, NamespaceCreation):
        envelope.namespace = call.body.namespace
    elif isinstance(call.body, NameChange):
        envelope.namespace, envelope.name = call.body.source.namespace, call.body.source.name
    if "namespace" in names:
        envelope.name = names.get("table") or names.get("view") or getattr(call.body, "name", None)
    return [[text[:_LONGEST_AUDITED] for text in each] for each in _objects(call, envelope)]


def _objects(call: IcebergRestCall, envelope: IcebergEnvelope) -> Iterator[list[str]]:
    if isinstance(call.body, TransactionCommit):
        for change in call.body.changes:
            if change.identifier is not None:
                yield [call.catalog, *change.identifier.namespace, change.identifier.name]
    elif isinstance(call.body, NameChange):
        for side in (call.body.source, call.body.destination):
            yield [call.catalog, *side.namespace, side.name]
    elif "prefix" in call.names:
        yield [call.catalog, *envelope.namespace, *([envelope.name] if envelope.name else [])]


def _try_fast(call: IcebergRestCall) -> EncodedAnswer | None:
    """Return an answer that needs no waiting, so that it is not worth a thread."""
    fast = tables.FAST.get(call.route.operation)
    return None if fast is None else fast(call)


# -- on a thread ---------------------------------------------------------------------------------


def _answer(call: IcebergRestCall) -> EncodedAnswer:
    operation = call.route.operation
    if operation == "get_config":
        return configuration.get_config(call, OPERATIONS)
    try:
        return HANDLERS[operation](call)
    except ConcurrentModificationError as error:
        if operation in COMMITS:
            raise
        # Clients take 409 for a name that is taken, or a namespace that is not empty: this one may be tried again.
        raise ServiceUnavailableError(str(error)) from error
    except (ServiceUnavailableError, InternalError) as error:
        if operation not in COMMITS:
            raise
        raise _unknown(error) from error


def _unknown(error: Exception) -> CommitUnknownError:
    """Return an error after which a client keeps its files: by another status it would delete what may be in use."""
    return CommitUnknownError(
        f"Whether the commit was made is not known. Load the table before trying again. ({error})"
    )
