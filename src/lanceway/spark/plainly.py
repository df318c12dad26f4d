"""What a Python worker refuses, said in one sentence: without the traceback that Spark shows with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lanceway import config
from lanceway.errors import LanceNamespaceError


@contextmanager
def plainly() -> Iterator[None]:
    """Around what Spark calls in a worker, as a decorator too. An error that is none of the contract's keeps its trace.

    The worker ends with the error, so nobody else's is shortened.
    """
    try:
        yield
    except LanceNamespaceError:
        config.hide_spark_traceback()
        raise
