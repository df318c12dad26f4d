"""The dialect Gravitino REST: an ASGI application that finds the operation of a path in the protocol's routes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.guard import Guards
from lanceway.access.mounted.catalogs import CatalogAdministration
from lanceway.access.records.audit import object_path
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import PermissionDeniedError, UnsupportedOperationError
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import settings
from lanceway.server.branches import Branches
from lanceway.server.gravitino import catalogs, metalakes, people, roles, schemas, tables
from lanceway.server.gravitino.calls import FastHandler, GravitinoCall, Handler
from lanceway.server.gravitino.columns import ColumnCache
from lanceway.server.gravitino.envelope import GravitinoEnvelope
from lanceway.server.http import basic, inputs, log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.errors import ENVELOPE_KEY, MethodNotAllowedError, RouteNotFoundError
from lanceway.server.http.middleware import principal_of
from lanceway.server.http.uploads import BodyLimits
from lanceway.server.lance.answers import JSON, EncodedAnswer, send_answer
from lanceway.wire import gravitino
from lanceway.wire.gravitino import GravitinoRoute, RouteMatch

HANDLERS: Mapping[str, Handler] = {
    **metalakes.HANDLERS,
    **catalogs.HANDLERS,
    **schemas.HANDLERS,
    **tables.HANDLERS,
    **people.HANDLERS,
    **roles.HANDLERS,
}
FAST: Mapping[str, FastHandler] = {**schemas.FAST, **tables.FAST}
_VERSION = f"{gravitino.BASE}/version"
_CLAIMED_KEY = "lanceway.claimed"  # in an ASGI scope: the user that a request says to be from
_LONGEST_AUDITED = 1_000  # characters of a new name
# Bodies that may be left out.
_OPTIONAL = frozenset({"test_catalog"})


class GravitinoEntry:
    """An ASGI application in front of the dialect: its version needs no credentials, and errors are the protocol's."""

    def __init__(self, app: ASGIApp, *, simple: bool = False) -> None:
        self._app, self._simple = app, simple

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[ENVELOPE_KEY] = GravitinoEnvelope()
        scope["headers"], scope[_CLAIMED_KEY] = basic.as_bearer(scope["headers"], simple=self._simple)
        path = scope["raw_path"].decode("latin-1").removeprefix(scope["root_path"]).rstrip("/")
        if path == _VERSION and scope["method"] == "GET":
            log.of(scope).operation = "get_version"
            await send_answer(send, _encoded(metalakes.version()))
        else:
            await self._app(scope, receive, send)


class GravitinoDialect:
    """Serves the metalake as Gravitino REST. It stands behind `Authentication`."""

    def __init__(
        self,
        guards: Guards,
        store: LakeStore,
        branches: Branches,
        catalogs: CatalogAdministration,
        bodies: BodyLimits,
        auditor: Auditor,
    ) -> None:
        self._guards, self._store, self._catalogs = guards, store, catalogs
        self._branches, self._threads = branches, branches.threads
        self._bodies, self._audit, self._columns = bodies, auditor, ColumnCache()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        basic.check_claim(scope[_CLAIMED_KEY], principal_of(scope))
        route, match = _find_route(scope)
        log.of(scope).operation = route.operation
        if "metalake" in match.names:
            metalakes.check(match.names["metalake"])
        scope[ENVELOPE_KEY].noun = route.noun
        query = inputs.read_query(scope["query_string"])
        content = await uploads.read_body(receive, self._bodies.json, self._bodies.pace, "max_json_bytes")
        if content and route.body is not None:
            uploads.check_type(scope["headers"], (*uploads.JSON_TYPES, gravitino.MEDIA_TYPE.encode()))
        body = None
        if route.body is not None and (content or route.operation not in _OPTIONAL):
            help_ = f"/openapi-gravitino.json describes what {route.operation} takes."
            body = await inputs.read_struct(content, route.body, help_)
        call = self._call(scope, match, query, body)
        mount = canonical(match.names["catalog"]) if "catalog" in match.names else None
        await self._branches.follow(mount)
        try:
            if route.method == "GET":
                fast = _try_fast(route, call)
                answer = await self._threads.run(mount, _answer, route, call) if fast is None else fast
            else:
                async with self._audit.change(scope, route.operation, await self._about(route, call)):
                    answer = await self._threads.run(mount, _answer, route, call)
        except PermissionDeniedError as error:
            self._audit.deny(scope, route.operation, await self._about(route, call), error)
            raise
        await send_answer(send, answer)

    async def _about(self, route: GravitinoRoute, call: GravitinoCall) -> list[str]:
        """Return what a request is about, for the audit."""
        separator = call.guard.try_separator(call.catalog) if "catalog" in call.names else None
        if separator is None:
            separator = (await self._threads.run(None, self._store.read, settings.separator)).character
        return _objects(route, call, separator)

    def _call(self, scope: Scope, match: RouteMatch, query: Mapping[str, str], body: Any) -> GravitinoCall:
        principal = principal_of(scope)
        guard = self._guards.of(principal)
        return GravitinoCall(
            principal,
            guard,
            self._store,
            self._catalogs,
            self._guards.configured_names,
            match.names,
            query,
            body,
            self._columns,
        )


def _find_route(scope: Scope) -> tuple[GravitinoRoute, RouteMatch]:
    """Return the operation of a path, as it was sent: names may hold an encoded slash."""
    raw: bytes = scope["raw_path"]
    base = len(scope["root_path"].encode()) + len(gravitino.BASE)
    match = gravitino.match(raw[base:].decode(errors="surrogateescape"))
    route = match.unsupported or match.methods.get(scope["method"])
    if isinstance(route, str):
        raise UnsupportedOperationError(f"Not supported by this server: {route.lower()}.")
    if route is not None:
        return route, match
    if not match.methods:
        raise RouteNotFoundError(
            "Gravitino REST has no operation with this path. /openapi-gravitino.json lists those there are."
        )
    allowed = tuple(method for method, found in match.methods.items() if not isinstance(found, str))
    raise MethodNotAllowedError(f"This path takes {' and '.join(allowed)}, not {scope['method']}.", allowed)


def _try_fast(route: GravitinoRoute, call: GravitinoCall) -> EncodedAnswer | None:
    """Return an answer that needs no waiting, so that it is not worth a thread."""
    fast = FAST.get(route.operation)
    answer = None if fast is None else fast(call)
    return None if answer is None else _encoded(answer)


# -- on a thread ---------------------------------------------------------------------------------


def _answer(route: GravitinoRoute, call: GravitinoCall) -> EncodedAnswer:
    return _encoded(HANDLERS[route.operation](call))


def _encoded(answer: Mapping[str, Any]) -> EncodedAnswer:
    return EncodedAnswer(200, msgspec.json.encode({"code": gravitino.OK, **answer}), [JSON])


def _objects(route: GravitinoRoute, call: GravitinoCall, separator: str) -> list[str]:
    """Return what a request is about, for the audit: identifiers as other dialects have them, or its path."""
    names, made = call.names, getattr(call.body, "name", None)
    made = made and made[:_LONGEST_AUDITED]
    if "catalog" not in names and route.noun != "catalog":
        path = "/".join(names[part[1:-1]] if part.startswith("{") else part for part in route.parts[2:])
        return [f"/{path}" if made is None else f"/{path}/{made}"]
    id_ = [call.catalog] if "catalog" in names else []
    id_ += [part for part in names.get("schema", "").split(separator) if part]
    id_ += [names["table"]] if "table" in names else []
    if made is not None:
        id_ += unquote(made).split(separator) if route.noun == "schema" else [made]
    return [object_path(id_)]
