"""Which character may separate the segments of a logical path, and which names may hold it."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lanceway.errors import InvalidInputError
from lanceway.identifiers import DEFAULT_SEPARATOR, HierarchicalName, Identifier

RESTRICTED, UNRESTRICTED = "restricted", "unrestricted"
POLICIES = (RESTRICTED, UNRESTRICTED)
# Safe in routes and in SQL, rare in names. The order is the one in which they are offered.
ALLOWED = (DEFAULT_SEPARATOR, ";", "$", "~", "|", "!", "@", "^")

_REASONS = {
    ".": "it joins the segments of a physical name",
    "/": "it separates the parts of a route",
    "\\": "it separates the parts of a path and escapes characters in SQL",
    "?": "it begins the query of a route",
    "#": "it begins the fragment of a route",
    "%": "it begins an escape, in routes and in physical names",
    "&": "it separates the parameters of a route",
    "=": "it separates a parameter of a route from its value",
    "+": "it means a space in the query of a route",
    "'": "it quotes text in SQL",
    '"': "it quotes names in SQL",
    "`": "it quotes names in SQL",
    "*": "it means everything, in SQL and in grants",
    ",": "it separates the items of a list in SQL",
    **dict.fromkeys("()[]{}<>", "it is a bracket, which SQL and route templates read as their own"),
}
_BY_CATEGORY = {
    "L": "it is a letter, which names are made of",
    "N": "it is a digit, which names are made of",
    "M": "it is a mark, which joins with the character before it",
    "Z": "it is white space, which clients trim",
    "C": "it is a control, an invisible or an unassigned character",
}


@dataclass(frozen=True, slots=True)
class Separator:
    """A lake's separator and the policy that goes with it.

    `restricted` takes only what is in `ALLOWED`, and a flat catalog refuses a name that holds the separator.
    `unrestricted` takes any safe character, and to a flat catalog the separator is plain text.
    """

    character: str = DEFAULT_SEPARATOR
    policy: str = RESTRICTED

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise InvalidInputError(f"The separator policy {self.policy!r} is unknown. Use {_either(POLICIES)}.")
        reason = _unsafe(self.character)
        if reason is None and self.policy == RESTRICTED and self.character not in ALLOWED:
            reason = f"the policy is {RESTRICTED!r} and allows only {' '.join(ALLOWED)}"
        if reason:
            raise InvalidInputError(
                f"The separator {self.character!r} is not allowed because {reason}. Try {_either(ALLOWED[:3])}."
            )

    def parse(self, path: str | None, *, nested: bool) -> HierarchicalName:
        """Return the namespace that a logical path means; in a flat catalog the path is one name."""
        if nested or not path:
            return HierarchicalName.parse(path, self.character)
        return HierarchicalName((path,))

    def format(self, namespace: Identifier, *, nested: bool) -> str:
        """Return the logical path of a namespace; `parse` reverses it."""
        if not nested and namespace.depth == 1:
            return namespace.name
        return HierarchicalName(namespace).format(self.character)

    def check(self, namespace: Identifier, *, nested: bool, catalog: str) -> None:
        """Refuse a new namespace whose own name holds the separator, where it may not, or that is too deep."""
        if not nested and namespace.depth > 1:
            raise InvalidInputError(
                f"{list(namespace)!r} cannot be made: the catalog {catalog!r} is flat and its namespaces have one "
                "name. Enable nested mode for the catalog, or use one name."
            )
        if self.character in namespace.name and (nested or self.policy == RESTRICTED):
            raise InvalidInputError(self._refusal(namespace, nested))

    def check_plain(self, name: str, catalog: str) -> None:
        """Refuse a new name in a catalog beside the lake that holds the separator, where the policy keeps it free."""
        if self.policy == RESTRICTED and self.character in name:
            instead = _either(name.replace(self.character, other) for other in "_-" if other != self.character)
            raise InvalidInputError(
                f"{name!r} cannot be made in the catalog {catalog!r}: the name holds {self.character!r}, which is kept "
                f"free by the policy {RESTRICTED!r}: it separates namespaces of the lake. Use {instead}, or ask "
                f"an administrator for another separator or the policy {UNRESTRICTED!r} (lanceway lake separator set)."
            )

    def _refusal(self, namespace: Identifier, nested: bool) -> str:
        name = namespace.name
        reason = "separates the namespaces of a path" if nested else f"is kept free by the policy {RESTRICTED!r}"
        instead = _either(name.replace(self.character, other) for other in "_-." if other != self.character)
        return (
            f"{list(namespace)!r} cannot be made: the name {name!r} holds {self.character!r}, which {reason}. "
            f"Use {instead}."
        )


def alternatives(taken: Collection[str]) -> tuple[str, ...]:
    """Return the allowed separators that no name holds, given the characters that names hold."""
    return tuple(character for character in ALLOWED if character not in taken)


def _unsafe(character: str) -> str | None:
    """Return why a character cannot be a separator, None if it can."""
    if len(character) != 1:
        return f"it has {len(character)} characters, not one"
    if character in _REASONS:
        return _REASONS[character]
    if unicodedata.normalize("NFC", character) != character:
        return "it becomes another character when text is normalised"
    return _BY_CATEGORY.get(unicodedata.category(character)[0])


def _either(items: Iterable[str]) -> str:
    *some, last = (repr(item) for item in items)
    return f"{', '.join(some)} or {last}"
