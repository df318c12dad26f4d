"""Requests that no one would think of: random paths, parameters and bodies, some of them nearly right.

Whatever arrives, the answer has the protocol's envelope: no 5xx, nothing of the inside, and a refusal changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lanceway.server.iceberg.dialect import HANDLERS
from lanceway.wire.iceberg import ROUTES, IcebergRoute
from tests.drilling import DrillProgress
from tests.server.gravitino.test_fuzz import EACH, FEWEST, NASTY
from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

SERVED = [route for route in ROUTES if route.operation in HANDLERS or route.operation == "get_config"]
NAMES = (*NASTY, "\x1f", "a\x1fb", "\x1f\x1f", "%1F", "+", "a+b")
KNOWN = {
    "prefix": ("lake", "other"),
    "namespace": ("A", "A\x1fB", "A\x1fB\x1fC", "gone"),
    "table": ("t", "u", "lance"),
    "view": ("v", "w"),
}
TYPES = ("long", "string", "decimal(10,2)", "fixed[0]", "uuid", "timestamptz", "geometry", "variant", "x", "")
UPDATES = (
    *("assign-uuid", "upgrade-format-version", "add-schema", "set-current-schema", "add-spec", "set-default-spec"),
    *("add-sort-order", "set-default-sort-order", "add-snapshot", "set-snapshot-ref", "remove-snapshots"),
    *("remove-snapshot-ref", "set-location", "set-properties", "remove-properties", "set-statistics"),
    *("remove-statistics", "set-partition-statistics", "remove-partition-specs", "remove-schemas"),
    *("add-view-version", "set-current-view-version", "add-encryption-key", "x"),
)
REQUIREMENTS = (
    *("assert-create", "assert-table-uuid", "assert-ref-snapshot-id", "assert-last-assigned-field-id"),
    *("assert-current-schema-id", "assert-last-assigned-partition-id", "assert-default-spec-id"),
    *("assert-default-sort-order-id", "assert-view-uuid", "x"),
)
PROPERTIES = ("format-version", "location", "table_type", "comment", "lanceway.x", "write.metadata.path", "k")
FILES = 200
ENCODINGS = (*["utf-8"] * 8, "utf-8-sig", "utf-16", "utf-32")
PLACES = ("file:///etc/x", "s3://b/x", "/tmp/x", "", "memory://x", "file:///tmp/00000-a.metadata.json", "http://h/x")


class Fuzzer:
    """Makes requests at random, most of them with names that are there."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.files = list(PLACES)  # of metadata that may be registered

    def text(self) -> str:
        return self.random.choice(NAMES)

    def name(self, kind: str) -> str:
        return self.text() if self.random.random() < 0.2 else self.random.choice(KNOWN[kind])

    def junk(self, depth: int = 0) -> Any:
        choices: list[Any] = [None, True, 0, -1, 2**63, 2**70, 1e400, 1.5, self.text()]
        if depth < 3:
            choices += [[self.junk(depth + 1)], {self.text(): self.junk(depth + 1)}]
        return self.random.choice(choices)

    def or_junk(self, value: Any, share: float = 0.05) -> Any:
        return self.junk() if self.random.random() < share else value

    def number(self) -> Any:
        return self.or_junk(self.random.choice((-1, 0, 1, 2, 3, 99, 2**31, 2**62)))

    def properties(self) -> Any:
        values = (*NAMES, "1", "2", "3", "lance", "iceberg", *PLACES)
        count = self.random.randrange(3)
        return self.or_junk({self.random.choice(PROPERTIES): self.random.choice(values) for _ in range(count)})

    def column(self) -> Any:
        return self.or_junk(
            {
                "id": self.number(),
                "name": self.or_junk(self.random.choice(("a", "b", self.text()))),
                "required": self.or_junk(False),
                "type": self.or_junk(
                    self.random.choice(
                        (
                            *TYPES,
                            {"type": "list", "element-id": 9, "element": "long", "element-required": False},
                            {"type": "map", "key-id": 7, "key": "string", "value-id": 8, "value": "long"},
                            {"type": "struct", "fields": []},
                        )
                    )
                ),
            }
        )

    def schema(self) -> Any:
        if self.random.random() < 0.5:
            return dict(COLUMNS)
        count = self.random.randrange(4)
        return self.or_junk({"type": "struct", "schema-id": 0, "fields": [self.column() for _ in range(count)]})

    def fields(self) -> Any:
        transforms = ("identity", "bucket[4]", "truncate[0]", "day", "void", "x")
        return self.or_junk(
            [
                {
                    "name": "p",
                    "transform": self.or_junk(self.random.choice(transforms)),
                    "source-id": self.number(),
                    "field-id": self.number(),
                    "direction": "asc",
                    "null-order": "nulls-first",
                }
                for _ in range(self.random.randrange(2))
            ]
        )

    def version(self) -> Any:
        kinds = ({"type": "sql", "sql": "SELECT 1", "dialect": "spark"}, {"type": "x"}, {})
        return self.or_junk(
            {
                "version-id": self.number(),
                "timestamp-ms": self.number(),
                "schema-id": self.number(),
                "summary": self.or_junk({"k": "v"}),
                "default-namespace": self.or_junk(["A"]),
                "representations": self.or_junk([self.random.choice(kinds)]),
            }
        )

    def write_files(self, folder: Path, *documents: Mapping[str, Any]) -> None:
        """Write metadata of tables and views that are nowhere yet, about half of it spoilt somewhere."""
        for number in range(FILES):
            file = folder / str(number) / "metadata" / f"00001-{uuid.UUID(int=number)}.metadata.json"
            file.parent.mkdir(parents=True)
            document = {**self.random.choice(documents), "location": f"file://{folder}/{number}"}
            if self.random.random() < 0.4:
                document[self.random.choice((*document, "unknown"))] = self.junk()
            text = json.dumps(document, ensure_ascii=self.random.random() < 0.9)
            content = text.encode(self.random.choice(ENCODINGS), errors="surrogatepass")
            if self.random.random() < 0.05:
                content = content[: self.random.randrange(len(content))]
            file.write_bytes(content)
            self.files.append(f"file://{file}")

    def snapshot(self) -> Any:
        return self.or_junk(
            {
                "snapshot-id": self.number(),
                "sequence-number": self.number(),
                "timestamp-ms": self.number(),
                "manifest-list": self.or_junk(self.random.choice(PLACES)),
                "summary": self.or_junk({"operation": self.random.choice(("append", "delete", "x"))}),
                "schema-id": self.number(),
            }
        )

    def update(self) -> Any:
        row = {
            "action": self.or_junk(self.random.choice(UPDATES)),
            "uuid": self.or_junk(str(uuid.UUID(int=self.random.getrandbits(128)))),
            "format-version": self.number(),
            "schema": self.schema(),
            "schema-id": self.number(),
            "schema-ids": self.or_junk([1]),
            "last-column-id": self.number(),
            "spec": self.or_junk({"spec-id": self.number(), "fields": self.fields()}),
            "spec-id": self.number(),
            "spec-ids": self.or_junk([self.number()]),
            "sort-order": self.or_junk({"order-id": self.number(), "fields": self.fields()}),
            "sort-order-id": self.number(),
            "snapshot": self.snapshot(),
            "snapshot-ids": self.or_junk([self.number()]),
            "snapshot-id": self.number(),
            "ref-name": self.or_junk(self.random.choice(("main", "b", self.text()))),
            "type": self.or_junk(self.random.choice(("branch", "tag", "x"))),
            "location": self.or_junk(self.random.choice(PLACES)),
            "updates": self.properties(),
            "removals": self.or_junk([self.random.choice(PROPERTIES)]),
            "view-version": self.version(),
            "view-version-id": self.number(),
            "statistics": self.junk(),
        }
        return self.or_junk({key: value for key, value in row.items() if self.random.random() < 0.95})

    def requirement(self) -> Any:
        return self.or_junk(
            {
                "type": self.or_junk(self.random.choice(REQUIREMENTS)),
                "uuid": self.or_junk(str(uuid.UUID(int=1))),
                "ref": self.or_junk("main"),
                "snapshot-id": self.random.choice((None, 1)),
                "current-schema-id": self.number(),
                "last-assigned-field-id": self.number(),
                "last-assigned-partition-id": self.number(),
                "default-spec-id": self.number(),
                "default-sort-order-id": self.number(),
            }
        )

    def commit(self) -> dict[str, Any]:
        return {
            "identifier": self.or_junk({"namespace": ["A", "B"], "name": self.name("table")}),
            "requirements": self.or_junk([self.requirement() for _ in range(self.random.choice((0, 0, 1)))]),
            "updates": self.or_junk([self.update() for _ in range(self.random.randrange(3))]),
        }

    def body(self, route: IcebergRoute) -> Any:
        kind = "view" if "view" in route.operation else "table"
        names = [self.or_junk(part) for part in self.name("namespace").split("\x1f")]
        body = {
            **self.commit(),
            "namespace": self.or_junk(names),
            "name": self.or_junk(self.name(kind)),
            "properties": self.properties(),
            "schema": self.schema(),
            "partition-spec": self.or_junk({"fields": self.fields()}),
            "write-order": self.or_junk({"order-id": 1, "fields": self.fields()}),
            "stage-create": self.or_junk(self.random.random() < 0.3),
            "view-version": self.version(),
            "metadata-location": self.or_junk(self.random.choice(self.files)),
            "overwrite": self.or_junk(True),
            "table-changes": self.or_junk([self.commit() for _ in range(self.random.randrange(3))]),
            "source": self.or_junk({"namespace": ["A", "B"], "name": self.name(kind)}),
            "destination": self.or_junk({"namespace": self.or_junk(names), "name": self.or_junk(self.name(kind))}),
            "report-type": self.or_junk(self.random.choice(("scan-report", "commit-report"))),
            "table-name": "t",
            "snapshot-id": self.number(),
            "sequence-number": self.number(),
            "operation": self.or_junk("append"),
            "metrics": self.or_junk({}),
            "region": "r",
            "uri": self.or_junk(self.random.choice(PLACES)),
            "method": self.or_junk("GET"),
            "headers": self.or_junk({"Host": ["h"]}),
        }
        if route.operation == "create_table" and self.random.random() < 0.5:
            body |= {"partition-spec": None, "write-order": None, "location": None}
        elif self.random.random() < 0.1:
            body["location"] = self.random.choice(PLACES)
        if route.operation == "update_properties":
            body |= {"updates": self.properties(), "removals": self.or_junk([self.random.choice(PROPERTIES)])}
        return {key: value for key, value in body.items() if self.random.random() < 0.97}

    def headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        if self.random.random() < 0.1:
            headers["idempotency-key"] = self.random.choice((str(uuid.UUID(int=self.random.getrandbits(4))), "x"))
        if self.random.random() < 0.1:
            headers["if-none-match"] = self.random.choice(("*", '"x"', ",,,", "W/"))
        if self.random.random() < 0.2:
            headers["x-iceberg-access-delegation"] = self.random.choice(("vended-credentials", "remote-signing", ",x"))
        return headers

    def query(self, route: IcebergRoute) -> dict[str, str]:
        known = {
            "warehouse": KNOWN["prefix"],
            "parent": KNOWN["namespace"],
            "pageToken": ("",),
            "pageSize": ("1", "2", "99999999999"),
            "snapshots": ("refs", "all"),
        }
        return {
            name: self.text() if self.random.random() < 0.2 else self.random.choice(known.get(name, ("true", "False")))
            for name in route.query
            if self.random.random() < 0.5
        }

    def send(self, client: httpx.Client) -> tuple[str, httpx.Response]:
        route = self.random.choice(SERVED)
        # Dots are encoded, too, or the client would take a part of them for the folder above.
        parts = [
            quote(self.name(part[1:-1]), safe="").replace(".", "%2E") if part.startswith("{") else part
            for part in route.parts
        ]
        other = self.random.choice(("PATCH", "HEAD", "OPTIONS", "POST", "PUT"))
        method = route.method if self.random.random() < 0.97 else other
        content = b"" if route.body is None else json.dumps(self.body(route)).encode()
        if self.random.random() < 0.05:
            content = content[: self.random.randrange(len(content) + 1)] + self.random.randbytes(3)
        url = f"/iceberg/{'/'.join(parts)}"
        answer = client.request(method, url, params=self.query(route), content=content, headers=self.headers())
        return route.operation, answer

    def send_file(self, client: httpx.Client) -> tuple[str, httpx.Response]:
        """Register a file as it is, and use it if that is answered."""
        kind = self.random.choice(("table", "view"))
        base = "/iceberg/v1/lake/namespaces/A%1FB"
        row = {"name": self.name(kind), "metadata-location": self.random.choice(self.files)}
        path = f"{base}/{kind}s/{quote(row['name'], safe='').replace('.', '%2E')}"
        client.delete(path, params={"purgeRequested": "false"})
        answer = client.post(f"{base}/{'register' if kind == 'table' else 'register-view'}", json=row)
        if answer.is_success:
            body = json.dumps({"requirements": [], "updates": [self.update()]}).encode()
            used = client.post(path, content=body, headers={"content-type": "application/json"})
            answer = answer if used.status_code < 500 else used
        return "a file", answer


@pytest.fixture(scope="module")
def own(whole_run: Run) -> Iterator[Lanceway]:
    """A server of this module's own: what it has comes and goes."""
    started = lanceway_server.start(whole_run, name="iceberg-fuzz")
    yield started
    started.stop()


def make_again(admin: httpx.Client) -> None:
    """Make what random requests may have dropped."""
    base = "/iceberg/v1/lake/namespaces"
    for names in (["A", "B", "C"], ["A", "B"]):
        admin.post(base, json={"namespace": names})
    for name in ("t", "u"):
        admin.post(f"{base}/A%1FB/tables", json={"name": name, "schema": COLUMNS})
    version = {"version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {}, "default-namespace": ["A"]}
    version["representations"] = [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}]
    view = {"name": "v", "schema": COLUMNS, "view-version": version, "properties": {}}
    admin.post(f"{base}/A%1FB/views", json=view)


# A 503 is right for what cannot be done now, and can be later: nothing of that is so with one request at a time.
UNAVAILABLE: tuple[str, ...] = ()
SAMPLED = 4  # of so many requests one is looked at closely


def state(database: sqlite3.Connection) -> str:
    """A digest of the tree: its names, properties, owners and pointers."""
    digest = hashlib.sha256()
    for name in ("catalogs", "objects"):
        for row in database.execute(f"SELECT * FROM {name} ORDER BY id"):
            digest.update(repr(row).encode())
    return digest.hexdigest()


def test_nothing_that_is_sent_breaks_the_server(
    own: Lanceway, rounds: int, progress: DrillProgress, tmp_path: Path
) -> None:
    fuzzer, answered = Fuzzer(progress.seed), Counter[tuple[str, bool]]()
    restricted = own.token_for("mallory")
    database = sqlite3.connect(f"file:{own.home}/lake.db?mode=ro", uri=True)
    with own.client() as admin, own.client(headers={"Authorization": f"Bearer {restricted}"}) as user:
        make_again(admin)
        base = "/iceberg/v1/lake/namespaces/A%1FB"
        fuzzer.write_files(
            tmp_path, *(admin.get(f"{base}/{name}").json()["metadata"] for name in ("tables/t", "views/v"))
        )
        for number in range(max(FEWEST, rounds) * EACH):
            if number % EACH == 0:
                make_again(admin)
            is_file = number % 5 == 0
            is_sample = not is_file and number % SAMPLED == 0  # before a file is registered, what is there is dropped
            before = state(database) if is_sample else ""
            operation, answer = fuzzer.send_file(admin) if is_file else fuzzer.send(user if number % 3 == 0 else admin)
            answered[operation, answer.is_success] += 1
            progress.step("requests")
            sent = answer.request.content[:3000]
            shown = f"{answer.request.method} {answer.request.url}: {sent!r} {answer.text}"
            allowed = answer.status_code == 503 and any(text in answer.text for text in UNAVAILABLE)
            assert answer.status_code < 500 or allowed, shown
            assert not is_sample or answer.is_success or state(database) == before, shown
            if answer.is_error and answer.request.method != "HEAD":
                refused(answer)
    database.close()
    assert answered["a file", True], "files that are right should be registered"
    assert answered["a file", False], "files that are wrong should not be registered"
    succeeded = {operation for operation, is_success in answered if is_success}
    assert len(succeeded) > len(SERVED) // 3, f"random requests should succeed now and then: {sorted(succeeded)}"
