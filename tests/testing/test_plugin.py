"""The suite's plugin: what a class is `without` is left out and shown, and a deviation must fail."""

from __future__ import annotations

import pytest

# Imported here so that a run inside this run finds it loaded: compiled modules load only once.
from lanceway.testing import capabilities as _suite  # noqa: F401

pytest_plugins = ["pytester"]

SUITE = """
import pytest
from lanceway.testing.capabilities import needs
from lanceway.testing.capabilities import Suite

class Tests(Suite):
    def test_always(self):
        pass

    @needs("rename_table", "fork")
    def test_renaming(self):
        raise AssertionError("needs what is not there")

    @pytest.mark.parametrize("operation", ["list_tables", "rename_table"])
    def test_each(self, operation):
        assert operation == "list_tables"

    @pytest.mark.parametrize("number", [1, 2])
    def test_number(self, number):
        assert number == 1

    def test_wrong(self):
        assert 1 == 2
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # A run inside a run is no worker of the outer one.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makepyfile(suite=SUITE)
    return pytester


def run(suite: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    suite.makepyfile(test_it=f"from suite import Tests\n\nclass TestIt(Tests):\n    {body}\n\ndel Tests\n")
    return suite.runpytest_inprocess("-p", "lanceway.testing.plugin", *options)


WITHOUT = 'without = {"rename_table": "names are for ever"}'
DEVIATIONS = 'deviations = {"test_number[2]": "cannot count", "test_wrong": "cannot compare"}'


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_what_a_class_is_without_is_deselected_and_shown(suite: pytest.Pytester, options: tuple[str, ...]) -> None:
    result = run(suite, f"{WITHOUT}\n    {DEVIATIONS}", *options)
    result.assert_outcomes(passed=3, xfailed=2, deselected=0 if options else 2)
    result.stdout.fnmatch_lines(
        ["*left out by flags*", "TestIt", "  rename_table (2 tests): names are for ever"], consecutive=True
    )


def test_a_run_that_leaves_nothing_out_shows_nothing(suite: pytest.Pytester) -> None:
    result = run(suite, "pass", "-k", "test_always")
    result.assert_outcomes(passed=1, deselected=6)
    result.stdout.no_fnmatch_line("*left out by flags*")


def test_a_deviation_that_is_gone_fails(suite: pytest.Pytester) -> None:
    result = run(suite, 'deviations = {"test_always": "was broken once"}', "-k", "test_always")
    result.assert_outcomes(failed=1, deselected=6)
    result.stdout.fnmatch_lines(["*XPASS(strict)*was broken once*"])


def test_a_deviation_names_a_test(suite: pytest.Pytester) -> None:
    result = run(suite, 'deviations = {"test_nothing": "a slip"}')
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TestIt.deviations names test_nothing, which is not a test of it*"])


def test_a_flag_is_one_that_is_known(suite: pytest.Pytester) -> None:
    result = run(suite, 'without = {"rename_tables": "a slip"}')
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*TestIt names rename_tables, which is neither an operation*"])


def test_without_the_plugin_the_suite_says_what_it_needs(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it="""
        from lanceway.testing.capabilities import Suite
        import pytest

        class TestIt(Suite):
            @pytest.fixture
            def catalog(self):
                return None

            def test_it(self, space):
                pass
        """
    )
    result = suite.runpytest_inprocess("-p", "no:lanceway.testing.plugin")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*CatalogTests needs its plugin*"])
