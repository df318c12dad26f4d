"""`/lanceway/v1/leases` and `runs/{key}/records`: what pipelines that run elsewhere record here.

    POST /lanceway/v1/leases                {pipeline, key, seconds, by, ended}: hold a pipeline
    POST /lanceway/v1/leases/renew          {pipeline, key, seconds}: hold it for longer
    POST /lanceway/v1/leases/release        {pipeline, key}
    POST /lanceway/v1/runs/{key}/records    {pipeline, lease, record}: one step of a run, in one transaction

Each may be asked again where an answer was lost. Whoever holds no longer what it held records nothing.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from lanceway.access.principal import Principal
from lanceway.errors import InvalidInputError
from lanceway.lake.runs import leases, recorder
from lanceway.lake.runs.events import Record
from lanceway.lake.runs.limits import Key
from lanceway.lake.runs.recorder import Recorded
from lanceway.lake.store.database import LakeStore
from lanceway.server.api.requests import answer, body, read
from lanceway.server.http.errors import RouteNotFoundError
from lanceway.server.threads import CatalogThreads

_LARGEST_RECORD = 64 * 2**20  # bytes: a source may have many files

# Nobody is to guess the key of another.
LeaseKey = Annotated[str, Meta(min_length=32, max_length=300, pattern=r"^[\x21-\x7e]+$")]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


class NewLease(Struct):
    """A pipeline is to be held. `ended` is the process of a holder that the sender knows to be no more."""

    pipeline: Key
    key: LeaseKey
    seconds: Seconds
    by: Annotated[str, Meta(max_length=300)] = ""
    ended: Key | None = None


class HeldLease(Struct):
    """A pipeline that is held, and may be held for longer."""

    pipeline: Key
    key: LeaseKey
    seconds: Seconds = 60.0


class NewRecord(Struct):
    """What a run has to say, with the lease on its pipeline."""

    pipeline: Key
    lease: LeaseKey
    record: Record


class Records:
    """What is written down of runs."""

    def __init__(self, store: LakeStore, work: CatalogThreads) -> None:
        self._store, self._work = store, work

    async def take(self, request: Request, who: Principal, _: str) -> Response:
        wanted = read(await body(request), NewLease, "request for a lease")
        take = partial(
            recorder.take,
            name=wanted.pipeline,
            key=wanted.key,
            by=f"{who.name}{f', {wanted.by}' if wanted.by else ''}",
            lifetime=int(wanted.seconds * 1000),
            ended=wanted.ended,
            user=None if who.admin else who.name,
        )
        await self._work.run(None, self._store.run, take)
        return answer({"held": True})

    async def change(self, request: Request, who: Principal, verb: str) -> Response:
        if verb not in ("renew", "release"):
            raise RouteNotFoundError("There is nothing at this path. A lease takes `renew` and `release`.")
        wanted = read(await body(request), HeldLease, "lease")

        def work(connection: Connection) -> bool:
            found = leases.find(connection, wanted.pipeline)
            if found is None:
                return False
            if verb == "renew":
                return leases.renew(connection, found.id, wanted.key, lifetime=int(wanted.seconds * 1000))
            leases.release(connection, found.id, wanted.key)
            return False

        return answer({"held": await self._work.run(None, self._store.run, work)})

    async def record(self, request: Request, who: Principal, path: str) -> Response:
        key, _, part = path.partition("/")
        if part != "records":
            raise RouteNotFoundError("There is nothing at this path. A run takes `records`.")
        run = _checked(key)
        sent = read(await body(request, _LARGEST_RECORD), NewRecord, "record of a run")

        def work(connection: Connection) -> Recorded:
            return recorder.record(connection, sent.pipeline, sent.lease, run, sent.record, by=who.name)

        return answer(await self._work.run(None, self._store.run, work))


def _checked(key: str) -> str:
    try:
        return str(uuid.UUID(key))
    except ValueError:
        raise InvalidInputError("The key of a run is a UUID that its beginner has chosen.") from None
