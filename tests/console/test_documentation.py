"""The documentation as browsers show it, on a wide screen and on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.processes import build_documentation

WIDTHS = (1400, 400)
# What is wrong with a page at its width: code and wide tables may scroll in themselves, the page may not.
WRONG = """() => {
  const root = document.documentElement, wrong = [];
  if (root.scrollWidth > root.clientWidth) wrong.push(`is ${root.scrollWidth} pixels wide`);
  for (const title of document.querySelectorAll('article h1, article h2, article h3'))
    if (title.scrollWidth > title.clientWidth + 1) wrong.push(`cuts the title ${title.textContent}`);
  for (const image of document.images)
    if (!image.naturalWidth) wrong.push(`does not show ${image.src}`);
  return wrong;
}"""


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    done = build_documentation(folder)
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context() as context:
        yield context.new_page()


@pytest.mark.slow
def test_no_page_is_wider_than_the_screen_and_every_picture_is_there(documentation: Path, page: Page) -> None:
    files = sorted(file for file in documentation.rglob("*.html") if "_static" not in file.parts)
    assert len(files) > 90
    problems = {}
    for file in files:
        page.goto(file.as_uri())
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if wrong := page.evaluate(WRONG):
                problems[f"{file.relative_to(documentation)} at {width}"] = wrong
    assert problems == {}
