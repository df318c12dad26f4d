"""Tables that become visible at once, or not at all."""

from __future__ import annotations

import pytest

from lanceway.errors import UnsupportedOperationError
from lanceway.pipelines import model
from tests.pipelines.conftest import Workspace

BOTH = """\
pipeline: both
together: true
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
transforms:
  strict:
    sql: SELECT * FROM raw
    expect: [{name: small, that: id < 100}]
outputs:
  added: {from: raw, table: lake.n.added, tags: done}
  merged: {from: strict, table: lake.n.merged, keys: id}
"""


def found(workspace: Workspace) -> list[tuple[int, list[int]]]:
    opened = [model.find(f"lake.n.{name}", workspace.config).open() for name in ("added", "merged")]
    return [(each.version, sorted(each.to_table()["id"].to_pylist())) for each in opened]


def test_all_tables_of_a_run_become_visible_or_none(workspace: Workspace) -> None:
    workspace.config.write_text(
        f'[namespaces.lake]\ntype = "lake"\nuri = "{workspace.state}"\nroot = "{workspace.root}/lake"\n'
    )
    workspace.write(BOTH)
    workspace.data("a.json", {"id": 1, "text": "a"}, {"id": 2, "text": "b"})
    report = workspace.run()
    assert report.ok, report.failed
    assert found(workspace) == [(1, [1, 2]), (1, [1, 2])]
    workspace.data("b.json", {"id": 2, "text": "c"}, {"id": 300, "text": "d"})
    failed = workspace.run()
    assert [step.name for step in failed.failed] == ["merged"]
    assert found(workspace) == [(1, [1, 2]), (1, [1, 2])]  # the other was written, and nobody sees it
    workspace.write(BOTH.replace("id < 100", "id < 1000"))
    again = workspace.run()
    assert (again.ok, again.run.number) == (True, 2)
    assert found(workspace) == [(2, [1, 2, 2, 300]), (2, [1, 2, 300])]
    assert {step.name: step.version for step in again.steps if step.kind == "output"} == {"added": 2, "merged": 2}


def test_a_catalog_without_such_transactions_refuses(workspace: Workspace) -> None:
    workspace.write(BOTH.replace("lake.n.", "here."))
    workspace.data("a.json", {"id": 1, "text": "a"})
    with pytest.raises(UnsupportedOperationError):
        workspace.run()
