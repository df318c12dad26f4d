"""One request and its answer, as the log and the metrics see it."""

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
_SANE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


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
    found: RequestContext = scope[KEY]
    return found


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The caller's id for the request where it is a sane one, else a new one."""
    for name, value in headers:
        if name == _HEADER and _SANE.fullmatch(value):
            return value.decode()
    return f"{getrandbits(128):032x}"  # told apart from others, and no secret
