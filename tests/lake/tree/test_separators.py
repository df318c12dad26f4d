"""Which character may separate names, and why another may not."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.tree.separators import ALLOWED, RESTRICTED, UNRESTRICTED, Separator, alternatives


def test_the_default_is_a_colon_and_restricted() -> None:
    assert Separator() == Separator(":", RESTRICTED)


@pytest.mark.parametrize("character", ALLOWED)
def test_the_allowed_ones_are_allowed_by_both_policies(character: str) -> None:
    assert Separator(character, RESTRICTED).character == Separator(character, UNRESTRICTED).character == character


UNSAFE = [
    *"./\\?#%&=+'\"`*,()[]{}<>",
    " ",
    "\t",
    "\n",
    "\x00",
    "\x7f",
    "\u200b",
    "\u0301",
    "a",
    "Z",
    "ß",
    "7",
    "\ud800",
]


@pytest.mark.parametrize("policy", [RESTRICTED, UNRESTRICTED])
@pytest.mark.parametrize("character", [*UNSAFE, "\u037e", "", "::"])
def test_a_refusal_names_the_character_the_reason_and_alternatives(character: str, policy: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        Separator(character, policy)
    message = str(refused.value)
    assert repr(character) in message
    assert " because it " in message
    assert "Try ':', ';' or '$'" in message


@pytest.mark.parametrize("character", ["-", "_", "§", "→", "🌊"])
def test_only_the_unrestricted_policy_takes_another_safe_character(character: str) -> None:
    assert Separator(character, UNRESTRICTED).parse(f"a{character}b", nested=True) == ("a", "b")
    with pytest.raises(InvalidInputError, match="allows only : ; "):
        Separator(character, RESTRICTED)


@given(st.characters())
def test_what_is_allowed_survives_normalisation(character: str) -> None:
    try:
        separator = Separator(character, UNRESTRICTED)
    except InvalidInputError:
        return
    path = HierarchicalName(["a", "b"]).format(separator.character)
    assert separator.parse(unicodedata.normalize("NFC", path), nested=True) == ("a", "b")


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'restricted' or 'unrestricted'"):
        Separator(":", "loose")


def test_to_a_flat_catalog_a_path_is_one_name() -> None:
    separator = Separator(":", UNRESTRICTED)
    assert separator.parse("a:b", nested=False) == ("a:b",)
    assert separator.format(Identifier(["a:b"]), nested=False) == "a:b"
    assert separator.parse("a:b", nested=True) == ("a", "b")
    assert separator.parse(None, nested=False) == ()


@pytest.mark.parametrize(
    ("policy", "nested", "refused"),
    [(RESTRICTED, True, True), (RESTRICTED, False, True), (UNRESTRICTED, True, True), (UNRESTRICTED, False, False)],
)
def test_only_an_unrestricted_flat_catalog_takes_the_separator_as_text(
    policy: str, nested: bool, refused: bool
) -> None:
    namespace, separator = Identifier(["a:b"]), Separator(":", policy)
    if not refused:
        separator.check(namespace, nested=nested, catalog="c")
        return
    with pytest.raises(InvalidInputError, match=r"'a:b' holds ':', which .*Use 'a_b', 'a-b' or 'a.b'"):
        separator.check(namespace, nested=nested, catalog="c")


def test_a_flat_catalog_has_one_level() -> None:
    with pytest.raises(InvalidInputError, match=r"'c' is flat.*Enable nested mode"):
        Separator().check(Identifier(["a", "b"]), nested=False, catalog="c")


def test_alternatives_stand_in_no_name() -> None:
    assert alternatives(":$") == (";", "~", "|", "!", "@", "^")
