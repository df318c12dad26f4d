"""Draw the console's main pages in both themes, as docs/images/console-*.png: `make pictures`.

Starts a server of its own, fills it with a small lake without Spark, and photographs what Chromium shows. Pages that
are named are drawn alone: `python docs/pictures.py table grants`.
"""

from __future__ import annotations

import itertools
import math
import os
import struct
import sys
import uuid
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")
sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx
import pyarrow as pa
from playwright.sync_api import sync_playwright
from samples.pipeline.library import documents, embedding
from samples.tour import books, loans
from tests.console.conftest import CHROMIUM, FLAGS
from tests.console.console_helpers import Person
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

import lanceway

ROOT = Path(__file__).parents[1]
IMAGES = Path(__file__).with_name("images")
THEMES = ("light", "dark")
SIZE = {"width": 1200, "height": 800}
AFTERWARDS = 3_000  # milliseconds in which the tree follows and requests are counted
# Where a picture may end: below the last part of a page that is seen whole.
END = """() => {
  const parts = [...document.querySelectorAll('main .panel, main tr, main li, main dl > div')];
  const ends = parts.map((part) => part.getBoundingClientRect().bottom + (part.matches('.panel') ? 15 : 0));
  return Math.max(...ends.filter((end) => end <= innerHeight));
}"""
COVERS = ["lake", "library", "covers"]
# The pages that are drawn, by their addresses: the page, the names and the query. First those that say how long ago.
PAGES: dict[str, tuple[str, list[str], dict[str, str]]] = {
    "home": ("", [], {}),
    "versions": ("table", COVERS, {"tab": "versions"}),
    "run": ("activity", ["runs", "{run}"], {}),
    "table": ("table", COVERS, {}),
    "namespace": ("namespace", ["lake", "library"], {}),
    "grants": ("access", ["on", *COVERS], {"kind": "table"}),
    "why": ("access", ["why", *COVERS], {"user": "alan", "action": "read table", "kind": "table"}),
    "operations": ("operations", [], {}),
}
# As many times this long, for pages that draw what they counted.
LONGER = {"operations": 4}


def main(chosen: list[str]) -> int:
    unknown = set(chosen) - set(PAGES)
    if unknown:
        sys.stderr.write(f"There is no page {', '.join(sorted(unknown))}. There are: {', '.join(PAGES)}.\n")
        return 2
    run = Run.begin()
    try:
        server = lanceway_server.start(run, name="pictures")
        filled = {"run": fill(server)}
        total = 0
        for name, theme, content in drawn(server, chosen or list(PAGES), filled):
            file = IMAGES / f"console-{name}-{theme}.png"
            file.write_bytes(content)
            total += len(content)
            sys.stdout.write(f"{file.relative_to(ROOT)}  {len(content):,} bytes\n")
        sys.stdout.write(f"{total:,} bytes in all. Look at each before it is committed.\n")
    finally:
        run.end()
    return 0


def drawn(server: Lanceway, chosen: list[str], filled: Mapping[str, str]) -> Any:
    """What Chromium shows of each page, as PNG. A page with an error, or with one in the browser's console, is none."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, theme in itertools.product(chosen, THEMES):
            with Person(browser, server.address, server.token) as person:
                person.page.set_viewport_size(SIZE)
                person.page.emulate_media(color_scheme=theme)
                person.open("namespace", ["lake", "library"])  # the tree follows, and stays open
                page, names, query = PAGES[name]
                person.open(page, [each.format(**filled) for each in names], **query)
                person.page.wait_for_timeout(AFTERWARDS * LONGER.get(name, 1))
                assert person.page.get_by_role("alert").count() == 0, f"{name}: {person.refusal()}"
                seen = {"x": 0, "y": 0, "width": SIZE["width"], "height": person.page.evaluate(END)}
                yield name, theme, person.page.screenshot(clip=seen)
        browser.close()


# -- what there is to see --------------------------------------------------------------------------


def fill(server: Lanceway) -> str:
    """Make a small lake, people with rights in it, and a run of a pipeline. Returns the run's key."""
    lake = lanceway.connect(server.uri, token=server.token)
    for name, data in (("books", books()), ("loans", loans())):
        lake.create(["lake", "library", name], data)
    for name in ("documents", "rejected", "topics"):
        lake.create(["lake", "library", name], noted())
    lake.create(
        ["lake", "shop", "europe", "orders"],
        pa.table({"id": range(1200), "total": [9.5 * (n % 40) for n in range(1200)]}),
    )
    lake.create(
        ["lake", "shop", "europe", "customers"],
        pa.table({"id": range(300), "name": [f"customer {n}" for n in range(300)]}),
    )
    lake.create(["lake", "shop", "asia", "orders"], pa.table({"id": range(800)}))
    covers = lake.create(COVERS, covered(range(64)))
    covers.append(covered(range(64, 96)))
    covers.tag("reviewed")
    covers.delete("id = 7")
    covers.append(covered(range(96, 160)))
    trial = covers.branch("trial", create=True)
    covers.index("title", "FTS")
    trial.append(covered(range(200, 230)))
    covers.update({"year": 1900}, "id = 10")
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        grant(client)
        return recorded(client)


def noted() -> pa.Table:
    rows = documents(300)
    vectors = pa.array([embedding(row["body"]) for row in rows], pa.list_(pa.float32(), 64))
    return pa.Table.from_pylist(rows).append_column("embedding", vectors)


TITLES = ("Comets", "Bread", "Circles", "Fugues", "Harbours", "Looms", "Orbits", "Saffron")


def covered(numbers: range) -> pa.Table:
    """Books with a drawn cover and a vector."""
    angles = [[math.sin(n / 3 + k / 2) * math.exp(-k / 12) for k in range(24)] for n in numbers]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "title": [f"{TITLES[n % 8]}, volume {n // 8 + 1}" for n in numbers],
            "cover": pa.array([cover(n) for n in numbers], pa.binary()),
            "embedding": pa.array(angles, pa.list_(pa.float32(), 24)),
            "year": pa.array([1800 + (n * 37) % 200 for n in numbers], pa.int32()),
            "place": [{"shelf": "ABCD"[n % 4], "row": n % 9} for n in numbers],
        }
    )


def cover(number: int, width: int = 48, height: int = 32) -> bytes:
    """A picture as PNG: two circles on a ground of one colour."""
    hue = [(number * 67) % 200 + 30, (number * 31) % 160 + 60, (number * 113) % 140 + 80]
    rows = bytearray()
    for y in range(height):
        rows.append(0)  # no filter
        for x in range(width):
            near = min(math.hypot(x - 14 - number % 9, y - 16), math.hypot(x - 34, y - 8 - number % 15))
            rows += bytes(min(255, channel + (70 if near < 9 else 0)) for channel in hue)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def grant(client: httpx.Client) -> None:
    """People, a group, roles, and grants at three depths, one of which denies."""

    def post(path: str, **body: Any) -> None:
        client.post(path, json=body).raise_for_status()

    for user in ("ada", "alan", "grace"):
        post("/users", name=user, admin=False)
    post("/groups", name="librarians")
    post("/groups/librarians/add", user="grace")
    roles = {"analysts": {"user": "alan"}, "curators": {"group": "librarians"}, "engineers": {"user": "ada"}}
    for role, who in roles.items():
        post("/roles", name=role)
        post(f"/roles/{role}/give", **who)
    wanted = (
        ("analysts", "lake", ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")),
        ("curators", "lake", ("USE_CATALOG",)),
        ("curators", "lake$library", ("USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE")),
        ("engineers", "lake", ("USE_CATALOG", "USE_SCHEMA", "CREATE_SCHEMA", "CREATE_TABLE", "MODIFY_TABLE")),
        ("engineers", "lake$library$covers", ("SELECT_TABLE",)),
    )
    changes = [
        {"role": role, "object": object_, "privilege": right} for role, object_, rights in wanted for right in rights
    ]
    denial = {"role": "analysts", "object": "lake$library$covers", "privilege": "SELECT_TABLE", "deny": True}
    post("/grants", changes=[*changes, denial])
    client.put("/owners", json={"object": "lake$library", "group": "librarians"}).raise_for_status()


def recorded(client: httpx.Client) -> str:
    """A run of a pipeline that is not over: two steps are done, one is not."""
    pipeline, lease, key = "documents", f"machine/1/2/{uuid.uuid4()}", str(uuid.uuid4())

    def record(kind: str, **values: Any) -> None:
        body = {"pipeline": pipeline, "lease": lease, "record": {"record": kind, **values}}
        client.post(f"/runs/{key}/records", json=body).raise_for_status()

    client.post("/leases", json={"pipeline": pipeline, "key": lease, "seconds": 600, "by": "grace"}).raise_for_status()
    record("begin", full=False, graph={"nodes": []})
    steps = ("documents", "rejected", "topics")
    record("plan", steps=[{"name": name, "kind": "output", "position": number} for number, name in enumerate(steps)])
    rules = {
        "long enough to say something": {"broken": 6, "otherwise": "quarantine"},
        "has an id": {"broken": 0, "otherwise": "fail"},
    }
    for name, rows in (("documents", 594), ("rejected", 6)):
        read = {"step": name, "source": "notes", "kind": "files", "after": 0, "version": 1}
        done = {"table_name": f"lake.library.{name}", "location": f"/library/{name}", "version": 2, "rows": rows}
        details = {"expectations": {"notes": {"rows": 600, "expectations": rules}}} if name == "documents" else {}
        record("begin step", step=name, changes={"table_name": f"lake.library.{name}"})
        record("end step", step=name, state="done", reads=[read], changes={**done, "details": details})
    record("begin step", step="topics", changes={"table_name": "lake.library.topics"})
    return key


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
