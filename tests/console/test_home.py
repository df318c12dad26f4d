"""The first page: what changed last, what went wrong, and how to begin with an empty lake."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, expect

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask, count, stream
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture(scope="module")
def quiet(whole_run: Run) -> Iterator[Lanceway]:
    """A server where no other test writes a table or ends a run: this page shows the last few."""
    server = lanceway.start(whole_run, name="quiet")
    assert ask(server, "namespace", ["lake", "shop"], "create").status_code == 200
    yield server
    server.stop()


@pytest.fixture
def visitor(browser: Browser, quiet: Lanceway) -> Iterator[Person]:
    with Person(browser, quiet.address, quiet.token) as one:
        yield one


@pytest.fixture
def person_of_an_empty_lake(browser: Browser, whole_run: Run) -> Iterator[tuple[Person, Lanceway]]:
    server = lanceway.start(whole_run)
    with Person(browser, server.address, server.token) as person:
        yield person, server
    server.stop()


def test_tables_that_changed_last_come_first(visitor: Person, quiet: Lanceway) -> None:
    id_ = ["lake", "shop", "busy"]
    rows = pa.table({"id": [1, 2, 3]})
    assert ask(quiet, "table", id_, "create", content=stream(rows)).status_code == 200
    assert ask(quiet, "table", id_, "insert", content=stream(rows)).status_code == 200
    page = visitor.open("")
    row = page.get_by_role("region", name="Changed last").get_by_role("row").filter(has_text=id_[-1])
    expect(row).to_contain_text("lake › shop")
    expect(row).to_contain_text("rows appended+3")
    expect(row.get_by_role("img", name="Rows of the last 2 versions: 3 to 6")).to_be_visible()
    expect(visitor.item("lake")).to_be_visible()
    visitor.check_access()
    row.get_by_role("link", name=f"Versions of {id_[-1]}").click()
    expect(page.get_by_role("region", name="Versions")).to_be_visible()
    page.go_back()
    row.get_by_role("link", name=id_[-1], exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(id_[-1])


def test_who_may_see_nothing_is_told_who_can_change_that(browser: Browser, server: Lanceway, fruit: Id) -> None:
    with server.client() as client:
        made = client.post("/lanceway/v1/tokens", json={"user": f"u{uuid.uuid4().hex[:8]}"}).raise_for_status()
    with Person(browser, server.address, made.json()["token"]) as person:
        page = person.open("")
        expect(page.get_by_role("main")).to_contain_text("No catalogs that you may use")
        expect(page.get_by_role("main")).not_to_contain_text("fruit")
        expect(page.get_by_role("button", name="Make a sample table")).to_have_count(0)
        page.get_by_role("link", name="My rights").click()
        expect(page.get_by_role("main")).to_contain_text("No grants")


def test_runs_that_failed_are_shown(visitor: Person, quiet: Lanceway) -> None:
    id_ = ["lake", "shop", "broken"]
    assert ask(quiet, "table", id_, "create", content=stream(pa.table({"id": [1]}))).status_code == 200
    pipeline, key = "nightly", str(uuid.uuid4())
    lease = f"machine/1/2/{uuid.uuid4()}"
    with quiet.client(base_url=f"{quiet.address}/lanceway/v1") as client:
        client.post("/leases", json={"pipeline": pipeline, "key": lease, "seconds": 600}).raise_for_status()
        for record in (
            {"record": "begin", "full": False, "graph": {"nodes": []}},
            {"record": "end", "state": "failed", "error": "the disk is full"},
        ):
            body = {"pipeline": pipeline, "lease": lease, "record": record}
            client.post(f"/runs/{key}/records", json=body).raise_for_status()
    page = visitor.open("")
    row = page.get_by_role("region", name="What went wrong").get_by_role("row").filter(has_text=pipeline)
    expect(row).to_contain_text("the disk is full")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", name=f"{pipeline}, run 1")).to_be_visible()


def test_an_empty_lake_begins_with_a_sample(person_of_an_empty_lake: tuple[Person, Lanceway]) -> None:
    person, server = person_of_an_empty_lake
    page = person.open("")
    person.check_access()
    person.press("Make a sample table")
    person.press("Create")
    expect(page.get_by_role("heading", level=1)).to_have_text("fruit")
    expect(person.item("fruit")).to_have_attribute("aria-current", "page")
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    expect(rows).to_have_count(17)
    page.wait_for_function("() => document.querySelector('img.thumb').naturalWidth === 40")
    rows.filter(has_text="lemon").get_by_role("link", name="More like this").click()
    expect(rows.nth(1)).to_contain_text("lemon")
    expect(rows.nth(2)).to_contain_text("lime")
    expect(rows.nth(3)).to_contain_text("grapefruit")
    assert count(server, ["lake", "samples", "fruit"]) == 16
    person.open("")
    expect(page.get_by_role("region", name="Changed last")).to_contain_text("fruit")
    expect(page.get_by_role("button", name="Make a sample table")).to_have_count(0)


def test_an_empty_lake_takes_a_folder_or_a_client(
    person_of_an_empty_lake: tuple[Person, Lanceway], tmp_path: Path
) -> None:
    person, server = person_of_an_empty_lake
    page = person.open("")
    person.press("Connect a client")
    dialog = page.get_by_role("dialog", name="Connect a client")
    expect(dialog).to_contain_text(f'lanceway.connect("{server.uri}"')
    expect(dialog).to_contain_text(f'host_override="{server.uri}"')
    person.press("Close")
    expect(page.get_by_role("button", name="Connect a client")).to_be_focused()
    person.press("Register a folder")
    person.fill(Name="mine", Settings=f"path = {tmp_path}")
    person.press("Mount")
    expect(page.get_by_role("heading", level=1)).to_have_text("mine")
