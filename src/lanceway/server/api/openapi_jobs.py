"""Background jobs, described (OpenAPI)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanceway.lake.runs.job_states import STATES

_TEXT, _MOMENT = {"type": "string"}, {"type": "integer", "minimum": 0}
_STATE = {"type": "string", "enum": list(STATES)}
_JOB = {
    "type": "object",
    "description": "A background job. Times are milliseconds since 1970.",
    "required": ["id", "kind", "table", "state", "request", "requested_by", "created_at", "attempts"],
    "properties": {
        "id": _TEXT,
        "kind": _TEXT,
        "table": {"type": "array", "items": _TEXT},
        "state": _STATE,
        "request": {"type": "object"},
        "requested_by": _TEXT,
        "created_at": _MOMENT,
        "attempts": {"type": "integer", "minimum": 0},
        "cancelled_by": _TEXT,
        "worker": _TEXT,
        "began_at": _MOMENT,
        "ended_at": _MOMENT,
        "progress": {"type": "object", "description": "How far it is: parts that are done, of how many, and rows."},
        "result": {"type": "object", "description": "What it came to."},
        "error": {**_TEXT, "description": "What was wrong, in one sentence."},
    },
}


def schemas() -> dict[str, Any]:
    jobs = {"type": "array", "items": {"$ref": "#/components/schemas/Job"}}
    token = {"type": ["string", "null"], "description": "For the page that follows, if one does."}
    page = {"type": "object", "required": ["jobs", "page_token"], "properties": {"jobs": jobs, "page_token": token}}
    return {"Job": _JOB, "Jobs": page}


def paths(
    operation: Callable[..., dict[str, Any]], query: Callable[..., dict[str, Any]], paging: list[dict[str, Any]]
) -> dict[str, Any]:
    listing = [
        query("state", _STATE, "Only jobs in this state."),
        query("table", {**_TEXT, "minLength": 1}, "Only jobs of this table; its names are joined by the delimiter."),
        query("delimiter", {**_TEXT, "minLength": 1}, "What joins the names of a table; $ without it."),
        query("all", {"type": "boolean"}, "Those of everybody; an admin's to choose."),
        *paging,
    ]
    job = {"name": "id", "in": "path", "required": True, "schema": {**_TEXT, "minLength": 1}}
    return {
        "/v1/jobs": {"get": operation("ListJobs", "Jobs", "Background jobs, the newest first.", listing)},
        "/v1/jobs/{id}": {"get": operation("DescribeJob", "Job", "The job.", [job])},
        "/v1/jobs/{id}/cancel": {
            "post": operation("CancelJob", "Job", "The job, which has ended or is about to.", [job])
        },
    }
