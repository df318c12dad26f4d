"""Python functions by their import paths: `package.module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.jobs.table.functions import failing_row
from lanceway.pipelines.runs.failures import short, shown
from lanceway.spark.errors import plainly

if TYPE_CHECKING:
    import pyarrow as pa


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


Function = Callable[..., Any]


def apply(
    step: str, path: str, function: Function, given: Mapping[str, Any], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """What the function answers for each batch: a batch, or a table."""
    import pyarrow as pa

    before = 0
    with plainly():
        for batch in batches:
            with _Telling(step, path, function, given, batch, before):
                answer = function(batch, **given)
            if not isinstance(answer, pa.RecordBatch | pa.Table):
                raise InvalidInputError(
                    f"{path} answered {type(answer).__name__} for a batch, but must answer a pyarrow.RecordBatch."
                )
            yield from answer.to_batches() if isinstance(answer, pa.Table) else [answer]
            before += batch.num_rows


class _Telling:
    """Around a call for one batch. What it raises is told with the first row of the batch that raises it alone."""

    def __init__(
        self, step: str, path: str, function: Function, given: Mapping[str, Any], batch: pa.RecordBatch, before: int
    ) -> None:
        self._step, self._path, self._function = step, path, function
        self._given, self._batch, self._before = given, batch, before

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not isinstance(error, Exception):
            return
        at = failing_row(partial(self._function, **self._given), self._batch)
        which = f"rows {self._before + 1:,} to {self._before + self._batch.num_rows:,} of its task"
        if at is not None:
            row = short(str(self._batch.slice(at, 1).to_pylist()[0]))
            which = f"row {self._before + at + 1:,} of its task, {row}"
        raise InvalidInputError(f"{self._path} raised {shown(error)} for {which}") from error
