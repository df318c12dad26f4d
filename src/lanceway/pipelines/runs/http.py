"""Runs kept by a server: every question and every record is one request to `/lanceway/v1`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from lanceway import config as configuration
from lanceway.errors import (
    ErrorCode,
    ErrorInfo,
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    from_error_code,
)
from lanceway.lake.runs.events import Record
from lanceway.lake.runs.leases import PipelineRow
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.runs import Read, Run, RunReport, StepRow
from lanceway.lake.runs.source_files import File
from lanceway.pipelines.runs.protocol import VersionsRead
from lanceway.wire import http, lance
from lanceway.wire.authentication import Credentials, Fixed, TokenFile, bearer
from lanceway.wire.errors import Repeat

Answer = TypeVar("Answer")

SCHEMES = ("http://", "https://")
VARIABLES = ("LANCEWAY_STATE_TOKEN", "LANCEWAY_STATE_TOKEN_FILE")
_BASE = "/lanceway/v1"
_PAGE = 1000
# A server that restarts is waited for: each request may be sent again, since none does more the second time.
_PATIENCE = {"timeout": "60", "retries": "8"}
_NOT_FOUND = 404
_HINT = "Is that the address of a Lanceway server, such as http://host:8400, and is it new enough?"


@dataclass(frozen=True)
class Server:
    """A server that keeps runs, and the caller's token, or a file with one that is read again when it changes.

    Without either, LANCEWAY_STATE_TOKEN or LANCEWAY_STATE_TOKEN_FILE is used.
    """

    uri: str
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None

    def credentials(self) -> Credentials:
        token, file = self.token, self.token_file
        if token is None and file is None:
            token, file = (configuration.variable(name) for name in VARIABLES)
        if file:
            return TokenFile(os.path.abspath(file))
        return Fixed(bearer(token) if token else {})


class _Page(msgspec.Struct):
    runs: list[dict[str, Any]]
    page_token: str | None


class _Holder(msgspec.Struct):
    name: str
    held_by: str | None
    held_since: int | None
    process: str | None


class _Lease(msgspec.Struct):
    held: bool


class _Had(msgspec.Struct):
    step: str
    source: str
    location: str | None
    version: int


class _Changed(msgspec.Struct):
    changed: bool


class _Lineage(msgspec.Struct):
    upstream: list[LineageEdge]
    downstream: list[LineageEdge]


class _Run(msgspec.Struct):
    pipeline: str
    number: int
    key: str
    state: str
    full: bool
    attempts: int
    started_by: str
    graph: dict[str, Any]
    pins: dict[str, dict[str, Any]] | None
    error: str | None
    began_at: int
    ended_at: int | None
    steps: list[StepRow]
    reads: list[Read]

    def report(self) -> RunReport:
        values = {name: getattr(self, name) for name in Run.__slots__ if name != "id"}
        return RunReport(Run(id=0, **values), self.steps, self.reads)


class HttpRunStore:
    """Runs kept by a server. May be shared by threads."""

    def __init__(self, server: Server) -> None:
        settings = configuration.read_settings("The state's server", http.SETTINGS, _PATIENCE)
        self._client = http.Client(server.uri, settings, server.credentials, _refused)

    def close(self) -> None:
        self._client.close()

    def find(self, name: str) -> PipelineRow | None:
        try:
            pipeline = self._get(f"Looking for the pipeline {name}", f"/pipelines/{quote(name, safe='')}", {}, _Holder)
        except PermissionDeniedError:
            return None
        except InvalidInputError as error:
            if ErrorInfo.of(error).status == _NOT_FOUND:
                return None
            raise
        key = None if pipeline.process is None else f"{pipeline.process}/"
        return PipelineRow(0, pipeline.name, key, pipeline.held_by, pipeline.held_since)

    def take(self, name: str, key: str, *, by: str, seconds: float, ended: str | None) -> None:
        body = {"pipeline": name, "key": key, "by": by, "seconds": seconds, "ended": ended}
        self._post(f"Holding the pipeline {name}", "/leases", body, _Lease)

    def renew(self, name: str, key: str, *, seconds: float) -> bool:
        body = {"pipeline": name, "key": key, "seconds": seconds}
        return self._post(f"Holding the pipeline {name}", "/leases/renew", body, _Lease).held

    def release(self, name: str, key: str) -> None:
        self._post(f"Giving the pipeline {name} back", "/leases/release", {"pipeline": name, "key": key}, _Lease)

    def cancel(self, run: Run) -> RunReport:
        what = f"Cancelling the run {run.number} of {run.pipeline}"
        return self._post(what, f"/runs/{run.key}/cancel", {}, _Run).report()

    def record(self, name: str, lease: str, run: str, event: Record, response: type[Answer], *, by: str) -> Answer:
        body = {"pipeline": name, "lease": lease, "record": event}
        return self._post(f"Recording a run of {name}", f"/runs/{run}/records", body, response)

    def versions_read(self, run: Run) -> VersionsRead:
        rows = self._get("Asking what was read", f"/runs/{run.key}/had", {}, list[_Had])
        return {(row.step, row.source, row.location): row.version for row in rows}

    def last_steps(self, run: Run) -> Mapping[str, StepRow]:
        steps = self._get("Asking for the last steps", f"/runs/{run.key}/last-steps", {}, list[StepRow])
        return {step.name: step for step in steps}

    def files(self, run: Run, source: str, *, after: int, until: int) -> Sequence[File]:
        query = {"source": source, "after": after, "until": until}
        return self._get(f"Asking for the files of {source}", f"/runs/{run.key}/files", query, list[File])

    def has_changed(self, run: Run, source: str, *, after: int, until: int) -> bool:
        query = {"source": source, "after": after, "until": until}
        return self._get(f"Asking for the files of {source}", f"/runs/{run.key}/changed", query, _Changed).changed

    def newest(self, name: str) -> Run | None:
        newest = self.history(name, limit=1)
        return self.report(newest[0]["key"]).run if newest else None

    def report(self, run: str) -> RunReport:
        return self._get(f"Asking for the run {run}", f"/runs/{run}", {}, _Run).report()

    def history(self, name: str, *, limit: int | None) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = []
        token = None
        while limit is None or len(runs) < limit:
            size = _PAGE if limit is None else min(limit - len(runs), _PAGE)
            query = {"pipeline": name, "limit": size, "page_token": token}
            page = self._get(f"Asking for the runs of {name}", "/runs", query, _Page)
            runs += page.runs
            token = page.page_token
            if token is None:
                break
        return runs

    def lineage(self, places: Collection[str], *, depth: int | None, every: bool) -> list[LineageEdge]:
        edges: set[LineageEdge] = set()
        for place in places:
            query = {"location": place, "depth": depth, "every": "true" if every else None, "format": "json"}
            lineage = self._get(f"Asking for the lineage of {place}", "/lineage", query, _Lineage)
            edges.update(lineage.upstream, lineage.downstream)
        return sorted(edges, key=lambda edge: (edge.at or 0, edge.step, edge.source), reverse=True)

    # -- requests --------------------------------------------------------------------------------

    def _get(self, what: str, path: str, query: Mapping[str, object], answer: type[Answer]) -> Answer:
        pairs = [(name, str(value)) for name, value in query.items() if value is not None]
        return self._ask(http.Request(what, "GET", f"{_BASE}{path}", query=pairs, repeat=Repeat.SAFE), answer)

    def _post(self, what: str, path: str, body: Mapping[str, object], answer: type[Answer]) -> Answer:
        try:
            content = msgspec.json.encode(body)
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"{what} failed: {error.object[:100]!r} is not Unicode text.") from error
        headers = {"content-type": lance.JSON}
        request = http.Request(what, "POST", f"{_BASE}{path}", headers=headers, content=content, repeat=Repeat.SAFE)
        return self._ask(request, answer)

    def _ask(self, request: http.Request, answer: type[Answer]) -> Answer:
        response = self._client.send(request)
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.DecodeError as error:
            raise _foreign(request, f"its answer cannot be read ({error})", self._client.uri) from error


def _refused(request: http.Request, answer: http.HttpAnswer) -> LanceNamespaceError:
    """Return the error that the server's response means, by its code."""
    body, code = lance.read_error(answer.content)
    said = body.get("error")
    if code is not None and isinstance(said, str):
        return from_error_code(
            code, f"{request.what} failed: {said} {_HINT}" if code == ErrorCode.UNSUPPORTED else said
        )
    return _foreign(request, f"it answers {answer.status}")


def _foreign(request: http.Request, reason: str, uri: str = "the server") -> InternalError:
    return InternalError(f"{request.what} failed at {uri}: {reason}. {_HINT}")
