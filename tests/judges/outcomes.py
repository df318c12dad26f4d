"""What a judge found, test by test, and whether that is what was expected."""

from __future__ import annotations

import tomllib
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
EXPECTED = Path(__file__).with_name("expected")


@dataclass(frozen=True)
class Outcome:
    """One test of a judge, and what the judge says of a failure or of leaving it out."""

    name: str
    state: str
    reason: str = ""

    @property
    def family(self) -> str:
        """The test without its parameters."""
        return self.name.partition("[")[0]


@dataclass
class Verdict:
    """All tests of one judge, beside the deviations that are expected of the server: a sentence for each failure."""

    judge: str
    expected: Mapping[str, str]
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        return Counter(outcome.state for outcome in self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.state == FAILED]

    @property
    def surprises(self) -> list[str]:
        """What makes the run fail: a failure or a pass that is not expected, a deviation that no test shows."""
        lines = [f"{row.name} failed: {row.reason}" for row in self.failures if self.why(row) is None]
        lines += [f"{row.name} passed" for row in self.outcomes if row.state == PASSED and self.why(row) is not None]
        shown = {name for row in self.outcomes for name in (row.name, row.family)}
        lines += [f"{name} is expected to fail, but is no test" for name in self.expected if name not in shown]
        return lines + ([] if self.counts[PASSED] else ["not one test passed"])

    def why(self, outcome: Outcome) -> str | None:
        """The sentence that explains a deviation: of this one test, or of the test with whatever parameters."""
        return self.expected.get(outcome.name, self.expected.get(outcome.family))

    def show(self, console: Console) -> None:
        table = Table("test", "why it fails", title=f"{self.judge}: what failed", show_lines=False)
        for outcome in self.failures:
            why = self.why(outcome)
            table.add_row(escape(outcome.name), escape(why) if why else f"[red]{escape(outcome.reason)}[/red]")
        if table.row_count:
            console.print(table)
        for outcome in self.outcomes:
            if outcome.state == SKIPPED:
                console.print(f"left out by the judge: {escape(outcome.name)}: {escape(outcome.reason)}")


def expected(server: str, judge: str) -> dict[str, str]:
    """The deviations of a server that a judge is known to find."""
    rows: dict[str, str] = {}
    for name in ("any-server", server):
        rows |= tomllib.loads((EXPECTED / f"{name}.toml").read_text()).get(judge, {})
    return rows


def summary(verdicts: Iterable[Verdict], server: str) -> Table:
    table = Table("judge", "passed", "failed", "of these expected", "left out", title=f"Judges of {server}")
    for verdict in verdicts:
        known = sum(verdict.why(outcome) is not None for outcome in verdict.failures)
        counts = (verdict.counts[PASSED], verdict.counts[FAILED], known, verdict.counts[SKIPPED])
        table.add_row(verdict.judge, *map(str, counts))
    return table


def from_junit(report: Path) -> Iterator[Outcome]:
    """Read the report that JUnit and pytest write. An error while setting up or cleaning up is a failure."""
    seen: dict[str, Outcome] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name', '').replace('()', '')}"
        outcome = _outcome(name, case)
        if name not in seen or outcome.state == FAILED:
            seen[name] = outcome
    yield from seen.values()


def _outcome(name: str, case: ET.Element) -> Outcome:
    for tag, state in (("failure", FAILED), ("error", FAILED), ("skipped", SKIPPED)):
        element = case.find(tag)
        if element is not None:
            words = element.get("message") or (element.text or "").strip() or "no reason given"
            return Outcome(name, state, " ".join(words.partition("\tat ")[0].split())[:300])
    return Outcome(name, PASSED)
