"""The former name of `lanceway.pipelines`."""

from __future__ import annotations

import importlib

_FORMER_NAMES = {"Report": "RunReport"}


def __getattr__(name: str) -> object:
    # Imported by name, since this room does not know the ones that stand on it.
    return getattr(importlib.import_module("lanceway.pipelines"), _FORMER_NAMES.get(name, name))
