"""The pytest plugin behind CatalogTests: leaves out what a catalog does not have, and says so.

Tests that need what a class is `without` are deselected; tests that a class lists in `deviations`
are expected to fail, strictly: a deviation that is gone makes the run fail until it is taken off
the list. Both are shown at the end of the report, under pytest-xdist too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

# What each class leaves out: {class: {flag: (reason, number of tests)}}.
LeftOut = dict[str, dict[str, tuple[str, int]]]
LEFT_OUT = pytest.StashKey[LeftOut]()
_WORKER_OUTPUT = "lanceway_left_out"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = {}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selected: list[pytest.Item] = []
    gone: list[pytest.Item] = []
    for item in items:
        missing = _missing(item)
        flags = _needed(item) & set(missing)
        _note(config.stash[LEFT_OUT], item, missing, flags)
        _expect_deviation(item)
        (gone if flags else selected).append(item)
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = selected


def _suite(item: pytest.Item) -> Any:
    return getattr(item, "cls", None)


def _missing(item: pytest.Item) -> dict[str, str]:
    """Return what the item's class leaves out, with the reasons."""
    without = getattr(_suite(item), "without", None)
    if not without:
        return {}
    from lanceway.testing.capabilities import left_out

    return left_out(without, _suite(item).__name__)


def _needed(item: pytest.Item) -> set[str]:
    # A test that asks every operation the same question has the operation as its parameter.
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return {*getattr(getattr(item, "function", None), "needs", ()), parameters.get("operation", "")}


def _note(suites: LeftOut, item: pytest.Item, missing: Mapping[str, str], flags: set[str]) -> None:
    """Count the tests that each flag of a class leaves out; a flag that leaves out none is shown too."""
    if missing:
        rows = suites.setdefault(_suite(item).__name__, {})
        for flag, reason in missing.items():
            rows[flag] = (reason, rows.get(flag, ("", 0))[1] + (flag in flags))


def _expect_deviation(item: pytest.Item) -> None:
    deviations = getattr(_suite(item), "deviations", {})
    reason = deviations.get(item.name) or deviations.get(item.name.partition("[")[0])
    if reason:
        item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


# -- the report, which pytest-xdist draws up far from where the tests are collected ----------------


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_WORKER_OUTPUT] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    # Every worker collects everything, so the notes of any one of them are complete.
    node.config.stash[LEFT_OUT].update(getattr(node, "workeroutput", {}).get(_WORKER_OUTPUT, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    suites = config.stash[LEFT_OUT]
    if not suites:
        return
    terminalreporter.section("left out by flags")
    for suite in sorted(suites):
        terminalreporter.line(suite)
        for flag, (reason, number) in sorted(suites[suite].items()):
            terminalreporter.line(f"  {flag} ({number} test{'' if number == 1 else 's'}): {reason}")
