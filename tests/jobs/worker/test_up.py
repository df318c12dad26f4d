"""A real `lanceway up`: operations that take long are asked for over HTTP, and its worker carries them out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

import lanceway
from tests.jobs.worker.conftest import FUNCTIONS, Bench, people, spec, view_request
from tests.paths import REPOSITORY
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

ROOT = REPOSITORY
SECONDS = 60


class Remote(Bench):
    """A catalog of a server, whose own worker does what there is to do."""

    def done(self, job_id: str | None) -> Any:
        assert job_id is not None
        return self.lake.wait_for_job(job_id, SECONDS)


@pytest.fixture(scope="module")
def server(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lanceway]:
    archive = tmp_path_factory.mktemp("archive")
    settings = f"""
[server]
worker_functions = ["{FUNCTIONS}"]
[catalogs.archive]
type = "dir"
path = "{archive}"
"""
    environment = {"PYTHONPATH": str(ROOT)}
    made = lanceway_server.start(whole_run, name="worker", settings=settings, environment=environment, workers=2)
    assert made.process is not None
    before = _below(made.process.pid)
    yield made
    # One worker for both processes, which ends with them.
    (worker,) = _below(made.process.pid) - before
    assert made.stop() == 0
    assert not _runs(worker)


@pytest.fixture(params=["lake", "archive"])
def bench(request: pytest.FixtureRequest, server: Lanceway) -> Iterator[Remote]:
    whole = lanceway.connect("rest", uri=server.uri, token=server.token)
    inside = lanceway.connect("rest", uri=server.uri, token=server.token, at=request.param)
    yield Remote(inside, whole)  # type: ignore[arg-type]
    for each in (inside, whole):
        each.close()  # type: ignore[attr-defined]


def test_the_three_operations(bench: Remote, server: Lanceway) -> None:
    bench.create("people", people(1, 2, 3))
    new = [{"name": "twice", "computed": "id * 2"}]
    bench.lake.alter_table_add_columns({"id": ["people"], "new_columns": new})
    job = bench.backfill("people", "twice")
    assert (job.state, job.requested_by) == ("done", "admin"), job.error
    assert bench.rows("people", "id", "twice") == [(1, 2), (2, 4), (3, 6)]
    schema = pa.schema([("id", pa.int64()), ("twice", pa.int64())])
    filled = bench.view("view", schema, {"source": ["people"], "columns": ["id", "twice"], "where": "id > 1"})
    assert filled is not None
    assert filled.state == "done", filled.error
    bench.append("people", people(4).append_column("twice", pa.array([8], pa.int64())))
    assert bench.refresh("view").result["refreshed"] == "added"  # type: ignore[index]
    assert bench.rows("view", "id", "twice") == [(2, 4), (3, 6), (4, 8)]
    letters = pa.schema([("id", pa.int64()), ("letter", pa.string())])
    chunks = bench.view(
        "letters", letters, {"source": ["people"]}, kind="chunker", udtf_spec=spec("chunker", "letters")
    )
    assert chunks is not None
    assert chunks.state == "done", chunks.error
    assert len(bench.rows("letters", "id", "letter")) == 8


def _below(parent: int | str) -> set[str]:
    """The processes that a process has started, and those that they have, but for Python's own helper."""
    found = {pid for file in Path(f"/proc/{parent}/task").glob("*/children") for pid in file.read_text().split()}
    found |= {below for pid in found for below in _below(pid)}
    return {pid for pid in found if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()}


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_who_may_see_a_job(server: Lanceway) -> None:
    with server.client() as admin:
        token = server.token_for("bob")
        catalog: Any = lanceway.connect("rest", uri=server.uri, token=token, at="lake")
        whole: Any = lanceway.connect("rest", uri=server.uri, token=token)
        bench = Remote(catalog, catalog)
        bench.create("bobs", people(1))
        bench.lake.alter_table_add_columns({"id": ["bobs"], "new_columns": [{"name": "x", "computed": "id"}]})
        job = bench.backfill("bobs", "x")
        assert (job.table, job.requested_by) == (["bobs"], "bob")
        assert [each.table for each in whole.list_jobs()[0]] == [["lake", "bobs"]]
        assert [each.id for each in whole.list_jobs(table=["lake", "bobs"], state="done")[0]] == [job.id]
        assert whole.list_jobs(state="failed")[0] == []
        path = f"/lanceway/v1/jobs/{job.id}"
        assert admin.get(path).json()["requested_by"] == "bob"
        everything = admin.get("/lanceway/v1/jobs", params={"all": "true"}).json()["jobs"]
        assert job.id in [each["id"] for each in everything]
        assert job.id not in [each["id"] for each in admin.get("/lanceway/v1/jobs").json()["jobs"]]
        other = admin.post("/lanceway/v1/tokens", json={"user": "eve"}).json()["token"]
    headers = {"x-api-key": other}
    with server.client(headers=headers) as eve:
        assert _refused(eve.get(path)) == (404, 13)
        assert _refused(eve.post(f"{path}/cancel")) == (404, 13)
        assert _refused(eve.get("/lanceway/v1/jobs", params={"all": "true"})) == (403, 15)
        assert _refused(eve.get("/lanceway/v1/jobs", params={"state": "gone"})) == (400, 13)
        assert _refused(eve.get("/lanceway/v1/jobs", params={"page_token": "x"})) == (400, 13)
        assert _refused(eve.get(f"{path}/cancel"))[0] == 405
        assert _refused(eve.post(path))[0] == 405
        assert _refused(eve.post(f"{path}/other/thing"))[0] == 404
        assert eve.get("/lanceway/v1/jobs").json() == {"jobs": [], "page_token": None}


def _refused(answer: httpx.Response) -> tuple[int, int]:
    assert answer.json()["error"]
    return answer.status_code, answer.json()["code"]


def test_a_source_of_another_catalog_is_refused(server: Lanceway) -> None:
    whole: Any = lanceway.connect("rest", uri=server.uri, token=server.token)
    request = view_request(["lake", "elsewhere"], people(1).schema, {"source": ["archive", "people"]})
    with pytest.raises(lanceway.LanceNamespaceError, match="stays within one catalog"):
        whole.create_materialized_view(request)
