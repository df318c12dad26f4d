"""What the tests of jobs between catalogs share: tables of every kind, and short questions."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from lance_namespace import LanceNamespace

import lanceway
from lanceway.catalogs import DirectoryCatalog, LakeCatalog
from lanceway.identifiers import Identifier
from lanceway.jobs import JobReport, TableOutcome
from lanceway.jobs.between import register

Id = list[str]


def folder(path: Path, **settings: Any) -> DirectoryCatalog:
    return DirectoryCatalog(path=str(path), **{"layout": "manifest", **settings})


def lake(path: Path, name: str = "lake", **settings: Any) -> LakeCatalog:
    return LakeCatalog(uri=f"sqlite:///{path}/{name}.db", root=str(path / f"{name}-root"), **settings)


def numbers(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def motley(rows: int = 50) -> pa.Table:
    """Rows of every kind that a copy could get wrong: nulls, vectors, nested values, dictionaries, blobs."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("text", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), 4)),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("point", pa.struct([("x", pa.float64()), ("y", pa.int8())])),
            pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
            pa.field("price", pa.decimal128(10, 2)),
            pa.field("at", pa.timestamp("us", "UTC")),
            pa.field("yes", pa.bool_()),
            pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
        ],
        metadata={"owner": "red"},
    )
    return pa.table(
        {
            "id": range(rows),
            "text": [None if i % 7 == 0 else "ä" * i for i in range(rows)],
            "vector": [[i, 0.5, -0.0, float("nan")] for i in range(rows)],
            "tags": [None if i % 5 == 0 else ["a", None, str(i)][: i % 4] for i in range(rows)],
            "point": [None if i % 3 == 0 else {"x": i / 3, "y": None} for i in range(rows)],
            "kind": pa.array([f"k{i % 3}" for i in range(rows)]).dictionary_encode(),
            "price": [None if i % 2 else i for i in range(rows)],
            "at": range(rows),
            "yes": [None if i % 4 == 0 else i % 2 == 0 for i in range(rows)],
            "blob": [bytes([i % 256]) * 300 for i in range(rows)],
        },
        schema=schema,
    )


def make(catalog: LanceNamespace, name: str, data: pa.Table | None = None, **options: Any) -> Id:
    """A table by its dotted name, with what is missing of the namespaces above it."""
    names = name.split(".")
    for depth in range(1, len(names)):
        catalog.create_namespace({"id": names[:depth], "mode": "exist_ok"})  # type: ignore[arg-type]
    content = numbers(1, 2, 3) if data is None else data
    catalog.create_table_stream({"id": names, **options}, content.to_reader())  # type: ignore[attr-defined]
    return names


def describe(catalog: LanceNamespace, name: str, **options: Any) -> Any:
    return catalog.describe_table({"id": name.split("."), **options})  # type: ignore[arg-type]


def count(catalog: LanceNamespace, name: str) -> int | None:
    return catalog.count_table_rows({"id": name.split(".")}).count  # type: ignore[arg-type]


def versions(catalog: LanceNamespace, name: str) -> list[int]:
    listed = catalog.list_table_versions({"id": name.split(".")}).versions  # type: ignore[arg-type]
    return sorted(version.version for version in listed)


def names(catalog: LanceNamespace) -> set[str]:
    """Every table, declared ones too."""
    return {str(table) for table in register.tables(catalog)}


def tables_of(target: LanceNamespace) -> set[str]:
    """The tables in a target of any type, without the folders of the test beside them: a directory shows these too,
    since any folder may be a table's."""
    return names(target) - {"source", "cache"}


def inside(catalog: LanceNamespace, *at: str) -> LanceNamespace:
    from lanceway.catalogs.wrappers.subtree import Subtree

    return Subtree(catalog, Identifier(at))


def states(report: JobReport) -> dict[str, int]:
    return {state: count for state, count in report.counts.items() if count}


class Heard(dict[str, TableOutcome]):
    """A listener that keeps what it heard, by the table's name."""

    def __call__(self, outcome: TableOutcome) -> None:
        assert outcome.table not in self, f"{outcome.table} was told twice"
        self[outcome.table] = outcome


def scratch(server_uri: str, token: str) -> Iterator[LanceNamespace]:
    """A namespace of one's own on a server that others use too."""
    mine = f"jobs_{uuid.uuid4().hex[:8]}"
    with lanceway.connect("rest", uri=server_uri, token=token) as rest:  # type: ignore[attr-defined]
        rest.create_namespace({"id": ["lake", mine]})
        yield inside(rest, "lake", mine)
        rest.drop_namespace({"id": ["lake", mine], "behavior": "cascade"})
