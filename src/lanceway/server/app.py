"""The application: everything that is served, built from the settings."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from lanceway.access.authenticator import Authenticator
from lanceway.access.credentials.vending import Vending
from lanceway.access.guard import Guards
from lanceway.access.mounted.catalogs import CatalogAdministration
from lanceway.access.records.audit import AuditTrail
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedBasePaths, AllowedLocations
from lanceway.config import ServerSettings
from lanceway.lake.tree import locations
from lanceway.server.api import routes as openapi_lanceway
from lanceway.server.api.endpoints import Services
from lanceway.server.api.routes import LancewayApi
from lanceway.server.branches import Branches
from lanceway.server.code_flow import CodeFlow
from lanceway.server.console import ConsolePages, SignIn, SignInAtIssuer
from lanceway.server.feed.events import CURSOR, MORE
from lanceway.server.feed.signal import FeedSignal
from lanceway.server.gravitino import openapi as openapi_gravitino
from lanceway.server.gravitino.dialect import GravitinoDialect, GravitinoEntry
from lanceway.server.health import Health
from lanceway.server.home import Home
from lanceway.server.http import middleware
from lanceway.server.http.audit import Auditor
from lanceway.server.http.concealment import Concealment
from lanceway.server.http.log import Metrics
from lanceway.server.http.middleware import Authentication, RequestMiddleware
from lanceway.server.http.oauth import TokenEndpoint
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.http.protocol import STOPPING
from lanceway.server.http.uploads import BodyLimits, UploadPace
from lanceway.server.iceberg import openapi as openapi_iceberg
from lanceway.server.iceberg.dialect import IcebergDialect, IcebergEntry
from lanceway.server.iceberg.idempotency import IdempotencyKeys
from lanceway.server.lance import openapi
from lanceway.server.lance.dialect import LanceDialect
from lanceway.server.lancedb.dialect import LanceDbDialect
from lanceway.server.threads import GRACE_SECONDS, CatalogThreads, ThreadLimits
from lanceway.tables import bases
from lanceway.tables.read.ipc_limits import StreamLimits
from lanceway.wire.gravitino import BASE
from lanceway.wire.lance import REQUEST_ID

LANCE, ICEBERG, LANCEWAY = "/lance", "/iceberg", "/lanceway"
TOKENS, ICEBERG_TOKENS = "/lanceway/v1/oauth/tokens", "/iceberg/v1/oauth/tokens"
SIGN_IN = "/lanceway/v1/sign-in"
SIGN_IN_AT_ISSUER = "/lanceway/v1/sign-in/issuer"


def create_app(settings: ServerSettings) -> ASGIApp:
    """Build the server as an ASGI application, which opens its home at once and closes it at shutdown."""
    home = Home.of(settings)
    settings = home.complete(settings)
    metrics = Metrics(shared=settings.workers > 1)
    tree = FederatedCatalog.from_settings(settings, home.store)
    threads = CatalogThreads(ThreadLimits("lake", settings.threads, settings.request_timeout), {})
    branches = Branches(tree, threads)
    authenticator = Authenticator.from_settings(home.store, settings)
    allowed = AllowedLocations.from_settings(settings)
    release_bases = bases.confine(AllowedBasePaths.from_settings(settings, home.store))
    pace = UploadPace(settings.upload_timeout, settings.min_upload_rate)
    bodies = BodyLimits(settings.max_body_bytes, settings.max_json_bytes, pace)
    streams = StreamLimits(settings.max_batch_bytes, settings.max_body_bytes)
    audit = AuditTrail.from_settings(home.store, settings)
    seal = PageTokenSeal(home.store.page_key)
    vending = Vending.from_settings(settings, tree)
    if vending.lake_life:
        # A request that found a table before it was dropped may have its credential made a little later.
        home.store.transact(locations.retire_for, vending.lake_life + math.ceil(settings.request_timeout))
    guards = Guards(tree, home.store, allowed, vending=vending)
    headers = settings.forwarded_headers
    rest = LanceDialect(guards, branches, bodies, streams, seal, headers, audit)
    coated = LanceDialect(guards, branches, bodies, streams, seal, headers, audit, via="LanceDB")
    lance = Authentication(
        LanceDbDialect(rest, coated, guards, home.store, branches, bodies, streams, seal, Auditor(audit, "LanceDB")),
        authenticator,
    )
    feed = FeedSignal(home.store, threads)
    catalogs = CatalogAdministration(guards, home.store, allowed)
    services = Services(home.store, branches, guards, catalogs, seal, Auditor(audit, "Lanceway API"), feed)
    api = Authentication(LancewayApi(services), authenticator)
    token_endpoint = TokenEndpoint(home.store, Auditor(audit, "OAuth2"))
    flow = CodeFlow.from_settings(settings)
    sign_in = SignIn(home.store, Auditor(audit, "Console"))
    sign_in_at_issuer = SignInAtIssuer(flow, authenticator, Auditor(audit, "Console"))
    gravitino = Authentication(
        GravitinoDialect(guards, home.store, branches, catalogs, bodies, Auditor(audit, "Gravitino API")), authenticator
    )
    keys = IdempotencyKeys(home.store, threads)
    iceberg = Authentication(
        IcebergDialect(guards, branches, bodies, seal, keys, Auditor(audit, "Iceberg REST")), authenticator
    )
    health = Health(home.store, metrics, _descriptions(settings.root_path))

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[Mapping[str, object]]:
        async with AsyncExitStack() as closing:
            closing.callback(release_bases)
            closing.callback(home.close)
            closing.callback(tree.close)
            if audit is not None:
                closing.callback(audit.close)
            closing.push_async_callback(health.close)
            closing.push_async_callback(token_endpoint.close, 0)
            closing.push_async_callback(sign_in.close, 0)
            closing.push_async_callback(sign_in_at_issuer.close, 0)
            closing.push_async_callback(gravitino.close, 0)
            closing.push_async_callback(iceberg.close, 0)
            closing.push_async_callback(api.close, 0)
            closing.push_async_callback(lance.close, 0)
            closing.push_async_callback(threads.close, GRACE_SECONDS)
            closing.push_async_callback(feed.close)
            closing.push_async_callback(keys.close)
            feed.keep_for(settings.event_retention)
            keys.keep_tidy()
            health.load()
            yield {STOPPING: feed.stop_waiting}

    def checked(app: ASGIApp) -> ASGIApp:
        return middleware.check_host(middleware.check_origin(app, settings), settings)

    dialects: dict[str, ASGIApp] = {LANCE: checked(lance), ICEBERG: IcebergEntry(checked(iceberg))}
    entry = GravitinoEntry(checked(gravitino), simple=settings.simple_auth)
    others: dict[str, ASGIApp] = {LANCEWAY: checked(api), BASE: entry}
    console = ConsolePages(anonymous=settings.anonymous, issuer=flow.facts if flow else None)
    pages: dict[str, ASGIApp] = dict.fromkeys((TOKENS, ICEBERG_TOKENS), checked(token_endpoint))
    pages |= dict.fromkeys(console.paths, console) | {SIGN_IN: checked(sign_in)}
    pages[SIGN_IN_AT_ISSUER] = checked(sign_in_at_issuer)
    paths = Paths(dialects, others, pages, health, Router(lifespan=lifespan), settings.root_path)
    served = RequestMiddleware(paths, metrics, Concealment.from_settings(settings))
    return _across_origins(served, settings.cors_origins)


class Paths:
    """Hand each request to the application that serves its path. A proxy may have cut its prefix off or not."""

    def __init__(
        self,
        dialects: Mapping[str, ASGIApp],
        others: Mapping[str, ASGIApp],
        pages: Mapping[str, ASGIApp],
        fallback: ASGIApp,
        lifespan: ASGIApp,
        root_path: str,
    ) -> None:
        self._pages = {path.encode(): app for path, app in pages.items()}
        self._fallback, self._lifespan, self._prefix = fallback, lifespan, root_path
        # A dialect sees its paths from its own base, as if it were alone.
        self._bases = [(f"{base}/".encode(), base, app) for base, app in dialects.items()]
        self._bases += [(f"{base}/".encode(), "", app) for base, app in others.items()]
        self._inside = f"{root_path}/".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
            return
        raw: bytes = scope["raw_path"]
        root = self._prefix if self._prefix and raw.startswith(self._inside) else ""
        scope["root_path"] = root
        page = self._pages.get(raw[len(root) :])
        if page is not None:
            await page(scope, receive, send)
            return
        for start, base, app in self._bases:
            if raw.startswith(start, len(root)):
                scope["root_path"] = root + base
                await app(scope, receive, send)
                return
        await self._fallback(scope, receive, send)


def _descriptions(root_path: str) -> dict[str, bytes]:
    """Return the OpenAPI documents by their paths."""
    return {
        "/openapi.json": openapi.document(root_path),
        "/openapi-lanceway.json": openapi_lanceway.document(root_path),
        "/openapi-gravitino.json": openapi_gravitino.document(root_path),
        "/openapi-iceberg.json": openapi_iceberg.document(f"{root_path}{ICEBERG}"),
    }


def _across_origins(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Let web pages of the named origins send requests; outermost, so that they can read errors too."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=("accept", "authorization", "content-type", "x-api-key", REQUEST_ID),
        expose_headers=(REQUEST_ID, CURSOR, MORE),
    )
