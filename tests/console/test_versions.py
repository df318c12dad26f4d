"""The versions of a table in a browser: their graph, and what is made of them."""

from __future__ import annotations

import json
import uuid

import lance
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, Locator, expect

import lanceway
from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask, count, stream
from tests.servers.lanceway import Lanceway


@pytest.fixture
def orders(server: Lanceway, shop: Id) -> Id:
    """A table with three versions, a tag, and a branch of the second that was written to."""
    id_ = [*shop, f"orders{uuid.uuid4().hex[:6]}"]
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    for verb, body in (
        ("create", rows),
        ("insert", rows.slice(0, 2)),
        ("delete", {"predicate": "id = 1"}),
        ("tags/create", {"tag": "reviewed", "version": 1}),
        ("branches/create", {"name": "trial", "from_version": 2}),
        ("insert?branch=trial", rows),
    ):
        sent = {"content": stream(body)} if isinstance(body, pa.Table) else {"body": body}
        assert ask(server, "table", id_, verb, **sent).status_code == 200, verb
    return id_


def versions(person: Person) -> Locator:
    """The rows below the heading."""
    rows = person.page.get_by_role("region", name="Versions").get_by_role("row")
    return rows.filter(has=person.page.get_by_role("cell"))


def version(person: Person, number: int, *, branch: bool = False) -> Locator:
    name = f"Rows of version {number}{' of trial' if branch else ''}"
    return versions(person).filter(has=person.page.get_by_role("link", name=name, exact=True))


def test_each_version_says_what_it_brought(person: Person, orders: Id) -> None:
    page = person.open("table", orders, tab="versions")
    expect(versions(person)).to_have_count(5)
    expect(version(person, 3)).to_contain_text("rows deleted3−2")
    expect(version(person, 3)).to_contain_text("latest")
    expect(version(person, 3)).to_contain_text("admin")
    expect(version(person, 2)).to_contain_text("rows appended5+2")
    expect(version(person, 1)).to_contain_text("reviewed")
    expect(version(person, 1)).to_contain_text("table created3+3")
    expect(version(person, 2, branch=True)).to_contain_text("branched off")
    expect(version(person, 3, branch=True)).to_contain_text("rows appended8+3")
    # The newest are above, and a branch leads to the version that it comes from.
    expect(versions(person).first).to_contain_text("trial")
    slanted = "lines => lines.filter(line => line.getAttribute('x1') !== line.getAttribute('x2')).length"
    assert page.locator("svg.graph line").evaluate_all(slanted) == 1
    assert version(person, 2).locator("svg.graph line").count() == 3
    person.check_access()


def test_a_version_leads_to_its_rows(person: Person, orders: Id) -> None:
    page = person.open("table", orders, tab="versions")
    version(person, 1).get_by_role("link").click()
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    expect(rows).to_have_count(4)
    page.get_by_role("button", name="Remove Version 1").click()
    expect(rows).to_have_count(4)
    person.open("table", orders, tab="versions")
    version(person, 3, branch=True).get_by_role("link").click()
    expect(rows).to_have_count(9)
    assert "branch=trial" in person.hash
    expect(page.get_by_role("main")).to_contain_text("8 rows")


def test_a_version_is_restored(person: Person, server: Lanceway, orders: Id) -> None:
    page = person.open("table", orders, tab="versions")
    expect(version(person, 3).get_by_role("button", name="Restore")).to_have_count(0)
    version(person, 2).get_by_role("button", name="Restore").click()
    expect(page.get_by_role("dialog")).to_contain_text("stay")
    person.press("Restore")
    expect(version(person, 4)).to_contain_text("version restored5")
    assert count(server, orders) == 5


def test_a_version_is_tagged_and_the_tag_is_moved_and_dropped(person: Person, server: Lanceway, orders: Id) -> None:
    page = person.open("table", orders, tab="versions")
    version(person, 2).get_by_role("button", name="Tag").click()
    person.fill(Tag="good")
    person.press("Tag")
    expect(version(person, 2)).to_contain_text("good")
    version(person, 3).get_by_role("button", name="Tag").click()
    person.fill(Tag="good")
    person.press("Tag")
    expect(version(person, 3)).to_contain_text("good")
    expect(version(person, 2)).not_to_contain_text("good")
    assert ask(server, "table", orders, "tags/version", {"tag": "good"}).json()["version"] == 3
    listed = page.get_by_role("region", name="Branches and tags").get_by_role("row").filter(has_text="good")
    listed.get_by_role("button", name="Drop").click()
    person.press("Drop")
    expect(page.get_by_text("The tag good is dropped.")).to_be_visible()
    expect(version(person, 3)).not_to_contain_text("good")
    assert "good" not in ask(server, "table", orders, "tags/list").json()["tags"]


def test_a_branch_is_made_and_dropped(person: Person, server: Lanceway, orders: Id) -> None:
    page = person.open("table", orders, tab="versions")
    version(person, 1).get_by_role("button", name="Branch").click()
    person.fill(Branch="second try")
    person.press("Create")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("second try")  # such a name is refused
    person.expected = ("400",)
    person.fill(Branch="second")
    person.press("Create")
    listed = page.get_by_role("region", name="Branches and tags").get_by_role("row").filter(has_text="second")
    expect(listed).to_contain_text("from 1")
    listed.get_by_role("link", name="Versions").click()
    expect(versions(person)).to_have_count(4)  # three of the main branch, and the beginning of this one
    listed.get_by_role("button", name="Drop").click()
    person.press("Drop")
    expect(page.get_by_text("The branch second is dropped.")).to_be_visible()
    expect(listed).to_have_count(0)
    assert list(ask(server, "table", orders, "branches/list").json()["branches"]) == ["trial"]


def test_older_versions_come_on_demand(person: Person, server: Lanceway, shop: Id) -> None:
    id_ = [*shop, f"long{uuid.uuid4().hex[:6]}"]
    rows = stream(pa.table({"id": [1]}))
    assert ask(server, "table", id_, "create", content=rows).status_code == 200
    for _ in range(51):
        assert ask(server, "table", id_, "insert", content=rows).status_code == 200
    page = person.open("table", id_, tab="versions")
    expect(versions(person)).to_have_count(50)
    page.get_by_role("main").get_by_role("button", name="More").click()
    expect(versions(person)).to_have_count(52)
    expect(versions(person).last).to_contain_text("table created")


def test_what_others_wrote_into_a_commit_is_text(person: Person, server: Lanceway, orders: Id) -> None:
    markup = "<img src=x onerror=alert(1)>"
    lance.write_dataset(
        pa.table({"id": pa.array([7], pa.int64())}),
        namespace_client=lanceway.connect("rest", uri=server.uri, token=server.token),
        table_id=orders,
        mode="append",
        transaction_properties={"lanceway.pipeline": json.dumps({"pipeline": markup, "run": "javascript:alert(1)"})},
    )
    dialogs: list[str] = []
    person.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = person.open("table", orders, tab="versions")
    link = version(person, 4).get_by_role("link", name=f"pipeline {markup}")
    expect(link).to_have_attribute("href", "#/activity/runs/javascript%3Aalert(1)")
    assert page.locator("main img").count() == 0
    link.click()
    person.expected = ("404", "400")
    expect(page.get_by_role("alert")).to_be_visible()
    assert dialogs == []


def test_who_may_only_read_is_refused_with_the_reason(browser: Browser, server: Lanceway, orders: Id) -> None:
    token = server.token_for(f"u{uuid.uuid4().hex[:8]}", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    with Person(browser, server.address, token) as person:
        page = person.open("table", orders, tab="versions")
        expect(version(person, 2)).not_to_contain_text("admin")  # who else wrote is not for this user
        version(person, 2).get_by_role("button", name="Restore").click()
        person.press("Restore")
        person.expected = ("403",)
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("MODIFY_TABLE")
    assert count(server, orders) == 3
