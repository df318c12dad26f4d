"""Expectations of rows: rows that break one are dropped, put into a quarantine table, or end the step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway.pipelines.file.yaml import problem_at
from lanceway.pipelines.model import FAIL, QUARANTINE, Expectation, names_in
from lanceway.pipelines.runs.report import said
from lanceway.tables.schema.fields import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.observation import Observation

# Beside the columns of a row that is put aside.
BROKEN, STEP, RUN = "_broken", "_step", "_run"
# What is expected of each row of a source, whether or not its file says so.
READABLE = "can be read by the schema"
_ROWS = "rows"
_SHOWN = 300  # characters of a row
_PATIENCE = 5.0  # seconds


@dataclass(frozen=True)
class Checked:
    """A step's rows: those that go on, those that are rejected, and the counts of both."""

    rules: tuple[Expectation, ...]
    passing: DataFrame
    rejected: DataFrame | None
    observation: Observation | None

    def results(self) -> dict[str, Any] | None:
        """Return the counts, once the rows were computed; None if Spark did not need to compute them."""
        counted = None if self.observation is None else _counted(self.observation)
        if counted is None:
            return None
        rules = {
            rule.name: {"broken": counted[f"rule{number}"] or 0, "otherwise": rule.otherwise}
            for number, rule in enumerate(self.rules)
        }
        return {_ROWS: counted[_ROWS], "expectations": rules}


def check(
    file: Path,
    step: str,
    frame: DataFrame,
    rules: Sequence[Expectation],
    *,
    run: str,
    malformed: str | None = None,
    line: int = 0,
) -> Checked:
    """Split rows by what is expected of them. A condition that is null does not hold.

    `malformed` is a column with the text of rows that could not be read. They fail the step, unless an expectation
    mentions the column; other expectations do not apply to them then. The column goes no further.

    Raise InvalidPipelineError if a condition is not SQL over the rows' columns.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    about = [rule for rule in rules if malformed and names_in(rule.that, [malformed])]
    if malformed and not about:
        rules = [Expectation(READABLE, f"{malformed} IS NULL", FAIL, None, line), *rules]
    if not rules:
        return Checked((), frame, None, None)
    conditions = [_condition(file, step, frame, rule) for rule in rules]
    if malformed:
        unreadable = f.col(malformed).isNotNull()
        conditions = [
            condition if rule in about or not about else condition | unreadable
            for rule, condition in zip(rules, conditions, strict=True)
        ]
    observation = Observation()
    counts = [
        f.sum(f.when(~condition, 1).otherwise(0)).alias(f"rule{number}") for number, condition in enumerate(conditions)
    ]
    # Spark reads only the columns that are needed, and finds only mistakes in these: so all of them are needed.
    needed = [f.count(f.col(quoted(name))).alias(f"column{n}") for n, name in enumerate(frame.columns) if malformed]
    watched = frame.observe(observation, f.count(f.lit(1)).alias(_ROWS), *counts, *needed)
    passing = watched
    kept_if = [condition for rule, condition in zip(rules, conditions, strict=True) if rule.otherwise != FAIL]
    for rule, condition in zip(rules, conditions, strict=True):
        if rule.otherwise == FAIL:
            passing = passing.where(f.when(condition, f.lit(True)).otherwise(_refuse(step, frame, rule)))
    if kept_if:
        passing = passing.where(reduce(lambda left, right: left & right, kept_if))
    quarantined = [
        (rule, condition) for rule, condition in zip(rules, conditions, strict=True) if rule.otherwise == QUARANTINE
    ]
    rejected = None
    if quarantined:
        names = f.concat_ws(", ", *(f.when(~condition, f.lit(rule.name)) for rule, condition in quarantined))
        broken = reduce(lambda left, right: left | right, [~condition for _, condition in quarantined])
        rejected = watched.where(broken).withColumns({BROKEN: names, STEP: f.lit(step), RUN: f.lit(run)})
    if malformed:
        passing = passing.drop(malformed)
        kept_aside = any(rule.otherwise == QUARANTINE for rule in about)
        rejected = rejected if rejected is None or kept_aside else rejected.drop(malformed)
    return Checked(tuple(rules), passing, rejected, observation)


def _condition(file: Path, step: str, frame: DataFrame, rule: Expectation) -> Column:
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions as f

    try:
        condition = f.coalesce(f.expr(rule.that).cast("boolean"), f.lit(False))
        frame.select(condition)
    except (AnalysisException, ParseException) as error:
        raise problem_at(
            file, rule.line, f"What is expected of {step!r} is not a condition over its columns: {said(error)}"
        ) from error
    return condition


def _refuse(step: str, frame: DataFrame, rule: Expectation) -> Column:
    from pyspark.sql import functions as f

    row = f.substring(f.to_json(f.struct(*(f.col(quoted(name)) for name in frame.columns))), 1, _SHOWN)
    return f.raise_error(f.concat(f.lit(f"Expectation failed in {step!r}: {rule.name!r} does not hold of "), row)).cast(
        "boolean"
    )


def _counted(observation: Observation) -> dict[str, Any] | None:
    """Return what was observed, or None. `Observation.get` would wait for ever for what was never computed."""
    deadline = time.monotonic() + _PATIENCE
    future = getattr(getattr(observation, "_jo", None), "future", None)
    while future is not None and not future().isCompleted():
        if time.monotonic() > deadline:
            return None
        time.sleep(0.02)
    return dict(observation.get)
