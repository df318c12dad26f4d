"""Commits that lose against somebody else's, and what is done about it: the whole is computed anew, a few times."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from lanceway.errors import ConcurrentModificationError

Result = TypeVar("Result")

ATTEMPTS = 5


def insistently(attempt: Callable[[], Result]) -> Result:
    """What an attempt comes to. It is begun anew where somebody else was faster.

    Raises ConcurrentModificationError where somebody else always is.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(ConcurrentModificationError):
            return attempt()
    return attempt()
