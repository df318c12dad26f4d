from __future__ import annotations

import asyncio

import pytest

from lanceway.server.http.timeouts import within


async def at_once() -> str:
    return "here"


async def later(*pauses: float) -> str:
    for pause in pauses:
        await asyncio.sleep(pause)
    return "here"


def test_what_is_there_and_what_is_awaited() -> None:
    assert asyncio.run(within(60, at_once())) == "here"
    assert asyncio.run(within(60, later(0, 0.001, 0.001))) == "here"


def test_what_takes_too_long_is_ended() -> None:
    ended = []

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(True)
            raise

    with pytest.raises(TimeoutError):
        asyncio.run(within(0.01, never()))
    assert ended == [True]


@pytest.mark.parametrize("pauses", [(), (0.001,)])
def test_its_errors_come_out(pauses: tuple[float, ...]) -> None:
    async def failing() -> None:
        await later(*pauses)
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        asyncio.run(within(60, failing()))


def test_a_task_that_is_cancelled_stops_waiting() -> None:
    async def both() -> bool:
        task = asyncio.create_task(within(60, later(60)))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait({task})
        return task.cancelled()

    assert asyncio.run(both())
