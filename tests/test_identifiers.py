"""Identifiers are lists of names; as text they come back as they were, or are refused."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lanceway
from lanceway.errors import InvalidInputError
from lanceway.identifiers import ROOT, Identifier, parse, with_whole_names

# Surrogates are no text that a store could keep; they have a test of their own.
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
# Few letters, so that names and delimiters often share some.
entangled = st.text("ab.:$", min_size=1, max_size=4)
names = st.lists(texts | entangled, max_size=5)
delimiters = texts | entangled


@given(names, delimiters)
@example(["a:", "b"], "::")
@example(["a", ":b"], "::")
@example(["a:b"], ":")
def test_what_can_be_written_reads_back_the_same(names: list[str], delimiter: str) -> None:
    identifier = Identifier(names)
    try:
        text = identifier.format(delimiter)
    except InvalidInputError:
        # Refused only where reading it back would give something else.
        assert identifier != tuple(delimiter.join(names).split(delimiter))
    else:
        assert parse(text, delimiter) == identifier


@given(names, delimiters)
def test_a_name_without_the_delimiter_is_never_refused(names: list[str], delimiter: str) -> None:
    plain = [name for name in names if not set(name) & set(delimiter)]
    assert parse(Identifier(plain).format(delimiter), delimiter) == tuple(plain)


@given(st.lists(texts, min_size=1, max_size=5))
def test_parent_and_child_undo_each_other(names: list[str]) -> None:
    identifier = Identifier(names)
    assert identifier.parent.child(identifier.name) == identifier
    assert identifier.depth == identifier.parent.depth + 1
    assert identifier.startswith(identifier.parent)
    assert not identifier.parent.startswith(identifier)


@pytest.mark.parametrize("nothing", [None, "", [], ()])
def test_the_root_is_empty_or_null(nothing: str | list[str] | None) -> None:
    root = Identifier.of(nothing)
    assert root == ROOT == ()
    assert root.is_root
    assert (root.name, root.depth, root.format("$")) == ("", 0, "")


def test_the_root_has_no_parent() -> None:
    with pytest.raises(InvalidInputError, match="no parent"):
        _ = ROOT.parent


def test_the_examples_of_the_specification() -> None:
    assert Identifier(["cat2", "cat5"]).format() == "cat2.cat5"
    assert Identifier(["cat2", "cat5", "t1"]).format() == "cat2.cat5.t1"
    assert Identifier(["cat4", "t3"]).format("$") == "cat4$t3"
    assert parse("cat2.cat5.t1") == ("cat2", "cat5", "t1")


def test_names_that_only_look_alike_as_text_are_apart() -> None:
    assert Identifier(["a:b"]) != Identifier(["a", "b"])
    assert Identifier(["a:b"]).format(".") == "a:b"
    assert Identifier(["a", "b"]).format(":") == "a:b"


@pytest.mark.parametrize("value", ["a.b", ["a", "b"], ("a", "b"), Identifier(("a", "b")), iter(["a", "b"])])
def test_lists_and_strings_mean_the_same(value: str | list[str]) -> None:
    assert Identifier.of(value) == ("a", "b")


def test_a_refusal_names_the_name_the_delimiter_and_what_would_do() -> None:
    with pytest.raises(InvalidInputError) as refused:
        Identifier(["team", "v1.2"]).format(".")
    for part in ("'v1.2'", "'.'", "'$'", "list"):
        assert part in str(refused.value)


def test_where_no_delimiter_is_free_the_list_is_offered() -> None:
    with pytest.raises(InvalidInputError, match="pass the names as a list") as refused:
        Identifier([".$:/|~"]).format(".")
    assert "Use " not in str(refused.value)


@pytest.mark.parametrize("text", [".", "a.", ".a", "a..b"])
def test_an_empty_name_in_a_string_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="empty name"):
        parse(text)


@pytest.mark.parametrize(
    ("names", "reason"),
    [(["a", ""], "empty name"), (["a", 1], "must be a string"), (["a", None], "must be a string"), ("ab", "parse")],
)
def test_what_is_no_list_of_names_is_refused(names: list[str], reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        Identifier(names)


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="Unicode"):
        Identifier(["a\ud800"])


def test_an_empty_delimiter_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="delimiter"):
        parse("a", "")
    with pytest.raises(InvalidInputError, match="delimiter"):
        Identifier(["a"]).format("")


def test_it_is_a_value() -> None:
    identifier = Identifier(["a", "b"])
    assert {identifier: 1}[Identifier(("a", "b"))] == 1
    copied = pickle.loads(pickle.dumps(identifier))
    assert (copied, type(copied)) == (identifier, Identifier)


def test_messages_never_show_an_ambiguous_name() -> None:
    assert str(Identifier(["a", "b"])) == "a.b"
    assert str(Identifier(["a.b"])) == "['a.b']"
    assert str(ROOT) == "the root namespace"
    assert repr(Identifier(["a"])) == "Identifier(('a',))"


def test_the_package_has_both_at_its_door() -> None:
    assert lanceway.parse("a.b") == lanceway.Identifier(("a", "b"))


def test_names_in_a_message_are_completed_where_that_takes_no_time() -> None:
    """It takes a look at the whole message for each of the names, in the event loop of a server."""
    assert with_whole_names("There is no table A.t.", ["lake", "A", "t"]) == "There is no table lake.A.t."
    deep = ["lake", *["a"] * 1000]
    for message, names in (
        (f"There is no table {'.'.join(deep[1:])}.", deep),
        (f"No table a.a. {'a' * 10_000}", deep[:3]),
    ):
        assert with_whole_names(message, names) == message
