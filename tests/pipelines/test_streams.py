"""Streams as sources: a run copies each of their rows once, even if it was interrupted."""

from __future__ import annotations

import pytest

from lanceway.pipelines import InvalidPipelineError
from tests.pipelines.conftest import Workspace
from tests.pipelines.test_restart import Cut, Cutting

CLICKS = """\
pipeline: clicks
sources:
  clicks:
    stream: json
    options: {path: "ROOT/data", maxFilesPerTrigger: "1"}
    schema: id BIGINT, page STRING
    into: here.raw.clicks
    expect: [{name: has a page, that: length(page) > 0, otherwise: drop}]
outputs:
  added: {from: clicks, table: here.added}
"""


def clicks(*ids: int) -> list[dict[str, object]]:
    return [{"id": id_, "page": "" if id_ % 5 == 0 else "home"} for id_ in ids]


def taken(workspace: Workspace) -> tuple[list[int], list[int]]:
    """Return what was copied from the stream, and what came out."""
    return workspace.column("raw.clicks"), workspace.column("added")


def test_each_run_takes_over_what_has_come_once(workspace: Workspace) -> None:
    workspace.write(CLICKS.replace("ROOT", str(workspace.root)))
    workspace.data("a.json", *clicks(1, 2))
    workspace.data("b.json", *clicks(3, 4, 5))
    first = workspace.run()
    assert first.ok, first.run.error
    assert taken(workspace) == ([1, 2, 3, 4, 5], [1, 2, 3, 4])
    versions = workspace.table("raw.clicks").version
    assert [(read.table_name, read.version) for read in first.reads] == [("here.raw.clicks", versions)]
    # As a kill leaves it between the commit of a batch and Spark's note of that: the batch is tried again.
    (notes,) = workspace.root.glob("tables/*/.lanceway/streams/clicks/clicks/commits")
    for name in (f"{versions - 2}", f".{versions - 2}.crc"):
        (notes / name).unlink()
    workspace.data("c.json", *clicks(6))
    again = workspace.run()
    assert (again.ok, again.run.number, workspace.table("raw.clicks").version) == (True, 2, versions + 1)
    assert taken(workspace) == ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6])
    assert workspace.run().idle


def test_a_run_that_is_cut_off_goes_on_with_what_it_had_taken_over(workspace: Workspace) -> None:
    workspace.write(CLICKS.replace("ROOT", str(workspace.root)))
    workspace.data("a.json", *clicks(1, 2))
    cutting = Cutting("begun")
    with pytest.raises(Cut):
        workspace.run(listen=cutting)
    workspace.data("b.json", *clicks(3))
    report = workspace.run()
    assert (report.ok, report.run.number, report.run.attempts) == (True, 1, 2)
    assert taken(workspace) == ([1, 2], [1, 2])
    assert workspace.run().ok
    assert taken(workspace) == ([1, 2, 3], [1, 2, 3])


@pytest.mark.parametrize(
    ("change", "expected"),
    [(("stream: json", "stream: jsoon"), "jsoon"), (("id BIGINT", "id BIGGER"), "BIGGER")],
)
def test_what_spark_cannot_read_is_told_with_its_line(
    workspace: Workspace, change: tuple[str, str], expected: str
) -> None:
    workspace.write(CLICKS.replace("ROOT", str(workspace.root)).replace(*change))
    workspace.data("a.json", *clicks(1))
    with pytest.raises(InvalidPipelineError, match=expected) as caught:
        workspace.run()
    assert caught.value.problems[0].where == f"{workspace.file}:4"
    assert not (workspace.root / "tables" / "raw").exists()
