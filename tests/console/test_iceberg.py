"""Tables of Iceberg beside Lance tables in a browser: in the tree, in lists, and on a page of their own."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask
from tests.servers.lanceway import Lanceway

MANY = 120  # Lance tables, more than a page


@pytest.fixture(scope="module")
def mixed(server: Lanceway, shop: Id) -> Id:
    """A namespace whose first and last table, and one in the middle, are of Iceberg."""
    id_ = [*shop, "mixed"]
    assert ask(server, "namespace", id_, "create").status_code == 200
    for number in range(MANY):
        assert ask(server, "table", [*id_, f"t{number:03}"], "declare", {}).status_code == 200
    fields = [
        {"id": 1, "name": "id", "type": "long", "required": True},
        {"id": 2, "name": "tags", "required": False, "doc": "words",
         "type": {"type": "list", "element-id": 3, "element": "string", "element-required": False}},
    ]  # fmt: skip
    with server.client() as client:
        for name in ("first", "t050x", "zebra"):
            schema = {"type": "struct", "schema-id": 0, "fields": fields}
            body = {"name": name, "schema": schema, "properties": {"team": "sales"}}
            path = f"/iceberg/v1/{id_[0]}/namespaces/{'%1F'.join(id_[1:])}/tables"
            client.post(path, json=body).raise_for_status()
    return id_


def test_a_namespace_lists_them_beside_lance_tables(person: Person, mixed: Id) -> None:
    page = person.open("namespace", mixed)
    contents = page.get_by_role("region", name="Contents")
    expect(contents.get_by_role("row", name="first Iceberg table")).to_be_visible()
    expect(contents.get_by_role("row", name="t000 table")).to_be_visible()
    expect(contents.get_by_role("row", name="t050x Iceberg table")).to_be_visible()
    expect(contents.get_by_role("row")).to_have_count(101)
    page.get_by_role("main").get_by_role("button", name="More").click()
    expect(contents.get_by_role("row", name="t119 table")).to_be_visible()
    expect(contents.get_by_role("row", name="zebra Iceberg table")).to_be_visible()
    expect(contents.get_by_role("row")).to_have_count(MANY + 3 + 1)
    expect(contents.get_by_role("row", name="Iceberg table")).to_have_count(3)


def test_its_page_says_what_its_metadata_says(person: Person, mixed: Id) -> None:
    page = person.open("namespace", mixed)
    page.get_by_role("main").get_by_role("link", name="first").click()
    person.wait()
    expect(page.get_by_role("heading", level=1)).to_have_text("first")
    expect(person.item("first")).to_have_attribute("aria-current", "page")
    columns = page.get_by_role("region", name="Columns")
    expect(columns.get_by_role("row", name="id long no")).to_be_visible()
    expect(columns.get_by_role("row", name="tags list<string> yes words")).to_be_visible()
    expect(page.get_by_role("definition").filter(has_text="sales")).to_be_visible()
    person.check_access()
    person.item("t050x").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("t050x")


def test_an_address_without_the_format_leads_there(person: Person, mixed: Id) -> None:
    person.expected = ("400",)
    page = person.open("table", [*mixed, "first"])
    page.get_by_role("link", name="Show it").click()
    expect(page.get_by_role("region", name="Columns")).to_be_visible()


def test_who_may_not_see_one_does_not(person: Person, server: Lanceway, mixed: Id) -> None:
    token = server.token_for("visitor-of-iceberg", "USE_CATALOG", "USE_SCHEMA")
    with Person(person.context.browser, server.address, token) as visitor:  # type: ignore[arg-type]
        page = visitor.open("namespace", mixed)
        expect(page.get_by_text("Nothing here yet")).to_be_visible()
