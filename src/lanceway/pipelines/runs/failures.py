"""What goes wrong while a step runs, said in one sentence that names the step; and what becomes of the run then."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError
from lanceway.lake.runs.runs import FAILED, StepRow, committed

if TYPE_CHECKING:
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

# How Python ends the story of an exception: its class and what it says.
_LAST_LINE = re.compile(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception|Exit|Interrupt|Warning)): (.*)$", re.MULTILINE)
# The same of an error of the contract's, wherever Spark puts it.
_CONTRACT = re.compile(r"lance_namespace\.errors\.(\w+): (.*?)(?: SQLSTATE: \w+)?$", re.MULTILINE)
_RAISED = re.compile(r"\[USER_RAISED_EXCEPTION\] (.*?)(?: SQLSTATE: |$)", re.MULTILINE)
_LONGEST = 600


class Named:
    """Around a call of a user's function in the driver: what it raises is told with the step's name."""

    def __init__(self, step: str, path: str) -> None:
        self._step, self._path = step, path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, LanceNamespaceError) and not _is_sparks(error):
            raise InvalidInputError(f"{self._path} of {self._step!r} raised {shown(error)}.") from error


def _is_sparks(error: Exception) -> bool:
    from pyspark.errors import PySparkException

    return isinstance(error, PySparkException)


def shown(error: BaseException) -> str:
    """An exception in one line, with the place of the innermost call."""
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {short(str(error))}{place}"


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def said(error: PySparkException | Py4JJavaError) -> str:
    """What Spark's analysis says, in one line."""
    java = getattr(error, "java_exception", None)  # of what PySpark has no class for
    return short(str((error.getMessage() if java is None else java.getMessage()) or error))


def translated(step: str, error: PySparkException) -> LanceNamespaceError:
    """What Spark said of a step that failed. Its own words are many: what the step's code said stands among them."""
    text = str(error)
    raised = _RAISED.search(text)
    if raised:
        return InvalidInputError(f"{step!r}: {short(raised[1])}")
    told = _CONTRACT.search(text) or _LAST_LINE.search(text)
    if told:
        return _of_kind(step, told[1], told[2])
    return InternalError(f"{step!r} failed in Spark: {short(text)}")


def _of_kind(step: str, kind: str, words: str) -> LanceNamespaceError:
    """An error of the contract's own keeps its class on the way from a worker."""
    from lanceway import errors

    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, LanceNamespaceError) and found is not LanceNamespaceError:
        return found(f"{step!r}: {short(words)}")
    return InvalidInputError(f"{step!r} failed: {kind}: {short(words)}")


def outcome(steps: Sequence[StepRow]) -> str:
    """Why a run has failed, what it has committed all the same, and how to go on."""
    errors = [f"{step.error.rstrip('.')}." for step in steps if step.state == FAILED and step.error]
    done = [f"{step.table_name} version {step.version}" for step in committed(steps)]
    told = f"Committed: {', '.join(done)}." if done else "Nothing was committed."
    return " ".join([*errors, told, "Run it again to go on from there."])
