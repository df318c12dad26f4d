"""Health, requests, events and tokens in a browser."""

from __future__ import annotations

import re
import uuid

import pytest
from playwright.sync_api import Browser, expect

from lanceway import __version__
from tests.console.console_helpers import Person
from tests.server.server_helpers import Id, ask
from tests.servers.lanceway import Lanceway

SCRIPT = "<img src=x onerror=alert(1)>"


def test_the_server_says_how_it_is_and_what_is_asked_of_it(person: Person) -> None:
    page = person.open("operations")
    expect(page.get_by_text(__version__, exact=True)).to_be_visible()
    expect(page.get_by_text("ok", exact=True)).to_be_visible()
    requests = page.get_by_role("region", name="Requests by operation")
    expect(requests.get_by_role("row", name="metrics")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Requests a second in the last"))).to_be_visible()


def test_events_appear_as_they_happen(person: Person, server: Lanceway, shop: Id) -> None:
    name = f"fresh{uuid.uuid4().hex[:8]}"
    page = person.open("operations", ["events"], under="$".join(shop))
    log = page.get_by_role("log", name="Events")
    expect(page.get_by_text("Live")).to_be_visible()
    assert ask(server, "namespace", [*shop, name], "create").status_code == 200
    entry = log.get_by_role("listitem").filter(has_text=name)
    expect(entry).to_contain_text("namespace.created")
    person.press("Pause")
    expect(page.get_by_text("Paused.")).to_be_visible()
    # What was missed comes when one continues.
    assert ask(server, "namespace", [*shop, name], "drop", {}).status_code == 200
    person.press("Continue")
    expect(log.get_by_text("namespace.dropped")).to_be_visible()
    entry.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(f"#/namespace/lake/{shop[1]}"))
    person.expected = ("404",)


def test_a_token_is_shown_once_and_revoked(person: Person, browser: Browser, server: Lanceway) -> None:
    label = f"{SCRIPT}{uuid.uuid4().hex[:8]}"
    page = person.open("operations", ["tokens"], user="admin")  # those of other tests' users fill pages
    person.press("New token")
    person.fill(Label=label)
    page.get_by_role("dialog").get_by_label("Valid for").select_option("86400")
    person.press("Create")
    secret = page.get_by_label("The token", exact=True).inner_text().strip()
    person.press("I have it")
    row = page.get_by_role("region", name="Tokens").get_by_role("row").filter(has_text=label)
    expect(row).to_contain_text("valid")
    assert page.locator("main img").count() == 0
    assert secret not in page.content()
    assert secret not in page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + location.href")
    with server.client(headers={"Authorization": f"Bearer {secret}"}) as client:
        assert client.get("/lanceway/v1/me").json()["name"] == "admin"
        row.get_by_role("button", name="Revoke").click()
        person.press("Revoke")
        expect(row).to_have_count(0)
        assert client.get("/lanceway/v1/me").status_code == 401
    person.open("operations", ["tokens"], all="true", user="admin")
    expect(page.get_by_role("row").filter(has_text=label)).to_contain_text("revoked")


def test_one_sees_the_tokens_of_oneself_alone(browser: Browser, server: Lanceway) -> None:
    user = f"reader-{uuid.uuid4().hex[:8]}"
    with Person(browser, server.address, server.token_for(user, "USE_CATALOG")) as reader:
        page = reader.open("operations", ["tokens"])
        rows = page.get_by_role("region", name="Tokens").get_by_role("row")
        expect(rows).to_have_count(2)
        expect(rows.nth(1)).to_contain_text(user)
        reader.press("New token")
        expect(page.get_by_role("dialog").get_by_label("User")).to_have_count(0)
        reader.press("Cancel")


def test_a_token_is_copied_or_it_says_that_it_cannot_be(person: Person) -> None:
    page = person.open("operations", ["tokens"])
    person.press("New token")
    person.press("Create")
    secret = page.get_by_label("The token", exact=True).inner_text().strip()
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.press("Copy")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == secret
    # As in a page of http:// from another machine.
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Copied").click()
    expect(page.get_by_role("button", name="Not possible here")).to_be_visible()


@pytest.mark.parametrize("part", ["", "events", "tokens"])
def test_every_control_has_a_name_and_nothing_is_wider_than_a_telephone(
    browser: Browser, server: Lanceway, shop: Id, part: str
) -> None:
    assert ask(server, "namespace", [*shop, f"{'long' * 30}{uuid.uuid4().hex}"], "create").status_code == 200
    with Person(browser, server.address, server.token, width=360) as person:
        page = person.open("operations", [part] if part else [], under="$".join(shop), **{"from": "oldest"})
        if part == "events":
            expect(page.get_by_role("log").get_by_text("longlong").first).to_be_visible()
        person.check_access()
