"""Values as Lance's SQL writes them, for a column of a given type. What a column cannot hold exactly has no literal."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = {"s": ("Second", 1_000_000), "ms": ("Millisecond", 1_000), "us": ("Microsecond", 1)}
_ZONE = re.compile(r"[\w/+:-]+")
_EPOCH = datetime(1970, 1, 1)
_SMALLEST = -(2**63)


def literal(value: Any, type_: pa.DataType) -> str | None:
    """The value in SQL, such that it equals exactly what it equals in Spark; None if there is no such way."""
    for is_kind, write in _writers().items():
        if is_kind(type_):
            return write(value, type_)
    return None


def _writers() -> dict[Callable[[pa.DataType], bool], Callable[[Any, pa.DataType], str | None]]:
    from pyarrow import types

    return {
        types.is_boolean: _boolean,
        types.is_integer: _integer,
        types.is_float32: _floating,
        types.is_float64: _floating,
        types.is_string: _string,
        types.is_large_string: _string,
        types.is_dictionary: lambda value, type_: _string(value, type_) if is_text(type_) else None,
        types.is_binary: _binary,
        types.is_large_binary: _binary,
        types.is_fixed_size_binary: lambda value, type_: (
            _binary(value, type_) if len(value) == type_.byte_width else None
        ),
        types.is_date32: _date,
        types.is_timestamp: _timestamp,
        types.is_decimal128: _decimal,
    }


def is_text(type_: pa.DataType) -> bool:
    """Whether a column of this type holds text, as it is or in a dictionary."""
    from pyarrow import types

    held = type_.value_type if types.is_dictionary(type_) else type_
    return bool(types.is_string(held) or types.is_large_string(held))


def _boolean(value: Any, type_: pa.DataType) -> str | None:
    return str(value).upper() if isinstance(value, bool) else None


def _integer(value: Any, type_: pa.DataType) -> str | None:
    from pyarrow import types

    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value)  # of uint64, which Spark reads as decimals
    if not isinstance(value, int):
        return None
    signed = types.is_signed_integer(type_)
    bits = type_.bit_width - 1 if signed else type_.bit_width
    if not (-(2**bits) if signed else 0) <= value < 2**bits:
        return None
    # Written as a number it would be read as the negative of one that is too large.
    return f"CAST('{value}' AS BIGINT)" if value == _SMALLEST else str(value)


def _floating(value: Any, type_: pa.DataType) -> str | None:
    from pyarrow import types

    if not isinstance(value, int | float) or math.isnan(value):
        return None
    number = float(value)
    if types.is_float32(type_):
        try:
            if struct.unpack("f", struct.pack("f", number))[0] != number:
                return None
        except OverflowError:
            return None
    return f"CAST('{number!r}' AS {'FLOAT' if types.is_float32(type_) else 'DOUBLE'})"


def _string(value: Any, type_: pa.DataType) -> str | None:
    return None if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"


def _binary(value: Any, type_: pa.DataType) -> str | None:
    return f"X'{bytes(value).hex()}'" if isinstance(value, bytes | bytearray) else None


def _date(value: Any, type_: pa.DataType) -> str | None:
    return f"DATE '{value.isoformat()}'" if type(value) is date else None


def _timestamp(value: Any, type_: pa.DataType) -> str | None:
    if not isinstance(value, datetime) or type_.unit not in _UNITS or (type_.tz is None) != (value.tzinfo is None):
        return None  # Spark reads what is finer than a microsecond as something else than Lance compares
    unit, micros = _UNITS[type_.unit]
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    count, rest = divmod((plain - _EPOCH) // timedelta(microseconds=1), micros)
    if rest or (type_.tz is not None and not _ZONE.fullmatch(type_.tz)):
        return None
    zone = "None" if type_.tz is None else f'Some("{type_.tz}")'
    return f"arrow_cast({count}, 'Timestamp({unit}, {zone})')"


def _decimal(value: Any, type_: pa.DataType) -> str | None:
    if not isinstance(value, Decimal) or not value.is_finite() or type_.scale < 0:
        return None
    scaled = value.scaleb(type_.scale) if value else Decimal(0)
    if scaled != scaled.to_integral_value() or abs(scaled) >= 10**type_.precision:
        return None
    return f"CAST('{value:f}' AS DECIMAL({type_.precision}, {type_.scale}))"
