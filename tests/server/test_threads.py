"""Threads of catalogs: bounded, with a deadline, and of no concern to each other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.server.threads import CatalogThreads, ThreadLimits


def run(test: Callable[[CatalogThreads], Awaitable[None]], threads: int = 2, deadline: float = 30.0) -> None:
    async def all_of_it() -> None:
        work = CatalogThreads(
            ThreadLimits("lake", threads, deadline), {"slow": ThreadLimits("slow", threads, deadline)}
        )
        try:
            await test(work)
        finally:
            await work.close(5)

    asyncio.run(all_of_it())


def test_a_call_is_answered_from_another_thread() -> None:
    async def test(work: CatalogThreads) -> None:
        assert await work.run(None, threading.get_ident) != threading.get_ident()
        assert await work.run("unknown", lambda a, b: a + b, 1, 2) == 3

    run(test)


def test_an_error_is_the_callers() -> None:
    def fail() -> None:
        raise InvalidInputError("no")

    async def test(work: CatalogThreads) -> None:
        with pytest.raises(InvalidInputError):
            await work.run(None, fail)
        assert await work.run(None, int) == 0, "the thread goes on"

    run(test)


def test_as_many_at_once_as_there_are_threads() -> None:
    """All of them meet, though each call waits for the others."""
    together = threading.Barrier(8, timeout=30)

    async def test(work: CatalogThreads) -> None:
        assert sorted(await asyncio.gather(*(work.run(None, together.wait) for _ in range(8)))) == list(range(8))

    run(test, threads=8)


def test_never_more_at_once() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.005)
        with lock:
            running -= 1

    async def test(work: CatalogThreads) -> None:
        await asyncio.gather(*(work.run(None, call) for _ in range(40)))
        assert most == 3

    run(test, threads=3)


def test_every_call_of_many_is_answered() -> None:
    async def test(work: CatalogThreads) -> None:
        async def one(number: int) -> None:
            for step in range(50):
                assert await work.run(None, lambda a, b: (a, b), number, step) == (number, step)

        await asyncio.gather(*(one(number) for number in range(40)))

    run(test, threads=4)


def test_one_that_does_not_answer_is_given_up_and_named() -> None:
    release = threading.Event()

    async def test(work: CatalogThreads) -> None:
        with pytest.raises(ServiceUnavailableError, match=r"slow did not answer within 0\.05"):
            await work.run("slow", release.wait, 30)
        release.set()

    run(test, deadline=0.05)


def test_a_lane_that_is_full_refuses_and_others_do_not_notice() -> None:
    release = threading.Event()

    async def test(work: CatalogThreads) -> None:
        waiting = [asyncio.ensure_future(work.run("slow", release.wait, 60)) for _ in range(34)]
        await asyncio.sleep(0)
        with pytest.raises(ServiceUnavailableError, match="slow is busy"):
            await work.run("slow", int)
        assert await work.run(None, int) == 0
        assert await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_soon(), asyncio.get_running_loop())) is None
        release.set()
        assert all(await asyncio.gather(*waiting))
        assert await work.run("slow", int) == 0, "it serves again"

    run(test)


async def _soon() -> None:
    await asyncio.sleep(0)


def test_a_call_that_nobody_waits_for_is_not_begun() -> None:
    release, begun = threading.Event(), []

    async def test(work: CatalogThreads) -> None:
        blocked = [asyncio.ensure_future(work.run(None, release.wait, 60)) for _ in range(2)]
        late = asyncio.ensure_future(work.run(None, begun.append, 1))
        await asyncio.sleep(0.05)
        late.cancel()
        await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*blocked)
        await work.run(None, int)
        assert begun == []

    run(test)


def test_uploads_have_threads_of_their_own() -> None:
    release = threading.Event()

    async def test(work: CatalogThreads) -> None:
        uploads = [work.upload(None, release.wait, 60) for _ in range(2)]
        assert await work.run(None, int) == 0
        release.set()
        assert all(await asyncio.gather(*uploads))

    run(test)


def test_closing_waits_for_what_runs_but_not_for_ever() -> None:
    release = threading.Event()

    async def test(work: CatalogThreads) -> None:
        task = asyncio.ensure_future(work.run(None, release.wait, 60))
        await asyncio.sleep(0.02)
        await work.close(0.05)
        assert not task.done()
        release.set()
        assert await task

    run(test)
