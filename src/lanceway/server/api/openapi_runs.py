"""`/lanceway/v1/pipelines`, `runs`, `lineage` and `leases`, described (OpenAPI)."""

from __future__ import annotations

from typing import Any

import msgspec

from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.listing import Listed
from lanceway.lake.runs.runs import Read
from lanceway.lake.runs.source_files import File
from lanceway.server.api.records import HeldLease, NewLease, NewRecord
from lanceway.server.api.runs import DIRECTIONS, FORMATS, STATES, SVG
from lanceway.wire.lance import JSON

_REF = "#/components/schemas/{name}"
_TEXT, _FLAG, _NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "integer", "minimum": 0}
_TOKEN = {"type": ["string", "null"], "description": "For the page that follows, if one does."}
_SUMMARY: dict[str, Any] = {
    "type": "object",
    "description": "A run and what it came to. Times are milliseconds since 1970.",
    "required": ["pipeline", "number", "key", "state", "full", "attempts", "started_by", "began_at", "rows", "written"],
    "properties": {
        "pipeline": _TEXT,
        "number": _NUMBER,
        "key": {**_TEXT, "format": "uuid"},
        "state": {"enum": list(STATES)},
        "full": _FLAG,
        "attempts": _NUMBER,
        "started_by": _TEXT,
        "error": _TEXT,
        "began_at": _NUMBER,
        "ended_at": _NUMBER,
        "seconds": {"type": "number"},
        "rows": _NUMBER,
        "written": {"type": "array", "items": _TEXT, "description": "Tables with their new versions."},
    },
}
_REPORT = {
    "type": "object",
    "description": "A run with its steps, what they read, and what expectations came to (in a step's details).",
    "required": ["pipeline", "number", "key", "state", "steps", "reads", "graph", "rows", "seconds", "ok"],
    "properties": {
        "pipeline": _TEXT,
        "number": _NUMBER,
        "key": _TEXT,
        "state": {"enum": list(STATES)},
        "ok": _FLAG,
        "rows": _NUMBER,
        "seconds": {"type": "number"},
        "error": {"type": ["string", "null"], "description": "Why it failed, what it has committed, how to go on."},
        "committed": {
            "type": "array",
            "items": {"type": "object", "properties": {"table": _TEXT, "version": _NUMBER}},
        },
        "steps": {"type": "array", "items": {"type": "object", "required": ["name", "kind", "state"]}},
        "reads": {"type": "array", "items": {"$ref": "#/components/schemas/Read"}},
        "graph": {"type": "object"},
    },
}


def schemas() -> dict[str, Any]:
    """Bodies and answers, by name."""
    given = [NewLease, HeldLease, NewRecord, Listed, LineageEdge, Read, File]
    _, found = msgspec.json.schema_components(given, ref_template=_REF)
    edges = _list("LineageEdge")
    return {
        **found,
        "RunSummary": _SUMMARY,
        "RunReport": _REPORT,
        "Pipelines": _object(pipelines=_list("Listed"), page_token=_TOKEN),
        "Pipeline": _object(
            name=_TEXT,
            held_by={"type": ["string", "null"]},
            held_since={"type": ["integer", "null"]},
            process={"type": ["string", "null"], "description": "Of the holder, for others on its machine."},
        ),
        "Runs": _object(runs=_list("RunSummary"), page_token=_TOKEN),
        "Lineage": _object(locations={"type": "array", "items": _TEXT}, upstream=edges, downstream=edges),
        "Lease": _object(held=_FLAG),
        "Recorded": {"description": "What is known then: the run, the step or all steps; null where that is nothing."},
        "Had": {"type": "array", "items": _object(step=_TEXT, source=_TEXT, version=_NUMBER)},
        "Files": _list("File"),
        "Changed": _object(changed=_FLAG),
    }


def paths(operation: Any, query: Any, page: list[dict[str, Any]]) -> dict[str, Any]:
    """The paths; `operation` and `query` describe one each, `page` are the parameters of any list."""
    key, name = _in_path("key", {**_TEXT, "format": "uuid"}), _in_path("name", {**_TEXT, "minLength": 1})
    span = [
        {**query("source", _TEXT, "The source's name."), "required": True},
        query("after", _NUMBER, "Only what later runs saw first."),
        query("until", _NUMBER, "As this run knew it."),
    ]
    listing = [
        query("pipeline", _TEXT, "Only the runs of this one."),
        query("state", {"enum": list(STATES)}, "Only those in this state."),
        *page,
    ]
    lineage = operation("GetLineage", "Lineage", "What led to a table, and what was made from it.", _of_lineage(query))
    lineage["responses"]["200"]["content"][SVG] = {"schema": _TEXT}
    return {
        "/v1/pipelines": {"get": operation("ListPipelines", "Pipelines", "Those that were run, by name.", page)},
        "/v1/pipelines/{name}": {"get": operation("GetPipeline", "Pipeline", "Who holds it.", [name])},
        "/v1/runs": {"get": operation("ListRuns", "Runs", "Runs, newest first.", listing)},
        "/v1/runs/{key}": {"get": operation("GetRun", "RunReport", "One run.", [key])},
        "/v1/runs/{key}/records": {
            "post": {**operation("RecordRun", "Recorded", "It is recorded.", [key]), **_body("NewRecord")}
        },
        "/v1/runs/{key}/had": {"get": operation("GetHad", "Had", "What each output has had of each source.", [key])},
        "/v1/runs/{key}/files": {"get": operation("GetFiles", "Files", "The files of a source.", [key, *span])},
        "/v1/runs/{key}/changed": {"get": operation("GetChanged", "Changed", "Whether files changed.", [key, *span])},
        "/v1/lineage": {"get": lineage},
        "/v1/leases": {"post": {**operation("TakeLease", "Lease", "The pipeline is held."), **_body("NewLease")}},
        "/v1/leases/renew": {"post": {**operation("RenewLease", "Lease", "Whether it is held."), **_body("HeldLease")}},
        "/v1/leases/release": {
            "post": {**operation("ReleaseLease", "Lease", "It is held no more."), **_body("HeldLease")}
        },
    }


def _of_lineage(query: Any) -> list[dict[str, Any]]:
    return [
        query("table", _TEXT, "A table by a name that pipelines have for it; or give location."),
        query("location", _TEXT, "Where a table lies; or give table."),
        query("direction", {"enum": list(DIRECTIONS), "default": "both"}, "Which way."),
        query("depth", {"type": "integer", "minimum": 1, "maximum": 999_999_999}, "How many steps; all if left out."),
        query("every", _FLAG, "Every run's, and not only the newest between two tables."),
        query("format", {"enum": list(FORMATS)}, f"svg is a drawing, as Accept: {SVG} asks for too."),
    ]


def _in_path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _body(schema: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {JSON: {"schema": {"$ref": _REF.format(name=schema)}}}}}


def _list(schema: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": _REF.format(name=schema)}}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}
