"""Lineage: what was made from what, over many runs, however far and for whom."""

from __future__ import annotations

from functools import partial

import pytest

from lanceway.errors import InvalidInputError
from lanceway.lake.runs import leases, lineage, listing, runs
from lanceway.lake.runs.lineage import LineageEdge
from lanceway.lake.runs.runs import DONE, Read, StepRow
from lanceway.lake.store.database import LakeStore


def written(store: LakeStore, pipeline: str, source: str, table: str, *, by: str = "ada", version: int = 1) -> None:
    """A run that has read one table and written another; each lies where its name says."""
    row = store.transact(leases.ensure, name=pipeline).id
    key = f"{pipeline}-{source}-{table}-{version}"
    run = store.transact(runs.create, row, key, by=by, full=False, graph={})
    read = Read("out", "in", "table", 0, version, source, f"/{source}")
    store.transact(runs.plan, run.id, [StepRow("out", "output")])
    told = {"location": f"/{table}", "table_name": table, "version": version, "rows": 2}
    store.transact(runs.end_step, run.id, "out", DONE, [read], **told)
    store.transact(runs.end, run.id, DONE)


def pairs(edges: list[LineageEdge]) -> set[tuple[str, str]]:
    return {(edge.source, edge.table) for edge in edges}


@pytest.fixture
def chain(store: LakeStore) -> LakeStore:
    """raw -> clean -> report, and clean -> copy; the first twice."""
    for version in (1, 2):
        written(store, "cleaning", "raw", "clean", version=version)
    written(store, "reporting", "clean", "report")
    written(store, "copying", "clean", "copy", by="bob")
    return store


def test_both_ways_and_so_far(chain: LakeStore) -> None:
    ask = partial(lineage.around, tables=["/clean"])
    assert pairs(chain.snapshot(ask)) == {("raw", "clean"), ("clean", "report"), ("clean", "copy")}
    assert pairs(chain.snapshot(ask, upstream=False)) == {("clean", "report"), ("clean", "copy")}
    assert pairs(chain.snapshot(ask, downstream=False)) == {("raw", "clean")}
    up = partial(lineage.around, tables=["/report"], downstream=False)
    assert pairs(chain.snapshot(up)) == {("clean", "report"), ("raw", "clean")}
    assert pairs(chain.snapshot(up, depth=1)) == {("clean", "report")}
    assert chain.snapshot(lineage.around, tables=["/nowhere"]) == []


def test_of_each_pair_the_newest_unless_every_one_is_wanted(chain: LakeStore) -> None:
    up = partial(lineage.around, tables=["/clean"], downstream=False)
    assert [(edge.run, edge.version, edge.source_version) for edge in chain.snapshot(up)] == [(2, 2, 2)]
    assert sorted(edge.run for edge in chain.snapshot(up, every=True)) == [1, 2]


def test_a_circle_ends(chain: LakeStore) -> None:
    written(chain, "round", "report", "raw")
    found = chain.snapshot(lineage.around, tables=["/raw"])
    assert pairs(found) == {("raw", "clean"), ("clean", "report"), ("clean", "copy"), ("report", "raw")}
    boxes = {node.label: node for node in lineage.nodes(found)}
    assert (boxes["raw"].inputs, boxes["clean"].shown) == (("/report",), "version 2")


def test_more_than_anybody_could_look_at_is_refused(store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "FARTHEST", 3)
    for number in range(4):
        written(store, f"p{number}", f"t{number}", f"t{number + 1}")
    with pytest.raises(InvalidInputError, match=r"more than 3 tables.*give a depth"):
        store.snapshot(lineage.around, tables=["/t0"])
    assert len(store.snapshot(lineage.around, tables=["/t0"], depth=2)) == 2


def test_all_that_is_directly_beside_a_table_is_listed_however_much_it_is(
    store: LakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lineage, "FARTHEST", 3)
    for number in range(5):
        written(store, f"p{number}", "t", f"t{number}")
    assert len(store.snapshot(lineage.around, tables=["/t"], depth=1)) == 5
    monkeypatch.setattr(lineage, "WIDEST", 4)
    with pytest.raises(InvalidInputError, match="more than 4 tables"):
        store.snapshot(lineage.around, tables=["/t"], depth=1)


def test_who_is_no_admin_sees_his_own_alone(chain: LakeStore) -> None:
    assert pairs(chain.snapshot(lineage.around, tables=["/clean"], user="bob")) == {("clean", "copy")}
    assert chain.snapshot(lineage.places, name="clean", user="bob") == {"/clean"}
    assert chain.snapshot(lineage.places, name="raw", user="bob") == set()
    assert chain.snapshot(lineage.places, name="raw") == {"/raw"}
    assert [run.pipeline for run in chain.snapshot(listing.page, user="bob")] == ["copying"]
    written(chain, "copying", "clean", "copy", version=2)  # ada's run of a pipeline that is bob's
    assert len(chain.snapshot(listing.page, user="bob")) == 2
    assert [one.name for one in chain.snapshot(listing.pipelines_after, name=None, user="bob")] == ["copying"]


def test_runs_and_pipelines_are_listed(chain: LakeStore) -> None:
    found = chain.snapshot(listing.page)
    assert [run.pipeline for run in found] == ["copying", "reporting", "cleaning", "cleaning"]
    assert [run.id for run in chain.snapshot(listing.page, before=found[1].id)] == [run.id for run in found[2:]]
    (told, _) = chain.snapshot(listing.summaries, found[2:])
    assert (told["rows"], told["written"], told["state"], told["number"]) == (2, ["clean 2"], "done", 2)
    row = chain.transact(leases.ensure, name="cleaning").id
    chain.transact(runs.create, row, "open", by="ada", full=False, graph={})
    assert [run.key for run in chain.snapshot(listing.page, state="killed")] == ["open"]
    assert chain.transact(leases.take, row, "k", by="ada", lifetime=60_000)
    assert [run.key for run in chain.snapshot(listing.page, state="running")] == ["open"]
    listed = chain.snapshot(listing.pipelines_after, name=None, limit=2)
    assert [(one.name, one.runs, one.state, one.held_by) for one in listed] == [
        ("cleaning", 3, "running", "ada"),
        ("copying", 1, "done", None),
    ]
    assert [one.name for one in chain.snapshot(listing.pipelines_after, name="copying")] == ["reporting"]
