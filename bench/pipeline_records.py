"""What a pipeline spends on its records: the seconds of all that it asks of the database that keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from lanceway.lake.store.database import LakeStore

_QUESTIONS = ("transact", "read", "execute_one", "snapshot")


@contextmanager
def timed() -> Iterator[list[float]]:
    """The seconds of each question, for as long as this lasts."""
    seconds: list[float] = []

    def with_clock(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any, **options: Any) -> Any:
            began = time.perf_counter()
            try:
                return ask(*arguments, **options)
            finally:
                seconds.append(time.perf_counter() - began)

        return asked

    with ExitStack() as leaving:
        for name in _QUESTIONS:
            leaving.enter_context(patch.object(LakeStore, name, with_clock(getattr(LakeStore, name))))
        yield seconds
