"""Arrow as bytes: the IPC stream and the IPC file, read and written batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from lanceway.errors import InvalidInputError
from lanceway.tables.read.ipc_limits import LimitedStream, StreamLimits

if TYPE_CHECKING:
    import pyarrow as pa

Part = bytes | memoryview

_FILE_MAGIC = b"ARROW1"
_FILE_HEAD = 8  # the magic, and two bytes after which everything starts at a multiple of eight


class BinaryReader(Protocol):
    """As much of a file as is read from."""

    def read(self, size: int = -1, /) -> bytes: ...


def read(data: bytes) -> pa.RecordBatchReader:
    """Return a reader over an Arrow IPC stream (or file). Every batch is checked before it is handed on,
    since pylance trusts what it is given.

    Raises InvalidInputError here or, where the fault comes further on, while it is consumed.
    """
    import pyarrow as pa

    check_bytes(data)
    if not data:
        raise InvalidInputError("The data is empty; an Arrow IPC stream is needed, which holds at least a schema.")
    try:
        if data[: len(_FILE_MAGIC)] == _FILE_MAGIC:
            file = pa.ipc.open_file(pa.BufferReader(data), options=_aligned())
            return checked(file.schema, (file.get_batch(i) for i in range(file.num_record_batches)))
        stream = pa.ipc.open_stream(pa.BufferReader(data), options=_aligned())
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _broken(error) from error
    return checked(stream.schema, stream)


def check_bytes(data: object) -> None:
    """Raise InvalidInputError for data that is not bytes, with the operations that take it."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidInputError(
            f"The bytes of an Arrow IPC stream are needed here, but {type(data).__name__} was given. The operations "
            "that end in _stream, such as create_table_stream, take tables, data frames and readers."
        )


def read_from(file: BinaryReader, limits: StreamLimits | None = None) -> pa.RecordBatchReader:
    """Return a reader over a stream that still arrives: `file` is read batch by batch, in the thread that reads.

    With `limits`, a batch that is too large is refused before it unfolds.

    What `file.read` raises of the contract's errors comes through as it is.
    """
    import pyarrow as pa

    head = file.read(_FILE_HEAD)
    if not head:
        raise InvalidInputError("The data is empty; an Arrow IPC stream is needed, which holds at least a schema.")
    # A file is a stream with a head before it and an index behind, which is not needed to read it in order.
    source = file if head[: len(_FILE_MAGIC)] == _FILE_MAGIC else _Rejoined(head, file)
    if limits is not None:
        source = LimitedStream(source, limits)
    try:
        stream = pa.ipc.open_stream(pa.PythonFile(source, "r"), options=_aligned())
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _broken(error) from error
    return checked(stream.schema, stream)


def _aligned() -> pa.ipc.IpcReadOptions:
    """Align values to their size: a stream aligns to 8 bytes, and pylance panics on a decimal that is not at 16."""
    import pyarrow as pa

    return pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)


class _Rejoined:
    """A file whose first bytes have been read already."""

    closed = False

    def __init__(self, head: bytes, file: BinaryReader) -> None:
        self._head, self._file = head, file

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return self._file.read(size)
        if 0 <= size <= len(self._head):
            part, self._head = self._head[:size], self._head[size:]
            return part
        head, self._head = self._head, b""
        return head + self._file.read(size - len(head) if size >= 0 else -1)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """Leave the file open: its opener closes it."""


def checked(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatchReader:
    """Return a reader that validates each batch that comes from outside."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, _validated(batches))


def _validated(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    try:
        for batch in batches:
            batch.validate(full=True)
            yield batch
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _broken(error) from error


def _broken(error: BaseException) -> InvalidInputError:
    return InvalidInputError(
        f"The data is not a valid Arrow IPC stream: {str(error).rstrip('.')}. Write it with an Arrow IPC stream writer "
        "and send it whole. Nothing was changed."
    )


def write_file(reader: pa.RecordBatchReader) -> bytes:
    """Return the whole answer as an Arrow IPC file."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def stream_chunks(reader: pa.RecordBatchReader, file_format: bool) -> Iterator[bytes]:
    """Return the bytes of an IPC stream or file, batch by batch; never more than one batch is held."""
    return (b"".join(parts) for parts in stream_parts(reader, file_format))


def stream_parts(reader: pa.RecordBatchReader, file_format: bool) -> Iterator[list[Part]]:
    """Yield the parts that each batch of an IPC stream is written in.

    Its values are not copied: they are the batch's own memory.
    """
    import pyarrow as pa

    sink = _Parts()
    make = pa.ipc.new_file if file_format else pa.ipc.new_stream
    with make(pa.PythonFile(sink, "w"), reader.schema) as writer:
        yield sink.take()
        for batch in reader:
            writer.write_batch(batch)
            yield sink.take()
    yield sink.take()


class _Parts:
    """A file that forgets what was taken from it."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._position = 0

    def write(self, data: Part | pa.Buffer) -> int:
        # What is no bytes is a buffer of the batch, which never changes.
        part = data if isinstance(data, bytes) else memoryview(data)
        self._parts.append(part)
        self._position += len(part)
        return len(part)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        """Do nothing: no bytes are buffered."""

    def close(self) -> None:
        """Do nothing: the last bytes are still to be read."""

    def take(self) -> list[Part]:
        parts, self._parts = self._parts, []
        return parts
