"""When a request is sent again, and after how long.

A read may be sent again whenever that may help. A change is sent again only if it surely never left: an
answer that is missing, or one that asks for patience (429, 503), does not say that nothing was done. A server
that runs out of time, or whose storage is throttled in the middle, answers so too.
"""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, stop_after_delay
from tenacity.wait import wait_base, wait_random_exponential

from lanceway.wire.errors import AttemptFailed

Result = TypeVar("Result")

PATIENCE = frozenset({408, 429, 502, 503, 504})
# A server that asks for more than this is not waited for: its error is the answer.
LONGEST_WAIT = 30.0
_FIRST_WAIT, _LATER_WAIT = 0.2, 10.0


class Repeat(Enum):
    """Which failures a request is repeated after."""

    SAFE = "a read: after whatever may pass"
    UNSENT = "a change: only if it surely did not leave"


def run(attempt: Callable[[], Result], repeat: Repeat, retries: int, seconds: float) -> Result:
    """Return the result of `attempt`, with up to `retries` more attempts as long as `seconds` have not passed.

    Raises the error of the last attempt.
    """
    began = time.monotonic()
    try:
        return attempt()  # mostly that is all: what follows takes longer than a request
    except AttemptFailed as failed:
        ended = [failed]

    def counted() -> Result:
        """End as the first attempt did, then make others."""
        if ended:
            raise ended.pop()
        return attempt()

    attempts = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, AttemptFailed) and may_repeat(error, repeat)),
        stop=stop_after_attempt(retries + 1) | stop_after_delay(seconds - (time.monotonic() - began)),
        wait=_Wait(),
        reraise=True,
    )
    try:
        return attempts(counted)
    except AttemptFailed as failed:
        raise failed.error from failed.__cause__


def may_repeat(failed: AttemptFailed, repeat: Repeat) -> bool:
    if failed.after is not None and failed.after > LONGEST_WAIT:
        return False
    if not failed.arrived:
        return failed.status is None
    return repeat is Repeat.SAFE and (failed.status is None or failed.status in PATIENCE)


class _Wait(wait_base):
    """What the server asks for, else exponentially longer; with jitter, so that clients do not all come at once."""

    _growing = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LATER_WAIT)

    def __call__(self, retry_state: RetryCallState) -> float:
        failed = retry_state.outcome.exception() if retry_state.outcome else None
        if isinstance(failed, AttemptFailed) and failed.after is not None:
            return failed.after + random.uniform(0, _FIRST_WAIT)
        return self._growing(retry_state)


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as a date.

    None if it says nothing readable.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:  # "-0000": a time of nowhere in particular, which HTTP means as UTC
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
