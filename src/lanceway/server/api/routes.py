"""`/lanceway/v1`: what no dialect has. Who asks, tokens, pipelines and their runs, lineage, background jobs."""

from __future__ import annotations

from starlette.routing import Match, Router
from starlette.types import Receive, Scope, Send

from lanceway.lake.store.database import LakeStore
from lanceway.server.api import jobs, records, runs, tokens
from lanceway.server.api.endpoints import Endpoint
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.threads import CatalogThreads

# In this order: a path that another one begins with comes after it.
ENDPOINTS: tuple[Endpoint, ...] = (*tokens.ENDPOINTS, *records.ENDPOINTS, *runs.ENDPOINTS, *jobs.ENDPOINTS)
_NOUNS = tuple(dict.fromkeys(endpoint.path.split("/")[1] for endpoint in ENDPOINTS))


class LancewayApi:
    """An ASGI application behind `Authentication`."""

    def __init__(self, store: LakeStore, threads: CatalogThreads) -> None:
        self._routes = [endpoint.route(store, threads) for endpoint in ENDPOINTS]
        self._router = Router([*self._routes], redirect_slashes=False, default=self._refuse)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A slash at the end means nothing.
        scope = {**scope, "path": scope["path"].rstrip("/")}
        allowed = self._methods(scope)
        if allowed and scope["method"] not in allowed:
            raise MethodNotAllowedError(f"This path takes {' and '.join(allowed)} only.", allowed)
        await self._router(scope, receive, send)

    def _methods(self, scope: Scope) -> tuple[str, ...]:
        """The methods of all routes that have this path."""
        matching = (route.methods or () for route in self._routes if route.matches(scope)[0] is not Match.NONE)
        return tuple(sorted({method for methods in matching for method in methods}))

    @staticmethod
    async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
        raise RouteNotFoundError(
            f"There is nothing at this path. Below /lanceway/v1 there are {', '.join(_NOUNS)}; see "
            "/openapi-lanceway.json."
        )
