"""Arrow over HTTP: rows are sent batch by batch, and the result of a query is read as it arrives.

The result is an Arrow IPC file: a magic word, padding, an IPC stream, a footer. It is read from its front, without
holding all of it; a missing footer shows that it was cut off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from lanceway.errors import InternalError, InvalidInputError
from lanceway.tables.errors import FOREIGN, cleaned
from lanceway.tables.read import ipc
from lanceway.wire.http import Download

if TYPE_CHECKING:
    import pyarrow as pa

_MAGIC = b"ARROW1"
_WORD = 8
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
# The footer's length and the magic word.
_TRAILER = 4 + len(_MAGIC)


class ArrowUpload:
    """Rows to be sent once: an IPC stream of which one batch at a time is in memory."""

    def __init__(self, what: str, reader: pa.RecordBatchReader) -> None:
        self.started = False
        self._what, self._reader = what, reader

    def __iter__(self) -> Iterator[bytes]:
        self.started = True
        try:
            yield from ipc.stream_chunks(self._reader, file_format=False)
        except FOREIGN as error:
            raise InvalidInputError(
                f"{self._what} failed: its data could not be read to the end: {cleaned(str(error))}. "
                "Nothing was changed."
            ) from error


def body(what: str, data: bytes) -> bytes | ArrowUpload:
    """Return the contract's bytes as they are sent: an IPC stream as it is, an IPC file as a stream."""
    ipc.check_bytes(data)
    return ArrowUpload(what, ipc.read(data)) if data.startswith(_MAGIC) else data


def whole(what: str, content: bytes) -> bytes:
    """Return the complete result of a query as an IPC file. Raises InternalError where it is none."""
    import pyarrow as pa

    try:
        if content.startswith(_MAGIC):
            pa.ipc.open_file(pa.BufferReader(content))
            return content
        return ipc.write_file(pa.ipc.open_stream(pa.BufferReader(content)))
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _broken(what, str(error)) from error


def reader(download: Download) -> pa.RecordBatchReader:
    """Return the result of a query as it arrives. Every batch is validated, since pylance does not.

    Raises InternalError here or, where a later part is broken, while it is consumed.
    """
    import pyarrow as pa

    source = _Source(iter(download))
    with ExitStack() as failed:
        failed.callback(download.close)
        try:
            is_file = _skip_magic(source)
            stream = pa.ipc.open_stream(pa.PythonFile(source, "r"))
        except (pa.ArrowException, OSError, EOFError) as error:
            raise _broken(download.what, str(error)) from error
        failed.pop_all()
    return pa.RecordBatchReader.from_batches(stream.schema, _batches(download, source, stream, is_file))


def _batches(
    download: Download, source: _Source, stream: pa.RecordBatchReader, is_file: bool
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for batch in stream:
            batch.validate(full=True)
            yield batch
        _check_end(download.what, source, is_file)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _broken(download.what, str(error)) from error
    finally:
        download.close()


def _skip_magic(source: _Source) -> bool:
    """Skip the magic word of an IPC file and its padding. Return whether there was one."""
    first = source.read(_WORD)
    if not first.startswith(_MAGIC):
        source.put_back(first)
        return False
    # Arrow pads the magic word to 8 bytes, arrow-rs to 64.
    while (word := source.read(_WORD)) and not any(word):
        pass
    source.put_back(word)
    return True


def _check_end(what: str, source: _Source, is_file: bool) -> None:
    """Refuse a result without its end: pyarrow takes the end of the bytes for the end of the stream."""
    if not is_file:
        if source.last != _END_OF_STREAM:
            raise _broken(what, "it has no end")
        return
    length, tail = 0, b""
    while part := source.read(64 * 1024):
        length, tail = length + len(part), (tail + part)[-_TRAILER:]
    footer = int.from_bytes(tail[:4], "little")
    if len(tail) < _TRAILER or tail[4:] != _MAGIC or footer != length - _TRAILER:
        raise _broken(what, "its footer is missing")


def _broken(what: str, reason: str) -> InternalError:
    return InternalError(f"{what}: the answer is not a whole Arrow IPC file ({reason.rstrip('.')}). Ask again.")


class _Source:
    """A body as a file that pyarrow reads from front to end."""

    closed = False

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._pushed_back: list[bytes] = []
        self.last = b""  # the last word that was read

    def put_back(self, data: bytes) -> None:
        if data:
            self._pushed_back.insert(0, data)

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        missing = size
        while missing != 0:
            part = self._pushed_back.pop(0) if self._pushed_back else next(self._chunks, b"")
            if not part:
                break
            if 0 < missing < len(part):
                self.put_back(part[missing:])
                part = part[:missing]
            parts.append(part)
            missing -= len(part) if missing > 0 else 0
        data = b"".join(parts)
        self.last = (self.last + data[-_WORD:])[-_WORD:]
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: the caller closes the download."""
