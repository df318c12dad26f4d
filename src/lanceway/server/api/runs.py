"""`/lanceway/v1/pipelines`, `runs` and `lineage`: what pipelines have done, for those who look.

    GET /lanceway/v1/pipelines              by name, each with its newest run
    GET /lanceway/v1/pipelines/{name}       one, and who holds it
    GET /lanceway/v1/runs                   newest first; of one `pipeline`, in one `state`
    GET /lanceway/v1/runs/{key}             one with its steps, what they read, and what expectations came to
    GET /lanceway/v1/lineage                of one `table` or `location`: upstream and downstream, as JSON or SVG

An admin sees everything, anybody else the runs he started and those of pipelines that he was the first to run.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict
from functools import partial
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from lanceway import drawing
from lanceway.access.principal import Principal
from lanceway.catalogs.contract.requests import page_of, page_start, page_start_id
from lanceway.errors import InvalidInputError
from lanceway.lake.runs import leases, lineage, listing, recorder, runs, source_files
from lanceway.lake.runs import runs as report
from lanceway.lake.runs.runs import Run
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree.names import checked_text
from lanceway.server.api.records import Records
from lanceway.server.api.requests import Handlers, answer, choice, flag, limit, number
from lanceway.server.threads import CatalogThreads

STATES = (runs.RUNNING, runs.DONE, runs.FAILED, runs.STOPPED, runs.GIVEN_UP, listing.KILLED)
DIRECTIONS, FORMATS = ("both", "upstream", "downstream"), ("json", "svg")
SVG = "image/svg+xml"
# A drawing is opened as a page: nothing in it may run or be fetched.
_INERT = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}


class RunNotFoundError(InvalidInputError):
    """There is no such run or pipeline, or it is not one's own."""

    status = 404


class Runs:
    """What is shown of runs."""

    def __init__(self, store: LakeStore, work: CatalogThreads) -> None:
        self._store, self._work = store, work

    async def pipelines(self, request: Request, who: Principal, _: str) -> Response:
        query, user = request.query_params, _user(who)
        list_, size = f"pipelines\0{user or ''}", limit(query.get("limit"))
        after = page_start(list_, query.get("page_token"))
        ask = partial(listing.pipelines_after, name=after, user=user, limit=size + 1)
        found = await self._work.run(None, self._store.look, ask)
        items, token = page_of(found, size, list_, lambda item: item.name)
        return answer({"pipelines": items, "page_token": token})

    async def pipeline(self, request: Request, who: Principal, name: str) -> Response:
        def ask(connection: Connection) -> dict[str, Any]:
            found = leases.find(connection, name)
            if found is None:
                raise RunNotFoundError(f"No pipeline {name} was ever run here.")
            if not who.admin:
                recorder.require_own(connection, found, who.name)
            return {
                "name": found.name,
                "held_by": found.held_by,
                "held_since": found.held_since,
                "process": found.process,
            }

        return answer(await self._work.run(None, self._store.look, ask))

    async def runs(self, request: Request, who: Principal, _: str) -> Response:
        query, user = request.query_params, _user(who)
        pipeline, state = query.get("pipeline"), choice("state", query.get("state"), STATES)
        size = limit(query.get("limit"))
        list_ = f"runs\0{user or ''}\0{pipeline or ''}\0{state or ''}"
        before = page_start_id(list_, query.get("page_token"))

        def ask(connection: Connection) -> tuple[list[dict[str, Any]], str | None]:
            found = listing.page(
                connection,
                pipeline=pipeline,
                state=state,
                user=user,
                before=before,
                limit=size + 1,
            )
            items, token = page_of(found, size, list_, lambda run: str(run.id))
            return listing.summaries(connection, items), token

        items, token = await self._work.run(None, self._store.look, ask)
        return answer({"runs": items, "page_token": token})

    async def one(self, request: Request, who: Principal, path: str) -> Response:
        key, _, part = path.partition("/")
        ask = {"": self._report, "had": self._had, "files": self._files, "changed": self._changed}.get(part)
        if ask is None:
            raise RunNotFoundError("A run has `had`, `files` and `changed`, and nothing else.")
        query = dict(request.query_params)

        def look(connection: Connection) -> Any:
            found = listing.find(connection, key, user=_user(who)) if _is_key(key) else None
            if found is None:
                raise RunNotFoundError(f"There is no run {key[:40]}{'' if who.admin else ' of yours'}.")
            return ask(connection, found, query)

        return answer(await self._work.run(None, self._store.look, look))

    @staticmethod
    def _report(connection: Connection, run: Run, query: dict[str, str]) -> dict[str, Any]:
        return {**report.of(connection, run).as_record(), "graph": run.graph}

    @staticmethod
    def _had(connection: Connection, run: Run, query: dict[str, str]) -> list[dict[str, Any]]:
        found = runs.had(connection, _row(connection, run))
        return [
            {"step": step, "source": source, "location": location, "version": version}
            for (step, source, location), version in found.items()
        ]

    @staticmethod
    def _files(connection: Connection, run: Run, query: dict[str, str]) -> list[dict[str, Any]]:
        found = source_files.between(connection, _row(connection, run), _source(query), **_span(query))
        return [asdict(file) for file in found]

    @staticmethod
    def _changed(connection: Connection, run: Run, query: dict[str, str]) -> dict[str, bool]:
        found = source_files.has_changed(connection, _row(connection, run), _source(query), **_span(query))
        return {"changed": found}

    async def lineage(self, request: Request, who: Principal, _: str) -> Response:
        query, user = request.query_params, _user(who)
        table = checked_text("`table`", query.get("table"))
        location = checked_text("`location`", query.get("location"))
        if (table is None) == (location is None):
            raise InvalidInputError("Give `table`, a name as pipelines have it, or `location`, one of the two.")
        direction = choice("direction", query.get("direction"), DIRECTIONS) or "both"
        shown = choice("format", query.get("format"), FORMATS)
        depth = number("depth", query["depth"], least=1) if "depth" in query else None
        every = flag("every", query.get("every"))

        def ask(connection: Connection) -> dict[str, Any]:
            places = {location} if location is not None else lineage.places(connection, str(table), user=user)
            around = partial(lineage.around, connection, places, depth=depth, every=every, user=user)
            return {
                "locations": sorted(places),
                "upstream": around(downstream=False) if direction != "downstream" else [],
                "downstream": around(upstream=False) if direction != "upstream" else [],
            }

        found = await self._work.run(None, self._store.look, ask)
        if shown != "svg" and (shown == "json" or SVG not in request.headers.get("accept", "")):
            return answer(found)
        draw = partial(drawing.svg, title=f"Lineage of {table or location}")
        text = await self._work.run(None, draw, lineage.nodes([*found["upstream"], *found["downstream"]]))
        return Response(text, headers=_INERT, media_type=SVG)


def _user(who: Principal) -> str | None:
    return None if who.admin else who.name


def _is_key(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _row(connection: Connection, run: Run) -> int:
    found = leases.find(connection, run.pipeline)
    assert found is not None, "a run has its pipeline"
    return found.id


def _source(query: dict[str, str]) -> str:
    found = checked_text("`source`", query.get("source"))
    if not found:
        raise InvalidInputError("`source` is missing: the name of a source of the pipeline.")
    return found


def _span(query: dict[str, str]) -> dict[str, int]:
    return {name: number(name, query.get(name, "0")) for name in ("after", "until")}


def handlers(store: LakeStore, work: CatalogThreads) -> Handlers:
    """What is to be served under which names."""
    looking, writing = Runs(store, work), Records(store, work)
    return {
        ("pipelines", False): {"GET": looking.pipelines},
        ("pipelines", True): {"GET": looking.pipeline},
        ("runs", False): {"GET": looking.runs},
        ("runs", True): {"GET": looking.one, "POST": writing.record},
        ("lineage", False): {"GET": looking.lineage},
        ("leases", False): {"POST": writing.take},
        ("leases", True): {"POST": writing.change},
    }
