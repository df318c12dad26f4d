"""`/lanceway/v1/jobs`: background jobs. A user sees his own, an admin all.

GET  /lanceway/v1/jobs                 ?state=, ?table=lake$team$orders (with ?delimiter=), ?all=true for an admin
GET  /lanceway/v1/jobs/{id}
POST /lanceway/v1/jobs/{id}/cancel
"""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from lanceway.access.principal import Principal
from lanceway.catalogs.contract.job_queue import JobQueue
from lanceway.errors import PermissionDeniedError
from lanceway.identifiers import Identifier
from lanceway.lake.runs.job_states import STATES
from lanceway.lake.store.database import LakeStore
from lanceway.server.api.requests import Handlers, answer, choice, flag, limit
from lanceway.server.home import METALAKE
from lanceway.server.http.errors import MethodNotAllowedError, RouteNotFoundError
from lanceway.server.threads import CatalogThreads
from lanceway.wire.lance import DELIMITER

NAME = "jobs"
_CANCEL = "cancel"


def handlers(store: LakeStore, work: CatalogThreads) -> Handlers:
    made = _Jobs(store, work)
    return {(NAME, False): {"GET": made.list}, (NAME, True): {"GET": made.describe, "POST": made.cancel}}


class _Jobs:
    def __init__(self, store: LakeStore, work: CatalogThreads) -> None:
        self._store, self._work = store, work

    def _desk(self, who: Principal, *, own: bool) -> JobQueue:
        return JobQueue(self._store, METALAKE, None, who.name, own=own)

    async def list(self, request: Request, who: Principal, _: str) -> Response:
        query = request.query_params
        everybody = flag("all", query.get("all"))
        if everybody and not who.admin:
            raise PermissionDeniedError("Only an admin may list the jobs of others. Leave `all` out for your own.")
        table = query.get("table")
        ask = partial(
            self._desk(who, own=not everybody).page,
            state=choice("state", query.get("state"), STATES),
            table=None if not table else Identifier.parse(table, query.get("delimiter") or DELIMITER),
            limit=limit(query.get("limit")),
            page_token=query.get("page_token"),
        )
        found, token = await self._work.run(None, ask)
        return answer({"jobs": [job.as_record() for job in found], "page_token": token})

    async def describe(self, request: Request, who: Principal, rest: str) -> Response:
        if "/" in rest:
            self._refuse(rest)
        found = await self._work.run(None, self._desk(who, own=not who.admin).find, rest)
        return answer(found.as_record())

    async def cancel(self, request: Request, who: Principal, rest: str) -> Response:
        job, _, verb = rest.partition("/")
        if verb != _CANCEL:
            self._refuse(rest)
        found = await self._work.run(None, self._desk(who, own=not who.admin).cancel, job)
        return answer(found.as_record())

    @staticmethod
    def _refuse(rest: str) -> None:
        if rest.endswith(f"/{_CANCEL}") or "/" not in rest:
            only = "POST" if "/" in rest else "GET"
            raise MethodNotAllowedError(f"This path takes {only} only.", (only,))
        raise RouteNotFoundError("There is nothing at this path. Of a job there is cancel, see /openapi-lanceway.json.")
