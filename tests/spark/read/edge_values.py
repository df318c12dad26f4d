"""A table of edge values, one column for each type that a filter may ask about, and the same values for Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column

NAN, INF = float("nan"), float("inf")
MOMENTS = [
    dt.datetime(1, 1, 1),
    dt.datetime(1582, 10, 10, 12),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 2, 29, 1, 2, 3, 4000),
    dt.datetime(2024, 3, 31, 1, 30),  # is not there in Rome
    dt.datetime(2024, 10, 27, 0, 30),  # is twice there in Rome
    dt.datetime(9999, 12, 30),
]
FINE = [*MOMENTS, dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]
NEAR = [moment for moment in MOMENTS if 1700 < moment.year < 2200]
TEXTS = ["", "a", "A", "a'b", 'a"b', "a\\b", "a%b_c", "ab", "b", "\n\t", "ünï", "𝄞", "null", "--", "/* */", "a\0b", "'"]
BYTES = [b"", b"\0", b"'", b"ab", b"abc", b"\xff", bytes(range(8))]


def integers(bits: int, signed: bool = True) -> list[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [low, low + 1, 0, 1, 7, high - 1, high, *([-1] if signed else [])]


# Name, type in the table, values, and the type in Spark.
COLUMNS: dict[str, tuple[pa.DataType, list[Any], str]] = {
    "b": (pa.bool_(), [True, False], "boolean"),
    "i8": (pa.int8(), integers(8), "tinyint"),
    "i16": (pa.int16(), integers(16), "smallint"),
    "i32": (pa.int32(), integers(32), "int"),
    "i64": (pa.int64(), integers(64), "bigint"),
    "u8": (pa.uint8(), integers(8, False), "smallint"),
    "u16": (pa.uint16(), integers(16, False), "int"),
    "u32": (pa.uint32(), integers(32, False), "bigint"),
    "u64": (pa.uint64(), integers(64, False), "decimal(20,0)"),
    "f32": (
        pa.float32(),
        [NAN, INF, -INF, 0.0, -0.0, 0.5, -1.5, 3.4028234663852886e38, 1.401298464324817e-45],
        "float",
    ),
    "f64": (pa.float64(), [NAN, INF, -INF, 0.0, -0.0, 0.1, -1.5, 1.7976931348623157e308, 5e-324], "double"),
    "s": (pa.string(), TEXTS, "string"),
    "large": (pa.large_string(), TEXTS, "string"),
    "coded": (pa.dictionary(pa.int16(), pa.string()), TEXTS, "string"),
    "bin": (pa.binary(), BYTES, "binary"),
    "fixed": (pa.binary(2), [b"ab", b"\0\0", b"\xff\xff"], "binary"),
    "d": (pa.date32(), [moment.date() for moment in MOMENTS], "date"),
    "us": (pa.timestamp("us"), FINE, "timestamp_ntz"),
    "ms": (pa.timestamp("ms"), MOMENTS, "timestamp_ntz"),
    "ns": (pa.timestamp("ns"), NEAR, "timestamp_ntz"),
    "utc": (pa.timestamp("us", "UTC"), FINE, "timestamp"),
    "rome": (pa.timestamp("ms", "Europe/Rome"), MOMENTS, "timestamp"),
    "dec": (pa.decimal128(10, 2), [Decimal("0.00"), Decimal("1.23"), Decimal("-99999999.99")], "decimal(10,2)"),
    "wide": (pa.decimal128(38, 30), [Decimal("1e-30"), Decimal("-12345678.5"), Decimal(0)], "decimal(38,30)"),
    "json": (pa.json_(), ["{}", '{"a": 1}'], "string"),
}
# What is inside structs: the names of the fields and the column above that has such values.
INSIDE = {("st", "x"): "i64", ("st", "y z"): "s", ("st", "in", "f"): "f64"}
NAMES: list[tuple[str, ...]] = [*((name,) for name in COLUMNS), *INSIDE]
# Those whose values Lance does not compare as Spark does.
LEFT_TO_SPARK = {("ns",), ("json",)}
ROWS = 2 + max(len(values) for _, values, _ in COLUMNS.values())


def table() -> pa.Table:
    """Every edge value, and nulls, in rows that are numbered by `id`; structs are null here and there too."""
    columns = {name: [*values, None] * ROWS for name, (_, values, _) in COLUMNS.items()}
    arrays = {name: array(columns[name][:ROWS], COLUMNS[name][0]) for name in COLUMNS}
    structs = [
        None
        if row % 5 == 4
        else {
            "x": columns["i64"][row],
            "y z": columns["s"][row],
            "in": None if row % 3 == 2 else {"f": columns["f64"][row]},
        }
        for row in range(ROWS)
    ]
    inner = pa.struct([("x", pa.int64()), ("y z", pa.string()), ("in", pa.struct([("f", pa.float64())]))])
    lists = [None if row % 4 == 3 else [row] * (row % 3) for row in range(ROWS)]
    return pa.table({"id": range(ROWS), **arrays, "st": pa.array(structs, inner), "list": pa.array(lists)})


def array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type))
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).cast(type_)
    return pa.array(values, type_)


def spark_type(names: tuple[str, ...]) -> str:
    return COLUMNS[INSIDE.get(names, names[0])][2]


def values_of(names: tuple[str, ...]) -> list[Any]:
    """The edge values as Spark hands them to a data source."""
    kind, values = spark_type(names), COLUMNS[INSIDE.get(names, names[0])][1]
    if kind == "timestamp":
        return [value.replace(tzinfo=dt.UTC) for value in values]
    return [Decimal(value) for value in values] if kind.startswith("decimal") else values


def literal(value: Any, kind: str) -> Column:
    """A value as Spark's own literal of a type."""
    from pyspark.sql import functions as f

    if kind in ("date", "timestamp", "timestamp_ntz"):
        return f.lit(value.isoformat()).cast(kind)
    return f.lit(bytearray(value) if isinstance(value, bytes) else value).cast(kind)
