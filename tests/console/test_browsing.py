"""Catalogs and namespaces in a browser: the tree, pages of children, and what one may not see."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Browser, expect

from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask
from tests.servers.lanceway import Lanceway

MANY = 230


@pytest.fixture(scope="module")
def crowd(server: Lanceway, shop: Id) -> Id:
    """A namespace with more namespaces than a page has."""
    id_ = [*shop, "crowd"]
    with server.client() as client:
        for number in range(MANY):
            name = [*id_, f"n{number:04}"]
            client.post("/lanceway/v1/schemas", json={"name": name}).raise_for_status()
    return id_


def test_the_tree_follows_the_address(person: Person, fruit: Id) -> None:
    page = person.open("table", fruit)
    expect(person.item("fruit")).to_have_attribute("aria-current", "page")
    expect(person.item("lake")).to_have_attribute("aria-expanded", "true")
    page.get_by_role("navigation", name="Path").get_by_role("link", name=fruit[1]).click()
    expect(person.item(fruit[1])).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(person.item("fruit")).to_have_attribute("aria-current", "page")


def test_the_tree_is_used_by_keyboard(person: Person, fruit: Id) -> None:
    page = person.open("namespace", fruit[:2])
    person.item(fruit[1]).focus()
    page.keyboard.press("ArrowRight")
    expect(person.item("fruit")).to_be_visible()
    page.keyboard.type("fr")
    expect(person.item("fruit")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("fruit")
    person.item("fruit").focus()
    page.keyboard.press("ArrowLeft")
    expect(person.item(fruit[1])).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(person.item(fruit[1])).to_have_attribute("aria-expanded", "false")


def test_a_hundred_children_at_a_time(person: Person, crowd: Id) -> None:
    page = person.open("namespace", crowd)
    rows = page.get_by_role("region", name="Contents").get_by_role("row")
    expect(rows).to_have_count(101)
    page.get_by_role("main").get_by_role("button", name="More").click()
    expect(rows).to_have_count(201)
    page.get_by_role("main").get_by_role("button", name="More").click()
    expect(rows).to_have_count(MANY + 1)
    expect(page.get_by_role("main").get_by_role("button", name="More")).to_have_count(0)


def test_what_is_typed_is_looked_for_beyond_the_first_page(person: Person, crowd: Id) -> None:
    page = person.open("namespace", crowd)
    person.item("crowd").focus()
    page.keyboard.press("ArrowRight")
    expect(person.item("n0099")).to_be_visible()
    expect(person.item("n0229")).to_have_count(0)
    page.get_by_label("Filter crowd").fill("n022")
    expect(person.item("n0229")).to_be_visible()
    expect(person.item("n0099")).to_have_count(0)
    page.get_by_label("Filter crowd").fill("nothing")
    expect(page.get_by_text("No such name")).to_be_visible()


def test_an_address_leads_to_what_is_far_down_a_list(person: Person, crowd: Id) -> None:
    person.open("namespace", [*crowd, "n0222"])
    expect(person.item("n0222")).to_have_attribute("aria-current", "page")


def test_a_namespace_is_created_changed_and_dropped(person: Person, shop: Id) -> None:
    page = person.open("namespace", shop)
    person.press("New namespace")
    person.fill(Name="season", Comment="what is ripe")
    person.press("Create")
    expect(page.get_by_role("heading", level=1)).to_have_text("season")
    expect(person.item("season")).to_have_attribute("aria-current", "page")
    person.press("Properties")
    expect(page.get_by_role("textbox", name="Properties")).to_have_value("comment = what is ripe")
    page.get_by_role("textbox", name="Properties").fill("owner = sales")
    person.press("Save")
    page.get_by_role("link", name="Details").click()
    expect(page.get_by_role("definition")).to_have_text("sales")
    person.press("Drop")
    person.press("Drop")
    expect(page.get_by_role("heading", level=1)).to_have_text(shop[-1])
    expect(person.item("season")).to_have_count(0)


def test_a_refusal_has_the_servers_reason_and_the_dialog_stays(person: Person, shop: Id, fruit: Id) -> None:
    person.expected = ("409",)
    page = person.open("namespace", shop)
    person.press("Drop")
    person.press("Drop")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("not empty")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Drop")).to_be_focused()


def test_a_table_is_created_from_columns(person: Person, shop: Id) -> None:
    page = person.open("namespace", shop)
    person.press("New table")
    person.fill(Name="blank", Columns="id = long\nwords = list<string>")
    person.press("Create")
    expect(page.get_by_role("heading", level=1)).to_have_text("blank")
    expect(person.item("blank")).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="Schema").click()
    expect(page.get_by_role("region", name="Columns")).to_contain_text("list<utf8>")


def test_what_one_may_not_see_is_not_there(browser: Browser, server: Lanceway, shop: Id, fruit: Id) -> None:
    user, role = f"u{uuid.uuid4().hex[:8]}", f"r{uuid.uuid4().hex[:8]}"
    deep = [*shop, "outer", "inner"]
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        client.post("/schemas", json={"name": deep}).raise_for_status()
        token = client.post("/tokens", json={"user": user}).json()["token"]
        client.post("/roles", json={"name": role}).raise_for_status()
        changes = [
            {"role": role, "object": "lake", "privilege": "USE_CATALOG"},
            {"role": role, "object": "$".join(deep), "privilege": "USE_SCHEMA"},
        ]
        client.post("/grants", json={"changes": changes}).raise_for_status()
        client.post(f"/roles/{role}/give", json={"user": user}).raise_for_status()
    with Person(browser, server.address, token) as person:
        person.expected = ("403", "404")
        page = person.open("namespace", deep)
        expect(person.item("inner")).to_have_attribute("aria-current", "page")
        expect(person.item("outer")).to_be_visible()
        expect(person.item("fruit")).to_have_count(0)
        person.open("namespace", shop, tab="details")
        expect(page.get_by_text("A way through")).to_be_visible()
        person.open("namespace", shop)
        rows = page.get_by_role("region", name="Contents").get_by_role("row")
        expect(rows).to_have_count(2)
        expect(rows.nth(1)).to_contain_text("outer")
        expect(page.get_by_role("main")).to_contain_text("A way through to what you may see.")
        expect(page.get_by_role("main")).to_contain_text("USE_SCHEMA is missing")
        person.open("table", fruit)
        assert "fruit" in person.refusal()
        person.open("namespace", deep)
        person.press("New namespace")
        person.fill(Name="mine")
        person.press("Create")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("CREATE_SCHEMA is missing")


def test_a_catalog_is_tried_mounted_and_dropped(person: Person, tmp_path: object) -> None:
    name = f"folder{uuid.uuid4().hex[:8]}"
    page = person.open("catalogs")
    person.press("Mount a catalog")
    person.fill(Name=name, Settings=f"path = {tmp_path}")
    person.press("Test")
    expect(page.get_by_role("dialog").get_by_text("passed").first).to_be_visible()
    person.press("Mount")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(person.item(name)).to_be_visible()
    person.press("Drop")
    person.press("Drop")
    expect(person.item(name)).to_have_count(0)


def test_a_catalog_is_changed_and_disabled(person: Person, tmp_path: object) -> None:
    name = f"folder{uuid.uuid4().hex[:8]}"
    page = person.open("catalogs")
    person.press("Mount a catalog")
    person.fill(Name=name, Settings=f"path = {tmp_path}")
    person.press("Mount")
    page.get_by_role("link", name="Details").click()
    person.press("Change")
    assert f"path = {tmp_path}" in page.get_by_role("textbox", name="Settings").input_value()
    person.fill(Name=f"{name}b", Comment="old tables")
    person.press("Save")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{name}b")
    expect(person.item(f"{name}b")).to_be_visible()
    expect(person.item(name)).to_have_count(0)
    person.expected = ("403", "409", "503")
    person.press("Disable")
    person.press("Disable")
    expect(page.get_by_role("main")).to_contain_text("disabled")
    person.press("Enable")
    person.press("Enable")
    expect(page.get_by_role("button", name="Disable")).to_be_visible()
    person.press("Drop")
    person.press("Drop")


def test_the_properties_of_a_catalog_are_changed(person: Person) -> None:
    key = f"key{uuid.uuid4().hex[:8]}"
    page = person.open("namespace", ["lake"], tab="details")
    person.press("Properties")
    field = page.get_by_role("textbox", name="Properties")
    expect(field).to_be_enabled()
    before = field.input_value()
    assert "lanceway." not in before  # what the server keeps itself
    field.fill(f"{before}\n{key} = sales")
    person.press("Save")
    expect(page.get_by_role("term").filter(has_text=key)).to_be_visible()
    person.press("Properties")
    expect(field).to_be_enabled()
    field.fill(before)
    person.press("Save")
    expect(page.get_by_role("term").filter(has_text=key)).to_have_count(0)


def test_what_a_name_may_hold_is_said_at_the_field(person: Person, shop: Id) -> None:
    page = person.open("namespace", shop)
    person.press("New namespace")
    name = page.get_by_role("dialog").get_by_label("Name", exact=True)
    expect(name).to_have_accessible_description(re.compile("“:” is not"))
    name.fill("a:b")
    person.expected = ("400",)
    person.press("Create")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("':'")
    name.fill("a.b c")
    person.press("Create")
    expect(page.get_by_role("heading", level=1)).to_have_text("a.b c")
    person.press("Drop")
    person.press("Drop")


def test_the_storage_of_a_catalog_is_checked(person: Person) -> None:
    page = person.open("namespace", ["lake"], tab="details")
    person.press("Check its storage")
    expect(page.get_by_role("dialog").get_by_role("listitem").first).to_be_visible()
    assert page.get_by_role("dialog").get_by_text("failed").count() == 0


def test_a_server_that_is_away_is_asked_again(person: Person, shop: Id, fruit: Id) -> None:
    person.expected = ("net::ERR",)
    page = person.open("catalogs")
    expect(person.item("lake")).to_be_visible()
    page.route("**/lance*/v1/**", lambda route: route.abort())
    person.open("namespace", shop)
    assert "cannot be reached" in person.refusal()
    person.press("New namespace")
    person.fill(Name="late")
    person.press("Create")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("cannot be reached")
    page.keyboard.press("Escape")
    page.unroute("**/lance*/v1/**")
    person.press("Try again")
    expect(page.get_by_role("main").get_by_role("link", name="fruit")).to_be_visible()
    page.get_by_role("tree").get_by_role("button", name="try again").click()
    expect(person.item(shop[-1])).to_be_visible()


def test_what_an_address_brought_into_the_tree_leaves_it_again(person: Person) -> None:
    person.expected = ("404",)
    person.open("namespace", ["nowhere"])
    expect(person.item("nowhere")).to_have_class("catalog")
    person.open("namespace", ["lake"])
    expect(person.item("lake")).to_have_attribute("aria-current", "page")
    expect(person.item("nowhere")).to_have_count(0)


def test_what_changes_while_the_tree_is_read_is_read_again(person: Person) -> None:
    page = person.open("catalogs")
    expect(person.item("lake")).to_be_visible()
    # As after two changes, one right after the other.
    page.evaluate("Promise.all([1, 2].map(() => document.querySelector('lw-tree').refresh([])))")
    expect(person.item("lake")).to_be_visible()


def test_the_focus_stays_in_the_page(person: Person, server: Lanceway, shop: Id, fruit: Id) -> None:
    page = person.open("namespace", shop)
    page.get_by_role("main").get_by_role("link", name="fruit").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("fruit")
    expect(page.get_by_role("main")).to_be_focused()
    person.wait().get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    # A dialog whose button is gone gives it to the page, too.
    person.open("namespace", shop)
    person.press("New namespace")
    person.fill(Name=f"n{uuid.uuid4().hex[:6]}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("main")).to_be_focused()


def test_the_theme_is_that_of_the_machine_until_one_chooses(person: Person) -> None:
    page = person.page
    page.emulate_media(color_scheme="dark")
    person.open("catalogs")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    person.press("Light or dark")
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    person.wait()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="light")
    person.press("Light or dark")
    assert page.evaluate(ground) == dark


def test_an_address_that_means_nothing_says_so(person: Person) -> None:
    expect(person.open("nowhere").get_by_text("There is no such page")).to_be_visible()


def test_a_narrow_window_has_the_tree_behind_a_button(browser: Browser, server: Lanceway, fruit: Id) -> None:
    with Person(browser, server.address, server.token, width=360) as person:
        page = person.open("table", fruit)
        expect(person.item("lake")).not_to_be_visible()
        person.press("Navigation")
        expect(person.item("lake")).to_be_visible()
        page.mouse.click(350, 400)
        expect(person.item("lake")).not_to_be_visible()
        person.press("Navigation")
        person.item("lake").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("lake")
        expect(person.item("lake")).not_to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_namespace_that_is_gone_says_so(person: Person, server: Lanceway, shop: Id) -> None:
    person.expected = ("404",)
    gone = [*shop, "gone"]
    assert ask(server, "namespace", gone, "exists").status_code == 404
    person.open("namespace", gone)
    assert "Not found" in person.refusal()
