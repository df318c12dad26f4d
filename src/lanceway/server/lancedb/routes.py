"""What LanceDB's client asks for besides Lance REST, as data: what is served, and the sentences of refusals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class LanceDbRoute:
    """An operation of LanceDB's own. `refusal` is why this server does not have it, and what to do instead."""

    operation: str
    path: str  # below the base of Lance REST, with {id} and others
    method: str = "POST"
    is_read: bool = False
    refusal: str = ""
    parts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.path.strip("/").split("/")))


def _refused(path: str, refusal: str) -> LanceDbRoute:
    operation = "_".join(part for part in path.split("/")[2:] if not part.startswith("{"))
    return LanceDbRoute(operation, path, refusal=refusal)


_TABLE, _NAMESPACE = "/v1/table/{id}", "/v1/namespace/{id}"
_LSM = "This server has no LSM write path: every write is a version of its table at once."
_BRANCHES = (
    "This server does not compare branches or copy changes between them. Read both with checkout, and write what is "
    "missing in one."
)
_FUNCTIONS = (
    "This server keeps no functions. Columns can be computed from SQL: table.add_columns({name: expression}), and "
    "lanceway tables backfill computes those that are recorded."
)
_SECRETS = "This server keeps no secrets for functions."
VIEWS = (
    "This server keeps no views for LanceDB. A materialized view is declared through Lance REST: "
    "/v1/materialized_view/{id}/create."
)

ROUTES: tuple[LanceDbRoute, ...] = (
    LanceDbRoute("begin_upload", f"{_TABLE}/multipart_write/create"),
    LanceDbRoute("complete_upload", f"{_TABLE}/multipart_write/complete"),
    LanceDbRoute("abort_upload", f"{_TABLE}/multipart_write/abort"),
    LanceDbRoute("clone_table", f"{_TABLE}/clone"),
    LanceDbRoute("fetch_blobs", f"{_TABLE}/fetch_blobs", is_read=True),
    LanceDbRoute("read_blob", f"{_TABLE}/blob/{{column}}/{{row}}/bytes", "GET", is_read=True),
    LanceDbRoute("prewarm_index", f"{_TABLE}/index/{{index_name}}/prewarm", is_read=True),
    LanceDbRoute("prewarm_data", f"{_TABLE}/page_cache/prewarm", is_read=True),
    LanceDbRoute("get_lsm_stats", f"{_TABLE}/get_lsm_stats", is_read=True),
    LanceDbRoute("get_lsm_write_spec", f"{_TABLE}/get_lsm_write_spec", is_read=True),
    LanceDbRoute("list_jobs", "/v1/jobs/list", is_read=True),
    LanceDbRoute("describe_job", "/v1/jobs/describe", is_read=True),
    LanceDbRoute("cancel_job", "/v1/jobs/cancel"),
    *(_refused(f"{_TABLE}/{verb}", _LSM) for verb in ("set_lsm_write_spec", "unset_lsm_write_spec")),
    *(_refused(f"{_TABLE}/{verb}", _LSM) for verb in ("flush_lsm", "compact_lsm")),
    *(_refused(f"{_TABLE}/branches/{verb}", _BRANCHES) for verb in ("diff", "cherry_pick")),
    _refused(f"{_TABLE}/errors", _FUNCTIONS),
    *(
        _refused(f"/v1/jobs/{verb}", "Jobs of this server can be listed, described and cancelled, nothing else.")
        for verb in ("pause", "resume", "query_events")
    ),
    *(_refused(f"/v1/functions/{verb}", _FUNCTIONS) for verb in ("create", "get")),
    *(_refused(f"/v1/function/{{id}}/{verb}", _FUNCTIONS) for verb in ("create", "describe", "drop")),
    *(_refused(f"/v1/secret/{{id}}/{verb}", _SECRETS) for verb in ("create", "describe", "alter", "drop")),
    *(_refused(f"/v1/view/{{id}}/{verb}", VIEWS) for verb in ("create", "describe", "drop")),
    *(_refused(f"/v1/materialized_view/{{id}}/{verb}", VIEWS) for verb in ("describe", "drop")),
    _refused(f"{_NAMESPACE}/function/list", _FUNCTIONS),
    _refused(f"{_NAMESPACE}/secret/list", _SECRETS),
    *(_refused(f"{_NAMESPACE}/{kind}/list", VIEWS) for kind in ("view", "materialized_view")),
)
# Operations of Lance REST that the client also asks for in a way of its own: by a query, or by the type of the body.
ADD_PART = LanceDbRoute("add_part", f"{_TABLE}/insert")
ADD_NULL_COLUMNS = LanceDbRoute("add_null_columns", f"{_TABLE}/add_columns")


@dataclass(frozen=True, slots=True)
class LanceDbMatch:
    """What a path means: its operation, and the names in it."""

    route: LanceDbRoute
    names: Mapping[str, str]


def match(method: str, path: str) -> LanceDbMatch | None:
    """Return the operation of a path below the base, which is still percent-encoded; None if there is none.

    What is refused is refused by any method.
    """
    parts = path.strip("/").split("/")
    for route in ROUTES:
        names = _names(route.parts, parts)
        if names is not None and (route.refusal or route.method == method):
            return LanceDbMatch(route, names)
    return None


def _names(pattern: Iterable[str], parts: list[str]) -> dict[str, str] | None:
    pattern = list(pattern)
    if len(pattern) != len(parts):
        return None
    names: dict[str, str] = {}
    for expected, part in zip(pattern, parts, strict=True):
        if expected.startswith("{"):
            names[expected[1:-1]] = unquote(part, errors="surrogateescape")
        elif expected != part:
            return None
    return names
