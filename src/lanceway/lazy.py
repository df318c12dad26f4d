"""Package fronts that load a module when one of its names is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def front(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], object]]:
    """Return `__all__` and `__getattr__` for a package whose public names are defined in the modules `homes`."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return sorted(homes), load
