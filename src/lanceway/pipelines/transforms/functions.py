"""Python functions by their import paths: `package.module:function`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.jobs.table.functions import failing_row
from lanceway.pipelines.runs.report import short, shown
from lanceway.spark.errors import hide_traceback

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Make modules beside a pipeline's file importable for the block.

    Afterwards they are removed from `sys.modules`: another pipeline may have others of the same names.
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
    """Return the function of an import path. Raise InvalidInputError if there is no such function."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise InvalidInputError(f"{path!r} is not an import path of a function. Write package.module:function.")
    try:
        function: Any = importlib.import_module(module)
    except ImportError as error:
        raise InvalidInputError(f"The module {module!r} cannot be imported: {error}.") from error
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise InvalidInputError(f"The module {module!r} has no function {name!r}.")
    return function  # type: ignore[no-any-return]


def code(path: str) -> str:
    """Return the code of the module that has a function, without comments and layout; "" if there is none to read.

    The module is not imported, only those above it.
    """
    module = path.partition(":")[0]
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return ""
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    try:
        return ast.dump(ast.parse(Path(spec.origin).read_bytes()))
    except (OSError, SyntaxError):
        return ""


@contextmanager
def travelling(function: Callable[..., Any], folder: Path) -> Iterator[None]:
    """Let Spark send the function's module to its workers if it is beside the pipeline, where they cannot import it."""
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


Function = Callable[..., Any]


def apply(
    path: str, function: Function, arguments: Mapping[str, Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what the function returns for each batch: a batch, or the batches of a table."""
    import pyarrow as pa

    call = partial(function, **arguments)
    before = 0
    with hide_traceback():
        for batch in batches:
            with _naming_the_row(path, call, batch, before):
                result = call(batch)
            if not isinstance(result, pa.RecordBatch | pa.Table):
                raise InvalidInputError(
                    f"{path} answered {type(result).__name__} for a batch, but must answer a pyarrow.RecordBatch."
                )
            yield from result.to_batches() if isinstance(result, pa.Table) else [result]
            before += batch.num_rows


@contextmanager
def _naming_the_row(path: str, function: Function, batch: pa.RecordBatch, before: int) -> Iterator[None]:
    """Turn what the function raises into an InvalidInputError with the first row of the batch that raises it alone."""
    try:
        yield
    except Exception as error:  # a user's function may raise anything
        position = failing_row(function, batch)
        which = f"rows {before + 1:,} to {before + batch.num_rows:,} of its task"
        if position is not None:
            row = short(str(batch.slice(position, 1).to_pylist()[0]))
            which = f"row {before + position + 1:,} of its task, {row}"
        raise InvalidInputError(f"{path} raised {shown(error)} for {which}") from error
