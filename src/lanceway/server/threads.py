"""Where synchronous catalogs work: threads for each mounted one, so that none can make another wait.

The event loop hands a call over and goes on. A lane has as many threads as its catalog is allowed; behind
them a bounded number of calls waits. What comes beyond that, or takes longer than the deadline, is
answered with ServiceUnavailableError (17) that names the catalog, while other lanes are not touched.

Python cannot end a thread, so a call that outlives its deadline keeps its thread until it returns.
The threads are daemons: a catalog that never answers does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from lanceway.errors import ServiceUnavailableError

Answer = TypeVar("Answer")

# Calls that may wait for each thread of a lane.
_WAITING_FOR_EACH = 16
# Threads that take a call at once, and how long another call waits for one of them (seconds).
_EAGER = 2
_PATIENCE = 0.002


@dataclass(frozen=True, slots=True)
class ThreadLane:
    """How much of the server one catalog may take."""

    name: str
    threads: int
    deadline: float  # seconds


class CatalogThreads:
    """The lanes of all mounted catalogs. What has no lane of its own shares the one called None.

    Used from one event loop. Uploads have threads of their own in each lane: a client that sends slowly holds
    one all the while, and must not keep others from asking.
    """

    def __init__(self, shared: ThreadLane, mounts: Mapping[str, ThreadLane]) -> None:
        lanes: list[tuple[str | None, ThreadLane]] = [(None, shared), *mounts.items()]
        self._calls = {name: _Threads(lane) for name, lane in lanes}
        self._uploads = {name: _Threads(lane) for name, lane in lanes}

    def deadline(self, mount: str | None) -> float:
        return self._of(self._calls, mount).lane.deadline

    async def run(self, mount: str | None, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """What `function` answers, on a thread of the mount's and before its deadline."""
        threads = self._of(self._calls, mount)
        job = threads.submit(function, arguments)
        return await threads.wait(job)  # type: ignore[no-any-return]

    def upload(self, mount: str | None, function: Callable[..., Answer], *arguments: Any) -> asyncio.Future[Answer]:
        """The same for a call that reads what a client sends. The caller watches its time."""
        return self._of(self._uploads, mount).submit(function, arguments).answer

    def late(self, mount: str | None) -> ServiceUnavailableError:
        return self._of(self._calls, mount).late()

    async def close(self, seconds: float) -> None:
        """Wait for the calls that run, but not longer than that."""
        everything = [*self._calls.values(), *self._uploads.values()]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(threads.taken for threads in everything):
                    await asyncio.sleep(0.02)
        for threads in everything:
            threads.close()

    @staticmethod
    def _of(threads: dict[str | None, _Threads], mount: str | None) -> _Threads:
        return threads.get(mount) or threads[None]


class _Job:
    __slots__ = ("abandoned", "answer", "arguments", "error", "function", "result")

    def __init__(self, answer: asyncio.Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.answer, self.function, self.arguments = answer, function, arguments
        self.abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """On a thread."""
        if self.abandoned:
            return
        try:
            self.result = self.function(*self.arguments)
        except Exception as failure:  # noqa: BLE001 - it belongs to whoever asked, who is on another thread
            self.error = failure
        except BaseException as failure:  # noqa: BLE001 - a panic in Rust, which must end neither thread nor loop
            self.error = RuntimeError(f"{type(failure).__name__} in a catalog")
            self.error.__cause__ = failure

    def deliver(self) -> None:
        """In the event loop."""
        if self.answer.done():  # whoever asked has given up
            return
        if self.error is None:
            self.answer.set_result(self.result)
        else:
            self.answer.set_exception(self.error)


class _Threads:
    """A few threads and what they have to do.

    Short calls are best done by few threads: more of them only take the interpreter's lock from each other. So a
    call first waits a moment for the eager ones; another thread is woken only for what still waits then.
    All but `_serve` runs in the event loop. What both sides touch are queues, whose steps are atomic.
    """

    def __init__(self, lane: ThreadLane) -> None:
        self.lane = lane
        self.taken = 0  # calls that wait or run
        self._most = lane.threads * (1 + _WAITING_FOR_EACH)
        self._started = 0
        self._jobs: deque[_Job] = deque()
        self._done: deque[_Job] = deque()
        self._asleep: deque[threading.Semaphore] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_told = False  # the event loop knows that something is done
        self._is_watched = False  # somebody looks after calls that wait
        self._is_closed = False

    def submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> _Job:
        if self.taken >= self._most:
            raise ServiceUnavailableError(
                f"The catalog {self.lane.name} is busy: {self.taken} requests are ahead. Try again later."
            )
        loop = self._loop = asyncio.get_running_loop()
        job = _Job(loop.create_future(), function, arguments)
        self.taken += 1
        self._jobs.append(job)
        if self._started - len(self._asleep) < _EAGER:
            self._engage()
        elif not self._is_watched:
            self._is_watched = True
            loop.call_later(_PATIENCE, self._watch, len(self._jobs))
        return job

    async def wait(self, job: _Job) -> Any:
        timer = job.answer.get_loop().call_later(self.lane.deadline, self._give_up, job)
        try:
            return await job.answer
        finally:
            timer.cancel()
            job.abandoned = True

    def late(self) -> ServiceUnavailableError:
        return ServiceUnavailableError(
            f"The catalog {self.lane.name} did not answer within {self.lane.deadline:g} seconds. If something was to "
            "be changed, it may still happen: look before you ask again."
        )

    def close(self) -> None:
        self._is_closed = True
        while self._asleep:
            self._asleep.pop().release()

    def _engage(self) -> None:
        """Have one more thread at work, if there may be one more."""
        if self._asleep:
            self._asleep.pop().release()
        elif self._started < self.lane.threads:
            self._started += 1
            threading.Thread(target=self._serve, name=f"lanceway-{self.lane.name}", daemon=True).start()

    def _watch(self, before: int) -> None:
        """Look after what still waits, as long as anything does: a thread for each call that nobody has taken."""
        self._is_watched = bool(self._jobs)
        if self._is_watched:
            for _ in range(min(before, len(self._jobs))):
                self._engage()
            assert self._loop is not None
            self._loop.call_later(_PATIENCE, self._watch, len(self._jobs))

    def _give_up(self, job: _Job) -> None:
        job.abandoned = True
        if not job.answer.done():
            job.answer.set_exception(self.late())

    def _deliver(self) -> None:
        self._is_told = False
        while self._done:
            self.taken -= 1
            self._done.popleft().deliver()

    # -- on a thread -----------------------------------------------------------------------------

    def _serve(self) -> None:
        sleep = threading.Semaphore(0)
        while not self._is_closed:
            job = self._next()
            if job is None:
                self._asleep.append(sleep)
                # What came in between saw a thread at work, and woke none.
                if not self._jobs or not self._is_woken(sleep):
                    sleep.acquire()
                continue
            job.run()
            self._done.append(job)
            del job  # its answer may be large
            if not self._is_told:
                self._is_told = True
                assert self._loop is not None
                with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                    self._loop.call_soon_threadsafe(self._deliver)

    def _next(self) -> _Job | None:
        try:
            return self._jobs.popleft()
        except IndexError:
            return None

    def _is_woken(self, sleep: threading.Semaphore) -> bool:
        """Whether this thread could take itself off the list of those that sleep; else it is about to be woken."""
        try:
            self._asleep.remove(sleep)
        except ValueError:
            return False
        return True
