"""Limits of an Arrow IPC stream from outside, counted before anything of it unfolds.

A buffer of a batch may be compressed, and some kilobytes become gigabytes. Each one says how long it is unfolded in its
first eight bytes, so the sum is known while the message is still as small as it was sent. Arrow holds a batch whole, so
a batch has a limit of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from lanceway.errors import InvalidInputError

_CONTINUATION = 0xFFFFFFFF
_METADATA_BYTES = 16 * 2**20
# A batch of nulls has no buffers at all, so rows have a limit too, where they take less than a bit each.
_ROWS = 2**24
_BITS = 8
# The kinds of a message's header, and the places of fields in their tables, as Arrow's Message.fbs has them.
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_ROW_COUNT, _BUFFERS, _COMPRESSION = 0, 2, 3
_DICTIONARY_DATA = 1
_BUFFER = struct.Struct("<qq")  # where it begins, and its length


class Readable(Protocol):
    """As much of a file as is read from."""

    def read(self, size: int = -1, /) -> bytes: ...


class UnfoldedSizeError(InvalidInputError):
    """A batch, or all of a body, is larger than allowed once it is unfolded."""

    status = 413


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How many bytes one batch, and all of them together, may have when they are unfolded."""

    batch: int
    body: int


class LimitedStream:
    """A file around another one that holds an IPC stream: it hands on a message once its sizes are known to be fine.

    Raises UnfoldedSizeError from `read`, and InvalidInputError for what is no message.
    """

    closed = False

    def __init__(self, file: Readable, limits: StreamLimits) -> None:
        self._file, self._limits = file, limits
        self._parts: list[bytes] = []  # of the current message, the next one last
        self._unfolded = 0
        self._has_ended = False

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        while size:
            if not self._parts and not self._next_message():
                break
            part = self._parts.pop()
            if 0 <= size < len(part):
                self._parts.append(part[size:])
                part = part[:size]
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Leave the file open: its opener closes it."""

    def _next_message(self) -> bool:
        """Read one message; False at the end of the stream."""
        if self._has_ended:
            return False
        prefix = self._file.read(4)
        if prefix == _CONTINUATION.to_bytes(4, "little"):
            prefix += self._file.read(4)
        length = int.from_bytes(prefix[-4:], "little", signed=True)
        if len(prefix) not in (4, 8) or length == 0:
            # An end, with or without a word about it; what is cut off is for Arrow to refuse.
            self._has_ended = True
            self._parts = [prefix]
            return bool(prefix)
        if not 0 < length <= _METADATA_BYTES:
            raise _broken(f"a message says that its metadata has {length:,} bytes")
        metadata = self._file.read(length)
        body = b""
        if len(metadata) == length:
            body = self._read_body(metadata)
        self._parts = [part for part in (body, metadata, prefix) if part]
        return True

    def _read_body(self, metadata: bytes) -> bytes:
        try:
            message = _Message(metadata)
            self._check(message.body_length)
            body = self._file.read(message.body_length)
            unfolded = sum(message.unfolded(body))
            rows = message.rows
        except (struct.error, IndexError, ValueError) as error:
            raise _broken("a message has no valid metadata") from error
        self._check(unfolded)
        if rows > max(_ROWS, _BITS * unfolded):
            raise UnfoldedSizeError(f"A batch of the Arrow data has {rows:,} rows in {unfolded:,} bytes. Send fewer.")
        self._unfolded += unfolded
        return body

    def _check(self, size: int) -> None:
        if size < 0:
            raise ValueError(size)
        if size > self._limits.batch:
            raise UnfoldedSizeError(
                f"A batch of the Arrow data has {size:,} bytes, unfolded; this server takes {self._limits.batch:,}. "
                "Send smaller batches (max_chunksize of write_table), or raise max_batch_bytes."
            )
        if self._unfolded + size > self._limits.body:
            raise UnfoldedSizeError(
                f"The Arrow data has more than the {self._limits.body:,} bytes, unfolded, that this server takes. Send "
                "it in parts, or raise max_body_bytes."
            )


class _Message:
    """The parts of a message's metadata, a flatbuffer, that say how large it is."""

    def __init__(self, metadata: bytes) -> None:
        self._data = metadata
        root = self._number("<I", 0)
        kind = self._field(root, _HEADER_TYPE, "<B")
        self.body_length = self._field(root, _BODY_LENGTH, "<q")
        self._batch = 0
        if kind in (_RECORD_BATCH, _DICTIONARY_BATCH):
            header = self._reference(root, _HEADER)
            self._batch = header if kind == _RECORD_BATCH else self._reference(header, _DICTIONARY_DATA)
        self.rows = self._field(self._batch, _ROW_COUNT, "<q") if self._batch else 0

    def unfolded(self, body: bytes) -> Iterator[int]:
        """Yield the size of each buffer once it is unfolded."""
        if not self._batch:
            yield len(body)
            return
        is_compressed = bool(self._place(self._batch, _COMPRESSION))
        for start, length in self._buffers():
            if not is_compressed or length == 0:
                yield length
                continue
            size = int.from_bytes(body[start : start + 8], "little", signed=True)
            yield length if size == -1 else size  # -1 says that it is not compressed after all
            if size < -1 or start < 0:
                raise ValueError(size)

    def _buffers(self) -> Iterator[tuple[int, int]]:
        if not self._place(self._batch, _BUFFERS):
            return
        vector = self._reference(self._batch, _BUFFERS)
        count = self._number("<I", vector)
        end = vector + 4 + count * _BUFFER.size
        if end > len(self._data):
            raise ValueError(count)
        for start, length in _BUFFER.iter_unpack(self._data[vector + 4 : end]):
            if length < 0:
                raise ValueError(length)
            yield start, length

    def _number(self, form: str, place: int) -> int:
        if place < 0:
            raise ValueError(place)
        number: int = struct.unpack_from(form, self._data, place)[0]
        return number

    def _place(self, table: int, field: int) -> int:
        """Return where a field of a table stands; 0 for one that is left out."""
        fields = table - self._number("<i", table)
        offset = 4 + 2 * field
        if offset >= self._number("<H", fields):
            return 0
        distance = self._number("<H", fields + offset)
        return table + distance if distance else 0

    def _field(self, table: int, field: int, form: str) -> int:
        place = self._place(table, field)
        return self._number(form, place) if place else 0

    def _reference(self, table: int, field: int) -> int:
        place = self._place(table, field)
        if not place:
            raise ValueError(field)
        return place + self._number("<I", place)


def _broken(reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The data is not a valid Arrow IPC stream: {reason}. Write it with an Arrow IPC stream writer and send it "
        "whole. Nothing was changed."
    )
