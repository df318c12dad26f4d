"""The benchmark of pipelines must at least run; here with next to nothing."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tests.paths import REPOSITORY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BENCH = REPOSITORY / "bench"


def test_a_pipeline_stands_beside_the_same_steps_by_hand(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    import pipeline  # type: ignore[import-not-found]

    text, place = StringIO(), pipeline.Place(folder / "few", 1000)
    console = Console(file=text, width=200)
    place.prepare(spark)
    beside = pipeline.beside(spark, place, 1)
    pipeline.report.show(console, 1000, 1, beside, beside)
    output = text.getvalue()
    assert re.findall(r"│ (pipeline|by hand, \w+) ", output) == ["pipeline", "by hand, Lance", "by hand, Parquet"]
    assert re.search(r"records take \d+\.\d\d s, \d+\.\d% of the same by hand", output)
