"""Marks: that the manifest of a version is in its place, told to the database many at a time.

A mark saves others a look at storage, and no more: whoever meets a row without it looks, and goes on. So it may come
late, and be lost with the process. What a process knows to be in its place it need not read from a row.
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
    """Those of one process, for any number of threads. `tell` writes some of them to the database.

    The first after a quiet while is told at once. Those that follow soon are collected, and told by a thread that
    lives no longer than there are any.
    """

    # No lock is waited for in here: a lake is closed wherever Python finds that nobody needs it, even in here.

    def __init__(self, tell: Callable[[Sequence[Version]], None]) -> None:
        self._tell = tell
        self._known: dict[tuple[int, str], Version] = {}
        self._untold: deque[Version] = deque()
        self._turn = threading.Lock()  # of whoever tells
        self._told_at = -math.inf
        self._hurry = threading.Event()
        self._teller: threading.Thread | None = None

    def add(self, version: Version) -> None:
        """The manifest of a version is in its place: it was put there, or seen there."""
        self._remember(version)
        self._untold.append(version)
        if not self._takes_turn():
            return
        if time.monotonic() - self._told_at >= DELAY:
            self._tell_all()
            if not self._takes_turn():
                return
        self._start()

    def known(self, table: int, branch: str) -> Version | None:
        """The newest version of a branch that was added. Its row may have been deleted since."""
        return self._known.get((table, branch))

    def knows(self, version: Version) -> bool:
        """Whether this very version is in its place, and not one that had its number before."""
        known = self.known(version.table, version.branch)
        return known is not None and _which(known) == _which(version)

    def close(self, wait: float | None = None) -> None:
        """Have all of them told, which takes no longer than `wait` seconds if that is given."""
        self._hurry.set()
        teller = self._teller
        if teller is not None and teller is not threading.current_thread():
            teller.join(wait)

    def _remember(self, version: Version) -> None:
        known = self.known(version.table, version.branch)
        if known is None or known.created_at <= version.created_at:
            if len(self._known) >= _KNOWN_AT_MOST:
                self._known.clear()
            self._known[version.table, version.branch] = version

    def _takes_turn(self) -> bool:
        # Asked again by whoever has given it back: so nothing is left that came while another had it.
        return bool(self._untold) and self._turn.acquire(blocking=False)

    def _start(self) -> None:
        self._hurry.clear()
        teller = threading.Thread(target=self._tell_until_none_are_left, name="lanceway-marks", daemon=True)
        try:
            teller.start()
        except RuntimeError:  # there are too many threads
            self._tell_all()
        else:
            self._teller = teller

    def _tell_until_none_are_left(self) -> None:
        while True:
            self._hurry.wait(DELAY)
            self._tell_all()
            if not self._takes_turn():
                return

    def _tell_all(self) -> None:
        """Tell what there is, and give the turn back."""
        some = [self._untold.popleft() for _ in range(len(self._untold))]
        try:
            with suppress(LanceNamespaceError):  # then whoever meets them looks
                self._tell(some)
        finally:
            self._told_at = time.monotonic()
            self._turn.release()


def _which(version: Version) -> tuple[int, str, int]:
    return version.version, version.staging_path, version.created_at
