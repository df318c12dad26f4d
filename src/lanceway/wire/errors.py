"""Errors of HTTP exchanges that fail before a response can be read, and which of them are tried again.

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

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, ServiceUnavailableError

_LONGEST = 200  # characters of what the system or a server says


class Reason(Enum):
    """Why an exchange broke off. `{0}` is the server's address, `{1}` what the system said, `{2}` a setting."""

    BUSY = "all connections to {0} are in use, and none came free in time."
    FAR = "{0} cannot be reached in time. Is it up, and the address right? The setting {2} says how long to wait."
    UNREACHABLE = "{0} cannot be reached{1}. Is the address right, and the server up?"
    SILENT = "{0} did not answer in time. The setting {2} says how long to wait."
    CUT = "the connection to {0} broke off{1}."
    UNWRITABLE = "HTTP has no way to write it."
    COMPRESSED = "the answer of {0} is compressed and cannot be read."


# The request had no connection to travel on. All others may have arrived, as far as a client can tell.
_UNSENT = frozenset({Reason.BUSY, Reason.FAR, Reason.UNREACHABLE, Reason.UNWRITABLE})


class TransportError(Exception):
    """An exchange that broke off. It never leaves a client: `attempt_failed` makes an error of the contract of it."""

    def __init__(self, reason: Reason, said: str = "", setting: str = "timeout") -> None:
        """`setting`: what the user has set, or may set, to wait longer."""
        self.reason, self.said, self.setting = reason, f" ({said})" if said else "", setting
        super().__init__(self.message("the server"))

    def message(self, uri: str) -> str:
        return self.reason.value.format(uri, self.said, self.setting)


class AttemptFailed(Exception):  # noqa: N818 - never leaves a client: what it raises is `error`
    """One attempt that failed: the error it ends in, and what decides whether there is another."""

    def __init__(
        self, error: LanceNamespaceError, *, arrived: bool, status: int | None = None, after: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.arrived = arrived  # whether the server may have carried the request out
        self.status = status  # None where no answer came
        self.after = after  # how many seconds the server asks to wait


def unreached(error: Exception) -> TransportError:
    """Return the reason of an exchange for which there was no connection."""
    origin = _origin(error)
    if isinstance(origin, TimeoutError):
        return TransportError(Reason.FAR, setting="connect_timeout")
    return TransportError(Reason.UNREACHABLE, _said(origin))


def broken(error: Exception, setting: str) -> TransportError:
    """Return the reason of an exchange whose connection broke, or was silent for longer than the setting says."""
    origin = _origin(error)
    if isinstance(origin, TimeoutError):
        return TransportError(Reason.SILENT, setting=setting)
    return TransportError(Reason.CUT, _said(origin))


def attempt_failed(what: str, uri: str, error: TransportError, *, changes: bool) -> AttemptFailed:
    """Return the error of an exchange that broke off. `changes`: the request was to change something."""
    reason, arrived = error.reason, error.reason not in _UNSENT
    text = error.message(uri)
    if reason is Reason.UNWRITABLE:
        return AttemptFailed(InvalidInputError(f"{what} cannot be sent to {uri}: {text}"), arrived=False, status=0)
    if reason is Reason.COMPRESSED:
        return AttemptFailed(InternalError(f"{what}: {text}"), arrived=True)
    doubt = " It is not known whether it was carried out: look before asking again." if arrived and changes else ""
    return AttemptFailed(ServiceUnavailableError(f"{what} failed: {text}{doubt}"), arrived=arrived)


def _origin(error: BaseException) -> BaseException:
    """Return the system's own error, which urllib3 wraps as a cause or as the last argument."""
    inner = error.args[-1] if error.args and isinstance(error.args[-1], BaseException) else error.__cause__
    return error if inner is None else _origin(inner)


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:_LONGEST].rstrip(".")


Result = TypeVar("Result")

PATIENCE = frozenset({408, 429, 502, 503, 504})
# The server itself has ended the request. The others may be a gateway's, behind which it goes on.
_NO_TIME = frozenset({429, 503})
# A server that asks for more than this is not waited for: its error is the answer.
LONGEST_WAIT = 30.0
_FIRST_WAIT, _LATER_WAIT = 0.2, 10.0


class Repeat(Enum):
    """Which failures a request is repeated after."""

    SAFE = "a read: after whatever may pass"
    UNSENT = "a change: only if it surely did not leave"
    REFUSED = "a change that is known again: also if its server answered that it had no time for it"


def run(attempt: Callable[[], Result], repeat: Repeat, retries: int, seconds: float) -> Result:
    """Return the result of `attempt`, with up to `retries` more attempts. Raises the error of the last one.

    `seconds` is the share of one attempt: none begins after all the shares have passed, pauses included, and one that
    takes its whole share leaves the others theirs.
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
        stop=stop_after_attempt(retries + 1) | stop_after_delay((retries + 1) * seconds - (time.monotonic() - began)),
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
    if repeat is Repeat.REFUSED:
        return failed.status in _NO_TIME
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
