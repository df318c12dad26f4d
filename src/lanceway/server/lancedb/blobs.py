"""Blobs for LanceDB's client: whole ones as rows, and parts of one by ranges of bytes."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import Send

from lanceway.errors import InvalidInputError
from lanceway.server.http import downloads
from lanceway.server.lance.answers import EncodedAnswer, send_answer
from lanceway.server.lancedb.calls import LanceDbCall
from lanceway.tables.dataset import StoredTable
from lanceway.tables.read import blobs

if TYPE_CHECKING:
    from lance import BlobFile

_READ = "query_table"
_PIECE_BYTES = 2 * 2**20
_NUMBER = re.compile(r"[0-9]{1,20}")
_RANGE = re.compile(rb"bytes=([0-9]{1,18})-([0-9]{0,18})")
_TYPE = (b"content-type", b"application/octet-stream")


def begin_fetch(call: LanceDbCall) -> downloads.DownloadStream:
    """Begin an answer with the blobs of some rows."""
    rows, version = call.body.get("row_ids"), call.body.get("version")
    if not isinstance(rows, list):
        raise InvalidInputError("The body needs row_ids, a list of whole numbers.")
    if version is not None and type(version) is not int:
        raise InvalidInputError("The version must be a whole number.")
    table, column = call.guard.stored_table(call.id, _READ), call.text("column")
    files, _ = blobs.open_blobs(table, column, rows, version=version, branch=call.branch)
    return downloads.begin(blobs.read(table, column, files))


@dataclass(frozen=True, slots=True)
class BlobRange:
    """The bytes from `start` up to `end` of a blob of `size` bytes; of a null there is no file."""

    table: StoredTable
    file: BlobFile | None
    size: int
    start: int
    end: int
    version: int

    @classmethod
    def find(cls, call: LanceDbCall) -> BlobRange:
        row, version = call.names["row"], call.query.get("version")
        if not _NUMBER.fullmatch(row) or (version is not None and not _NUMBER.fullmatch(version)):
            raise InvalidInputError("The row id and the version must be whole numbers.")
        table = call.guard.stored_table(call.id, _READ)
        number = None if version is None else int(version)
        (file,), of = blobs.open_blobs(table, call.names["column"], [int(row)], version=number, branch=call.branch)
        size = 0 if file is None else int(file.size())
        match = _RANGE.fullmatch(call.headers.get(b"range", b"bytes=0-"))
        if match is None:
            raise InvalidInputError("The header Range must be bytes=FIRST-LAST or bytes=FIRST-, one range alone.")
        end = min(int(match[2]) + 1, size) if match[2] else size
        return cls(table, file, size, int(match[1]), end, of)

    async def send(self, run: Callable[..., Awaitable[bytes]], send: Send) -> None:
        """Send the bytes piece by piece; each is read when the one before has been sent."""
        # The client reads the rest from the version that the first answer names.
        version = (b"x-lancedb-version", str(self.version).encode())
        if self.file is None:
            await send_answer(send, EncodedAnswer(204, b"", [version]))
            return
        if self.start >= self.end:
            nothing = (b"content-range", f"bytes */{self.size}".encode())
            await send_answer(send, EncodedAnswer(416, b"", [nothing, version]))
            return
        part = (b"content-range", f"bytes {self.start}-{self.end - 1}/{self.size}".encode())
        headers = [_TYPE, (b"content-length", str(self.end - self.start).encode()), part, version]
        await send({"type": "http.response.start", "status": 206, "headers": headers})
        for place in range(self.start, self.end, _PIECE_BYTES):
            length = min(_PIECE_BYTES, self.end - place)
            piece = await run(partial(blobs.read_range, self.table, self.file, place, length))
            await send({"type": "http.response.body", "body": piece, "more_body": place + length < self.end})
