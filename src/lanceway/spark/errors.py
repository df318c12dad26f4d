"""What a Python worker refuses, said in one sentence: without the traceback that Spark shows with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lanceway import config
from lanceway.errors import LanceNamespaceError

_IN_DRIVER = ContextVar("in_driver", default=False)


@contextmanager
def plainly() -> Iterator[None]:
    """Around what Spark calls in a worker, as a decorator too. An error that is none of the contract's keeps its trace.

    The worker ends with the error, so nobody else's is shortened.
    """
    try:
        yield
    except LanceNamespaceError:
        if not _IN_DRIVER.get():
            config.hide_spark_traceback()
        raise


@contextmanager
def in_driver() -> Iterator[None]:
    """Around what Spark calls in a worker, where it is called in the driver: that goes on after an error."""
    token = _IN_DRIVER.set(True)
    try:
        yield
    finally:
        _IN_DRIVER.reset(token)
