"""The types that both Lance and Parquet hold, with edge values of each, and these values as literals of Spark SQL."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from tests.spark.read.edge_values import FINE, INF, MOMENTS, NAN, NEAR, TEXTS, array, integers


@dataclass(frozen=True)
class Type:
    """A type of a column: in Lance and in Parquet as Python writes them, in Spark as SQL does; and its values."""

    lance: str
    spark: str
    values: tuple[Any, ...]
    parquet: str | None = None

    @property
    def lance_type(self) -> pa.DataType:
        return eval(self.lance, {"pa": pa})

    @property
    def parquet_type(self) -> pa.DataType:
        return eval(self.parquet or self.lance, {"pa": pa})

    def value(self, random: Random) -> Any:
        return None if random.random() < 0.2 else random.choice(self.values)


_SMALL = (0, 1, 2, 3, -1, 7, 2**40)
WHOLE = [moment.replace(microsecond=0) for moment in MOMENTS]
COARSE = (dt.time(0), dt.time(1, 2, 3), dt.time(23, 59, 59), dt.time(12, 0, 0, 1000), dt.time(23, 59, 59, 999000))
CLOCK = (*COARSE, dt.time(0, 0, 0, 1), dt.time(23, 59, 59, 999999))
_PAIR = "pa.struct([('a', pa.int32()), ('b c', pa.string())])"
TYPES: dict[str, Type] = {
    "bool": Type("pa.bool_()", "boolean", (True, False)),
    "i8": Type("pa.int8()", "tinyint", tuple(integers(8))),
    "i16": Type("pa.int16()", "smallint", tuple(integers(16))),
    "i32": Type("pa.int32()", "int", (*integers(32), 2, 3)),
    "i64": Type("pa.int64()", "bigint", tuple(integers(64))),
    # Whose sums fit into 64 bits, and are the same doubles in any order.
    "small": Type("pa.int64()", "bigint", _SMALL),
    # Whose sums do not fit into 64 bits, while they are the same doubles in any order.
    "huge": Type("pa.int64()", "bigint", tuple(number * 2**61 for number in (-4, -2, -1, 0, 1, 2, 3))),
    "u8": Type("pa.uint8()", "smallint", tuple(integers(8, False)), "pa.int16()"),
    "u16": Type("pa.uint16()", "int", tuple(integers(16, False)), "pa.int32()"),
    "u32": Type("pa.uint32()", "bigint", tuple(integers(32, False)), "pa.int64()"),
    "u64": Type("pa.uint64()", "decimal(20,0)", tuple(integers(64, False)), "pa.decimal128(20, 0)"),
    "f16": Type("pa.float16()", "float", (NAN, INF, -INF, 0.0, -0.0, 0.5, -1.5, 65504.0), "pa.float32()"),
    "f32": Type("pa.float32()", "float", (NAN, INF, -INF, 0.0, -0.0, 0.5, -1.5, 3.4028234663852886e38)),
    "f64": Type("pa.float64()", "double", (NAN, INF, -INF, 0.0, -0.0, 0.1, -1.5, 1.7976931348623157e308, 5e-324)),
    # Whose sums are the same in any order.
    "exact": Type("pa.float64()", "double", (0.0, 0.25, -0.5, 1.75, 1024.0, -3.0)),
    "s": Type("pa.string()", "string", tuple(TEXTS)),
    "large": Type("pa.large_string()", "string", tuple(TEXTS), "pa.string()"),
    "view": Type("pa.string_view()", "string", tuple(TEXTS), "pa.string()"),
    "coded": Type("pa.dictionary(pa.int16(), pa.string())", "string", ("", "a", "A", "ab", "b", "ünï"), "pa.string()"),
    "bin": Type("pa.binary()", "binary", (b"", b"\0", b"'", b"ab", b"abc", b"\xff")),
    "large bin": Type("pa.large_binary()", "binary", (b"", b"\0", b"'", b"abc", b"\xff" * 40), "pa.binary()"),
    "bin view": Type("pa.binary_view()", "binary", (b"", b"\0", b"ab", b"\xff" * 40), "pa.binary()"),
    "fixed": Type("pa.binary(2)", "binary", (b"ab", b"\0\0", b"\xff\xff"), "pa.binary()"),
    "d": Type("pa.date32()", "date", tuple(moment.date() for moment in MOMENTS)),
    "d64": Type("pa.date64()", "date", tuple(moment.date() for moment in MOMENTS), "pa.date32()"),
    "us": Type("pa.timestamp('us')", "timestamp_ntz", tuple(FINE)),
    "ms": Type("pa.timestamp('ms')", "timestamp_ntz", tuple(MOMENTS), "pa.timestamp('us')"),
    "ns": Type("pa.timestamp('ns')", "timestamp_ntz", tuple(NEAR), "pa.timestamp('us')"),
    "seconds": Type("pa.timestamp('s')", "timestamp_ntz", tuple(WHOLE), "pa.timestamp('us')"),
    "utc": Type("pa.timestamp('us', 'UTC')", "timestamp", tuple(FINE)),
    "rome": Type("pa.timestamp('ms', 'Europe/Rome')", "timestamp", tuple(MOMENTS), "pa.timestamp('us', 'UTC')"),
    "utc seconds": Type("pa.timestamp('s', 'UTC')", "timestamp", tuple(WHOLE), "pa.timestamp('us', 'UTC')"),
    "utc ns": Type("pa.timestamp('ns', 'UTC')", "timestamp", tuple(NEAR), "pa.timestamp('us', 'UTC')"),
    "clock": Type("pa.time64('us')", "time(6)", CLOCK),
    "clock ns": Type("pa.time64('ns')", "time(6)", CLOCK, "pa.time64('us')"),
    "clock ms": Type("pa.time32('ms')", "time(6)", COARSE, "pa.time64('us')"),
    "clock seconds": Type("pa.time32('s')", "time(6)", COARSE[:3], "pa.time64('us')"),
    "dec": Type(
        "pa.decimal128(10, 2)", "decimal(10,2)", tuple(map(Decimal, ("0.00", "1.23", "-99999999.99", "99999999.99")))
    ),
    "wide": Type(
        "pa.decimal128(38, 30)", "decimal(38,30)", tuple(map(Decimal, ("1e-30", "-12345678.5", "0", "99999999.9")))
    ),
    "span": Type(
        "pa.duration('us')",
        "interval day to second",
        tuple(dt.timedelta(days, 0, micros) for days, micros in ((0, 0), (1, 1), (-1, 0), (100_000, 7))),
        "pa.int64()",
    ),
    "span ms": Type(
        "pa.duration('ms')", "interval day to second", (dt.timedelta(0), dt.timedelta(-3, 0, 5000)), "pa.int64()"
    ),
    "large list": Type(
        "pa.large_list(pa.int32())", "array<int>", ([], [None], [1, None, 3], [-(2**31)]), "pa.list_(pa.int32())"
    ),
    "list": Type("pa.list_(pa.int32())", "array<int>", ([], [1], [1, None, 3], [None], [2**31 - 1, -1, 0])),
    "words": Type(
        "pa.list_(pa.large_string())", "array<string>", ([], ["a", None], ["", "ünï", "a"]), "pa.list_(pa.string())"
    ),
    "doubles": Type("pa.list_(pa.float64())", "array<double>", ([], [NAN, -0.0, None], [0.0], [INF, 0.1])),
    "vector": Type(
        "pa.list_(pa.float32(), 2)", "array<float>", ([0.0, 1.0], [-0.0, NAN], [0.5, -1.5]), "pa.list_(pa.float32())"
    ),
    "lists": Type("pa.list_(pa.list_(pa.int16()))", "array<array<smallint>>", ([], [[]], [[1, None], None, []], [[7]])),
    "pair": Type(
        _PAIR, "struct<a:int,`b c`:string>", ({"a": 1, "b c": "x"}, {"a": None, "b c": None}, {"a": -7, "b c": "a'b"})
    ),
    "deep": Type(
        "pa.struct([('f', pa.float64()), ('in', pa.struct([('d', pa.date32()), ('l', pa.list_(pa.int32()))]))])",
        "struct<f:double,`in`:struct<d:date,l:array<int>>>",
        (
            {"f": -0.0, "in": {"d": dt.date(2024, 2, 29), "l": [1, None]}},
            {"f": NAN, "in": None},
            {"f": None, "in": {"d": None, "l": []}},
            {"f": 1.5, "in": {"d": dt.date(1, 1, 1), "l": None}},
        ),
    ),
    "map": Type(
        "pa.map_(pa.string(), pa.int32())", "map<string,int>", ([], [("k", 1)], [("k", None), ("a'b", -7)], [("", 0)])
    ),
    "numbered": Type("pa.map_(pa.int64(), pa.string())", "map<bigint,string>", ([], [(1, "x")], [(1, None), (-7, "")])),
    "pairs": Type(
        f"pa.list_({_PAIR})",
        "array<struct<a:int,`b c`:string>>",
        ([], [None], [{"a": 1, "b c": "x"}, {"a": None, "b c": "y"}], [None, {"a": 3, "b c": None}]),
    ),
    "pairs of": Type(
        f"pa.map_(pa.string(), {_PAIR})",
        "map<string,struct<a:int,`b c`:string>>",
        ([], [("k", {"a": 1, "b c": "x"})], [("k", None), ("l", {"a": None, "b c": "y"})]),
    ),
}


# Spark has years before 1 and after 9999, and Python has no values of them.
FAR = {
    "date": ("DATE'-0044-03-15'", "DATE'0000-12-31'", "DATE'+10000-01-01'"),
    "timestamp": ("TIMESTAMP'-0044-03-15 12:00:00 UTC'", "TIMESTAMP'+10000-01-01 00:00:00 UTC'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0000-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'+12345-06-07 08:09:10'"),
}


def lance_array(values: list[Any], type_: str) -> pa.Array:
    return array(values, TYPES[type_].lance_type)


def parquet_array(values: list[Any], type_: str) -> pa.Array:
    rows = lance_array(values, type_)
    if pa.types.is_duration(rows.type):  # for which Parquet has nothing: Spark takes the number of microseconds
        rows = rows.cast(pa.duration("us"))
    return rows.cast(TYPES[type_].parquet_type)


def literal(value: Any, spark: str) -> str:
    """Return a value of a simple type as Spark's literal of exactly that type."""
    if value is None:
        return f"CAST(NULL AS {spark})"
    if spark in ("float", "double"):
        return _float(value, spark)
    if spark == "string":
        return _text(value)
    if spark == "boolean":
        return str(value).lower()
    if spark == "binary":
        return f"X'{value.hex()}'"
    if spark == "date":
        return f"DATE'{value.isoformat()}'"
    if spark.startswith("time("):
        return f"TIME'{value.isoformat()}'"
    if spark.startswith("timestamp"):
        zone = " UTC" if spark == "timestamp" else ""
        return f"{spark.upper()}'{value.isoformat(' ')}{zone}'"
    if spark.startswith("interval"):
        micros = value // dt.timedelta(microseconds=1)
        return f"make_dt_interval(0, 0, 0, {Decimal(micros) / 1_000_000:f})"
    return f"CAST({_text(f'{Decimal(value):f}')} AS {spark})"


def _float(value: float, spark: str) -> str:
    if math.isnan(value) or math.isinf(value):
        return f"{spark}('{ {True: 'NaN'}.get(math.isnan(value)) or ('Infinity' if value > 0 else '-Infinity') }')"
    return f"{value!r}{'F' if spark == 'float' else 'D'}".replace("e", "E")


def _text(value: str) -> str:
    special = {"\\": "\\\\", "'": "\\'"}
    return "'" + "".join(special.get(one) or (one if one >= " " else f"\\u{ord(one):04x}") for one in value) + "'"
