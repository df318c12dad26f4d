"""The former name of `lanceway.jobs`."""

from __future__ import annotations

import importlib

_FORMER_NAMES = {"Outcome": "TableOutcome", "Report": "JobReport", "Step": "JobProgress", "Summary": "JobSummary"}


def __getattr__(name: str) -> object:
    # Imported by name, since this room does not know the ones that stand on it.
    return getattr(importlib.import_module("lanceway.jobs"), _FORMER_NAMES.get(name, name))
