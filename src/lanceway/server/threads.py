"""Threads for synchronous catalogs, separate for each mounted one, so that none can make another wait.

The event loop hands a call over and goes on. A catalog has as many threads as its limits allow; behind them a
bounded number of calls waits. A call beyond that, or one that takes longer than the deadline, is answered with
ServiceUnavailableError (17) that names the catalog, while other catalogs are not affected.

Python cannot end a thread, so a call that outlives its deadline keeps its thread until it returns.
The threads are daemons: a catalog that never answers does not keep the process from ending. What this pool gains
over `concurrent.futures` is in docs/decisions/020.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from lanceway.errors import ServiceUnavailableError

Answer = TypeVar("Answer")

# How long a stopping server waits for calls that run.
GRACE_SECONDS = 30
# Calls that may wait for each thread of a catalog.
_WAITING_FOR_EACH = 16
# So many threads take calls at once; more are woken for calls that have waited this long (seconds).
_ALWAYS_AWAKE = 2
_WAKE_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class ThreadLimits:
    """How much of the server one catalog may use."""

    name: str
    threads: int
    deadline: float  # seconds


class LateCallError(ServiceUnavailableError):
    """A call did not end in time, and may still do what it was to do."""


class CatalogThreads:
    """The threads of all mounted catalogs. Calls for any other, and for None, share those of the lake.

    Used from one event loop. Uploads have separate threads in each catalog: a client that sends slowly occupies
    one all the while, and must not keep others from asking.
    """

    def __init__(self, shared: ThreadLimits, mounts: Mapping[str, ThreadLimits]) -> None:
        limits: list[tuple[str | None, ThreadLimits]] = [(None, shared), *mounts.items()]
        self._calls = {name: _Pool(limit) for name, limit in limits}
        self._uploads = {name: _Pool(limit) for name, limit in limits}
        self._retired: list[_Pool] = []
        self._shares: dict[tuple[str, str], _Share] = {}

    def follow(self, mounts: Mapping[str, ThreadLimits]) -> None:
        """Have threads for these mounted catalogs, and no others. Calls to one that is gone are finished first."""
        for pools in (self._calls, self._uploads):
            for name, limits in mounts.items():
                if name not in pools or pools[name].limits != limits:
                    self._retire(pools.pop(name, None))
                    pools[name] = _Pool(limits)
            for name in [name for name in pools if name is not None and name not in mounts]:
                self._retire(pools.pop(name))
        for pool in [pool for pool in self._retired if not pool.pending]:
            self._retired.remove(pool)
            pool.close()

    def _retire(self, pool: _Pool | None) -> None:
        if pool is not None:
            self._retired.append(pool)

    def deadline(self, mount: str | None) -> float:
        return self._of(self._calls, mount).limits.deadline

    async def run(self, mount: str | None, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call a function on a thread of the mount, and return the result. Raises ServiceUnavailableError if late."""
        pool = self._of(self._calls, mount)
        return await pool.wait(pool.submit(function, arguments))  # type: ignore[no-any-return]

    def upload(self, mount: str | None, function: Callable[..., Answer], *arguments: Any) -> asyncio.Future[Answer]:
        """Call a function that reads what a client sends. The caller watches the deadline."""
        return self._of(self._uploads, mount).submit(function, arguments).future

    @asynccontextmanager
    async def upload_share(self, mount: str | None, user: str) -> AsyncIterator[None]:
        """Wait until one more upload leaves the user within a share of the mount's threads: the rest is for others.

        Raises ServiceUnavailableError if that takes too long, or if many of the user's uploads wait already.
        """
        pool = self._of(self._uploads, mount)
        key = pool.limits.name, user
        share = self._shares.setdefault(key, _Share(pool.limits.threads))
        if share.uploads >= share.most:
            raise pool.busy_error(share.uploads)
        share.uploads += 1
        try:
            try:
                async with asyncio.timeout(pool.limits.deadline):
                    await share.free.acquire()
            except TimeoutError as error:
                raise pool.busy_error(share.uploads - 1) from error
            try:
                yield
            finally:
                share.free.release()
        finally:
            share.uploads -= 1
            if not share.uploads:
                del self._shares[key]

    def late_error(self, mount: str | None) -> ServiceUnavailableError:
        return self._of(self._calls, mount).late_error()

    async def close(self, seconds: float) -> None:
        """Wait for running calls, but not longer than that."""
        pools = [*self._calls.values(), *self._uploads.values(), *self._retired]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(pool.pending for pool in pools):
                    await asyncio.sleep(0.02)
        for pool in pools:
            pool.close()

    @staticmethod
    def _of(pools: dict[str | None, _Pool], mount: str | None) -> _Pool:
        return pools.get(mount) or pools[None]


class _Share:
    """The uploads of one user to one catalog: three quarters of its threads are the user's at most."""

    __slots__ = ("free", "most", "uploads")

    def __init__(self, threads: int) -> None:
        share = max(1, threads - max(1, threads // 4))
        self.free = asyncio.Semaphore(share)
        self.uploads = 0  # that run or wait
        self.most = share * (1 + _WAITING_FOR_EACH)


class _Call:
    __slots__ = ("abandoned", "arguments", "error", "function", "future", "result")

    def __init__(self, future: asyncio.Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.future, self.function, self.arguments = future, function, arguments
        self.abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Call the function, on a thread, and keep its result or error for `deliver`."""
        if self.abandoned:
            return
        try:
            self.result = self.function(*self.arguments)
        except Exception as failure:  # noqa: BLE001 - the caller, on another thread, gets it
            self.error = failure
        except BaseException as failure:  # noqa: BLE001 - a panic in Rust, which must end neither thread nor loop
            self.error = RuntimeError(f"{type(failure).__name__} in a catalog")
            self.error.__cause__ = failure

    def deliver(self) -> None:
        """Pass the result or the error to the caller, in the event loop."""
        if self.future.done():  # the caller has given up
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class _Pool:
    """Threads and their queue of calls.

    Short calls are best done by few threads: more of them only compete for the interpreter's lock. So a call first
    waits a moment for the threads that are awake; another one is woken only for calls that still wait then.
    All but `_serve` runs in the event loop. Both sides share only deques, whose operations are atomic, and flags.
    """

    def __init__(self, limits: ThreadLimits) -> None:
        self.limits = limits
        self.pending = 0  # calls that wait or run
        self._most = limits.threads * (1 + _WAITING_FOR_EACH)
        self._started = 0
        self._queue: deque[_Call] = deque()
        self._done: deque[_Call] = deque()
        self._asleep: deque[threading.Semaphore] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_delivery_due = False  # the event loop is about to call `_deliver`
        self._is_watched = False  # `_watch` is scheduled
        self._is_closed = False

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Call:
        if self.pending >= self._most:
            raise self.busy_error(self.pending)
        loop = self._loop = asyncio.get_running_loop()
        call = _Call(loop.create_future(), function, arguments)
        self.pending += 1
        self._queue.append(call)
        # A thread that runs a call counts as awake: it takes the next one by itself, and nothing has to be woken.
        if self._started - len(self._asleep) < _ALWAYS_AWAKE:
            self._wake()
        elif not self._is_watched:
            self._is_watched = True
            loop.call_later(_WAKE_SECONDS, self._watch, len(self._queue))
        return call

    async def wait(self, call: _Call) -> Any:
        timer = call.future.get_loop().call_later(self.limits.deadline, self._give_up, call)
        try:
            return await call.future
        finally:
            timer.cancel()
            # Nothing has begun that no one waits for: a call that is still in the queue is skipped.
            call.abandoned = True

    def busy_error(self, ahead: int) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"The catalog {self.limits.name} is busy: {ahead} requests are ahead. Try again later."
        )

    def late_error(self) -> ServiceUnavailableError:
        return LateCallError(
            f"The catalog {self.limits.name} did not answer within {self.limits.deadline:g} seconds. If the request "
            "changes something, it may still happen: look before you ask again."
        )

    def close(self) -> None:
        self._is_closed = True
        while self._asleep:
            self._asleep.pop().release()

    def _wake(self) -> None:
        """Wake a sleeping thread, or start one if the limit allows."""
        if self._asleep:
            self._asleep.pop().release()
        elif self._started < self.limits.threads:
            self._started += 1
            threading.Thread(target=self._serve, name=f"lanceway-{self.limits.name}", daemon=True).start()

    def _watch(self, before: int) -> None:
        """Wake a thread for each call that still waits, and look again while any does."""
        self._is_watched = bool(self._queue)
        if self._is_watched:
            # No more than were in the queue at the last look: later ones have not waited long enough.
            for _ in range(min(before, len(self._queue))):
                self._wake()
            assert self._loop is not None
            self._loop.call_later(_WAKE_SECONDS, self._watch, len(self._queue))

    def _give_up(self, call: _Call) -> None:
        call.abandoned = True
        if not call.future.done():
            call.future.set_exception(self.late_error())

    def _deliver(self) -> None:
        # Before the loop, not after it: what is done after its last look must ask for a delivery again.
        self._is_delivery_due = False
        while self._done:
            self.pending -= 1
            self._done.popleft().deliver()

    # -- on a thread -----------------------------------------------------------------------------

    def _serve(self) -> None:
        sleep = threading.Semaphore(0)
        while not self._is_closed:
            call = self._next()
            if call is None:
                self._asleep.append(sleep)
                # A call that was queued in between saw this thread awake, and woke none.
                if not self._queue or not self._is_woken(sleep):
                    sleep.acquire()
                continue
            call.run()
            self._done.append(call)
            del call  # its result may be large
            # Waking the loop is the dear part, so all that is done by then is delivered at once. Two threads may both
            # find the flag down; the second delivery then has nothing to do.
            if not self._is_delivery_due:
                self._is_delivery_due = True
                assert self._loop is not None
                with suppress(RuntimeError):  # the loop is closed
                    self._loop.call_soon_threadsafe(self._deliver)

    def _next(self) -> _Call | None:
        try:
            return self._queue.popleft()
        except IndexError:
            return None

    def _is_woken(self, sleep: threading.Semaphore) -> bool:
        """Take this thread off the list of sleeping ones; False if it is off already, and about to be woken."""
        try:
            self._asleep.remove(sleep)
        except ValueError:
            return False
        return True
