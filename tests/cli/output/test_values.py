"""Single values: short and safe for people, exact for programs."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest

from lanceway.cli.output import renderers


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        (0.1 + 0.2, "0.3"),
        (b"abc", "<3 bytes>"),
        ([1.0, 2.0], "[1, 2]"),
        ([0.5] * 128, "[0.5, 0.5, 0.5, 0.5, … (128)]"),
        ({"a": [1], "b": None}, "{a: [1], b: null}"),
        ("x" * 100, "x" * 59 + "…"),
        (dt.datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("Ünïcode ✓", "Ünïcode ✓"),
    ],
)
def test_cells(value: object, shown: str) -> None:
    assert renderers.cell(value) == shown


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": 1, "b": "ü"}, {"a": 1, "b": "ü"}),
        (b"\x00\xff", "AP8="),
        (dt.date(2024, 1, 2), "2024-01-02"),
        (dt.time(3, 4), "03:04:00"),
        (dt.timedelta(seconds=90), 90.0),
        (Decimal("1.10"), "1.10"),
        ([float("nan"), {"x": float("inf")}, 1.5], [None, {"x": None}, 1.5]),
    ],
)
def test_json(value: object, written: object) -> None:
    assert json.loads(renderers.to_json(value)) == written


def test_nanoseconds_are_kept() -> None:
    stamps = pa.array([1_700_000_000_000_000_001], pa.timestamp("ns"))
    [row] = renderers.rows(pa.record_batch({"t": stamps}))
    assert row["t"].endswith("20.000000001")


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (3e9, "3.0 GB"), (4e12, "4.0 TB")],
)
def test_sizes(count: float, shown: str) -> None:
    assert renderers.size(count) == shown


def test_moments_are_utc() -> None:
    assert renderers.moment(0) == "1970-01-01 00:00:00Z"
