"""One operation of `/lanceway/v1`: its handler, its Starlette route, and the types that OpenAPI is made from.

A handler is a function that `@endpoint` turns into an `Endpoint`. Its parameters say what it needs, by their names:

    call      who asks, and where to work
    query     the query string, as this msgspec Struct
    body      the body, as this msgspec Struct
    others    parts of the path, such as `key` of `/runs/{key}`
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_type_hints
from urllib.parse import urlencode

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lanceway.access.guard import Guard, Guards
from lanceway.access.mounted.catalogs import CatalogAdministration
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder
from lanceway.errors import InvalidInputError, PermissionDeniedError, UnauthenticatedError
from lanceway.lake.access.facts import Caller
from lanceway.lake.store.database import LakeStore
from lanceway.server.branches import Branches
from lanceway.server.feed.signal import FeedSignal
from lanceway.server.home import METALAKE
from lanceway.server.http import log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.middleware import principal_of
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.threads import CatalogThreads
from lanceway.wire.lance import JSON

Result = TypeVar("Result")
Handler = Callable[..., Awaitable[object]]

BASE = "/lanceway/v1"
PAGE, LARGEST_PAGE = 100, 1_000
LARGEST_NUMBER = 999_999_999
_LARGEST_BODY = 64 * 2**10  # bytes

PathPart = Annotated[str, Meta(min_length=1)]
RunKey = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]


class PageQuery(Struct):
    """The parameters of every list."""

    limit: Annotated[
        int, Meta(ge=1, le=LARGEST_NUMBER, description=f"The most items on a page; never more than {LARGEST_PAGE}.")
    ] = PAGE
    page_token: Annotated[str, Meta(description="Where the page begins: `page_token` of the page before.")] | None = (
        None
    )

    @property
    def size(self) -> int:
        return min(self.limit, LARGEST_PAGE)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: who asks, and where its handler works."""

    request: Request
    principal: Principal
    store: LakeStore
    threads: CatalogThreads
    guards: Guards
    seal: PageTokenSeal
    feed: FeedSignal
    catalogs: CatalogAdministration

    @property
    def guard(self) -> Guard:
        """Return all catalogs, as the caller may use them."""
        return self.guards.of(self.principal)

    @property
    def owner(self) -> str | None:
        """Whose records the caller may see: an admin everybody's (None)."""
        return None if self.principal.admin else self.principal.name

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a blocking function on the lake's threads."""
        return await self.threads.run(None, function, *arguments)


def actor_of(call: Call) -> Actor:
    """Return the caller as one who administers rights."""
    return Actor(Caller(call.principal.name, call.principal.groups), METALAKE)


def places_of(call: Call) -> PlaceFinder:
    """Return the objects that the server knows, with the catalogs that its configuration mounts."""
    return PlaceFinder(METALAKE, call.guards.configured_names)


@dataclass(frozen=True, slots=True)
class Services:
    """What the operations of one server share."""

    store: LakeStore
    branches: Branches
    guards: Guards
    catalogs: CatalogAdministration
    seal: PageTokenSeal
    auditor: Auditor
    feed: FeedSignal


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation: its handler, and what a client must know to ask for it."""

    method: str
    path: str
    response: Any
    handler: Handler
    status: int
    largest_body: int
    anonymous: bool
    other_media: tuple[str, ...]
    audited: bool

    @property
    def types(self) -> dict[str, Any]:
        """Return the types of the handler's parameters, by name."""
        hints = get_type_hints(self.handler, include_extras=True)
        return {name: type_ for name, type_ in hints.items() if name not in ("call", "return")}

    def route(self, services: Services) -> Route:
        route = Route(f"{BASE}{self.path}", partial(self._serve, self.types, services), methods=[self.method])
        route.methods = {self.method}  # Starlette adds HEAD to GET
        return route

    async def _serve(self, types: dict[str, Any], services: Services, request: Request) -> Response:
        if log.CONTEXT_KEY in request.scope:
            noun = self.path.split("/")[1]
            log.of(request.scope).operation = f"{self.method.lower()}_{noun}"
        who = principal_of(request.scope)
        call = Call(
            request,
            who,
            services.store,
            services.branches.threads,
            services.guards,
            services.seal,
            services.feed,
            services.catalogs,
        )
        await services.branches.follow(None)
        if call.principal == ANONYMOUS and not self.anonymous:
            raise UnauthenticatedError("Tokens belong to users, and this request names no user. Send a token of yours.")
        arguments: dict[str, Any] = dict(request.path_params)
        if "query" in types:
            arguments["query"] = query = _read_query(request, types["query"])
            if isinstance(query, PageQuery) and query.page_token:
                query.page_token = services.seal.open(self.path, request.path_params.values(), query.page_token)
        if "body" in types:
            content = await uploads.read_body(request.receive, self.largest_body)
            if content:
                uploads.check_type(request.scope["headers"], uploads.JSON_TYPES)
            arguments["body"] = _read_body(content, types["body"])
        operation, objects = self.handler.__name__, _objects(request, arguments.get("body"))
        try:
            if self.audited:
                async with services.auditor.change(request.scope, operation, objects):
                    result = await self.handler(call, **arguments)
            else:
                result = await self.handler(call, **arguments)
        except PermissionDeniedError as error:
            services.auditor.deny(request.scope, operation, objects, error)
            raise
        if isinstance(result, Response):
            return result
        if isinstance(result, dict) and result.get("page_token"):
            result["page_token"] = services.seal.close(self.path, request.path_params.values(), result["page_token"])
        return Response(msgspec.json.encode(result), self.status, media_type=JSON)


def endpoint(
    method: str,
    path: str,
    response: Any,
    *,
    status: int = 200,
    largest_body: int = _LARGEST_BODY,
    anonymous: bool = True,
    other_media: tuple[str, ...] = (),
    audited: bool | None = None,
) -> Callable[[Handler], Endpoint]:
    """Make an operation of a handler, which returns what is sent as JSON, or a whole response.

    `response` is the type that describes the JSON. Without `anonymous` only users are served. What is `audited` is
    recorded before and after; everything but GET is, unless it says otherwise.
    """
    is_audited = method != "GET" if audited is None else audited

    def decorate(handler: Handler) -> Endpoint:
        return Endpoint(method, path, response, handler, status, largest_body, anonymous, other_media, is_audited)

    return decorate


def _objects(request: Request, body: object) -> list[str]:
    """Return what a request is about, for the audit: its path, and what its body names.

    A body says so itself by `audited`: a list of dictionaries, one for each object. Otherwise its `user` is named.
    """
    named: list[dict[str, object]] = getattr(body, "audited", None) or [{"user": getattr(body, "user", None)}]
    path = request.url.path.removeprefix(BASE)
    given = [{key: value for key, value in each.items() if value is not None} for each in named]
    return [f"{path}?{urlencode(each)}" if each else path for each in given]


def _read_query(request: Request, type_: type[Result]) -> Result:
    try:
        return msgspec.convert(dict(request.query_params), type_, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInputError(
            f"The query cannot be read: {error}. /openapi-lanceway.json describes its parameters."
        ) from error


def _read_body(content: bytes, type_: type[Result]) -> Result:
    """Read a body; an empty one is `null`, which is right where a handler takes None."""
    try:
        return msgspec.json.decode(content.strip() or b"null", type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"The body cannot be read: {error}.") from error
    except RecursionError as error:
        raise InvalidInputError("The body cannot be read: it is nested too deeply.") from error


# -- types of answers ----------------------------------------------------------------------------


def derive(
    name: str, model: type, text: str, *, without: tuple[str, ...] = (), sparse: bool = False, **more: Any
) -> type[Struct]:
    """Describe an answer that has the fields of a dataclass, so that they are stated once.

    Fields in `without` are left out, those in `more` are added by name and type. A `sparse` answer leaves out what is
    None.
    """
    hints = get_type_hints(model, include_extras=True)
    types = {field.name: hints[field.name] for field in dataclasses.fields(model) if field.name not in without} | more
    fields = [
        (field, type_, None if sparse and NoneType in get_args(type_) else msgspec.NODEFAULT)
        for field, type_ in types.items()
    ]
    return msgspec.defstruct(name, fields, kw_only=True, namespace={"__doc__": text})


def page_type(name: str, items: str, type_: Any) -> type[Struct]:
    """Describe a page of a list."""
    token = Annotated[str | None, Meta(description="The `page_token` of the next page; null on the last one.")]
    return msgspec.defstruct(name, [(items, list[type_]), ("page_token", token)])
