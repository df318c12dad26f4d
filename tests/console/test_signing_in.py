"""Signing in and out: what is asked, and where a token is and is not."""

from __future__ import annotations

from playwright.sync_api import Browser, Request, expect

from tests.console.console_helpers import Person
from tests.processes import lanceway as program
from tests.server.server_helpers import Id
from tests.servers.lanceway import Lanceway


def test_a_wrong_token_is_refused_with_the_servers_words(browser: Browser, server: Lanceway) -> None:
    with Person(browser, server.address, None) as person:
        person.expected = ("401",)
        page = person.open("")
        person.sign_in("lw_wrong")
        page.get_by_role("alert").wait_for()
        assert "token" in person.refusal()
        assert page.get_by_label("Token").is_visible()


def test_one_comes_to_the_page_that_was_asked_for(browser: Browser, server: Lanceway, fruit: Id) -> None:
    with Person(browser, server.address, None) as person:
        page = person.open("table", fruit, tab="schema")
        person.sign_in(server.token)
        expect(page.get_by_role("heading", level=1)).to_have_text("fruit")
        expect(page.get_by_role("heading", name="Columns")).to_be_visible()


def test_a_token_is_in_this_tab_alone(browser: Browser, server: Lanceway, fruit: Id) -> None:
    secret = server.token.rpartition("_")[2]
    with Person(browser, server.address, None) as person:
        page = person.open("table", fruit)
        person.sign_in(server.token)
        expect(page.get_by_role("region", name="Rows")).to_be_visible()
        page.reload()
        expect(page.get_by_role("region", name="Rows")).to_be_visible()
        assert page.evaluate("Object.values(sessionStorage).join()") == server.token
        elsewhere = "JSON.stringify(localStorage) + document.cookie + document.documentElement.outerHTML"
        assert secret not in page.evaluate(elsewhere)
        assert all(secret not in request.url for request in person.requests)
        # The server shows it once, when it writes it to its file.
        logged = [line for line in server.lines().splitlines() if not line.startswith("admin token")]
        assert secret not in "\n".join(logged)
        other = person.context.new_page()
        other.goto(server.address)
        expect(other.get_by_label("Token")).to_be_visible()


def test_signing_out_forgets_the_token(browser: Browser, server: Lanceway) -> None:
    with Person(browser, server.address, None) as person:
        page = person.open("")
        person.sign_in(server.token)
        person.press("Sign out")
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


def test_a_token_that_is_revoked_leads_back_to_signing_in(browser: Browser, server: Lanceway, fruit: Id) -> None:
    with server.client() as client:
        made = client.post("/lanceway/v1/tokens", json={"label": "console"}).json()
        with Person(browser, server.address, made["token"]) as person:
            person.expected = ("401",)
            client.delete(f"/lanceway/v1/tokens/{made['prefix']}").raise_for_status()
            person.open("table", fruit)
            expect(person.page.get_by_label("Token")).to_be_visible()


def link_of(server: Lanceway) -> str:
    done = program("console", "--home", str(server.home))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_link_signs_in_once_and_leaves_no_trace(browser: Browser, server: Lanceway) -> None:
    link = link_of(server)
    code = link.partition("code=")[2]
    with Person(browser, server.address, None) as person:
        page = person.page
        page.goto(link)
        expect(page.get_by_role("banner")).to_contain_text("admin")
        token = page.evaluate("sessionStorage.getItem('lanceway.token')")
        assert token != server.token
        assert code not in page.evaluate("location.href + JSON.stringify({...sessionStorage, ...localStorage})")
        assert all(code not in request.url and token not in request.url for request in person.requests)
        page.reload()
        expect(page.get_by_role("banner")).to_contain_text("admin")
        person.press("Sign out")
        expect(page.get_by_label("Token")).to_be_visible()
        with server.client(headers={"Authorization": f"Bearer {token}"}) as client:
            assert client.get("/lanceway/v1/me").status_code == 401, "its token ends with the session"
    with Person(browser, server.address, None) as person:
        person.expected = ("401",)
        person.page.goto(link)
        expect(person.page.get_by_role("alert")).to_contain_text("used before")
        expect(person.page.get_by_label("Token")).to_be_visible()
    assert code not in server.lines()


def test_signing_out_ends_what_is_still_asked_for(browser: Browser, server: Lanceway) -> None:
    def asks(request: Request) -> bool:
        return "/lanceway/v1/runs" in request.url

    with Person(browser, server.address, None) as person:
        page = person.page
        # It is not answered before the person has signed out.
        page.route("**/lanceway/v1/runs*", lambda route: None)
        with page.expect_event("request", asks):
            page.goto(link_of(server))
        with page.expect_event("requestfailed", asks):
            person.press("Sign out")
        expect(page.get_by_label("Token")).to_be_visible()


def test_a_link_in_a_tab_that_is_signed_in_takes_its_place(person: Person, server: Lanceway) -> None:
    page = person.open("catalogs")
    page.evaluate("link => location.assign(link)", link_of(server))
    page.wait_for_function("token => sessionStorage.getItem('lanceway.token') !== token", arg=server.token)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("location.hash") == "#/"
