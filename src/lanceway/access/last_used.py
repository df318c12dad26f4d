"""When tokens were last used: recorded in a thread of its own, now and then."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from lanceway.errors import LanceNamespaceError
from lanceway.lake import tokens
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tokens import StoredToken

PAUSE = 60_000  # milliseconds between two records of one token
_GRACE = 5.0  # seconds
_AT_ONCE = 1_000  # tokens; who comes beyond them is recorded another time

_LOG = logging.getLogger(__name__)


class Usage:
    """Records uses on a thread of its own. What fails is logged and forgotten."""

    def __init__(self, store: LakeStore) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lanceway-usage")
        self._waiting: dict[int, Future[None]] = {}
        self._lock = threading.Lock()
        self._open = True

    def note(self, stored: StoredToken) -> None:
        """Record that a token is used now, without waiting for it."""
        token, last = stored.token.id, stored.token.last_used_at
        if last is not None and stored.now - last < PAUSE:
            return
        with self._lock:
            if self._open and token not in self._waiting and len(self._waiting) < _AT_ONCE:
                self._waiting[token] = self._pool.submit(self._record, token)

    def close(self) -> None:
        """Record nothing more. What is being written has a few seconds to end; what is behind it is dropped."""
        with self._lock:
            self._open = False
            waiting = list(self._waiting.values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait([future for future in waiting if not future.cancelled()], timeout=_GRACE)

    def _record(self, token: int) -> None:
        try:
            self._store.execute_one(tokens.touch, token=token, pause=PAUSE)
        except LanceNamespaceError as error:
            _LOG.warning("The use of a token could not be recorded: %s", error)
        finally:
            with self._lock:
                del self._waiting[token]
