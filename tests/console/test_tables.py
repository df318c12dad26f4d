"""One table in a browser: its schema, its rows, searches, indices, and names and values that attack."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest
from playwright.sync_api import Browser, expect

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask, stream
from tests.servers.lanceway import Lanceway

ATTACK = "<img src=x onerror=alert(1)>"


def test_the_schema_has_vectors_and_nested_types(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit, tab="schema")
    columns = page.get_by_role("region", name="Columns")
    expect(columns).to_contain_text("vector of 4 float32")
    expect(columns.get_by_role("row", name="country utf8 yes")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Fragments")


def test_rows_come_in_pages_with_addresses(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    expect(rows).to_have_count(26)
    expect(rows.nth(1)).to_contain_text(str(2**60))  # all of its digits
    person.press("Next")
    expect(rows).to_have_count(16)
    assert "from=25" in person.hash
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    page.reload()
    expect(rows.nth(1)).to_contain_text("fruit 25")
    person.press("Previous")
    expect(rows.nth(1)).to_contain_text("fruit 0")


def test_a_row_has_an_address(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    page.get_by_role("region", name="Rows").get_by_role("link", name="Row 3", exact=True).click()
    expect(page.get_by_role("heading", name="Row 3")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="fruit 3")).to_be_visible()
    person.open("table", fruit, row=999_999)
    expect(page.get_by_text("This row is gone")).to_be_visible()


def test_pictures_are_shown_in_their_cells(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    picture = page.get_by_role("img", name="PNG").first
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('img.thumb').naturalWidth === 1")


def test_rows_are_filtered(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    page.get_by_label("Filter", exact=True).fill("id >= 38")
    person.press("Search")
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    expect(rows).to_have_count(3)
    person.press("Clear")
    expect(rows).to_have_count(26)
    person.open("table", fruit, filter="id < 0")
    expect(page.get_by_text("No row matches")).to_be_visible()


def test_a_wrong_filter_is_explained(person: Person, fruit: Id) -> None:
    person.expected = ("400", "404")
    person.open("table", fruit, filter="colour = 1")
    assert "colour" in person.refusal()


def test_rows_that_are_like_one(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    rows.nth(8).get_by_role("link", name="More like this").click()
    expect(page.get_by_text("Like row 7 by vector")).to_be_visible()
    expect(rows.nth(1)).to_contain_text("fruit 7")
    expect(rows.first).to_contain_text("_distance")
    page.get_by_label("Vector", exact=True).fill("20, 1, 0, -1")
    person.press("Search")
    expect(rows.nth(1)).to_contain_text("fruit 20")


def test_words_are_found_and_joined_with_vectors(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit, tab="indices")
    person.press("New index")
    page.get_by_role("dialog").get_by_label("Column").select_option("name")
    page.get_by_role("dialog").get_by_label("Type").select_option("FTS")
    person.press("Create")
    expect(page.get_by_role("region", name="Indices")).to_contain_text("name_idx")
    page.get_by_role("link", name="Rows").click()
    page.get_by_label("Full text").fill("12")
    person.press("Search")
    rows = page.get_by_role("region", name="Rows").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("fruit 12")
    page.get_by_label("Vector", exact=True).fill("30, 1, 0, -1")
    person.press("Search")
    expect(rows.first).to_contain_text("_relevance_score")
    person.open("table", fruit, tab="indices")
    page.get_by_role("region", name="Indices").get_by_role("button", name="Drop").click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    expect(page.get_by_text("No indices")).to_be_visible()


def test_a_hundred_columns_at_a_time(person: Person, server: Lanceway, shop: Id) -> None:
    id_ = [*shop, "wide"]
    vectors = pa.array([[1.0, 0.0], [0.0, 1.0]], pa.list_(pa.float32(), 2))
    data = pa.table({**{f"c{number}": [number, 0] for number in range(230)}, "vector": vectors})
    assert ask(server, "table", id_, "create", content=stream(data)).status_code == 200
    page = person.open("table", id_)
    heads = page.get_by_role("region", name="Rows").get_by_role("columnheader")
    expect(heads).to_have_count(101)
    person.press("Columns after")
    expect(heads.nth(1)).to_have_text("c100")
    expect(page.get_by_role("button", name="Columns after")).to_be_enabled()
    person.press("Columns after")
    expect(heads).to_have_count(32)
    expect(page.get_by_text("Columns 201 to 231 of 231")).to_be_visible()
    expect(page.get_by_role("button", name="Columns after")).to_be_disabled()
    page.get_by_role("region", name="Rows").get_by_role("link", name="More like this").nth(1).click()
    expect(heads.nth(1)).to_have_text("_distance")
    expect(page.get_by_role("region", name="Rows").get_by_role("row").nth(1)).to_contain_text("0")
    page.get_by_role("link", name="Row 1", exact=True).click()
    expect(page.get_by_role("term")).to_have_count(231)


def test_the_plan_of_a_query(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit, filter="id > 3")
    person.press("Plan")
    expect(page.get_by_role("dialog")).to_contain_text("LanceRead")


def test_what_other_tools_type_names_this_table(person: Person, server: Lanceway, fruit: Id) -> None:
    page = person.open("table", fruit, tab="use")
    for tool in ("Python", "pylance", "LanceDB", "Spark SQL", "DuckDB", "curl"):
        expect(page.get_by_role("figure").filter(has_text=tool).first).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text(f'lake.table("{".".join(fruit)}")')
    expect(page.get_by_role("main")).to_contain_text(server.uri)


def test_columns_are_added_renamed_and_dropped(person: Person, server: Lanceway, shop: Id) -> None:
    id_ = [*shop, f"columns{uuid.uuid4().hex[:6]}"]
    assert ask(server, "table", id_, "create", content=stream(pa.table({"price": [1.5, 2.5]}))).status_code == 200
    page = person.open("table", id_, tab="schema")
    columns = page.get_by_role("region", name="Columns").get_by_role("row")
    person.press("New column")
    person.fill(Name="twice", Expression="price * two")
    person.press("Add")
    person.expected = ("400", "404")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("two")
    person.fill(Expression="price * 2")
    person.press("Add")
    expect(columns).to_have_count(3)
    columns.filter(has_text="twice").get_by_role("button", name="Rename").click()
    person.fill(New_name="the double")
    person.press("Rename")
    expect(columns.filter(has_text="the double")).to_have_count(1)
    person.open("table", id_)
    expect(page.get_by_role("cell", name="5", exact=True)).to_be_visible()
    person.open("table", id_, tab="schema")
    columns.filter(has_text="the double").get_by_role("button", name="Drop").click()
    person.press("Drop")
    expect(columns).to_have_count(2)


def test_a_table_is_renamed_and_dropped(person: Person, server: Lanceway, shop: Id) -> None:
    assert ask(server, "table", [*shop, "short"], "create", content=stream(pa.table({"a": [1]}))).status_code == 200
    page = person.open("table", [*shop, "short"])
    person.press("Rename")
    person.fill(New_name="brief")
    person.press("Rename")
    expect(page.get_by_role("heading", level=1)).to_have_text("brief")
    expect(person.item("brief")).to_be_visible()
    expect(person.item("short")).to_have_count(0)
    person.press("Drop")
    person.fill(Name_of_the_table="short")
    person.press("Drop")
    expect(page.get_by_role("alert")).to_contain_text("brief")
    person.fill(Name_of_the_table="brief")
    person.press("Drop")
    expect(page.get_by_role("heading", level=1)).to_have_text(shop[-1])
    expect(person.item("brief")).to_have_count(0)


@pytest.fixture(scope="module")
def hostile(server: Lanceway, shop: Id) -> Id:
    """A table whose names and values are markup."""
    id_ = [*shop, f"hostile {uuid.uuid4().hex[:6]}"]
    picture = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    data = pa.table(
        {ATTACK.replace(".", ""): [ATTACK], "page": [f"<script>alert(1)</script>{ATTACK}"], "bytes": [picture]}
    )
    assert ask(server, "table", id_, "create", content=stream(data)).status_code == 200
    return id_


def test_markup_in_names_and_values_is_text(person: Person, server: Lanceway, shop: Id, hostile: Id) -> None:
    with server.client() as client:
        body = {"name": shop, "set": {"comment": ATTACK}}
        client.post("/lanceway/v1/schemas/alter", json=body).raise_for_status()
    dialogs: list[str] = []
    person.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = person.open("table", hostile)
    expect(page.get_by_role("region", name="Rows")).to_contain_text(f"<script>alert(1)</script>{ATTACK}")
    assert page.locator("main img").count() == 0, "SVG is never drawn"
    for tab in ("schema", "use"):
        person.open("table", hostile, tab=tab)
    person.open("namespace", shop, tab="details")
    expect(page.get_by_role("definition").filter(has_text=ATTACK)).to_be_visible()
    person.open("table", [*shop, ATTACK])
    person.expected = ("404", "400")
    assert dialogs == []


@pytest.mark.parametrize("tab", ["rows", "schema", "versions", "indices", "use"])
def test_every_part_fits_a_telephone(browser: Browser, server: Lanceway, fruit: Id, tab: str) -> None:
    with Person(browser, server.address, server.token, width=360) as person:
        page = person.open("table", fruit, tab=tab)
        person.check_access()
        if tab == "schema":  # a word is not broken
            lines = "nodes => nodes.filter(node => node.getClientRects().length > 1).map(node => node.textContent)"
            broken = page.get_by_role("region", name="Columns").locator("code").evaluate_all(lines)
            assert all(" " in text for text in broken), broken


def test_an_address_cannot_bring_a_link_that_runs(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit, near="javascript:alert(1)", by="vector")
    assert page.locator('[href^="javascript"]').count() == 0
    expect(page.get_by_role("alert")).to_be_visible()
