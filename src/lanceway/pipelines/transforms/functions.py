"""Python functions by their import paths: `package.module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from lanceway.errors import InvalidInputError


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules that lie beside a pipeline's file are found, for as long as this lasts.

    Then they are forgotten: another pipeline may have others of the same names beside it.
    """
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if _lies_in(sys.modules[name], folder):
                del sys.modules[name]


def _lies_in(module: ModuleType | None, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and folder in Path(file).absolute().parents


def find(path: str) -> Callable[..., Any]:
    """The function of an import path. Raises InvalidInputError."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise InvalidInputError(f"{path!r} is no import path of a function. Write package.module:function.")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise InvalidInputError(f"The module {module!r} cannot be imported: {error}.") from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InvalidInputError(f"The module {module!r} has no function {name!r}.")
    return found  # type: ignore[no-any-return]


@contextmanager
def travelling(function: Callable[..., Any], folder: Path) -> Iterator[None]:
    """Let Spark send a module whole to its workers, if it lies beside the pipeline and they cannot import it."""
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    module = sys.modules.get(getattr(function, "__module__", ""))
    if not _lies_in(module, folder):
        yield
        return
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
