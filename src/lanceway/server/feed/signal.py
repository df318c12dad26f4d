"""Waiting for events: one look at the database for all requests of a process that wait, and none while none does.

Events are committed by any process, so the database is asked. SQLite answers by one look into an index, which waits for
nothing and is made in the event loop. PostgreSQL is asked for the newest event that can be read, four times a second,
however many wait. LISTEN and NOTIFY would be faster, but each commit would then take a lock that all of a server's
databases share, and the commits are what must be fast.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from lanceway.access.records import feed
from lanceway.errors import LanceNamespaceError
from lanceway.lake.feed import reading
from lanceway.lake.feed.reading import START, FeedPosition
from lanceway.lake.store.database import LakeStore
from lanceway.server.threads import CatalogThreads

_PAUSE = 0.25  # seconds
_PURGE_SECONDS = 600.0
_NEWEST_OF_FILE = "SELECT turn, id FROM feed ORDER BY id DESC LIMIT 1"


class FeedSignal:
    """Tells requests that wait, in one event loop, that there is something new; and deletes what is old."""

    def __init__(self, store: LakeStore, threads: CatalogThreads) -> None:
        self._store, self._threads = store, threads
        self._newest = START
        self._changed = asyncio.Event()
        self._waiting = 0
        self.is_stopping = False
        self._looking: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None

    async def wait(self, beyond: FeedPosition, seconds: float) -> bool:
        """Wait until there is an event behind a position; return False if there is none after some seconds.

        Once the server stops, nothing is waited for any more.
        """
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while self._newest <= beyond:
                    if self.is_stopping:
                        return False
                    if self._looking is None or self._looking.done():
                        self._looking = asyncio.create_task(self._look_again())
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def keep_for(self, days: int) -> None:
        """Delete events that are older than some days from now on, now and then; 0 for none."""
        if days:
            self._keeping = asyncio.create_task(self._purge_again(timedelta(days=days)))

    def stop_waiting(self) -> None:
        """Let every request that waits answer now, with what it has."""
        self.is_stopping = True
        self._changed.set()

    async def close(self) -> None:
        for task in (self._looking, self._keeping):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _look_again(self) -> None:
        while self._waiting:
            with suppress(LanceNamespaceError):  # the next page that is read says what is wrong
                newest = await self._look()
                if newest is not None and newest != self._newest:
                    changed, self._newest, self._changed = self._changed, newest, asyncio.Event()
                    changed.set()
            await asyncio.sleep(_PAUSE)

    async def _look(self) -> FeedPosition | None:
        if self._store.fast_reads is None:
            return await self._threads.run(None, self._store.read, reading.newest)
        rows = self._store.fast_reads.rows(_NEWEST_OF_FILE, ())
        return FeedPosition(*rows[0]) if rows else None

    async def _purge_again(self, age: timedelta) -> None:
        while True:
            with suppress(LanceNamespaceError):  # others write, or the database is away: the next time will do
                await self._threads.run(None, feed.purge, self._store, age)
            await asyncio.sleep(_PURGE_SECONDS)
