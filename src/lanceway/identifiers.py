"""Identifiers: the names from below the root to an object.

An identifier is a list of names. It becomes a string only at an edge, where the edge's own
delimiter joins it: `.` for people, `$` on the Lance REST wire. The root has no name; it is
the empty identifier, and `None`, `""` and `[]` all mean it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from lance_namespace.errors import InvalidInputError

DEFAULT_DELIMITER = "."
# Joins the segments of a lake's logical path, unless the lake says otherwise.
DEFAULT_SEPARATOR = ":"

# Offered where a name holds the delimiter, in this order.
_COMMON_DELIMITERS = (".", "$", ":", "/", "|", "~")
# Of an identifier, and characters of a message, in which names are completed.
_MOST_NAMES, _LONGEST_MESSAGE = 64, 10_000


class Identifier(tuple[str, ...]):
    """The names from below the root to an object; the root itself is empty.

    It is a tuple, so it compares with tuples, has a length and can be a dictionary's key.
    """

    __slots__ = ()

    def __new__(cls, names: Iterable[str] = ()) -> Self:
        if isinstance(names, str):
            raise _invalid(
                f"Identifier({names!r}) takes a sequence of names; lanceway.parse({names!r}) takes a string."
            )
        parts = tuple(names)
        for part in parts:
            if not isinstance(part, str):
                raise _invalid(f"Identifier {list(parts)!r} holds {part!r}; every name must be a string.")
            if not part:
                raise _invalid(
                    f"Identifier {list(parts)!r} holds an empty name; every name needs at least one character."
                )
            if not part.isascii() and _is_broken(part):
                raise _invalid(f"Identifier {list(parts)!r} holds {part!r}, which is not valid Unicode text.")
        return super().__new__(cls, parts)

    @classmethod
    def of(cls, value: str | Iterable[str] | None, delimiter: str = DEFAULT_DELIMITER) -> Identifier:
        """Return the identifier meant by a list, a string or nothing at all (the root)."""
        if value is None:
            return ROOT
        if isinstance(value, Identifier):
            return value
        return cls.parse(value, delimiter) if isinstance(value, str) else cls(value)

    @classmethod
    def parse(cls, text: str | None, delimiter: str = DEFAULT_DELIMITER) -> Self:
        """Split a string identifier. Empty or null text is the root."""
        _check_delimiter(delimiter)
        if not text:
            return cls()
        names = text.split(delimiter)
        if not all(names):
            raise _invalid(
                f"Identifier {text!r} has an empty name: {delimiter!r} separates names and must not stand "
                f"at an end or twice in a row. Use another delimiter if a name holds {delimiter!r}."
            )
        return cls(names)

    def format(self, delimiter: str = DEFAULT_DELIMITER) -> str:
        """Join the names; `parse` with the same delimiter gives this identifier back.

        Raises InvalidInputError where that would not hold because a name has the delimiter in it.
        """
        _check_delimiter(delimiter)
        text = delimiter.join(self)
        # Comparing the way back also catches names that only together with a delimiter
        # of several characters make another one: "a:" and "b" joined by "::".
        if tuple(text.split(delimiter)) == tuple(self) or not self:
            return text
        culprit = next((name for name in self if delimiter in name), None) or " ".join(self)
        raise _invalid(
            f"Identifier {list(self)!r} cannot be written with delimiter {delimiter!r}: the name {culprit!r} "
            f"holds {delimiter!r}, and the text could not be read back. {self._alternatives()}"
        )

    def _alternatives(self) -> str:
        free = [d for d in _COMMON_DELIMITERS if not any(d in name for name in self)]
        names = "pass the names as a list"
        return f"Use {' or '.join(repr(d) for d in free)}, or {names}." if free else f"Instead, {names}."

    @property
    def name(self) -> str:
        """Return the object's own name; empty for the root."""
        return self[-1] if self else ""

    @property
    def parent(self) -> Identifier:
        """Return the namespace that holds the object. The root has none."""
        if not self:
            raise _invalid("The root namespace has no parent.")
        return Identifier(self[:-1])

    @property
    def depth(self) -> int:
        """Return how many names stand between the root and the object, its own included."""
        return len(self)

    @property
    def is_root(self) -> bool:
        return not self

    def child(self, name: str) -> Identifier:
        """Return the identifier of what `name` means inside this namespace."""
        return Identifier((*self, name))

    def startswith(self, ancestor: Iterable[str]) -> bool:
        """Return whether this object is `ancestor` or is somewhere beneath it."""
        names = tuple(ancestor)
        return self[: len(names)] == names

    def __str__(self) -> str:
        """Write it for messages: dotted where that is unambiguous, the list of names otherwise."""
        if not self:
            return "the root namespace"
        return str(list(self)) if any(DEFAULT_DELIMITER in name for name in self) else DEFAULT_DELIMITER.join(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({tuple(self)!r})"


ROOT = Identifier()


class HierarchicalName(Identifier):
    """A nested namespace as the lake keeps it: segments, one logical path, one flat physical name.

    Each segment is in NFC, so that what looks the same is the same. `format` and `parse` give and take
    the logical path (`A:B`, with the lake's separator); `physical` and `from_physical` the stored name,
    where `%` and `.` of a segment are written `%25` and `%2E` and the segments are joined by `.`.
    """

    __slots__ = ()

    def __new__(cls, names: Iterable[str] = ()) -> Self:
        checked = Identifier(names)
        return super().__new__(cls, [unicodedata.normalize("NFC", name) for name in checked])

    @classmethod
    def parse(cls, text: str | None, delimiter: str = DEFAULT_SEPARATOR) -> Self:
        """Split a logical path by the lake's separator. Empty or null text is the root."""
        parsed = super().parse(text, delimiter)
        parsed.format(delimiter)  # NFC turns a few characters into others: U+037E looks like ";" and becomes it
        return parsed

    def format(self, delimiter: str = DEFAULT_SEPARATOR) -> str:
        """Return the logical path; `parse` with the same separator gives this name back."""
        return super().format(delimiter)

    @classmethod
    def from_physical(cls, physical: str) -> Self:
        """Return the name that is stored so. Raises InvalidInputError for text that no name is stored as."""
        segments = physical.split(".") if physical else []
        decoded = cls(segment.replace("%2E", ".").replace("%25", "%") for segment in segments)
        if decoded.physical != physical:
            raise _invalid(
                f"{physical!r} is not a physical name: only '%25' and '%2E' are escapes, and text is in NFC."
            )
        return decoded

    @staticmethod
    def encode(segment: str) -> str:
        """Return one name as it stands in a physical name."""
        return segment.replace("%", "%25").replace(".", "%2E")

    @property
    def physical(self) -> str:
        return ".".join(self.encode(segment) for segment in self)


class FullName:
    """The name of an object in all lakes: `metalake.catalog.A:B.table1`, or without a table that of a namespace.

    The segments of the namespace are joined by the lake's separator. In every name `%` and `.` are written `%25` and
    `%2E`, as in a physical name, so that `.` separates the four parts alone.
    """

    __slots__ = ("catalog", "metalake", "namespace", "table")

    def __init__(self, metalake: str, catalog: str, namespace: HierarchicalName, table: str | None = None) -> None:
        self.metalake, self.catalog, self.namespace, self.table = metalake, catalog, namespace, table

    def format(self, separator: str = DEFAULT_SEPARATOR) -> str:
        """Write the name; `parse` with the same separator reverses it."""
        path = HierarchicalName(_encoded(name) for name in self.namespace).format(separator)
        parts = [_encoded(self.metalake), _encoded(self.catalog)]
        if path or self.table is not None:
            parts.append(path)
        return ".".join([*parts, *([] if self.table is None else [_encoded(self.table)])])

    @classmethod
    def parse(cls, text: str, separator: str = DEFAULT_SEPARATOR) -> Self:
        """Read a full name. A table of the catalog's root has an empty namespace: `metalake.catalog..table`."""
        parts = text.split(".")
        if not 2 <= len(parts) <= 4 or not all((*parts[:2], *parts[3:])) or (len(parts) == 3 and not parts[2]):
            raise _invalid(
                f"{text!r} is not a full name. Write metalake.catalog.{separator.join('AB')}.table, where "
                f"{separator!r} separates namespaces and '.' in a name is written %2E."
            )
        path = HierarchicalName.parse(parts[2] if len(parts) > 2 else None, separator)
        namespace = HierarchicalName(_decoded(name) for name in path)
        table = _decoded(parts[3]) if len(parts) == 4 else None
        return cls(_decoded(parts[0]), _decoded(parts[1]), namespace, table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FullName) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    def __repr__(self) -> str:
        return f"FullName{self._parts!r}"

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.metalake, self.catalog, self.namespace, self.table


def _encoded(name: str) -> str:
    return name.replace("%", "%25").replace(".", "%2E")


def _decoded(name: str) -> str:
    decoded = name.replace("%2E", ".").replace("%25", "%")
    if _encoded(decoded) != name:
        raise _invalid(f"{name!r} cannot be read: only '%25' and '%2E' are escapes, for '%' and '.'.")
    return decoded


def parse(text: str | None, delimiter: str = DEFAULT_DELIMITER) -> Identifier:
    """Read a string identifier: `parse("team.sales.orders")`."""
    return Identifier.parse(text, delimiter)


def with_whole_names(message: str, names: Sequence[str]) -> str:
    """Put the first of the names before those in a message that leave it out, as a catalog of a tree writes them.

    A message stays as it is where that takes long: each name takes a look at all of it.
    """
    if len(names) > _MOST_NAMES or len(message) > _LONGEST_MESSAGE:
        return message
    for depth in range(len(names), 1, -1):
        whole, inside = ".".join(names[:depth]), ".".join(names[1:depth])
        if whole not in message:
            pattern = rf"(\b(?:table|namespace|[a-z]+(?:_[a-z]+)+ on) ['\"]?){re.escape(inside)}(?![\w-]|\.\w)"
            message = re.sub(pattern, r"\g<1>" + whole.replace("\\", r"\\"), message)
    return message


def check_visible(name: str) -> None:
    """Refuse invisible and direction characters (category Cf) in a new name: it would look like another one.

    Names that are there already stay as they are, and can be read and dropped.
    """
    if name.isascii() or name.isprintable():
        return
    hidden = next((character for character in name if unicodedata.category(character) == "Cf"), None)
    if hidden is not None:
        visible = "".join(character for character in name if unicodedata.category(character) != "Cf")
        raise _invalid(
            f"The name {name!r} cannot be used: it holds U+{ord(hidden):04X} ({unicodedata.name(hidden, 'a format')}), "
            f"an invisible character, which makes it look like another name. Use {visible or 'letters'!r}."
        )


def _is_broken(name: str) -> bool:
    """Return whether the name holds half of a surrogate pair, which no store could keep."""
    return any("\ud800" <= character <= "\udfff" for character in name)


def _check_delimiter(delimiter: str) -> None:
    if not delimiter:
        raise _invalid("The delimiter is empty; give at least one character, such as '.' or '$'.")


def _invalid(message: str) -> InvalidInputError:
    # Loaded only here: the error tree costs a second to import, and a good identifier needs none of it.
    from lance_namespace.errors import InvalidInputError

    return InvalidInputError(message)
