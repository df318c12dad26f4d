"""The standard library's reader of answers, made strict: what was cut off must not pass for something short."""

from __future__ import annotations

import io
import socket
from email.errors import FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect
from http.client import HTTPException, HTTPResponse, RemoteDisconnected

_BROKEN_HEAD = (FirstHeaderLineIsContinuationDefect, MissingHeaderBodySeparatorDefect)


class StrictResponse(HTTPResponse):
    """Raises HTTPException where a head, a length or a chunk is not whole."""

    def __init__(self, sock: socket.socket, debuglevel: int = 0, method: str | None = None) -> None:
        super().__init__(sock, debuglevel, method)
        self.fp = _Lines(self.fp.detach())

    def begin(self) -> None:
        super().begin()
        if any(isinstance(defect, _BROKEN_HEAD) for defect in self.headers.defects):
            raise HTTPException("the head of the answer cannot be read")
        lengths = set(self.headers.get_all("content-length", ()))
        if not self.chunked and lengths and (len(lengths) > 1 or not _is_number(lengths.pop())):
            raise HTTPException("the answer does not say how long it is")


class _Lines(io.BufferedReader):
    """Its lines have an end. The standard library takes the end of all bytes for one, and half a head for a head."""

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n") and (size is None or size < 0 or len(line) < size):
            raise RemoteDisconnected("the server closed it in the middle of an answer")
        return line


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
