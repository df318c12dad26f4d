"""Errors of Python workers, shown as one sentence without the traceback that Spark adds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lanceway import config
from lanceway.errors import LanceNamespaceError

_IN_DRIVER = ContextVar("in_driver", default=False)


@contextmanager
def hide_traceback() -> Iterator[None]:
    """Hide the traceback of a contract error. Wrap whatever Spark calls in a worker with it, also as a decorator.

    Any other error keeps its traceback. The worker ends with the error, so no later one is affected.
    """
    try:
        yield
    except LanceNamespaceError:
        if not _IN_DRIVER.get():
            config.hide_spark_traceback()
        raise


@contextmanager
def in_driver() -> Iterator[None]:
    """Keep tracebacks where code for workers is called in the driver, which goes on after an error."""
    token = _IN_DRIVER.set(True)
    try:
        yield
    finally:
        _IN_DRIVER.reset(token)
