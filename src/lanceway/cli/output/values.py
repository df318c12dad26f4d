"""Single values as text: short and safe in a terminal, exact in JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST_TEXT = 60
_SHOWN_ITEMS = 4


def cell(value: object) -> str:
    """Return a value in one line for people. Long texts and vectors are shortened."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        return f"<{len(value):,} bytes>"
    if isinstance(value, (list, tuple)):
        return _list(value)
    if isinstance(value, Mapping):
        return shortened("{" + ", ".join(f"{key}: {cell(item)}" for key, item in value.items()) + "}")
    return shortened(printable(_text(value)))


def _list(items: list[object] | tuple[object, ...]) -> str:
    shown = ", ".join(cell(item) for item in items[:_SHOWN_ITEMS])
    more = f", … ({len(items):,})" if len(items) > _SHOWN_ITEMS else ""
    return f"[{shown}{more}]"


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"


def printable(text: str) -> str:
    """Spell control characters out: data must not be able to control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def size(count: float) -> str:
    """Format a number of bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def moment(milliseconds: int) -> str:
    """Format an instant, given in milliseconds since 1970, in UTC."""
    return f"{datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds):%Y-%m-%d %H:%M:%S}Z"


def rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Return a batch's rows as dictionaries."""
    names = batch.schema.names
    columns = [_without_nanoseconds(column).to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _without_nanoseconds(column: pa.Array) -> pa.Array:
    # Python's own times end at microseconds; as text nothing of a nanosecond is lost.
    import pyarrow as pa

    type_ = column.type
    nanoseconds = (pa.types.is_timestamp(type_) or pa.types.is_time64(type_)) and type_.unit == "ns"
    return column.cast(pa.string()) if nanoseconds else column


def to_json(value: object) -> str:
    """Return one value as JSON in one line.

    Bytes are base64, times ISO 8601, decimals strings. NaN and infinity are null.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_jsonable)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, default=_jsonable)


def _jsonable(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return _text(value)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
