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
    row = store.run(partial(leases.ensure, name=pipeline)).id
    key = f"{pipeline}-{source}-{table}-{version}"
    run = store.run(lambda c: runs.create(c, row, key, by=by, full=False, graph={}))
    read = Read("out", "in", "table", 0, version, source, f"/{source}")
    store.run(lambda c: runs.plan(c, run.id, [StepRow("out", "output")]))
    told = {"location": f"/{table}", "table_name": table, "version": version, "rows": 2}
    store.run(lambda c: runs.end_step(c, run.id, "out", DONE, [read], **told))
    store.run(lambda c: runs.end(c, run.id, DONE))


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
    assert pairs(chain.look(ask)) == {("raw", "clean"), ("clean", "report"), ("clean", "copy")}
    assert pairs(chain.look(partial(ask, upstream=False))) == {("clean", "report"), ("clean", "copy")}
    assert pairs(chain.look(partial(ask, downstream=False))) == {("raw", "clean")}
    up = partial(lineage.around, tables=["/report"], downstream=False)
    assert pairs(chain.look(up)) == {("clean", "report"), ("raw", "clean")}
    assert pairs(chain.look(partial(up, depth=1))) == {("clean", "report")}
    assert chain.look(partial(lineage.around, tables=["/nowhere"])) == []


def test_of_each_pair_the_newest_unless_every_one_is_wanted(chain: LakeStore) -> None:
    up = partial(lineage.around, tables=["/clean"], downstream=False)
    assert [(edge.run, edge.version, edge.source_version) for edge in chain.look(up)] == [(2, 2, 2)]
    assert sorted(edge.run for edge in chain.look(partial(up, every=True))) == [1, 2]


def test_a_circle_ends(chain: LakeStore) -> None:
    written(chain, "round", "report", "raw")
    found = chain.look(partial(lineage.around, tables=["/raw"]))
    assert pairs(found) == {("raw", "clean"), ("clean", "report"), ("clean", "copy"), ("report", "raw")}
    boxes = {node.label: node for node in lineage.nodes(found)}
    assert (boxes["raw"].inputs, boxes["clean"].shown) == (("/report",), "version 2")


def test_more_than_anybody_could_look_at_is_refused(store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "FARTHEST", 3)
    for number in range(4):
        written(store, f"p{number}", f"t{number}", f"t{number + 1}")
    with pytest.raises(InvalidInputError, match=r"more than 3 tables.*give a depth"):
        store.look(partial(lineage.around, tables=["/t0"]))
    assert len(store.look(partial(lineage.around, tables=["/t0"], depth=2))) == 2


def test_who_is_no_admin_sees_his_own_alone(chain: LakeStore) -> None:
    assert pairs(chain.look(partial(lineage.around, tables=["/clean"], user="bob"))) == {("clean", "copy")}
    assert chain.look(partial(lineage.places, name="clean", user="bob")) == {"/clean"}
    assert chain.look(partial(lineage.places, name="raw", user="bob")) == set()
    assert chain.look(partial(lineage.places, name="raw")) == {"/raw"}
    assert [run.pipeline for run in chain.look(partial(listing.page, user="bob"))] == ["copying"]
    written(chain, "copying", "clean", "copy", version=2)  # ada's run of a pipeline that is bob's
    assert len(chain.look(partial(listing.page, user="bob"))) == 2
    assert [one.name for one in chain.look(partial(listing.pipelines_after, name=None, user="bob"))] == ["copying"]


def test_runs_and_pipelines_are_listed(chain: LakeStore) -> None:
    found = chain.look(listing.page)
    assert [run.pipeline for run in found] == ["copying", "reporting", "cleaning", "cleaning"]
    assert [run.id for run in chain.look(partial(listing.page, before=found[1].id))] == [run.id for run in found[2:]]
    (told, _) = chain.look(lambda c: listing.summaries(c, found[2:]))
    assert (told["rows"], told["written"], told["state"], told["number"]) == (2, ["clean 2"], "done", 2)
    row = chain.run(partial(leases.ensure, name="cleaning")).id
    chain.run(lambda c: runs.create(c, row, "open", by="ada", full=False, graph={}))
    assert [run.key for run in chain.look(partial(listing.page, state="killed"))] == ["open"]
    assert chain.run(lambda c: leases.take(c, row, "k", by="ada", lifetime=60_000))
    assert [run.key for run in chain.look(partial(listing.page, state="running"))] == ["open"]
    listed = chain.look(partial(listing.pipelines_after, name=None, limit=2))
    assert [(one.name, one.runs, one.state, one.held_by) for one in listed] == [
        ("cleaning", 3, "running", "ada"),
        ("copying", 1, "done", None),
    ]
    assert [one.name for one in chain.look(partial(listing.pipelines_after, name="copying"))] == ["reporting"]
