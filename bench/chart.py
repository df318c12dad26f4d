"""A chart of how fast we are beside a peer, as an SVG: bars from a line at which both take the same time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LABELS, ROW, MARGIN = 860, 400, 24, 12
# Readable on white and on black.
TEXT, LINE, FASTER, SLOWER = "#6b7280", "#9ca3af", "#0d9488", "#d97706"
_FEWEST = 2.0  # the scale goes at least this far to both sides


@dataclass(frozen=True)
class Bar:
    label: str
    speed: float  # how many times as fast as the peer


def times(speed: float) -> str:
    return f"{speed:,.0f}×" if speed >= 10 else f"{speed:.2g}×"


def chart(title: str, bars: Sequence[Bar]) -> str:
    """Bars on a scale of logarithms, so that twice as fast and half as fast are equally long."""
    end = math.log(max(_FEWEST, *(max(bar.speed, 1 / bar.speed) for bar in bars)))
    half = (WIDTH - LABELS - 2 * MARGIN) / 2 - 44  # a figure stands beside each bar
    middle = LABELS + (WIDTH - LABELS) / 2
    height = ROW * len(bars) + 2 * MARGIN + ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<g font-family="system-ui, sans-serif" font-size="13" fill="{TEXT}">',
        f'<text x="{middle - 10:.0f}" y="{MARGIN + 10}" text-anchor="end">← slower</text>',
        f'<text x="{middle + 10:.0f}" y="{MARGIN + 10}">faster →</text>',
    ]
    for number, bar in enumerate(bars):
        top = MARGIN + ROW * (number + 1)
        length = abs(math.log(bar.speed)) / end * half
        faster = bar.speed >= 1
        left = middle if faster else middle - length
        beside = middle + length + 6 if faster else middle - length - 6
        parts.append(f'<text x="{LABELS - 8}" y="{top + 15}" text-anchor="end">{escape(bar.label)}</text>')
        parts.append(
            f'<rect x="{left:.1f}" y="{top + 4}" width="{max(length, 1):.1f}" height="{ROW - 9}" rx="2" '
            f'fill="{FASTER if faster else SLOWER}"/>'
        )
        anchor = "start" if faster else "end"
        parts.append(f'<text x="{beside:.1f}" y="{top + 15}" text-anchor="{anchor}">{times(bar.speed)}</text>')
    parts.append(f'<path d="M{middle:.0f} {MARGIN + ROW - 4}V{height - MARGIN}" stroke="{LINE}"/></g></svg>')
    return "\n".join(parts) + "\n"
