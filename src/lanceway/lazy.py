"""Modules that are loaded when one of their names is first asked for: our own, and a part of another's package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def front(package: str, homes: Mapping[str, str]) -> tuple[list[str], Callable[[str], object]]:
    """Return `__all__` and `__getattr__` for a package whose public names are defined in the modules `homes`."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return sorted(homes), load


@contextmanager
def deferred(package: str, part: str) -> Iterator[None]:
    """Let the package be imported without the modules of a part whose names its front has.

    The names are there all the same: the part is loaded when one of them is first asked for. A package that was
    imported before stays as it is.
    """
    if package in sys.modules:
        yield
        return
    stand_ins = _StandIns(f"{package}.{part}")
    sys.meta_path.insert(0, stand_ins)
    try:
        yield
    finally:
        sys.meta_path.remove(stand_ins)
        for name in [name for name in sys.modules if stand_ins.covers(name)]:
            del sys.modules[name]
        if package in sys.modules:
            _load_when_asked(sys.modules[package], part)


class _Absent:
    """Stands for a name of a module that is not loaded."""

    def __init__(self, module: str) -> None:
        self.module = module


class _StandIns(MetaPathFinder, Loader):
    """Finds empty modules, which have any name, in the place of a part of a package."""

    def __init__(self, part: str) -> None:
        self._part = part

    def covers(self, name: str) -> bool:
        return name == self._part or name.startswith(f"{self._part}.")

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=name == self._part) if self.covers(name) else None

    def exec_module(self, module: ModuleType) -> None:
        def absent(name: str) -> _Absent:
            if name.startswith("__"):
                raise AttributeError(name)
            return _Absent(module.__name__)

        vars(module)["__getattr__"] = absent


def _load_when_asked(front: ModuleType, part: str) -> None:
    """Take what stands for absent names out of a package's front, and find them when they are asked for."""
    names = vars(front)
    homes = {name: value.module for name, value in names.items() if isinstance(value, _Absent)}
    for name in (*homes, part):
        names.pop(name, None)

    def load(name: str) -> object:
        if name == part:
            return importlib.import_module(f"{front.__name__}.{part}")
        if name not in homes:
            raise AttributeError(f"module {front.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    names["__getattr__"] = load
