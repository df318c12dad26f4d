"""Tables of both worlds: random rows of every type, Iceberg tables with deletes, and a look at what is left."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from lance_namespace import CreateTableRequest, LanceNamespace
from pyiceberg.io.pyarrow import write_file
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table, WriteTask
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType

from lanceway.identifiers import Identifier
from lanceway.jobs.between.checksums import pin
from lanceway.jobs.iceberg import catalogs
from lanceway.jobs.iceberg.catalogs import IcebergTableCatalog

PLAIN = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "name", StringType(), required=False))
ROWS = pa.table({"id": pa.array([1, 2, 3, 4], pa.int64()), "name": ["one", None, "three", ""]})


def read(catalog: LanceNamespace, name: str, version: int | None = None) -> pa.Table:
    """Return the rows of a Lance table, as the catalog has them."""
    return pin(catalog, Identifier.parse(name), version).read().read_all()


def write(catalog: LanceNamespace, name: str, rows: pa.Table, mode: str = "create") -> None:
    request = CreateTableRequest(id=list(Identifier.parse(name)), mode=mode)
    catalog.create_table_stream(request, rows.to_reader())  # type: ignore[attr-defined]


def make(place: IcebergTableCatalog, name: str, schema: Schema = PLAIN, rows: pa.Table | None = None) -> Table:
    """Make an Iceberg table, with rows if they are given."""
    id_ = Identifier.parse(name)
    place.commit(id_, place.stage(id_, schema, {}))
    table = place.load(id_)
    if rows is not None:
        table.append(rows)
    return place.load(id_)


def lake_tables(catalog: LanceNamespace) -> IcebergTableCatalog:
    return catalogs.find(catalog)


def files(folder: Path) -> set[str]:
    """Return what is in a folder, folders included."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def as_python(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows that can be compared: a NaN is equal to another one."""
    return [{key: _comparable(value) for key, value in row.items()} for row in table.to_pylist()]


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, dict):
        return {key: _comparable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_comparable(inner) for inner in value]
    return value


# -- random tables -----------------------------------------------------------------------------------

Maker = Callable[[random.Random], Any]
_SECONDS = 86_400


def _whole(type_: pa.DataType, low: int, high: int) -> tuple[pa.DataType, Maker]:
    return type_, lambda chance: chance.choice([low, high, 0, chance.randint(low, high)])


def _float(type_: pa.DataType) -> tuple[pa.DataType, Maker]:
    special = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1.5]
    return type_, lambda chance: chance.choice([*special, chance.randint(-1000, 1000) / 8])


def _digits(type_: pa.DataType) -> tuple[pa.DataType, Maker]:
    most = 10**type_.precision - 1
    return type_, lambda chance: _decimal(chance.choice([most, -most, chance.randint(-most, most)]), type_.scale)


def _decimal(unscaled: int, scale: int) -> Decimal:
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


_TEXT = "aé漢🙂\x00 "
# Every type that Lance and Iceberg can both hold, and how to make a value of it.
PRIMITIVES: tuple[tuple[pa.DataType, Maker], ...] = (
    (pa.bool_(), lambda chance: chance.random() < 0.5),
    *(_whole(getattr(pa, f"int{bits}")(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)),
    *(_whole(getattr(pa, f"uint{bits}")(), 0, 2**bits - 1) for bits in (8, 16, 32, 64)),
    *map(_float, (pa.float16(), pa.float32(), pa.float64())),
    *map(_digits, (pa.decimal128(1, 0), pa.decimal128(9, 2), pa.decimal128(38, 38), pa.decimal256(38, 5))),
    _whole(pa.date32(), -100_000, 100_000),
    (pa.date64(), lambda chance: chance.randint(-10_000, 10_000) * _SECONDS * 1000),
    _whole(pa.time32("s"), 0, _SECONDS - 1),
    _whole(pa.time32("ms"), 0, _SECONDS * 1000 - 1),
    _whole(pa.time64("us"), 0, _SECONDS * 10**6 - 1),
    (pa.time64("ns"), lambda chance: chance.randrange(_SECONDS * 10**6) * 1000),
    *(_whole(pa.timestamp(unit), -(10**9), 10**9) for unit in ("s", "ms", "us")),
    (pa.timestamp("ns"), lambda chance: chance.randint(-(10**12), 10**12) * 1000),
    _whole(pa.timestamp("us", "UTC"), -(10**15), 10**15),
    (pa.timestamp("ns", "Europe/Berlin"), lambda chance: chance.randint(-(10**12), 10**12) * 1000),
    *(_whole(pa.duration(unit), -(2**40), 2**40) for unit in ("s", "ms", "us", "ns")),
    *(
        (type_, lambda chance: "".join(chance.choices(_TEXT, k=chance.randrange(9))))
        for type_ in (pa.string(), pa.large_string())
    ),
    *((type_, lambda chance: chance.randbytes(chance.randrange(9))) for type_ in (pa.binary(), pa.large_binary())),
    (pa.binary(5), lambda chance: chance.randbytes(5)),
    (pa.uuid(), lambda chance: UUID(int=chance.getrandbits(128)).bytes),
    (pa.dictionary(pa.int8(), pa.string()), lambda chance: chance.choice(["red", "green", ""])),
)


def random_column(chance: random.Random, rows: int, depth: int = 2) -> pa.Array:
    """Return a column of a random type, nested at most so deep, with nulls."""
    values, type_ = _column(chance, depth)
    nulls = chance.choice([0, 0.2, 1])
    return _array([None if chance.random() < nulls else values(chance) for _ in range(rows)], type_)


def _column(chance: random.Random, depth: int) -> tuple[Maker, pa.DataType]:
    kind = chance.choice(["plain", "plain", "list", "vector", "struct", "map"]) if depth else "plain"
    if kind == "plain":
        type_, maker = chance.choice(PRIMITIVES)
        return maker, type_
    if kind == "vector":  # Lance has those of plain values alone
        type_, inner = chance.choice([row for row in PRIMITIVES if pa.types.is_floating(row[0])])
        return lambda chance: [_or_null(chance, inner) for _ in range(3)], pa.list_(type_, 3)
    inner, type_ = _column(chance, depth - 1)
    if kind == "struct":
        other, other_type = _column(chance, depth - 1)
        fields = [pa.field("x", type_), pa.field("y z", other_type)]
        return lambda chance: {"x": _or_null(chance, inner), "y z": _or_null(chance, other)}, pa.struct(fields)
    if kind == "map":
        return lambda chance: [(f"k{n}", _or_null(chance, inner)) for n in range(chance.randrange(3))], pa.map_(
            pa.string(), type_
        )
    return lambda chance: [_or_null(chance, inner) for _ in range(chance.randrange(4))], pa.list_(type_)


def _or_null(chance: random.Random, maker: Maker) -> Any:
    return None if chance.random() < 0.2 else maker(chance)


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return an array. pyarrow cannot make one of UUIDs or of dictionaries inside other values from Python's."""
    return pa.array(values, _storable(type_)).cast(type_)


def _storable(type_: pa.DataType) -> pa.DataType:
    if isinstance(type_, pa.BaseExtensionType):
        return type_.storage_type
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_storable(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, _storable(type_.item_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_storable(type_.value_type), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(_storable(type_.value_type))
    return type_


def random_table(chance: random.Random, rows: int) -> pa.Table:
    """Return a table with some columns of random types; a few rows of it are all that a type needs."""
    return pa.table({f"c{number}": random_column(chance, rows) for number in range(chance.randint(1, 6))})


def table_of_every_type(chance: random.Random, rows: int) -> pa.Table:
    makers = [*PRIMITIVES]
    columns = {
        f"c{number}": _array([None if chance.random() < 0.2 else maker(chance) for _ in range(rows)], type_)
        for number, (type_, maker) in enumerate(makers)
    }
    return pa.table(columns)


# -- deletes by position -----------------------------------------------------------------------------


class _DeleteManifest(ManifestWriterV2):
    """pyiceberg reads manifests of deletes, and has no writer for them."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES


def delete_rows(table: Table, positions: Iterable[int]) -> None:
    """Delete rows of the table's first data file by their position in it, as engines do that merge on read."""
    file = next(iter(table.scan().plan_files())).file.file_path
    places = sorted(positions)
    schema = Schema(
        NestedField(2147483546, "file_path", StringType(), required=True),
        NestedField(2147483545, "pos", LongType(), required=True),
    )
    metadata = table.metadata.model_copy(update={"schemas": [schema], "current_schema_id": 0})
    batch = pa.table({"file_path": [file] * len(places), "pos": places}, _REQUIRED).to_batches()
    (written,) = write_file(table.io, metadata, iter([WriteTask(UUID(int=len(places)), 0, schema, batch)]))
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=written.file_path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(places),
        file_size_in_bytes=written.file_size_in_bytes,
    )
    _add_deletes(table, deletes)


_REQUIRED = pa.schema([pa.field("file_path", pa.string(), nullable=False), pa.field("pos", pa.int64(), nullable=False)])


def _add_deletes(table: Table, deletes: DataFile) -> None:
    before = table.metadata.current_snapshot()
    assert before is not None
    number, sequence = before.snapshot_id + 1, table.metadata.last_sequence_number + 1
    base = f"{table.location()}/metadata"
    output = table.io.new_output(f"{base}/deletes-{number}.avro")
    with _DeleteManifest(table.spec(), table.schema(), output, number, "deflate") as writer:
        writer.add_entry(
            ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=number, data_file=deletes)
        )
    manifests = [*before.manifests(table.io), writer.to_manifest_file()]
    listing = f"{base}/snap-{number}.avro"
    with write_manifest_list(
        2, table.io.new_output(listing), number, before.snapshot_id, sequence, "deflate"
    ) as manifest_list:
        manifest_list.add_manifests(manifests)
    snapshot = Snapshot.model_validate(
        {
            "snapshot-id": number,
            "parent-snapshot-id": before.snapshot_id,
            "sequence-number": sequence,
            "timestamp-ms": before.timestamp_ms + 1,
            "manifest-list": listing,
            "summary": Summary(Operation.DELETE).model_dump(),
            "schema-id": table.metadata.current_schema_id,
        }
    )
    table.catalog.commit_table(
        table,
        (AssertRefSnapshotId(ref="main", snapshot_id=before.snapshot_id),),
        (
            AddSnapshotUpdate(snapshot=snapshot),
            SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=number),
        ),
    )
