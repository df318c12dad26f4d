"""HTTP/1.1 as uvicorn speaks it, with the head of an answer and its body sent together.

uvicorn writes them one after the other, and uvloop gives each to the network at once: two packets for every short
answer, and two wake-ups of whoever reads it. That is a good part of what such an answer costs.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# What is larger is worth a packet of its own, and not worth a copy.
_SMALL = 16 * 2**10


class Protocol(HttpToolsProtocol):
    """What `uvicorn.Config` takes as `http`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(CoalescingTransport(transport, self.loop))


class CoalescingTransport(asyncio.Transport):
    """A transport that keeps a small write for the one that follows, until the event loop's next turn at most."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._held = b""
        self._is_awaited = False  # the loop will look whether anything is left

    def write(self, data: Any) -> None:
        if len(data) >= _SMALL:
            self._flush()
            self._transport.write(data)
        elif self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        else:
            self._held = data
            if not self._is_awaited:
                self._is_awaited = True
                self._loop.call_soon(self._turn_ends)

    def _turn_ends(self) -> None:
        self._is_awaited = False
        self._flush()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._held = b""
        self._transport.abort()

    # -- as the transport has it -----------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._transport.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._transport.get_protocol()

    def is_reading(self) -> bool:
        return self._transport.is_reading()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._transport.resume_reading()
