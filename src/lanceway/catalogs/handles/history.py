"""The versions of a table, with what each of them brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lanceway.catalogs.handles import display

_COLUMNS = ("version", "made at", "operation", "rows", "tags")


@dataclass(frozen=True, slots=True)
class PastVersion:
    """One version: its number, when it was made, its tags; `operation` and `rows` where they were asked for."""

    number: int
    at: datetime | None
    tags: Sequence[str] = ()
    operation: str | None = None
    rows: int | None = None

    @classmethod
    def of(
        cls, number: int, millis: int | None, tags: Mapping[str, int], operation: str | None, rows: int | None
    ) -> PastVersion:
        """Return a version with the tags, of those given with their versions, that name it."""
        at = None if millis is None else datetime.fromtimestamp(millis / 1000, UTC)
        own = tuple(sorted(tag for tag, version in tags.items() if version == number))
        return cls(number, at, own, operation, rows)

    def cells(self) -> list[object]:
        """Return what is shown of it."""
        at = None if self.at is None else self.at.strftime("%Y-%m-%d %H:%M:%S")
        rows = None if self.rows is None else f"{self.rows:,}"
        return [self.number, at, self.operation, rows, ", ".join(self.tags)]


class History(tuple[PastVersion, ...]):
    """The versions of a table, the newest first."""

    __slots__ = ()

    def __repr__(self) -> str:
        columns, rows = self._shown()
        return display.text_table(columns, rows)

    def _repr_html_(self) -> str:
        return display.html_table(*self._shown())

    def _shown(self) -> tuple[list[str], list[list[object]]]:
        """Return the columns that hold anything, and the rows."""
        rows = [version.cells() for version in self]
        kept = [n for n, _ in enumerate(_COLUMNS) if n == 0 or any(row[n] not in (None, "") for row in rows)]
        return [_COLUMNS[n] for n in kept], [[row[n] for n in kept] for row in rows]
