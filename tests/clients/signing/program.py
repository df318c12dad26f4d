"""Stock pyiceberg with its FsspecFileIO and s3fs: it has no key to the storage, and has each request signed.

Reads an address and tokens by user as JSON, and prints what each scenario ended with, None for well.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import SignError

NAMESPACE = "signed"
PARTS = 8_000_000  # rows, of 8 bytes
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": pa.array(["a", "b", "c"])})
TOLD: dict[str, Any] = {}


def catalog(user: str) -> Catalog:
    """The lake as a user has it. Each has its own, for s3fs shares its clients."""
    return load_catalog(
        "lake",
        **{
            "type": "rest",
            "uri": TOLD["uri"],
            "warehouse": "lake",
            "token": TOLD["tokens"][user],
            "header.X-Iceberg-Access-Delegation": "remote-signing",
            "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
        },
    )


def rows(user: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog(user).load_table((NAMESPACE, name)).scan().to_arrow().to_pylist()
    return sorted(found, key=lambda row: row["id"])


def made_appended_and_read() -> None:
    table = catalog("owner").create_table((NAMESPACE, "orders"), ROWS.schema)
    table.append(ROWS)
    table.append(ROWS.slice(0, 1))
    assert len(rows("owner", "orders")) == 4
    catalog("writer").load_table((NAMESPACE, "orders")).append(ROWS.slice(1, 1))
    assert len(rows("reader", "orders")) == 5


def staged_written_and_committed() -> None:
    with catalog("owner").create_table_transaction((NAMESPACE, "staged"), ROWS.schema) as transaction:
        transaction.append(ROWS)
    assert rows("owner", "staged") == ROWS.to_pylist()


def large_files_are_written_in_parts() -> None:
    values = pa.table({"id": pa.array(range(PARTS), pa.int64())})
    table = catalog("owner").create_table(
        (NAMESPACE, "large"),
        values.schema,
        properties={"write.parquet.compression-codec": "uncompressed", "write.target-file-size-bytes": "1073741824"},
    )
    table.append(values)
    loaded = catalog("owner").load_table((NAMESPACE, "large"))
    assert loaded.scan().count() == PARTS
    assert max(loaded.inspect.files()["file_size_in_bytes"].to_pylist()) > 50 * 2**20, "what s3fs sends at once"


def partitions_have_any_name() -> None:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import LongType, NestedField, StringType

    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
    values = pa.table({"id": pa.array([1, 2], pa.int64()), "name": pa.array(["a/b c", "ü=1&2%"])})
    catalog("owner").create_table((NAMESPACE, "partitioned"), schema, partition_spec=spec).append(values)
    assert [row["name"] for row in rows("owner", "partitioned")] == ["a/b c", "ü=1&2%"]


def readers_write_nothing() -> None:
    try:
        catalog("reader").load_table((NAMESPACE, "orders")).append(ROWS)
    except (SignError, OSError):
        return
    raise AssertionError("a reader has written")


SCENARIOS = (
    made_appended_and_read,
    staged_written_and_committed,
    large_files_are_written_in_parts,
    partitions_have_any_name,
    readers_write_nothing,
)


def ended(scenario: Callable[[], None]) -> str | None:
    try:
        scenario()
    except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
        import traceback

        return f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    return None


if __name__ == "__main__":
    TOLD.update(json.load(sys.stdin))
    json.dump({scenario.__name__: ended(scenario) for scenario in SCENARIOS}, sys.stdout)
