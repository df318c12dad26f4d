"""Names that moved out of `lanceway.spark` can still be imported from there."""

from __future__ import annotations

import pytest

import lanceway.jobs
import lanceway.pipelines
from lanceway.spark import jobs, pipeline


def test_jobs_are_found_under_their_former_name() -> None:
    assert jobs.compact is lanceway.jobs.compact
    assert jobs.Report is lanceway.jobs.JobReport
    assert jobs.Summary is lanceway.jobs.JobSummary


def test_pipelines_are_found_under_their_former_name() -> None:
    assert pipeline.load is lanceway.pipelines.load
    assert pipeline.Report is lanceway.pipelines.RunReport


@pytest.mark.parametrize("module", [jobs, pipeline])
def test_what_was_never_there_is_not_there(module: object) -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        module.nothing_of_the_kind  # noqa: B018
