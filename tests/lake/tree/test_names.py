"""Names that the lake can keep, and those that it refuses, with what to do."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError, NamespaceNotFoundError
from lanceway.identifiers import Identifier, parse
from lanceway.lake.tree import lookups, names, namespaces, tables
from tests.lake.conftest import Lake

EVERY = [
    Identifier(["a\x00b"]),
    Identifier(["a\nb"]),
    Identifier(["\x7f"]),
    Identifier(["\x85"]),
    Identifier(["a\u2028"]),
]


@pytest.mark.parametrize("name", EVERY, ids=repr)
def test_control_characters_are_refused_everywhere(lake: Lake, name: Identifier) -> None:
    for attempt in (
        lambda: lake.do(namespaces.create, name, by="me"),
        lambda: lake.do(tables.create, name, by="me"),
        lambda: lake.see(namespaces.load, name),
        lambda: lake.see(lookups.find, name),
        lambda: lake.see(lookups.children, name),
    ):
        with pytest.raises(InvalidInputError, match="control character"):
            attempt()


def test_a_name_may_be_long_but_not_longer(lake: Lake) -> None:
    lake.do(namespaces.create, Identifier(["é" * 255]), by="me")
    for create in (namespaces.create, tables.create):
        with pytest.raises(InvalidInputError, match=r"256 characters.*at most 255"):
            lake.do(create, Identifier(["x" * 256]), by="me")


def test_a_path_may_be_as_long_as_an_index_can_hold(lake: Lake) -> None:
    # Characters of four bytes that compress badly, up to the last byte that is allowed.
    wide = [chr(0x10000 + 7 * number % 70) for number in range(246)]
    longest = Identifier(["".join(wide), "".join(reversed(wide)), "z" * 30])
    assert len(names.known(longest).physical.encode()) == names.LONGEST_INDEXED
    lake.do(namespaces.create, longest, by="me", parents=True)
    assert lake.see(namespaces.load, longest).identifier == longest
    with pytest.raises(InvalidInputError, match="2001 bytes"):
        lake.do(namespaces.create, longest.parent.child("z" * 31), by="me")


def test_an_unassigned_character_is_refused(lake: Lake) -> None:
    with pytest.raises(InvalidInputError, match="0378"):
        lake.do(tables.create, Identifier(["a\u0378"]), by="me")


@pytest.mark.parametrize(
    "name", ["%2E", "%25", "%", ".", "..", "a.b", "a/b", "a'b", 'a"b', "a b", " ", "_%", "💧", "$"]
)
def test_what_looks_special_is_only_a_name(lake: Lake, name: str) -> None:
    lake.do(namespaces.create, Identifier([name]), by="me")
    lake.do(tables.create, Identifier([name, name]), by="me")
    assert lake.see(namespaces.children, Identifier()) == [name]
    assert lake.see(lookups.children, Identifier([name])) == [name]
    assert lake.see(lookups.find, Identifier([name, name])).identifier == (name, name)


def test_names_that_only_look_like_wildcards_or_prefixes_are_apart(lake: Lake) -> None:
    for path in ("pa_b.in", "paxb.in", "a.x", "ab.x", "a2.x"):
        lake.do(namespaces.create, parse(path), by="me", parents=True)
    assert lake.see(namespaces.children, parse("pa_b")) == ["in"]
    assert lake.see(namespaces.children, parse("a")) == ["x"]


def test_the_same_text_in_another_normal_form_is_the_same_name(lake: Lake) -> None:
    lake.do(tables.create, Identifier(["cafe\u0301"]), by="me")
    assert lake.see(lookups.find, Identifier(["caf\u00e9"])).identifier == ("caf\u00e9",)


def test_names_are_case_sensitive_and_ordered_by_code_point(lake: Lake) -> None:
    given = ["b", "a", "B", "_", "é", "z", "𐐀", "\uff5e", "10", "9"]
    for name in given:
        lake.do(tables.create, Identifier([name]), by="me")
    assert lake.see(lookups.children, Identifier()) == sorted(given)


allowed = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cf", "Cn", "Zl", "Zp"], exclude_characters=":"), min_size=1
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(allowed.filter(lambda name: len(name) < 60), min_size=1, max_size=5))
def test_every_allowed_name_is_kept_and_found(lake: Lake, path: list[str]) -> None:
    identifier = names.known(Identifier(path))
    with contextlib.suppress(NamespaceAlreadyExistsError):  # from an example before
        lake.do(namespaces.create, identifier, by="me", parents=True)
    assert lake.see(namespaces.load, identifier).identifier == identifier


def test_an_invisible_character_is_refused_in_a_new_name_and_looked_up_in_others(lake: Lake) -> None:
    hidden = Identifier(["orders\u200b"])
    for make in (namespaces.create, tables.create):
        with pytest.raises(InvalidInputError, match=r"U\+200B \(ZERO WIDTH SPACE\)"):
            lake.do(make, hidden, by="me")
    with pytest.raises(NamespaceNotFoundError):
        lake.see(namespaces.load, hidden)
