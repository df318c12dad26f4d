"""One request and its answer, as the log and the metrics record it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any

from lanceway.wire.lance import REQUEST_ID

KEY = "lanceway.exchange"  # in an ASGI scope
_HEADER = REQUEST_ID.encode()
# What a caller may choose: it stands in log lines and headers.
_SAFE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


@dataclass(slots=True)
class RequestContext:
    request_id: str
    operation: str = "unknown"
    user: str | None = None
    status: int = 0
    sent: int = 0  # bytes
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


def of(scope: Any) -> RequestContext:
    context: RequestContext = scope[KEY]
    return context


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the caller's id for the request if it is a safe one, else a new one."""
    for name, value in headers:
        if name == _HEADER and _SAFE.fullmatch(value):
            return value.decode()
    return f"{getrandbits(128):032x}"  # unique, but not a secret
