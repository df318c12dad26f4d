"""Requests that no one would think of: random paths, parameters and bodies, some of them nearly right.

Whatever arrives, the answer has Gravitino's envelope: no 5xx, and nothing of the inside.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from lanceway.wire.gravitino import ROUTES, GravitinoRoute
from tests.drilling import DrillProgress
from tests.server.gravitino.gravitino_helpers import refused
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

# Requests for each round: `make test` sends some hundred, `make drill` with 2,000 rounds a hundred thousand.
EACH = 50
FEWEST = 10
NASTY = (
    *(
        "",
        " ",
        ":",
        "::",
        "A:",
        ":A",
        "A::B",
        ".",
        "..",
        "%",
        "%25",
        "%2F",
        "a/b",
        "a.b",
        "$",
        "*",
        "\x00",
        "\n",
        "\u202e",
    ),
    *(
        "x" * 255,
        "x" * 256,
        "x" * 512,
        "A:" * 300,
        "ä",
        "a\u0308",
        "\U0001f600",
        "null",
        "true",
        "-1",
        "'",
        '"',
        "\\",
        "{}",
    ),
    *("' OR 1=1 --", "../../etc/passwd", "lanceway.type", "admin", "anonymous", "name@alias", "\uffff"),
)
KNOWN = {
    "metalake": ("lanceway",),
    "catalog": ("lake", "other"),
    "schema": ("A", "A:B", "A:B:C", "gone"),
    "table": ("t", "u"),
    "user": ("bob", "admin"),
    "group": ("staff",),
    "role": ("r", "s"),
    "type": ("metalake", "catalog", "schema", "table", "view", "SCHEMA", "fileset", "tag"),
    "object": ("lanceway", "lake", "lake.A", "lake.A:B", "lake.A:B.t", "lake..t", "lake.A:B.t.x", "a%2Eb"),
}
TYPES = (
    "long",
    "string",
    "decimal(10,2)",
    "timestamp(6)",
    "uuid",
    "fixed(0)",
    "decimal(0,0)",
    "varchar(3)",
    "bigint",
    "",
)
NESTED = (
    {"type": "list", "elementType": "long", "containsNull": False},
    {"type": "map", "keyType": "string", "valueType": {"type": "list", "elementType": "date"}},
    {"type": "struct", "fields": [{"name": "x", "type": "double", "comment": "c"}]},
    {"type": "external", "catalogString": json.dumps({"name": "v", "type": {"name": "int", "bitWidth": 7}})},
    {"type": "external", "catalogString": json.dumps({"name": "v", "type": {"name": "list"}, "children": []})},
    {"type": "union", "types": []},
    {"type": "unparsed", "unparsedType": "x"},
    {"type": []},
)
UPDATES = (
    *("setProperty", "removeProperty", "updateComment", "rename", "addColumn", "renameColumn", "updateColumnType"),
    *("updateColumnNullability", "deleteColumn", "updateColumnComment", "updateColumnPosition", "addTableIndex", "x"),
)
PROPERTIES = (
    "format",
    "location",
    "lance.creation-mode",
    "lance.register",
    "external",
    "comment",
    "lanceway.view",
    "k",
)
PRIVILEGES = ("USE_CATALOG", "use_schema", "CREATE_TABLE", "SELECT_TABLE", "READ_FILESET", "x", "")


class Fuzzer:
    """Makes requests at random, most of them with names that are there."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def text(self) -> str:
        return self.random.choice(NASTY)

    def name(self, kind: str) -> str:
        return self.text() if self.random.random() < 0.2 else self.random.choice(KNOWN[kind])

    def junk(self, depth: int = 0) -> Any:
        choices: list[Any] = [None, True, 0, -1, 2**63, 1e400, 1.5, self.text()]
        if depth < 3:
            choices += [[self.junk(depth + 1)], {self.text(): self.junk(depth + 1)}]
        return self.random.choice(choices)

    def or_junk(self, value: Any) -> Any:
        return self.junk() if self.random.random() < 0.05 else value

    def properties(self) -> Any:
        values = (*NASTY, "lance", "true", "EXIST_OK", "OVERWRITE", "/tmp/x", "s3://b/x")
        count = self.random.randrange(3)
        return self.or_junk({self.random.choice(PROPERTIES): self.random.choice(values) for _ in range(count)})

    def type(self) -> Any:
        return self.or_junk(self.random.choice((*TYPES, *NESTED)))

    def columns(self) -> Any:
        return self.or_junk(
            [
                {
                    "name": self.random.choice(("a", "b", self.text())),
                    "type": self.type(),
                    "nullable": self.random.random() < 0.5,
                }
                for _ in range(self.random.randrange(3))
            ]
        )

    def update(self) -> Any:
        field = self.or_junk([self.random.choice(("a", "b", self.text()))])
        return self.or_junk(
            {
                "@type": self.or_junk(self.random.choice(UPDATES)),
                "property": self.or_junk(self.random.choice((*PROPERTIES, self.text()))),
                "value": self.or_junk(self.text()),
                "newName": self.or_junk(self.random.choice((self.name("table"), self.text()))),
                "newComment": self.or_junk(self.text()),
                "fieldName": field,
                "oldFieldName": field,
                "newFieldName": self.or_junk(self.text()),
                "type": self.type(),
                "newType": self.type(),
                "nullable": self.or_junk(True),
            }
        )

    def privileges(self) -> Any:
        conditions = ("allow", "DENY", "x")
        count = self.random.randrange(3)
        return self.or_junk(
            [
                {"name": self.or_junk(self.random.choice(PRIVILEGES)), "condition": self.random.choice(conditions)}
                for _ in range(count)
            ]
        )

    def securables(self) -> Any:
        return self.or_junk(
            [
                {"fullName": self.name("object"), "type": self.name("type"), "privileges": self.privileges()}
                for _ in range(self.random.randrange(3))
            ]
        )

    def body(self, route: GravitinoRoute) -> Any:
        kind = {"create_schema": "schema", "create_table": "table", "create_role": "role"}.get(route.operation, "user")
        body = {
            "name": self.or_junk(self.random.choice((self.name(kind), self.text()))),
            "comment": self.or_junk(self.text()),
            "properties": self.properties(),
            "columns": self.columns(),
            "updates": self.or_junk([self.update() for _ in range(self.random.randrange(1, 3))]),
            "inUse": self.or_junk(True),
            "securableObjects": self.securables(),
            "overrides": self.securables(),
            "roleNames": self.or_junk([self.name("role")]),
            "privileges": self.privileges(),
            "type": self.or_junk(self.random.choice(("USER", "group", "relational", "fileset"))),
            "provider": self.or_junk(self.random.choice(("lakehouse-generic", "hive"))),
        }
        return {key: value for key, value in body.items() if self.random.random() < 0.8}

    def send(self, client: httpx.Client) -> tuple[str, httpx.Response]:
        route = self.random.choice(ROUTES)
        # Dots are encoded, too, or the client would take a part of them for the folder above.
        parts = [
            quote(self.name(part[1:-1]), safe="").replace(".", "%2E") if part.startswith("{") else part
            for part in route.parts
        ]
        path = f"/api/{'/'.join(parts)}"
        params = {name: self.or_junk_text(name) for name in route.query if self.random.random() < 0.5}
        method = (
            route.method if self.random.random() < 0.95 else self.random.choice(("PATCH", "HEAD", "OPTIONS", "POST"))
        )
        headers = {"content-type": "application/json"}
        content = b"" if route.body is None else json.dumps(self.body(route)).encode()
        if self.random.random() < 0.05:
            content = content[: self.random.randrange(len(content) + 1)] + self.random.randbytes(3)
        return route.operation, client.request(method, path, params=params, content=content, headers=headers)

    def or_junk_text(self, name: str) -> str:
        known = {"parentSchema": KNOWN["schema"], "privileges": PRIVILEGES}.get(name, ("true", "false", "False"))
        return self.text() if self.random.random() < 0.2 else self.random.choice(known)


@pytest.fixture(scope="module")
def own(whole_run: Run) -> Iterator[Lanceway]:
    """A server of this module's own: users come and go."""
    started = lanceway_server.start(whole_run, name="gravitino-fuzz")
    yield started
    started.stop()


def make_again(admin: httpx.Client) -> None:
    """Make what random requests may have dropped. With the schema `keep` the catalog is never empty."""
    base, column = "/api/metalakes/lanceway", {"name": "a", "type": "long"}
    for name in ("keep", "A:B:C"):
        admin.post(f"{base}/catalogs/lake/schemas", json={"name": name})
    admin.post(f"{base}/catalogs/lake/schemas/A%3AB/tables", json={"name": "t", "columns": [column]})
    for noun, name in (("users", "bob"), ("groups", "staff"), ("roles", "r")):
        admin.post(f"{base}/{noun}", json={"name": name})


def is_down(answer: httpx.Response) -> bool:
    """Whether a catalog's own service is not there, as at the address where a metastore is looked for by default."""
    return answer.status_code in (502, 503) and "cannot be reached" in answer.json()["message"]


def test_nothing_that_is_sent_breaks_the_server(own: Lanceway, rounds: int, progress: DrillProgress) -> None:
    fuzzer, answered = Fuzzer(progress.seed), Counter[tuple[str, bool]]()
    restricted = own.token_for("mallory")
    with own.client() as admin, own.client(headers={"Authorization": f"Bearer {restricted}"}) as user:
        for number in range(max(FEWEST, rounds) * EACH):
            if number % EACH == 0:
                make_again(admin)
            operation, answer = fuzzer.send(user if number % 3 == 0 else admin)
            answered[operation, answer.is_success] += 1
            progress.step("requests")
            assert answer.status_code < 500 or is_down(answer), f"{operation} {answer.request.url}: {answer.text}"
            if answer.is_error and answer.request.method != "HEAD":
                refused(answer)
    succeeded = {operation for operation, is_success in answered if is_success}
    assert len(succeeded) > len(ROUTES) // 2, f"random requests should succeed now and then: {sorted(succeeded)}"
