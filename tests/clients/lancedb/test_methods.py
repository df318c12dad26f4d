"""Every public method of the stock client on a real server: it works, or says why not, as the page has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.lancedb.judgement import GROUPS, OPENING, QUERIES, Group, query_section, section
from tests.clients.lancedb.page import judge
from tests.paths import REPOSITORY
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

PAGE = REPOSITORY / "docs" / "reference" / "lancedb.md"
RENEW = "run: python -m tests.clients.lancedb > docs/reference/lancedb.md"


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    """A server without a worker, where jobs wait."""
    started = lanceway_server.start(whole_run, name="lancedb", arguments=("--no-worker",))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """The sections of the page, by their headings."""
    opening, *sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    return {"": opening.rstrip(), **{part.partition("\n")[0]: f"## {part}".rstrip() for part in sections}}


@pytest.mark.parametrize("group", [*GROUPS, *QUERIES], ids=lambda group: group.title)
def test_every_method_is_judged(group: Group) -> None:
    assert group.unjudged() == [], "the client has methods that no exercise is for"
    assert group.gone() == [], "the client no longer has these methods"


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_methods(server: Lanceway, written: dict[str, str], group: Group) -> None:
    assert section(group, judge(server, group)[group.title]).rstrip() == written[group.title], RENEW


def test_queries(server: Lanceway, written: dict[str, str]) -> None:
    assert query_section(judge(server, *QUERIES)).rstrip() == written["Queries"], RENEW


def test_the_page_has_nothing_else(written: dict[str, str]) -> None:
    assert written[""] == OPENING.rstrip(), RENEW
    assert list(written) == ["", *(group.title for group in GROUPS), "Queries"]
