"""Where the table of a job lies: in the lake, or in a catalog that is mounted beside it, from a namespace of it on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanceway.catalogs import DirectoryCatalog
from lanceway.catalogs.contract.jobs import JobQueue
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.config import CatalogSettings
from lanceway.identifiers import Identifier
from lanceway.jobs.worker.catalogs import Places
from tests.jobs.worker.conftest import Bench, people


def test_a_catalog_that_is_mounted_from_a_namespace_on(bench: Bench, tmp_path: Path) -> None:
    settings = {"path": str(tmp_path / "folder"), "layout": "manifest"}
    folder: Any = DirectoryCatalog(**settings)
    folder.create_namespace({"id": ["team"]})
    desk = JobQueue(bench.lake._lake, "lanceway", "archive", "alice")
    mounted: Any = Subtree(folder, Identifier(("team",))).with_job_queue(desk)
    mounted.create_table_stream({"id": ["people"]}, people(1, 2).to_reader())
    mounted.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "x", "computed": "id * 2"}]})
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
