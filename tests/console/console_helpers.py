"""What a person does with the console, and what must never be seen while it is done."""

from __future__ import annotations

import json
import re
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, expect

from tests.server.server_helpers import Id

SECONDS = 15_000  # milliseconds that a page may take
expect.set_options(timeout=SECONDS)
# That a page is drawn, and nothing of it is being loaded. A new address is noticed before the next frame.
_DRAWN = """() => new Promise((done) => requestAnimationFrame(() =>
  done(document.querySelector('main') && !document.querySelector('[aria-busy]'))))"""
# A control without a name, as the tree for screen readers writes it.
_NAMELESS = re.compile(r'- (?:button|link|textbox|combobox|checkbox|region)(?=[:\s\[]|$)(?! ")')


class Person:
    """A person with a tab of their own. Leaving fails if the console logged an error or asked another host."""

    def __init__(self, browser: Browser, address: str, token: str | None, width: int = 1280) -> None:
        self.address, self.token = address, token
        self.context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce")
        self.context.set_default_timeout(SECONDS)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[Request] = []
        self.expected: tuple[str, ...] = ()  # words of errors that a test brings about
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def __enter__(self) -> Self:
        if self.token is not None:
            # As if this tab had been signed in before.
            key, value = json.dumps("lanceway.token"), json.dumps(self.token)
            script = f"if (location.protocol === 'http:') sessionStorage.setItem({key}, {value})"
            self.page.add_init_script(script)
        return self

    def sign_in(self, token: str) -> None:
        """Type a token into the form."""
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.context.close()
        if kind is None:
            errors = [text for text in self.errors if not any(word in text for word in self.expected)]
            assert errors == [], errors
            hosts = {urlsplit(request.url).netloc for request in self.requests if request.url.startswith("http")}
            assert hosts <= {urlsplit(self.address).netloc}, hosts

    def open(self, page: str, id_: Id | None = None, **query: object) -> Page:
        """Go to a page by its address, and wait until it is there."""
        path = "/".join(quote(name, safe="") for name in (page, *(id_ or ())))
        search = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in query.items())
        self.page.goto(f"{self.address}/#/{path}{'?' if search else ''}{search}")
        return self.wait()

    def wait(self) -> Page:
        """Wait until the page is there, and nothing is being loaded."""
        self.page.wait_for_function(_DRAWN)
        return self.page

    @property
    def hash(self) -> str:
        return urlsplit(self.page.url).fragment

    def item(self, name: str) -> Locator:
        """Return an item of the tree."""
        return self.page.get_by_role("treeitem", name=name, exact=True)

    def press(self, label: str) -> None:
        """Press a button of the page, or of the dialog in front of it."""
        dialog = self.page.get_by_role("dialog")
        place = dialog if dialog.count() else self.page
        place.get_by_role("button", name=label, exact=True).click()

    def fill(self, **values: str) -> None:
        """Fill the fields of a dialog, by their labels."""
        for label, value in values.items():
            self.page.get_by_role("dialog").get_by_label(label.replace("_", " "), exact=True).fill(value)

    def refusal(self) -> str:
        return self.page.get_by_role("alert").inner_text()

    def check_access(self) -> None:
        """Check that every control has a name, that there is one main heading, and that nothing is cut off."""
        assert _NAMELESS.findall(self.page.locator("main").aria_snapshot()) == []
        assert self.page.get_by_role("heading", level=1).count() == 1
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
