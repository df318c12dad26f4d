"""Signing in at an OpenID Connect issuer with a browser, and what an attacker's address cannot do."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.access.issuer import AUDIENCE, Issuer
from tests.access.provider import CLIENT, Provider
from tests.console.console_helpers import Person
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

PATH = "/lanceway/v1/sign-in/issuer"
BODY = {"code": "c", "verifier": "v" * 43, "redirect_uri": "http://127.0.0.1/"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Issuer() as issuer:
        provider = Provider(issuer)
        yield provider
        provider.close()


@pytest.fixture(scope="module")
def trusting(whole_run: Run, provider: Provider) -> Iterator[Lanceway]:
    server = lanceway.start(whole_run, name="code-flow", settings=provider.settings())
    yield server
    server.stop()


@pytest.fixture
def visitor(browser: Browser, trusting: Lanceway, provider: Provider) -> Iterator[Person]:
    """A person who is not signed in. The issuer's page is the only other host, and is gone to, never asked."""
    with Person(browser, trusting.address, None) as person:
        yield person
        elsewhere = [request for request in person.requests if request.url.startswith(provider.address)]
        assert all(request.is_navigation_request() for request in elsewhere)
        person.requests = [request for request in person.requests if request not in elsewhere]


def test_one_signs_in_at_the_issuer_and_comes_back_to_the_page(
    visitor: Person, trusting: Lanceway, provider: Provider
) -> None:
    page = visitor.open("access", ["me"])
    visitor.press("Sign in with acme")
    expect(page.get_by_role("heading", name="Who are you?")).to_be_visible()
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert (asked["client_id"], asked["prompt"], asked["response_type"]) == ([CLIENT], ["login"], ["code"])
    assert "code_verifier" not in asked
    page.get_by_role("link", name="I agree").click()
    expect(page.get_by_role("banner")).to_contain_text("alice@acme")
    assert visitor.hash == "/access/me"
    assert urlsplit(page.url).query == ""
    access, identity = provider.handed_out[-2:]
    assert page.evaluate("sessionStorage.getItem('lanceway.token')") == access
    kept = "JSON.stringify(localStorage) + document.cookie + document.documentElement.outerHTML"
    written = page.evaluate(kept) + trusting.lines() + "".join(request.url for request in visitor.requests)
    assert access not in written
    assert identity not in written
    code = next(
        parse_qs(urlsplit(request.url).query)["code"][0] for request in visitor.requests if "code=" in request.url
    )
    assert code not in trusting.lines()
    page.reload()
    expect(page.get_by_role("banner")).to_contain_text("alice@acme")
    visitor.press("Sign out")
    expect(page.get_by_role("button", name="Sign in with acme")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0


def test_who_refuses_at_the_issuer_can_try_again(visitor: Person) -> None:
    page = visitor.open("")
    visitor.press("Sign in with acme")
    page.get_by_role("link", name="I refuse").click()
    expect(page.get_by_role("alert")).to_contain_text("access_denied")
    visitor.press("Sign in with acme")
    page.get_by_role("link", name="I agree").click()
    expect(page.get_by_role("banner")).to_contain_text("alice@acme")


def test_an_address_with_the_code_of_another_signs_no_one_in(visitor: Person, provider: Provider) -> None:
    handed_out = len(provider.handed_out)
    provider.codes["foreign"] = {}
    visitor.page.goto(f"{visitor.address}/?code=foreign&state=guessed")
    expect(visitor.page.get_by_role("alert")).to_contain_text("has not asked")
    assert "foreign" in provider.codes, "it was not even sent"
    assert len(provider.handed_out) == handed_out
    assert "guessed" not in visitor.page.url


def test_the_token_for_another_service_is_refused_with_the_reason(visitor: Person, provider: Provider) -> None:
    provider.audiences = ("elsewhere", CLIENT)
    page = visitor.open("")
    visitor.press("Sign in with acme")
    page.get_by_role("link", name="I agree").click()
    visitor.expected = ("401",)
    expect(page.get_by_role("alert")).to_contain_text("meant for another service")
    provider.audiences = ("elsewhere", AUDIENCE)  # the server's audience is that of ID tokens
    visitor.press("Sign in with acme")
    page.get_by_role("link", name="I agree").click()
    expect(page.get_by_role("banner")).to_contain_text("alice@acme")
    provider.audiences = (AUDIENCE, CLIENT)


def test_other_pages_cannot_sign_in_so(trusting: Lanceway, server: Lanceway) -> None:
    with trusting.client(headers={}) as client:
        assert client.post(PATH, json=BODY).status_code == 403
        assert client.post(PATH, json=BODY, headers={"Origin": "https://evil.example"}).status_code == 403
        own = {"Origin": trusting.address}
        assert client.post(PATH, json={**BODY, "verifier": "short"}, headers=own).status_code == 400
        assert client.post(PATH, json=BODY, headers=own).status_code == 401
        assert client.get(PATH).status_code == 405
    with server.client(headers={"Origin": server.address}) as client:
        answer = client.post(PATH, json=BODY)
        assert (answer.status_code, "no issuer" in answer.json()["error"]) == (400, True)
