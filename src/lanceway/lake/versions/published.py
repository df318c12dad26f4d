"""Published flags: rows learn, many at a time, that the manifests of their versions are at their final paths.

A flag saves others a look at storage, and no more: a process that reads a row without it looks for itself. So a flag
may be written late, and may be lost with the process. What a process knows to be published it need not read from a row.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from lanceway.errors import LanceNamespaceError
from lanceway.lake.versions.versions import Version

DELAY = 0.2  # seconds
_KNOWN_AT_MOST = 10_000


class PublishedFlags:
    """The published versions that one process knows, for any number of threads. `flush` writes some to the database.

    The first one after a pause of `DELAY` is written at once. Those that follow soon are collected, and written
    together by a thread that ends when none are left.
    """

    # No lock is waited for in this class: Python may collect, and so close, a lake at any point, even inside of it.

    def __init__(self, flush: Callable[[Sequence[Version]], None]) -> None:
        self._flush = flush
        self._known: dict[tuple[int, str], Version] = {}
        self._pending: deque[Version] = deque()
        self._flushing = threading.Lock()  # held by the one thread that writes
        self._flushed_at = -math.inf
        self._flush_now = threading.Event()
        self._flusher: threading.Thread | None = None

    def add(self, version: Version) -> None:
        """Remember a version whose manifest was put, or seen, at its final path, and have its row flagged."""
        self._remember(version)
        self._pending.append(version)
        if not self._begin_flush():
            return
        if time.monotonic() - self._flushed_at >= DELAY:
            self._flush_pending()
            if not self._begin_flush():
                return
        self._start()

    def known(self, table: int, branch: str) -> Version | None:
        """Return the newest version of a branch that was added. Its row may have been deleted since."""
        return self._known.get((table, branch))

    def knows(self, version: Version) -> bool:
        """Return whether this very version is known as published, and not an earlier one of the same number."""
        newest = self.known(version.table, version.branch)
        return newest is not None and _key(newest) == _key(version)

    def close(self, wait: float | None = None) -> None:
        """Have all pending flags written, within `wait` seconds if that is given."""
        self._flush_now.set()
        flusher = self._flusher
        if flusher is not None and flusher is not threading.current_thread():
            flusher.join(wait)

    def _remember(self, version: Version) -> None:
        newest = self.known(version.table, version.branch)
        # By time, not by number: a branch may be deleted and made again, and then its numbers are lower.
        if newest is None or newest.created_at <= version.created_at:
            if len(self._known) >= _KNOWN_AT_MOST:
                self._known.clear()
            self._known[version.table, version.branch] = version

    def _begin_flush(self) -> bool:
        # Each thread asks again after it has released the lock: so nothing added while it was held is left behind.
        return bool(self._pending) and self._flushing.acquire(blocking=False)

    def _start(self) -> None:
        self._flush_now.clear()
        flusher = threading.Thread(target=self._flush_until_empty, name="lanceway-published", daemon=True)
        try:
            flusher.start()
        except RuntimeError:  # there are too many threads
            self._flush_pending()
        else:
            self._flusher = flusher

    def _flush_until_empty(self) -> None:
        while True:
            self._flush_now.wait(DELAY)
            self._flush_pending()
            if not self._begin_flush():
                return

    def _flush_pending(self) -> None:
        """Write what is pending, and release the lock that `_begin_flush` took."""
        batch = [self._pending.popleft() for _ in range(len(self._pending))]
        try:
            with suppress(LanceNamespaceError):  # the flags are lost: readers of these rows look at storage
                self._flush(batch)
        finally:
            self._flushed_at = time.monotonic()
            self._flushing.release()


def _key(version: Version) -> tuple[int, str, int]:
    return version.version, version.staging_path, version.created_at
