"""What a drill tells while it runs, so that one which is stopped or killed has told what it had done and found."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

EVERY = 30  # seconds


def teller(config: pytest.Config) -> Callable[[str], None]:
    """Return what writes a line to the terminal at once, past what captures a test's output.

    A worker of pytest-xdist has no terminal: there nothing is written.
    """
    terminal, capture = map(config.pluginmanager.get_plugin, ("terminalreporter", "capturemanager"))

    def tell(text: str) -> None:
        if terminal is not None:
            with capture.global_and_fixture_disabled():
                terminal.write_line(f"\n{text}", flush=True)

    return tell


class DrillProgress:
    """How far a test is, told now and then in a drill and never in the suite; and what it found, told at once."""

    def __init__(self, tell: Callable[[str], None], test: str, seed: str, *, is_drill: bool) -> None:
        self.seed = seed
        self._tell, self._test, self._is_drill = tell, test, is_drill
        self._done, self._told = 0, time.monotonic()

    def step(self, what: str, count: int = 1) -> None:
        """Note that so many more are done."""
        self._done += count
        if self._is_drill and time.monotonic() - self._told > EVERY:
            self._told = time.monotonic()
            self._tell(f"{time.strftime('%H:%M:%S', time.gmtime())} {self._test}: {self._done} {what}")

    def event(self, text: str) -> None:
        """Tell of one event of the many in a drill."""
        if self._is_drill:
            self._tell(text)

    def failure(self, text: str) -> None:
        """Tell what is wrong, with how to repeat it, before anything else is done about it."""
        self._tell(f"{self._test}, --seed {self.seed}, after {self._done}:\n{text}")

    def explore(self, examples: int, strategy: st.SearchStrategy[Any], test: Callable[[Any], None]) -> None:
        """Run a test with as many examples, always the same for a seed. What fails is told, and then made small."""
        failures = list[Any]()

        def told(drawn: Any) -> None:
            try:
                test(drawn)
            except AssertionError as error:
                if not failures:
                    failures.append(drawn)
                    self.failure(f"{drawn!r}\n{error}")
                raise
            self.step("examples")

        chosen = hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        )
        hypothesis.seed(int(self.seed))(chosen(hypothesis.given(strategy)(told)))()
