"""Errors of steps, each as one sentence that names the step; and the outcome of a failed run."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def user_function(step: str, path: str) -> Iterator[None]:
    """Turn what a user's function raises in the driver into an InvalidInputError that names the step."""
    from pyspark.errors import PySparkException

    try:
        yield
    except (LanceNamespaceError, PySparkException):
        raise
    except Exception as error:  # a user's function may raise anything
        raise InvalidInputError(f"{path} of {step!r} raised {shown(error)}.") from error


def shown(error: BaseException) -> str:
    """Return an exception in one line, with the file and line of the innermost call."""
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return f"{type(error).__name__}: {short(str(error))}{place}"


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def said(error: PySparkException | Py4JJavaError) -> str:
    """Return the message of Spark's analysis in one line."""
    java = getattr(error, "java_exception", None)  # of what PySpark has no class for
    return short(str((error.getMessage() if java is None else java.getMessage()) or error))


def translated(step: str, error: PySparkException) -> LanceNamespaceError:
    """Turn the error of a step that failed in Spark into one of the contract, with the message of the step's own
    code.
    """
    text = str(error)
    raised = _RAISED.search(text)
    if raised:
        return InvalidInputError(f"{step!r}: {short(raised[1])}")
    match = _CONTRACT.search(text) or _LAST_LINE.search(text)
    if match:
        return _of_kind(step, match[1], match[2])
    return InternalError(f"{step!r} failed in Spark: {short(text)}")


def _of_kind(step: str, kind: str, words: str) -> LanceNamespaceError:
    """Return an error of the contract's class of this name, which it had in the worker, or an InvalidInputError."""
    from lanceway import errors

    error_class = getattr(errors, kind, None)
    if (
        isinstance(error_class, type)
        and issubclass(error_class, LanceNamespaceError)
        and error_class is not LanceNamespaceError
    ):
        return error_class(f"{step!r}: {short(words)}")
    return InvalidInputError(f"{step!r} failed: {kind}: {short(words)}")


def outcome(steps: Sequence[StepRow]) -> str:
    """Return why a run has failed, what it has committed nevertheless, and how to go on."""
    errors = [f"{step.error.rstrip('.')}." for step in steps if step.state == FAILED and step.error]
    done = [f"{step.table_name} version {step.version}" for step in committed(steps)]
    result = f"Committed: {', '.join(done)}." if done else "Nothing was committed."
    return " ".join([*errors, result, "Run it again to go on from there."])
