"""The former name of `lanceway.jobs`."""

from __future__ import annotations

import importlib


def __getattr__(name: str) -> object:
    # By name, since this room does not know the ones that stand on it.
    return getattr(importlib.import_module("lanceway.jobs"), name)
