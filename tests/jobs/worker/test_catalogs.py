"""Where the table of a job lies: in the lake, or in a catalog that is mounted beside it, from a namespace of it on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import DirectoryCatalog
from lanceway.catalogs.contract.jobs import Job, JobQueue
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.config import CatalogSettings
from lanceway.identifiers import Identifier
from lanceway.jobs.worker.catalogs import Places
from lanceway.lake import users
from lanceway.lake.tree import catalogs
from tests.jobs.worker.conftest import Bench, people, view_request


def test_a_catalog_that_is_mounted_from_a_namespace_on(bench: Bench, tmp_path: Path) -> None:
    settings = {"path": str(tmp_path / "folder"), "layout": "manifest"}
    folder: Any = DirectoryCatalog(**settings)
    folder.create_namespace({"id": ["team"]})
    desk = JobQueue(bench.lake._lake, "lanceway", "archive", "alice")
    mounted: Any = Subtree(folder, Identifier(("team",))).with_job_queue(desk)
    mounted.create_table_stream({"id": ["people"]}, people(1, 2).to_reader())
    mounted.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "x", "computed": "id * 2"}]})
    bench.lake._lake.transact(users.create, "alice", by="admin", admin=True)
    job = mounted.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id
    (listed,), _ = mounted.list_jobs(table=["people"])
    assert (listed.id, listed.table) == (job, ["people"])
    archive = CatalogSettings("dir", settings, at="team")
    bench.worker.places = Places(bench.lake._lake, mounted={"archive": archive})
    bench.worker.run(once=True)
    assert mounted.describe_job(job).state == "done"
    assert mounted.count_table_rows({"id": ["people"], "predicate": "x = id * 2"}).count == 2


def test_a_catalog_that_is_mounted_no_more(bench: Bench) -> None:
    desk = JobQueue(bench.lake._lake, "lanceway", "gone", "alice")
    job = desk.record("backfill", ["people"], {"column": "x"})
    bench.worker.run(once=True)
    found = desk.find(job.id)
    assert (found.state, "gone" in str(found.error)) == ("failed", True)


def test_jobs_of_a_disabled_catalog_are_refused_and_those_that_recur_wait(bench: Bench) -> None:
    """As in a mounted catalog. A view that is kept fresh is looked at again once the catalog is enabled."""
    bench.create("people", people(1, 2))
    bench.create("others", people(1, 2))
    bench.lake.alter_table_add_columns({"id": ["others"], "new_columns": [{"name": "x", "computed": "id * 2"}]})
    bench.worker.refresh_every = 0.5
    bench.view("copy", people(1).schema, {"source": ["people"]}, auto_refresh=True)
    bench.append("people", people(3))
    store = bench.lake._lake
    store.transact(catalogs.set_enabled, "lanceway", "lake", False, by="admin")
    refused = bench.done(bench.lake.alter_table_backfill_columns({"id": ["others"], "column": "x"}).job_id)
    assert (refused.state, "is disabled" in str(refused.error)) == ("failed", True)
    while "is disabled" not in str((fresh := _auto_refresh(bench)).error):
        bench.worker.run(once=True)
    assert fresh.state == "queued"
    assert bench.rows("copy", "id") == [(1,), (2,)], "nothing was written while it was off"
    store.transact(catalogs.set_enabled, "lanceway", "lake", True, by="admin")
    while bench.rows("copy", "id") != [(1,), (2,), (3,)]:
        bench.worker.run(once=True)


def _auto_refresh(bench: Bench) -> Job:
    (job,) = (job for job in bench.lake.list_jobs()[0] if job.kind == "auto_refresh")
    return job


@pytest.mark.parametrize("user", ["ops", "nameless"])
def test_metadata_of_other_catalogs_is_run_for_administrators_alone(bench: Bench, tmp_path: Path, user: str) -> None:
    bench.lake._lake.transact(users.create, "ops", by="admin")  # no administrator; the other has signed in elsewhere
    settings = {"path": str(tmp_path / "folder")}
    desk = JobQueue(bench.lake._lake, "lanceway", "archive", user)
    folder: Any = DirectoryCatalog(**settings).with_job_queue(desk)
    folder.create_table_stream({"id": ["people"]}, people(1, 2).to_reader())
    folder.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "x", "computed": "id * 2"}]})
    backfill = {"id": ["people"], "column": "x"}
    places = Places(bench.lake._lake, mounted={"archive": CatalogSettings("dir", settings)})
    bench.worker.places = places
    asked = folder.alter_table_backfill_columns(backfill).job_id
    bench.worker.run(once=True)
    job = desk.find(asked)
    assert (job.state, "Let an administrator" in str(job.error)) == ("failed", True)
    assert folder.count_table_rows({"id": ["people"], "predicate": "x IS NULL"}).count == 2
    bench.worker.places = replace(places, operator=user)
    again = folder.alter_table_backfill_columns(backfill).job_id
    bench.worker.run(once=True)
    assert desk.find(again).state == "done"


def test_a_view_of_another_catalog_is_not_kept_fresh_for_others(bench: Bench, tmp_path: Path) -> None:
    settings = {"path": str(tmp_path / "folder")}
    desk = JobQueue(bench.lake._lake, "lanceway", "archive", "ops")
    folder: Any = DirectoryCatalog(**settings).with_job_queue(desk)
    folder.create_table_stream({"id": ["people"]}, people(1, 2).to_reader())
    schema = people(1).schema
    folder.create_materialized_view(view_request(["copy"], schema, {"source": ["people"]}, auto_refresh=True))
    bench.worker.places = Places(bench.lake._lake, mounted={"archive": CatalogSettings("dir", settings)})
    bench.worker.run(once=True)
    assert {(job.kind, job.state) for job in desk.page()[0]} == {("refresh", "failed"), ("auto_refresh", "failed")}
