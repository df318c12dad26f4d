"""A namespace with everything in it, as a tree to look at."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamespaceTree:
    """A namespace, the tables directly in it, and the namespaces below it."""

    name: str
    tables: Sequence[str]
    namespaces: Sequence[NamespaceTree]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the tree, its own name first. Names of namespaces end in a slash."""
        yield f"{self.name}/"
        inner = [*self.namespaces, *self.tables]
        for number, item in enumerate(inner, start=1):
            branch, rest = ("└── ", "    ") if number == len(inner) else ("├── ", "│   ")
            first, *others = item.lines() if isinstance(item, NamespaceTree) else [item]
            yield f"{branch}{first}"
            yield from (f"{rest}{line}" for line in others)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
