"""Queries as trees, which can be made simpler: by a part in the place of the whole, and by fewer items of a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

# What may stand in the place of an expression that is a condition.
BOOLEAN = "boolean"
# Kinds of nodes that are no expressions; every other kind is a type of Spark.
ITEM, SOURCE, CLAUSE, QUERY, NAME = "item", "source", "clause", "query", "name"
_NO_EXPRESSIONS = frozenset({ITEM, SOURCE, CLAUSE, QUERY, NAME})


@dataclass(frozen=True)
class Node:
    """A piece of SQL. `{}` in its text stands for its parts, one after the other.

    What must stay together to have one answer, such as an order with the key that completes it, is one text.
    """

    kind: str
    text: str
    parts: tuple[Node | Items, ...] = ()

    def sql(self) -> str:
        return self.text.format(*(part.sql() for part in self.parts)) if self.parts else self.text

    def simpler(self) -> Iterator[Node]:
        """Yield trees that say less, the smallest first."""
        if self.kind not in _NO_EXPRESSIONS and self.parts:
            yield Node(self.kind, f"CAST(NULL AS {self.kind})")
            yield from (Node(BOOLEAN, word) for word in ("true", "false") if self.kind == BOOLEAN)
        below = [part for part in self.below() if part.kind == self.kind]
        yield from sorted(below, key=lambda part: len(part.sql()))
        for number, part in enumerate(self.parts):
            for small in part.simpler():
                yield replace(self, parts=(*self.parts[:number], small, *self.parts[number + 1 :]))

    def below(self) -> Iterator[Node]:
        for part in self.parts:
            if isinstance(part, Node):
                yield part
            yield from part.below()


@dataclass(frozen=True)
class Items:
    """A list in SQL, of which `fewest` must stay."""

    separator: str
    items: tuple[Node, ...]
    fewest: int = 0

    def sql(self) -> str:
        return self.separator.join(item.sql() for item in self.items)

    def simpler(self) -> Iterator[Items]:
        for number, item in enumerate(self.items):
            rest = (*self.items[:number], *self.items[number + 1 :])
            if len(rest) >= self.fewest:
                if len(self.items) > 2 and self.fewest <= 1:
                    yield replace(self, items=(item,))
                yield replace(self, items=rest)
        for number, item in enumerate(self.items):
            for small in item.simpler():
                yield replace(self, items=(*self.items[:number], small, *self.items[number + 1 :]))

    def below(self) -> Iterator[Node]:
        for item in self.items:
            yield item
            yield from item.below()
