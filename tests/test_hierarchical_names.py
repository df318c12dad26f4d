"""A nested namespace has one logical path and one physical name, and both lead back to it."""

from __future__ import annotations

import pickle
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError
from lanceway.identifiers import FullName, HierarchicalName, Identifier

characters = st.characters(exclude_categories=["Cs"])
# Few characters, so that escapes, dots and what looks like an escape meet often.
entangled = st.text("%.25Ee:é\u0301;\u037e", min_size=1, max_size=6)
segments = st.lists(st.text(characters, min_size=1, max_size=8) | entangled, max_size=5)
separators = st.sampled_from(":;$~|!@^")


@given(segments)
@example(["%2E"])
@example(["."])
@example(["a.b", "c"])
@example(["a", "b.c"])
@example([".\u0301"])
def test_a_physical_name_leads_back_to_its_segments(segments: list[str]) -> None:
    name = HierarchicalName(segments)
    assert HierarchicalName.from_physical(name.physical) == name
    assert name.physical.count(".") == max(0, name.depth - 1)


@given(segments, segments)
def test_two_names_have_one_physical_name_only_if_they_are_one(one: list[str], other: list[str]) -> None:
    first, second = HierarchicalName(one), HierarchicalName(other)
    assert (first == second) == (first.physical == second.physical)


@given(st.text(characters, max_size=10) | st.text("%.25Ee", max_size=8))
@example("a..b")
@example("%2e")
@example("%41")
@example("%")
@example("e\u0301")
def test_what_is_read_is_what_would_be_written(text: str) -> None:
    """A physical name that is accepted is the one that its segments are stored as; no other is accepted."""
    try:
        name = HierarchicalName.from_physical(text)
    except InvalidInputError:
        decoded = [part.replace("%2E", ".").replace("%25", "%") for part in text.split(".")]
        assert not all(decoded) or HierarchicalName(decoded).physical != text
    else:
        assert name.physical == text


@given(segments, separators)
def test_a_logical_path_leads_back_to_its_segments(segments: list[str], separator: str) -> None:
    name = HierarchicalName(segments)
    if any(separator in segment for segment in name):
        with pytest.raises(InvalidInputError, match="holds"):
            name.format(separator)
    else:
        assert HierarchicalName.parse(name.format(separator), separator) == name


@given(segments)
def test_segments_are_normalised(segments: list[str]) -> None:
    decomposed = HierarchicalName(unicodedata.normalize("NFD", segment) for segment in segments)
    assert decomposed == HierarchicalName(segments)
    assert all(unicodedata.is_normalized("NFC", segment) for segment in decomposed)


def test_what_normalisation_turns_into_the_separator_is_refused() -> None:
    greek_question_mark = "a\u037eb"  # becomes "a;b"
    with pytest.raises(InvalidInputError, match="';'"):
        HierarchicalName.parse(greek_question_mark, ";")
    assert HierarchicalName.parse(greek_question_mark, ":") == ("a;b",)


def test_the_examples_of_the_specification() -> None:
    assert HierarchicalName.parse("A:B:C") == ("A", "B", "C")
    assert HierarchicalName(["team", "sales"]).format() == "team:sales"
    assert HierarchicalName(["A", "B", "C"]).physical == "A.B.C"
    assert HierarchicalName(["my.schema", "sales"]).physical == "my%2Eschema.sales"


@pytest.mark.parametrize("path", ["A::B", ":A", "A:", ":"])
def test_an_empty_segment_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match="empty name"):
        HierarchicalName.parse(path)


@pytest.mark.parametrize("text", ["a..b", ".a", "a.", "%2e", "%41", "100%", "e\u0301"])
def test_no_name_is_stored_so(text: str) -> None:
    with pytest.raises(InvalidInputError):
        HierarchicalName.from_physical(text)


def test_the_root_is_empty_in_every_form() -> None:
    root = HierarchicalName()
    assert root == HierarchicalName.parse("") == HierarchicalName.from_physical("") == ()
    assert (root.format(), root.physical, root.is_root) == ("", "", True)


def test_it_is_an_identifier_and_a_value() -> None:
    name = HierarchicalName(["a", "b"])
    assert name == Identifier(["a", "b"])
    copied = pickle.loads(pickle.dumps(name))
    assert (copied, type(copied), repr(copied)) == (name, HierarchicalName, "HierarchicalName(('a', 'b'))")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (FullName("metalake", "catalog", HierarchicalName(("A", "B")), "table1"), "metalake.catalog.A:B.table1"),
        (FullName("metalake", "catalog", HierarchicalName(("team", "sales"))), "metalake.catalog.team:sales"),
        (FullName("m", "c", HierarchicalName(), "t"), "m.c..t"),
        (FullName("m", "c", HierarchicalName()), "m.c"),
        (FullName("m.x", "c%", HierarchicalName(("a.b", "c")), "t.1"), "m%2Ex.c%25.a%2Eb:c.t%2E1"),
    ],
)
def test_a_full_name_is_written_and_read(name: FullName, text: str) -> None:
    assert name.format() == text
    assert FullName.parse(text) == name
    assert FullName.parse(text.replace(":", "~"), "~").format("~") == text.replace(":", "~")


@pytest.mark.parametrize("text", ["", "m", "m.c.", ".c.a.t", "m.c.a:.t", "m.c.a.t.more", "m.c.a.", "m.c%2.a.t"])
def test_what_is_no_full_name_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        FullName.parse(text)


def test_a_full_name_cannot_hold_the_separator_in_a_name() -> None:
    with pytest.raises(InvalidInputError, match="holds ':'"):
        FullName("m", "c", HierarchicalName(("a:b",)), "t").format()
