"""Awaiting what is mostly there already: a timer is set only for what has to wait."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from functools import partial
from typing import Any, TypeVar

Answer = TypeVar("Answer")


async def within(seconds: float, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """What the coroutine answers. Raises TimeoutError, as `asyncio.timeout` does.

    A timer costs more than most of what a server reads, which has arrived before anybody asks for it.
    """
    try:
        awaited = coroutine.send(None)
    except StopIteration as done:
        answer: Answer = done.value
        return answer
    async with asyncio.timeout(seconds):
        rest: Answer = await _continued(coroutine, awaited)
        return rest


@types.coroutine
def _continued(coroutine: Coroutine[Any, Any, Any], awaited: Any) -> Generator[Any, Any, Any]:
    """The rest of a coroutine that has begun to wait; what is sent or thrown goes to it."""
    while True:
        try:
            step = partial(coroutine.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001 - it is the coroutine's own, and comes out of it again
            step = partial(coroutine.throw, error)
        try:
            awaited = step()
        except StopIteration as done:
            return done.value
