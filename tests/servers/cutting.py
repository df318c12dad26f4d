"""A fake that stands for a bad network in front of several servers, since none shows faults on demand.

It forwards each request to one of the servers by chance, and now and then it breaks off: before the server is asked,
while it works, when its answer has come, and in the middle of that.
"""

from __future__ import annotations

import http.client
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from tests.servers.proxy import Break, Fault, Halve, Lose, Proxy

# What happens to the answer; the connection may also end while the server works.
FAULTS: tuple[Fault, ...] = (Break(), Lose(), Halve())
LEFT = "Leave"


class Cutting(Proxy):
    """About `rate` of the requests meet a fault, of which `cuts` keeps count by kind."""

    def __init__(self, targets: Sequence[str], *, rate: float, seed: int) -> None:
        super().__init__(targets[0])
        self._targets, self._rate, self._chance = targets, rate, random.Random(seed)
        self.cuts: Counter[str] = Counter()

    def take(self, method: str, path: str) -> Fault | None:
        super().take(method, path)
        with self._lock:
            fault = self._chance.choice(FAULTS) if self._chance.random() < self._rate else None
            if fault is not None:
                self.cuts[type(fault).__name__] += 1
            return fault

    def target(self) -> str:
        with self._lock:
            return self._chance.choice(self._targets)

    def forward(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        with self._lock:
            leaves = self._chance.random() < self._rate / len(FAULTS)
            self.cuts[LEFT] += leaves
        if not leaves:
            return super().forward(method, path, headers, body)
        connection = http.client.HTTPConnection(urlsplit(self.target()).netloc, timeout=60)
        connection.request(method, path, body or None, dict(headers))
        connection.close()
        raise ConnectionResetError("The server was asked, and its answer is not waited for.")
