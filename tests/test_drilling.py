"""What a drill tells: at once, and also if it is killed before its report."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.drilling import DrillProgress

KILLED = """
import os
import signal

from tests.drilling import DrillProgress, teller


def test_queries(request):
    progress = DrillProgress(teller(request.config), "test_queries", "7", is_drill=True)
    progress.step("queries", 5)
    progress.failure("a difference")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_drill_found_is_known_if_it_is_killed(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    pytester.makepyfile(KILLED)
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    assert result.ret == -signal.SIGKILL
    result.stdout.fnmatch_lines(["test_queries, --seed 7, after 5:", "a difference"])


def test_the_first_failure_is_told_before_it_is_made_small() -> None:
    lines = list[str]()
    progress = DrillProgress(lines.append, "test_numbers", "7", is_drill=False)

    def is_small(number: int) -> None:
        assert number < 100

    with pytest.raises(AssertionError):
        progress.explore(200, st.integers(0, 10_000), is_small)
    assert len(lines) == 1
    assert lines[0].startswith("test_numbers, --seed 7, after ")
    assert int(lines[0].splitlines()[1]) > 100, "not the smallest, which is found later"


def test_the_suite_tells_no_events() -> None:
    lines = list[str]()
    DrillProgress(lines.append, "test_kills", "7", is_drill=False).event("killed")
    assert lines == []
    DrillProgress(lines.append, "test_kills", "7", is_drill=True).event("killed")
    assert lines == ["killed"]
