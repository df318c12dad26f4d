"""A fake of Unity Catalog, since no registry has its server: it answers as the real 0.6.0 was recorded to answer.

Switched to another dialect, it refuses as its versions up to 0.4.0 and as Databricks are known to; Databricks in truth
creates Delta tables alone. A real server takes its place for the tests that need no such switch:
LANCEWAY_TEST_UNITY=http://localhost:8080.
"""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

API = "/api/2.1/unity-catalog"
PAGE = 100
_LONGEST = 255
_NAME = re.compile(r"[a-zA-Z0-9_@-]+")
_SCHEMES = frozenset({"s3", "gs", "abfs", "abfss", "file"})
_FORMATS = frozenset({"DELTA", "CSV", "JSON", "AVRO", "PARQUET", "ORC", "TEXT", None})
_TYPES = frozenset(
    {
        *("BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING"),
        *("BINARY", "DECIMAL", "INTERVAL", "ARRAY", "STRUCT", "MAP", "CHAR", "NULL", "USER_DEFINED_TYPE", "TABLE_TYPE"),
        "VARIANT",
    }
)
_KINDS = ("catalog", "schema", "table")
_FIELDS = ("name", "type", "nullable", "metadata")

# What each dialect says of a thing that is missing, there already, or not empty, and of a request that is wrong.
NEW, OLD, DATABRICKS = "0.6.0", "0.4.0", "databricks"
DIALECTS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    NEW: {
        "missing": (404, "{}_NOT_FOUND"),
        "taken": (400, "{}_ALREADY_EXISTS"),
        "not empty": (400, "FAILED_PRECONDITION"),
        "wrong": (400, "INVALID_ARGUMENT"),
    },
    OLD: {
        "missing": (404, "NOT_FOUND"),
        "taken": (409, "ALREADY_EXISTS"),
        "not empty": (400, "FAILED_PRECONDITION"),
        "wrong": (400, "INVALID_ARGUMENT"),
    },
    DATABRICKS: {
        "missing": (404, "{}_DOES_NOT_EXIST"),
        "taken": (400, "{}_ALREADY_EXISTS"),
        "not empty": (400, "SCHEMA_NOT_EMPTY"),
        "wrong": (400, "INVALID_PARAMETER_VALUE"),
    },
}


class Refused(Exception):  # noqa: N818 - an answer, rather than an error of the fake's
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "error_code": code,
            "details": [{"reason": code, "@type": "google.rpc.ErrorInfo"}],
            "message": message,
        }


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Fault:
    """What happens to a request instead of its answer. With `done` it is carried out first, and the answer is lost."""

    status: int | None = None  # None breaks the connection off
    body: bytes | Mapping[str, Any] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False
    method: str | None = None  # which requests are meant; None for all


@dataclass
class Unity:
    """The server, as a catalog names it and as a test sees it from behind."""

    endpoint: str
    dialect: str = NEW
    token: str | None = None
    denied: frozenset[str] = frozenset()  # methods for which the token has no privilege
    hidden: frozenset[str] = frozenset()  # names that are filtered after paging, as authorization does
    page: int = PAGE
    vended: Mapping[str, Any] = field(default_factory=dict)  # the answer to who asks for credentials
    unvended: frozenset[str] = frozenset()  # operations for which nobody gets any
    rows: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    twins: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)  # the second row of a name
    race: threading.Barrier | None = None  # where creations meet between their look and their insert
    seen: list[Seen] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def will(self, *faults: Fault) -> None:
        self.faults.extend(faults)

    def clear(self) -> None:
        """Without any content or orders."""
        for name, value in vars(Unity("")).items():
            if name not in ("endpoint", "lock"):
                setattr(self, name, value)

    # -- what it answers -------------------------------------------------------------------------

    def answer(self, seen: Seen) -> Any:
        self._authorize(seen)
        if (seen.method, seen.path) == ("POST", f"{API}/temporary-table-credentials"):
            return self._vend(seen.body)
        collection, _, name = seen.path.removeprefix(f"{API}/").partition("/")
        kind = collection.removesuffix("s")
        if not seen.path.startswith(f"{API}/") or kind not in _KINDS or "/" in name:
            raise Refused(404, "", "Not Found")
        level = _KINDS.index(kind)
        if not name:
            handlers = {"GET": self._list, "POST": self._create}
            if seen.method not in handlers:
                raise Refused(405, "", "Method Not Allowed")
            return handlers[seen.method](level, seen)
        if seen.method not in ("GET", "DELETE"):
            raise Refused(405, "", "Method Not Allowed")
        key = self._key(level, unquote(name))
        return self._found(key) if seen.method == "GET" else self._delete(key, seen.query.get("force") == "true")

    def _authorize(self, seen: Seen) -> None:
        if self.token is None:
            return
        if "authorization" not in seen.headers:
            raise Refused(401, "UNAUTHENTICATED", "No authorization found.")
        if seen.headers["authorization"] != f"Bearer {self.token}" or seen.method in self.denied:
            raise Refused(403, "PERMISSION_DENIED", "Access denied.")

    def _vend(self, body: Mapping[str, Any]) -> Any:
        """As the API's description has it; the recorded server had no credentials to give."""
        if not any(row.get("table_id") == body["table_id"] for row in self.rows.values()):
            raise self._refused("missing", "table", f"Table not found: {body['table_id']}")
        if body["operation"] in self.unvended:
            raise Refused(403, "PERMISSION_DENIED", "Access denied.")
        return self.vended

    def _key(self, level: int, name: str) -> tuple[str, ...]:
        key = tuple(name.split("."))
        if len(key) != level + 1:
            what = "Invalid table name" if level == 2 else "Invalid schema full name"
            raise self._refused("wrong", "", f"{what}: {name}")
        return key

    def _refused(self, case: str, kind: str, message: str) -> Refused:
        status, code = DIALECTS[self.dialect][case]
        return Refused(status, code.format(kind.upper()), message)

    def _found(self, key: tuple[str, ...]) -> dict[str, Any]:
        for level in range(len(key)):
            if key[: level + 1] not in self.rows:
                kind, name = _KINDS[level], ".".join(key[: level + 1])
                raise self._refused("missing", kind, f"{kind.capitalize()} not found: {name}")
            self._refuse_twins(key[: level + 1])
        return self.rows[key]

    def _refuse_twins(self, key: tuple[str, ...]) -> None:
        if key in self.twins and len(key) == len(_KINDS):  # of two schemas it takes the first
            what = f"Failed to get {_KINDS[len(key) - 1]}"
            raise Refused(500, "INTERNAL", f"{what}: Query did not return a unique result: 2 results were returned")

    def _list(self, level: int, seen: Seen) -> Any:
        asked = [f"{kind}_name" for kind in _KINDS[:level]]
        for name in asked:
            if name not in seen.query:
                raise self._refused("wrong", "", f"Mandatory parameter/header is missing: {name}")
        parent = tuple(seen.query[name] for name in asked)
        if parent:
            self._found(parent)
        after = seen.query.get("page_token", "")
        names = sorted(key[-1] for key in self.rows if key[:-1] == parent and key[-1] > after)[: self._size(seen)]
        token = names[-1] if len(names) == self._size(seen) else None
        keys = [(*parent, name) for name in names if name not in self.hidden]
        shown = [rows[key] for key in keys for rows in (self.rows, self.twins) if key in rows]
        if self.dialect == DATABRICKS:  # leaves out what is empty
            return {**({f"{_KINDS[level]}s": shown} if shown else {}), **({"next_page_token": token} if token else {})}
        return {f"{_KINDS[level]}s": shown, "next_page_token": token}

    def _size(self, seen: Seen) -> int:
        asked = int(seen.query.get("max_results", 0))
        if asked < 0:
            raise self._refused("wrong", "", "maxResults must be greater than or equal to 0")
        return min(asked or self.page, self.page)

    def _create(self, level: int, seen: Seen) -> Any:
        kind, body = _KINDS[level], seen.body
        if not isinstance(body, dict):
            raise self._refused("wrong", "", "failed to parse a JSON document")
        self._check_name(body.get("name"))
        if kind == "table":
            self._check_columns(body)
        key = (*(body[f"{parent}_name"] for parent in _KINDS[:level]), body["name"])
        if level:
            self._found(key[:-1])
        self._refuse_twins(key)
        if key in self.rows:
            raise self._refused("taken", kind, f"{kind.capitalize()} already exists: {'.'.join(key)}")
        self._let_others_in()
        properties = body.get("properties") or {}
        if any(max(len(name), len(value)) > _LONGEST for name, value in properties.items()):
            raise Refused(500, "INTERNAL", "could not execute statement")
        row = {**body, f"{kind}_id": str(uuid.uuid4()), "properties": properties}
        if kind == "table":
            row["storage_location"] = self._normalized(body)
        (self.twins if key in self.rows else self.rows)[key] = row
        return row

    def _let_others_in(self) -> None:
        """Hold no lock for a moment: the real server has no unique index, so that two that look at once both insert."""
        self.lock.release()
        try:
            if self.race is not None:
                self.race.wait(1)
        except threading.BrokenBarrierError:
            pass  # no other came
        finally:
            self.lock.acquire()

    def _check_name(self, name: str | None) -> None:
        if not name:
            raise self._refused("wrong", "", "Name cannot be empty")
        if len(name) > _LONGEST:
            raise self._refused("wrong", "", f"Name cannot be longer than {_LONGEST} characters")
        if not _NAME.fullmatch(name):
            told = "Name cannot contain a period, space, forward-slash, or control characters"
            raise self._refused("wrong", "", told)

    def _check_columns(self, body: dict[str, Any]) -> None:
        columns = body.get("columns", [])
        for column in columns:
            if column.get("type_name") not in _TYPES | {None}:
                raise self._refused("wrong", "", f"Unexpected value {column['type_name']!r}")
            if None in (column.get("type_text"), column.get("type_name"), column.get("position")):
                raise Refused(500, "INTERNAL", 'Cannot invoke "..." because ... is null')
            if self.dialect == NEW:
                self._check_type_json(column)
            column["type_text"] = column["type_text"].lower()
        if body.get("data_source_format") not in _FORMATS:
            raise self._refused("wrong", "", f"Unexpected value {body['data_source_format']!r}")

    def _check_type_json(self, column: dict[str, Any]) -> None:
        told = f"Invalid type_json for column {column['name']}"
        try:
            parsed = json.loads(column["type_json"])
        except (KeyError, ValueError):
            raise self._refused("wrong", "", f"{told}: Failed to parse typeJson") from None
        if not isinstance(parsed, dict) or not parsed.get("name"):
            raise self._refused("wrong", "", "type_json.name is required.")
        if set(parsed) - set(_FIELDS):
            raise self._refused("wrong", "", f"{told}: Failed to parse typeJson")
        if (parsed["name"], parsed.get("nullable", True)) != (column["name"], column.get("nullable", True)):
            raise self._refused("wrong", "", f"{told}: it differs from the column")

    def _normalized(self, body: dict[str, Any]) -> str:
        location = body.get("storage_location")
        if location is None:
            raise Refused(500, "INTERNAL", 'Cannot invoke "..." because "storageLocation" is null')
        if re.search(r'[\s{}"<>\\^`|]', location):
            raise self._refused("wrong", "", f"Unsupported path: {location}")
        parts = urlsplit(location)
        if parts.scheme and parts.scheme not in _SCHEMES:
            raise self._refused("wrong", "", f"Unsupported URI scheme: {parts.scheme}")
        if parts.scheme not in ("", "file"):
            if not parts.path.strip("/"):
                told = "External table storage location must include a non-empty path prefix"
                raise self._refused("wrong", "", told)
            return str(location).rstrip("/")
        return "file://" + parts.path.rstrip("/")

    def _delete(self, key: tuple[str, ...], force: bool) -> str | dict[str, Any]:
        self._found(key)
        inside = [other for other in self.rows if other[: len(key)] == key and other != key]
        if inside and not force:
            raise self._refused("not empty", "", f"Cannot delete {_KINDS[len(key) - 1]} with {_KINDS[len(key)]}s")
        for other in inside:  # each by its name
            self._refuse_twins(other)
        for other in (*inside, key):
            del self.rows[other]
            if other in self.twins:
                self.rows[other] = self.twins.pop(other)
        return {} if self.dialect == DATABRICKS else "200 OK"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        unity, target = self.server.unity, urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        query = {name: values[0] for name, values in parse_qs(target.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, target.path, query, headers, json.loads(raw) if raw else None)
        with unity.lock:
            unity.seen.append(seen)
            fault = next((row for row in unity.faults if row.method in (None, self.command)), None)
            if fault is not None:
                unity.faults.remove(fault)
            if fault is None or fault.done:
                status, body = self._carried_out(unity, seen)
        if fault is None:
            self._send(status, body, {})
        elif fault.status is None:
            self.close_connection = True
        else:
            self._send(fault.status, fault.body, fault.headers)

    do_GET = do_POST = do_DELETE = do_PATCH = _serve  # noqa: N815 - the names that the library looks for

    def _carried_out(self, unity: Unity, seen: Seen) -> tuple[int, Any]:
        try:
            return 200, unity.answer(seen)
        except Refused as refused:
            if refused.body["error_code"]:
                return refused.status, refused.body
            return refused.status, f"Status: {refused.status}\nDescription: {refused}\n"

    def _send(self, status: int, body: Any, headers: Mapping[str, str]) -> None:
        raw = isinstance(body, str | bytes)
        content = json.dumps(body).encode() if not raw else body.encode() if isinstance(body, str) else body
        with suppress(OSError):  # the client may have gone
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if raw else "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


class _Server(ThreadingHTTPServer):
    unity: Unity
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off is part of the play."""


def real() -> str | None:
    """The address of a real server, where there is one."""
    return os.environ.get("LANCEWAY_TEST_UNITY") or None


@contextmanager
def serve() -> Iterator[Unity]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.unity = Unity(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.unity
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
