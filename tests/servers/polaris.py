"""A fake of Polaris' and Lakekeeper's generic tables, from their published OpenAPI: no registry here has their servers.

It keeps namespaces and generic tables in memory, gives pages, and refuses what their documentation says that they
refuse. Real servers take its place by LANCEWAY_TEST_POLARIS (`make test-polaris`) and LANCEWAY_TEST_LAKEKEEPER.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from lanceway.catalogs import PolarisCatalog

POLARIS, LAKEKEEPER = "polaris", "lakekeeper"
WAREHOUSE, PREFIX = "wh", "p%2D1"
ID, SECRET, TOKEN = "robot", "open-sesame", "fetched-token"
_SEPARATOR = "\x1f"
_REFUSED = frozenset('/\\:*?"<>|#+`')
_BASES = {POLARIS: ("/api/catalog", "/api/catalog/polaris"), LAKEKEEPER: ("/catalog", "/lakekeeper")}
_PAGE = 3

Levels = tuple[str, ...]


class Refused(Exception):  # noqa: N818 - an answer, rather than an error of the fake's
    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "code": status}}


@dataclass(frozen=True)
class Seen:
    method: str
    path: str  # as it was sent
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    @property
    def operation(self) -> str:
        return f"{self.method} {self.path.rpartition('/')[2] if self.path.endswith('s') else 'one'}"


@dataclass
class Polaris:
    """The server, as a catalog names it and as a test sees it from behind."""

    endpoint: str
    dialect: str = POLARIS
    signs_in: bool = False  # whether a token is needed
    denied: str | None = None  # a location that nobody may use
    vended: list[Mapping[str, Any]] = field(default_factory=list)  # what those get who ask for credentials
    namespaces: dict[Levels, dict[str, str]] = field(default_factory=dict)
    tables: dict[tuple[Levels, str], dict[str, Any]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    before: Callable[[Seen], None] | None = None  # what happens while a request is on its way
    prefix: str = PREFIX  # of the warehouse in paths
    page: int = _PAGE  # how many rows an answer has at most
    lock: threading.Lock = field(default_factory=threading.Lock)

    def clear(self, dialect: str) -> None:
        """Without any content or orders."""
        for name, value in vars(Polaris("")).items():
            if name not in ("endpoint", "lock"):
                setattr(self, name, value)
        self.dialect = dialect

    def connect(self, **settings: Any) -> PolarisCatalog:
        given = {"endpoint": self.endpoint, "dialect": self.dialect, "warehouse": WAREHOUSE}
        return PolarisCatalog(**{**given, **settings})

    # -- what it answers -------------------------------------------------------------------------

    def answer(self, seen: Seen) -> tuple[int, Any]:
        iceberg, generic = _BASES[self.dialect]
        if seen.path == f"{iceberg}/v1/oauth/tokens":
            return 200, self._token(seen.body)
        self._authorize(seen)
        if seen.path == f"{iceberg}/v1/config":
            if seen.query.get("warehouse") != WAREHOUSE:
                raise Refused(404, "NoSuchWarehouseException", "no such warehouse")
            return 200, {"defaults": {}, "overrides": {"prefix": self.prefix}}
        for base, handle in ((generic, self._generic), (iceberg, self._iceberg)):
            inside = seen.path.removeprefix(f"{base}/v1/{self.prefix}/")
            if inside != seen.path:
                return handle(seen, [unquote(part) for part in inside.split("/")])
        raise Refused(404, "NotFoundException", f"no such path: {seen.path}")

    def _token(self, form: str) -> Any:
        sent = {name: values[0] for name, values in parse_qs(form).items()}
        if (sent.get("client_id"), sent.get("client_secret")) != (ID, SECRET):
            raise Refused(401, "NotAuthorizedException", "unknown client")
        return {"access_token": TOKEN, "token_type": "bearer", "expires_in": 3600}

    def _authorize(self, seen: Seen) -> None:
        if self.signs_in and seen.headers.get("authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "NotAuthorizedException", "no token, or a wrong one")

    # -- namespaces ------------------------------------------------------------------------------

    def _iceberg(self, seen: Seen, parts: list[str]) -> tuple[int, Any]:
        match (seen.method, parts):
            case ("GET", ["namespaces"]):
                parent = tuple(filter(None, seen.query.get("parent", "").split(_SEPARATOR)))
                if parent:
                    self._require(parent)
                inside = sorted(levels for levels in self.namespaces if levels[:-1] == parent)
                return 200, self._page(seen, "namespaces", [list(levels) for levels in inside])
            case ("POST", ["namespaces"]):
                return 200, self._make(tuple(seen.body["namespace"]), seen.body.get("properties") or {})
            case ("GET", ["namespaces", name]):
                levels = _levels(name)
                return 200, {"namespace": list(levels), "properties": self._require(levels)}
            case ("DELETE", ["namespaces", name]):
                return 204, self._drop(_levels(name))
            case ("POST", ["namespaces", name, "properties"]):
                kept = self._require(_levels(name))
                for key in seen.body["removals"]:
                    kept.pop(key, None)
                kept.update(seen.body["updates"])
                return 200, {"removed": [], "updated": [], "missing": []}
            case ("GET", ["namespaces", name, "tables"]):
                self._require(_levels(name))
                return 200, {"identifiers": []}
        raise Refused(405, "UnsupportedOperationException", f"{seen.method} {seen.path}")

    def _make(self, levels: Levels, properties: Mapping[str, str]) -> Any:
        self._check_name(levels[-1])
        if levels[:-1]:
            self._require(levels[:-1])
        if levels in self.namespaces:
            raise Refused(409, "AlreadyExistsException", "the namespace exists")
        self.namespaces[levels] = dict(properties)
        return {"namespace": list(levels), "properties": self.namespaces[levels]}

    def _require(self, levels: Levels) -> dict[str, str]:
        if levels not in self.namespaces:
            raise Refused(404, "NoSuchNamespaceException", f"no namespace {levels}")
        return self.namespaces[levels]

    def _drop(self, levels: Levels) -> None:
        self._require(levels)
        if any(each[:-1] == levels for each in self.namespaces) or any(each == levels for each, _ in self.tables):
            raise Refused(409, "NamespaceNotEmptyException", f"{levels} is not empty")
        del self.namespaces[levels]

    def _check_name(self, name: str) -> None:
        if self.dialect == POLARIS and (_REFUSED & set(name) or name in (".", "..") or name != name.strip()):
            raise Refused(400, "BadRequestException", f"the name {name!r} is not allowed")

    # -- generic tables --------------------------------------------------------------------------

    def _generic(self, seen: Seen, parts: list[str]) -> tuple[int, Any]:
        match (seen.method, parts):
            case ("GET", ["namespaces", name, "generic-tables"]):
                levels = _levels(name)
                self._require(levels)
                rows = [self._listed(key) for key in sorted(self.tables) if key[0] == levels]
                return 200, self._page(seen, "identifiers", rows)
            case ("POST", ["namespaces", name, "generic-tables"]):
                return 200, {"table": self._create(_levels(name), seen.body)}
            case ("GET", ["namespaces", name, "generic-tables", table]):
                row = self.tables[self._key(_levels(name), table)]
                wants = seen.headers.get("x-iceberg-access-delegation") == "vended-credentials"
                return 200, {"table": row, **({"storage-credentials": self.vended} if wants else {})}
            case ("DELETE", ["namespaces", name, "generic-tables", table]):
                del self.tables[self._key(_levels(name), table)]
                return 204, None
            case ("POST", ["generic-tables", "rename"]) if self.dialect == LAKEKEEPER:
                return 204, self._rename(seen.body["source"], seen.body["destination"])
        raise Refused(404, "NotFoundException", f"{seen.method} {seen.path}")

    def _listed(self, key: tuple[Levels, str]) -> dict[str, Any]:
        """An entry of a list: Polaris' has no format."""
        shown = {"namespace": list(key[0]), "name": key[1]}
        return shown if self.dialect == POLARIS else {**shown, "format": self.tables[key]["format"]}

    def _key(self, levels: Levels, name: str) -> tuple[Levels, str]:
        key = (levels, name)
        if self.dialect == LAKEKEEPER:  # whose names are the same in any case
            key = next((each for each in self.tables if each[0] == levels and each[1].lower() == name.lower()), key)
        if key not in self.tables:
            raise Refused(404, "NoSuchTableException", f"no generic table {levels} {name}")
        return key

    def _create(self, levels: Levels, body: Mapping[str, Any]) -> dict[str, Any]:
        self._require(levels)
        self._check_name(body["name"])
        if self.denied is not None and body.get("base-location") == self.denied:
            raise Refused(403, "ForbiddenException", "that location is not allowed")
        self._refuse_taken(levels, body["name"])
        row = {"name": body["name"], "format": body["format"], "properties": body.get("properties") or {}}
        row |= {key: body[key] for key in ("doc", "base-location") if key in body}
        if self.dialect == LAKEKEEPER:
            row["protected"] = False
            row["base-location"] = self._checked(levels, body)
        self.tables[levels, body["name"]] = row
        return row

    def _refuse_taken(self, levels: Levels, name: str) -> None:
        try:
            self._key(levels, name)
        except Refused:
            return
        raise Refused(409, "AlreadyExistsException", "the table exists")

    def _checked(self, levels: Levels, body: Mapping[str, Any]) -> str:
        """A location that Lakekeeper takes: one that is empty, or one of its own choice inside the warehouse."""
        location = body.get("base-location") or f"{self.namespaces[levels]['location']}/{body['name']}-{len(self.seen)}"
        if any(row["base-location"] == location for row in self.tables.values()):
            raise Refused(400, "LocationAlreadyTaken", "another table is there")
        folder = Path(unquote(urlsplit(location).path))
        if folder.is_dir() and any(folder.iterdir()):
            raise Refused(400, "LocationNotEmpty", "the location is not empty")
        return str(location)

    def _rename(self, source: Mapping[str, Any], target: Mapping[str, Any]) -> None:
        key = self._key(tuple(source["namespace"]), source["name"])
        levels = tuple(target["namespace"])
        self._require(levels)
        self._refuse_taken(levels, target["name"])
        self.tables[levels, target["name"]] = {**self.tables.pop(key), "name": target["name"]}

    def _page(self, seen: Seen, key: str, rows: list[Any]) -> dict[str, Any]:
        if "pageToken" not in seen.query:
            return {key: rows}
        start = int(seen.query["pageToken"] or 0)
        after = start + self.page
        return {key: rows[start:after], "next-page-token": str(after) if after < len(rows) else None}


def _levels(name: str) -> Levels:
    return tuple(name.split(_SEPARATOR))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _serve(self) -> None:
        polaris, target = self.server.polaris, urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        query = {name: values[0] for name, values in parse_qs(target.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_json = headers.get("content-type") == "application/json"
        seen = Seen(self.command, target.path, query, headers, json.loads(raw) if is_json and raw else raw)
        if polaris.before is not None:
            polaris.before(seen)
        with polaris.lock:
            polaris.seen.append(seen)
            try:
                status, body = polaris.answer(seen)
            except Refused as refused:
                status, body = refused.status, refused.body
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names that the library looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing."""


class _Server(ThreadingHTTPServer):
    polaris: Polaris
    daemon_threads = True


@contextmanager
def serve() -> Iterator[Polaris]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.polaris = Polaris(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.polaris
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# -- real servers --------------------------------------------------------------------------------


def real(dialect: str) -> PolarisCatalog:
    """A catalog on a real server, by the variables LANCEWAY_TEST_POLARIS, …_WAREHOUSE, …_CREDENTIAL and …_ROOT."""
    name = f"LANCEWAY_TEST_{dialect.upper()}"
    given = {key: os.environ.get(f"{name}_{key.upper()}") for key in ("warehouse", "credential", "root")}
    return PolarisCatalog(endpoint=os.environ[name], dialect=dialect, **given)
