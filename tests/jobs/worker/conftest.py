"""A lake of one's own, and a worker over it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.jobs import Job
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker
from lanceway.tables.read import ipc
from lanceway.tables.schema import views

FUNCTIONS = "tests.jobs.worker.functions"


@dataclass(frozen=True)
class Bench:
    """A lake and what a worker does with it."""

    lake: Any  # a LakeCatalog, which takes dictionaries as well as models
    worker: Worker

    def create(self, name: str, data: pa.Table) -> list[str]:
        return self.write("create_table", name, data)

    def append(self, name: str, data: pa.Table) -> list[str]:
        return self.write("insert_into_table", name, data)

    def write(self, operation: str, name: str, data: pa.Table) -> list[str]:
        body = b"".join(ipc.stream_chunks(data.to_reader(), file_format=False))
        getattr(self.lake, operation)({"id": [name]}, body)
        return [name]

    def rows(self, name: str, *columns: str, **query: Any) -> list[tuple[Any, ...]]:
        request = {"id": [name], "vector": {}, "k": 10_000, "columns": {"column_names": list(columns)}, **query}
        table = ipc.read(self.lake.query_table(request).data).read_all()
        return sorted(zip(*(table[column].to_pylist() for column in columns), strict=True), key=repr)

    def version(self, name: str) -> int:
        return int(self.lake.describe_table({"id": [name], "load_detailed_metadata": True}).version or 0)

    def done(self, job_id: str | None) -> Job:
        """The job, after the worker has done all that there is to do."""
        assert job_id is not None
        self.worker.run(once=True)
        job: Job = self.lake.describe_job(job_id)
        return job

    def backfill(self, name: str, column: str, **fields: Any) -> Job:
        response = self.lake.alter_table_backfill_columns({"id": [name], "column": column, **fields})
        return self.done(response.job_id)

    def view(self, name: str, schema: pa.Schema, query: dict[str, Any] | str, **fields: Any) -> Job | None:
        """Make a view and fill it, unless told otherwise."""
        request = view_request([name], schema, query, **fields)
        response = self.lake.create_materialized_view(request)
        return None if response.job_id is None else self.done(response.job_id)

    def refresh(self, name: str, **fields: Any) -> Job:
        return self.done(self.lake.refresh_materialized_view({"id": [name], **fields}).job_id)


def view_request(id_: list[str], schema: pa.Schema, query: dict[str, Any] | str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "kind": "query",
        "source_query": query if isinstance(query, str) else json.dumps(query),
        "output_schema": base64.b64encode(schema.serialize()).decode(),
        "with_no_data": False,
        **fields,
    }


def spec(kind: str, function: str, **fields: Any) -> dict[str, Any]:
    """What names a function for a view."""
    envelope = views.write(f"{FUNCTIONS}:{function}")
    sha = hashlib.sha256(envelope.encode()).hexdigest()
    return {"kind": kind, "udtf": envelope, "udtf_sha": sha, "udtf_name": function, "udtf_version": "1", **fields}


def people(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{id_}" for id_ in ids]})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    lake = lanceway.connect("lake", uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path / "data"), user="alice")
    assert isinstance(lake, LakeCatalog)
    with lake:
        worker = Worker(Places(lake._lake), [FUNCTIONS], state=str(tmp_path / "jobs.sqlite"))
        yield Bench(lake, worker)
