"""Rows as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_WIDEST = 40  # characters of a cell
_FEW = 4  # items of a list
_RULE, _GAP, _CUT = "─", "  ", "…"


def cell(value: object) -> str:
    """Write one value on one line: long texts, lists and bytes are cut."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, list) and len(value) > _FEW:
        return f"[{', '.join(map(cell, value[:_FEW]))}, {_CUT}] ({len(value):,})"
    if isinstance(value, list):
        return f"[{', '.join(map(cell, value))}]"
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}{_CUT}"


def text_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as text in columns, below a ruled line of headings."""
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    lines = [_line(columns, widths), _RULE * (sum(widths) + len(_GAP) * (len(widths) - 1))]
    return "\n".join([*lines, *(_line(row, widths) for row in cells)])


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as an HTML table. Nothing in them is taken for HTML."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip()
