"""Rows of an answer: an Arrow IPC file, sent while it is made, or a bounded number of rows as JSON.

The first rows are computed before the status is sent, so that an error still has its own status. One that comes later
cuts the connection, so that no client takes half an answer for a complete one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import Receive, Send

from lanceway.errors import InvalidInputError
from lanceway.server.lance.answers import JSON, EncodedAnswer, Header, send_answer
from lanceway.server.threads import CatalogThreads
from lanceway.tables.read import ipc
from lanceway.tables.read.ipc import Part
from lanceway.tables.schema import arrow_json
from lanceway.wire import lance

if TYPE_CHECKING:
    import pyarrow as pa

# An answer up to this size is sent with its length; a longer one in chunks, while it is made.
WHOLE_ANSWER_BYTES = 256 * 2**10
# A thread hands so much of a longer one to the event loop at a time, or what there is after so many seconds.
HAND_OVER_BYTES = 2**20
HAND_OVER_SECONDS = 0.05
# The network gets pieces of this size.
PIECE_BYTES = 256 * 2**10
# Rows as JSON are for people and browsers.
JSON_ROWS = 10_000
JSON_ROWS_BYTES = 16 * 2**20

ARROW = (b"content-type", lance.ARROW_FILE.encode())
# Clients generated from the protocol's description accept JSON here, but mean it for errors alone.
_GENERATED = b"OpenAPI-Generator"


def wants_json(headers: Iterable[Header]) -> bool:
    """Return whether the client accepts rows as JSON and as nothing else."""
    accepted, agent = b"", b""
    for name, value in headers:
        if name == b"accept":
            accepted = value.lower()
        elif name == b"user-agent":
            agent = value
    return lance.JSON.encode() in accepted and b"arrow" not in accepted and not agent.startswith(_GENERATED)


# -- Arrow ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class DownloadStream:
    """An answer that has begun: its first parts, and an iterator that makes the others."""

    first: list[Part]
    remaining: Iterator[list[Part]]
    is_complete: bool


def begin(reader: pa.RecordBatchReader) -> DownloadStream:
    """Make the first parts of an answer, up to a size that is worth a packet of its own."""
    batches = ipc.stream_parts(reader, file_format=True)
    parts = next(batches)  # the schema alone
    length = _length(parts)
    for batch in batches:
        parts += batch
        length += _length(batch)
        if length >= WHOLE_ANSWER_BYTES:
            return DownloadStream(_pieces(parts), _group(batches), is_complete=False)
    return DownloadStream(parts, iter(()), is_complete=True)


def _group(batches: Iterable[list[Part]]) -> Iterator[list[Part]]:
    """Group small batches, since handing one to the event loop costs as much as making it; none waits long."""
    parts: list[Part] = []
    length, latest = 0, time.monotonic() + HAND_OVER_SECONDS
    for batch in batches:
        parts += batch
        length += _length(batch)
        if length >= HAND_OVER_BYTES or time.monotonic() > latest:
            yield _pieces(parts)
            parts, length, latest = [], 0, time.monotonic() + HAND_OVER_SECONDS
    yield _pieces(parts)


def _pieces(parts: Iterable[Part]) -> list[Part]:
    """Join small parts, and cut large ones into pieces that fit into a processor's cache."""
    pieces: list[Part] = []
    small: list[Part] = []
    length = 0  # of the small ones
    for part in parts:
        is_large = len(part) >= PIECE_BYTES
        if not is_large:
            small.append(part)
            length += len(part)
        if small and (is_large or length >= PIECE_BYTES):
            pieces.append(b"".join(small))
            small, length = [], 0
        if is_large:
            pieces += (part[start : start + PIECE_BYTES] for start in range(0, len(part), PIECE_BYTES))
    return [*pieces, b"".join(small)] if small else pieces


def _length(parts: list[Part]) -> int:
    return sum(map(len, parts))


async def send_rows(
    stream: DownloadStream, threads: CatalogThreads, mount: str | None, receive: Receive, send: Send
) -> None:
    """Send an answer batch by batch, as fast as the client reads, until it is complete or the client has gone."""
    if stream.is_complete:
        await send_answer(send, EncodedAnswer(200, b"".join(stream.first), [ARROW]))
        return
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [ARROW]})
        pieces: list[Part] | None = stream.first
        while pieces is not None and not gone.done():
            # The next batch is read while this one is on its way.
            ahead = asyncio.ensure_future(threads.run(mount, next, stream.remaining, None))
            try:
                await _send_pieces(send, pieces, gone)
                pieces = await ahead
            finally:
                ahead.cancel()
        if pieces is None:
            await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _send_pieces(send: Send, pieces: list[Part], gone: asyncio.Future[None]) -> None:
    for piece in pieces:
        if gone.done():
            return
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        """Nothing but a disconnect can follow: the body has been read."""


# -- JSON ----------------------------------------------------------------------------------------


def as_json(reader: pa.RecordBatchReader) -> EncodedAnswer:
    """Encode all rows with their schema. Raises InvalidInputError if they are too many."""
    rows: list[bytes] = []
    size = 0
    for batch in reader:
        if len(rows) + batch.num_rows > JSON_ROWS:
            raise _too_many()
        for row in _rows(batch):
            rows.append(msgspec.json.encode(row, enc_hook=str))
            size += len(rows[-1])
            if size > JSON_ROWS_BYTES:
                raise _too_many()
    schema = arrow_json.schema(reader.schema).to_dict()
    return EncodedAnswer(200, b'{"schema":%b,"rows":[%b]}' % (msgspec.json.encode(schema), b",".join(rows)), [JSON])


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    names = batch.schema.names
    try:
        columns = [_without_nanoseconds(column).to_pylist() for column in batch.columns]
    except (ValueError, OverflowError) as error:  # a moment that Python's own types cannot hold
        raise InvalidInputError(
            "The rows hold values that JSON cannot be given exactly. Ask for Arrow, or for other columns."
        ) from error
    return (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))


def _without_nanoseconds(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    type_ = column.type
    nanoseconds = (pa.types.is_timestamp(type_) or pa.types.is_time64(type_)) and type_.unit == "ns"
    return column.cast(pa.string()) if nanoseconds else column


def _too_many() -> InvalidInputError:
    return InvalidInputError(
        f"The answer is too large for JSON, which holds at most {JSON_ROWS:,} rows and {JSON_ROWS_BYTES >> 20} MiB. "
        "Ask for fewer rows with k, for fewer columns, or for Arrow."
    )
