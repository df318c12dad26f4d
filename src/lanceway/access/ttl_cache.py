"""Answers that are remembered for some seconds, so that a busy client costs no query for each request."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Recent(Generic[Answer]):
    """A bounded memory. The keys are hashes: what was asked with is not kept."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = size, clock
        self._kept: dict[bytes, tuple[float, Answer]] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Answer | None:
        """What is remembered; None once its time is over. It waits for nobody."""
        found = self._kept.get(key)
        return found[1] if found is not None and self._clock() < found[0] else None

    def keep(self, key: bytes, answer: Answer, seconds: float) -> None:
        until = self._clock() + seconds
        with self._lock:
            self._kept.pop(key, None)  # what is kept anew comes last
            self._kept[key] = (until, answer)
            if len(self._kept) > self._size:
                del self._kept[next(iter(self._kept))]
