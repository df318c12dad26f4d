"""Tables and names that changed between runs: a run says so, and never writes rows twice or leaves some out."""

from __future__ import annotations

import json
import logging
import uuid
from datetime import timedelta

import lance
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from lanceway import pipelines
from lanceway.cli.app import app
from lanceway.errors import InvalidInputError
from lanceway.pipelines import InvalidPipelineError, RunReport, model
from tests.pipelines.conftest import Workspace
from tests.servers.lanceway import Lanceway

FILES = """\
pipeline: notes
sources:
  raw: {files: data, format: json, schema: "id BIGINT, text STRING"}
transforms:
  clean: {sql: "SELECT id, upper(text) AS text FROM raw"}
outputs:
  notes: {from: clean, table: here.notes}
"""
TABLE = FILES.replace('{files: data, format: json, schema: "id BIGINT, text STRING"}', "{table: here.raw}")


def row(id_: int) -> dict[str, object]:
    return {"id": id_, "text": f"text {id_}"}


def table(*ids: int) -> pa.Table:
    return pa.table({"id": list(ids), "text": [f"text {id_}" for id_ in ids]})


def make(workspace: Workspace, name: str, rows: pa.Table) -> None:
    target = model.find(f"here.{name}", workspace.config)
    target.catalog().create_table_stream({"id": list(target.id)}, rows.to_reader())  # type: ignore[attr-defined]


def drop(workspace: Workspace, name: str) -> None:
    target = model.find(f"here.{name}", workspace.config)
    target.catalog().drop_table({"id": list(target.id)})  # type: ignore[arg-type]


def command(workspace: Workspace, verb: str, *arguments: str) -> Result:
    """Call `lanceway pipeline` with the file and the state of a workspace."""
    common = ["--config", str(workspace.config), "pipeline", verb, str(workspace.file), "--state", workspace.state]
    return CliRunner().invoke(app, [*common, *arguments], prog_name="lanceway", catch_exceptions=False)


def step(report: RunReport, name: str = "notes") -> str:
    return {step.name: step.state for step in report.steps}[name]


def on_two_files(workspace: Workspace, text: str = FILES) -> None:
    """Run a pipeline twice, each time with a new file: rows 1 to 3 are written."""
    workspace.write(text)
    workspace.data("a.json", row(1), row(2))
    assert workspace.run().ok
    workspace.data("b.json", row(3))
    assert workspace.run().ok
    assert workspace.column("notes") == [1, 2, 3]


# -- outputs that are lost -----------------------------------------------------------------------


@pytest.fixture(params=["dir", "lake"])
def placed(workspace: Workspace, request: pytest.FixtureRequest) -> Workspace:
    """Return a workspace whose tables are in a folder, and one with a lake that manages their versions."""
    if request.param == "lake":
        root = workspace.root
        workspace.config.write_text(
            f'[namespaces.here]\ntype = "lake"\nuri = "sqlite:///{root}/here.db"\nroot = "{root}/tables"\n'
        )
    return workspace


@pytest.mark.parametrize("mode", ["append", "merge", "overwrite"])
def test_an_output_that_was_dropped_is_rebuilt_with_a_warning(
    placed: Workspace, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    text = FILES.replace("here.notes}", f"here.notes, mode: {mode}{', keys: id' if mode == 'merge' else ''}}}")
    on_two_files(placed, text)
    drop(placed, "notes")
    with caplog.at_level(logging.WARNING, logger="lanceway"):
        report = placed.run()
    assert (report.ok, report.idle, step(report), report.rows) == (True, False, "done", 3)
    (warning,) = report.warnings
    assert "The table here.notes of the output 'notes' was dropped since it was written" in warning
    assert warning in caplog.text
    assert report.as_record()["warnings"] == [warning]
    assert placed.column("notes") == [1, 2, 3]
    drop(placed, "notes")
    placed.data("c.json", row(4))
    assert placed.run().warnings
    assert placed.column("notes") == [1, 2, 3, 4]  # not the new row alone
    again = placed.run()
    assert (again.idle, again.warnings) == (True, [])


def test_the_command_line_shows_that_an_output_was_rebuilt(workspace: Workspace) -> None:
    on_two_files(workspace)
    drop(workspace, "notes")
    workspace.run()
    output = command(workspace, "status").stdout
    assert "was dropped since it was written. It is rebuilt from all that its sources have." in " ".join(output.split())


def test_a_server_that_keeps_the_runs_knows_what_was_written(workspace: Workspace, server: Lanceway) -> None:
    name, keeper = f"kept-{uuid.uuid4().hex}", pipelines.Server(server.address, token=server.token)
    workspace.write(FILES.replace("pipeline: notes", f"pipeline: {name}"))
    workspace.data("a.json", row(1), row(2))
    assert workspace.run(state=keeper).ok
    assert workspace.run(state=keeper).idle
    drop(workspace, "notes")
    report = workspace.run(state=keeper)
    assert (report.ok, len(report.warnings), workspace.column("notes")) == (True, 1, [1, 2])
    assert workspace.run(state=keeper, full=["notes"]).rows == 2
    assert workspace.run(state=keeper).idle


@pytest.mark.parametrize("how", ["recreated", "overwritten", "restored"])
def test_an_output_that_another_program_has_replaced_is_rebuilt(placed: Workspace, how: str) -> None:
    on_two_files(placed)
    if how == "recreated":
        drop(placed, "notes")
        make(placed, "notes", table(70))
        for id_ in (71, 72):  # as many versions as before, and more
            placed.append("notes", table(id_))
    elif how == "overwritten":
        placed.write_rows("notes", table(70), "overwrite")
    else:
        placed.table("notes", version=1).restore()
    report = placed.run()
    assert (report.ok, len(report.warnings)) == (True, 1)
    assert {"recreated": "dropped and created again"}.get(how, how) in report.warnings[0]
    assert placed.column("notes") == [1, 2, 3]
    assert placed.run().idle


def test_what_others_add_to_an_output_or_delete_from_it_is_no_loss(placed: Workspace) -> None:
    on_two_files(placed)
    placed.append("notes", table(70))
    placed.table("notes").delete("id = 1")
    placed.table("notes").optimize.compact_files()
    idle = placed.run()
    assert (idle.idle, idle.warnings) == (True, [])
    placed.data("c.json", row(4))
    assert placed.run().ok
    assert placed.column("notes") == [2, 3, 4, 70]


@pytest.mark.parametrize("where", ["pipeline", "output"])
def test_on_lost_output_fail_stops_the_run_until_it_is_decided(placed: Workspace, where: str) -> None:
    text = FILES.replace("here.notes}", "here.notes, on_lost_output: fail}")
    on_two_files(placed, f"{FILES}on_lost_output: fail\n" if where == "pipeline" else text)
    drop(placed, "notes")
    for _ in range(2):
        with pytest.raises(InvalidPipelineError, match=r"'notes' was dropped .* on_lost_output is fail.*--full notes"):
            placed.run()
        with pytest.raises(Exception, match="no table notes"):
            placed.location("notes")
    report = placed.run(full=["notes"])
    assert (report.ok, placed.column("notes")) == (True, [1, 2, 3])
    drop(placed, "notes")
    make(placed, "notes", table(70))
    with pytest.raises(InvalidPipelineError, match="dropped and created again"):
        placed.run()
    placed.data("c.json", row(4))
    assert placed.run(adopt=True).ok
    assert placed.column("notes") == [70]
    placed.data("d.json", row(5))
    assert placed.run().ok
    assert placed.column("notes") == [4, 5, 70]  # the run that had stopped did not know of the row 4


def test_an_output_that_is_lost_while_its_run_rests_is_rebuilt_when_it_goes_on(workspace: Workspace) -> None:
    two = FILES + "  more: {from: failing, table: here.more}\n"
    two = two.replace(
        "outputs:", "  failing: {sql: \"SELECT id, CAST(raise_error('no') AS STRING) AS text FROM raw\"}\noutputs:"
    )
    workspace.write(two)
    workspace.data("a.json", row(1))
    assert not workspace.run().ok
    assert workspace.column("notes") == [1]
    drop(workspace, "notes")
    workspace.write(two.replace("CAST(raise_error('no') AS STRING) AS text", "text"))
    report = workspace.run()
    assert (report.ok, report.continued, len(report.warnings)) == (True, True, 1)
    assert workspace.column("notes") == workspace.column("more") == [1]


def test_rejected_rows_of_two_steps_in_one_table_are_rebuilt_together(workspace: Workspace) -> None:
    rule = "expect: [{name: %s, that: %s, otherwise: quarantine, into: here.rejected}]"
    text = FILES.replace('STRING"}', f'STRING", {rule % ("small", "id < 100")}}}')
    text = text.replace('FROM raw"}', f'FROM raw", {rule % ("odd", "id % 2 = 1")}}}')
    workspace.write(text)
    workspace.data("a.json", row(1), row(2), row(300))
    assert workspace.run().ok
    assert workspace.column("rejected") == [2, 300]
    workspace.data("b.json", row(4), row(500))
    assert workspace.run(full=True).ok
    assert workspace.column("rejected") == [2, 4, 300, 500]
    drop(workspace, "rejected")
    assert len(workspace.run().warnings) == 2
    assert workspace.column("rejected") == [2, 4, 300, 500]
    with pytest.raises(
        InvalidInputError, match=r"cannot be rebuilt alone: here.rejected has the rows of clean/rejected"
    ):
        workspace.run(full=["raw/rejected"])


# -- names and state -----------------------------------------------------------------------------

NAMES = {
    "pipeline": ("pipeline: notes", "pipeline: others"),
    "output": ("  notes: {from", "  renamed: {from"),
}


def lose_state(workspace: Workspace) -> None:
    for file in workspace.root.glob("state.db*"):
        file.unlink()


@pytest.mark.parametrize("change", ["pipeline", "output", "source", "state"])
def test_rows_of_a_table_are_not_appended_twice_whatever_was_renamed(workspace: Workspace, change: str) -> None:
    make(workspace, "raw", table(1, 2))
    workspace.write(TABLE)
    assert workspace.run().ok
    workspace.append("raw", table(3))
    if change == "state":
        lose_state(workspace)
    elif change == "source":
        workspace.write(TABLE.replace("raw:", "fresh:").replace("FROM raw", "FROM fresh"))
    else:
        workspace.write(TABLE.replace(*NAMES[change]))
    report = workspace.run()
    assert (report.ok, workspace.column("notes")) == (True, [1, 2, 3])
    assert any("continues where" in warning for warning in report.warnings)
    again = workspace.run()
    assert (again.idle, again.warnings) == (True, [])


def test_what_was_read_is_recognised_where_its_commits_were_cleaned_up(workspace: Workspace) -> None:
    make(workspace, "raw", table(1, 2))
    workspace.write(TABLE.replace("here.notes}", "here.notes, indices: [{column: id, type: BTREE}]}"))
    assert workspace.run().ok
    workspace.table("notes").cleanup_old_versions(timedelta(0))
    assert [version["version"] for version in workspace.table("notes").versions()] == [2]  # that of the index
    lose_state(workspace)
    workspace.append("raw", table(3))
    report = workspace.run()
    assert (report.ok, len(report.warnings), workspace.column("notes")) == (True, 1, [1, 2, 3])
    drop(workspace, "notes")
    with pytest.raises(Exception, match="no table notes"):
        workspace.location("notes")
    make(workspace, "notes", table(70))
    lose_state(workspace)
    assert workspace.run().warnings == []
    assert workspace.column("notes") == [1, 2, 3, 70]


def test_an_output_of_files_that_was_renamed_goes_on_where_it_was(workspace: Workspace) -> None:
    on_two_files(workspace)
    workspace.write(FILES.replace(*NAMES["output"]))
    workspace.data("c.json", row(4))
    report = workspace.run()
    assert (report.ok, report.rows, workspace.column("notes")) == (True, 1, [1, 2, 3, 4])


@pytest.mark.parametrize("change", ["pipeline", "source", "state"])
@pytest.mark.parametrize("decision", ["adopt", "full"])
def test_files_that_may_be_written_already_are_not_appended_before_it_is_decided(
    workspace: Workspace, change: str, decision: str
) -> None:
    on_two_files(workspace)
    if change == "state":
        lose_state(workspace)
    elif change == "source":
        workspace.write(FILES.replace("raw:", "fresh:").replace("FROM raw", "FROM fresh"))
    else:
        workspace.write(FILES.replace(*NAMES[change]))
    for _ in range(2):
        with pytest.raises(InvalidPipelineError, match=r"were written into here.notes by .*--full notes.*--adopt"):
            workspace.run()
        assert workspace.column("notes") == [1, 2, 3]
    assert workspace.run(**{decision: True}).ok
    assert workspace.column("notes") == [1, 2, 3]
    workspace.data("c.json", row(4))
    assert workspace.run().ok
    assert workspace.column("notes") == [1, 2, 3, 4]


def test_rows_are_added_to_a_table_that_no_pipeline_has_written(workspace: Workspace) -> None:
    make(workspace, "notes", table(70))
    workspace.write(FILES)
    workspace.data("a.json", row(1))
    report = workspace.run()
    assert (report.ok, report.warnings, workspace.column("notes")) == (True, [], [1, 70])


def test_pipelines_of_different_sources_may_write_into_one_table(workspace: Workspace) -> None:
    on_two_files(workspace)
    (workspace.root / "other").mkdir()
    (workspace.root / "other" / "a.json").write_text(json.dumps(row(10)))
    workspace.write(FILES.replace("pipeline: notes", "pipeline: others").replace("files: data", "files: other"))
    report = workspace.run()
    assert (report.ok, report.warnings, workspace.column("notes")) == (True, [], [1, 2, 3, 10])


def test_what_a_run_has_committed_counts_when_it_is_given_up_before_that_was_recorded(workspace: Workspace) -> None:
    class Cut(BaseException):
        pass

    def cut(event: pipelines.Event) -> None:
        if event.moment == "written":
            raise Cut

    workspace.write(FILES)
    for number, (first, last) in enumerate([(1, 2), (3, 4)]):
        workspace.data(f"{number}.json", *map(row, range(first, last + 1)))
        with pytest.raises(Cut):
            workspace.run(listen=cut)
        report = workspace.run(restart=True)
        assert (report.ok, report.continued) == (True, False)
        assert workspace.column("notes") == list(range(1, last + 1))


# -- sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "merge"])
@pytest.mark.parametrize("how", ["overwritten", "recreated", "recreated with as many versions"])
def test_a_source_that_was_replaced_stops_the_run_and_says_what_to_do(
    workspace: Workspace, how: str, mode: str
) -> None:
    make(workspace, "raw", table(1, 2))
    workspace.write(TABLE.replace("here.notes}", "here.notes, keys: id}") if mode == "merge" else TABLE)
    assert workspace.run().ok
    if how == "overwritten":
        lance.write_dataset(table(2, 3), workspace.location("raw"), mode="overwrite")
    else:
        drop(workspace, "raw")
        make(workspace, "raw", table(2) if how == "recreated" else table(2, 3))
        if how == "recreated":
            workspace.append("raw", table(3))
    expected = "was overwritten by another program" if how == "overwritten" else "(was dropped|is another table)"
    with pytest.raises(InvalidPipelineError, match=rf"here.raw, the source 'raw', {expected}.*--full notes.*--adopt"):
        workspace.run()
    assert workspace.column("notes") == [1, 2]
    report = workspace.run(full=["notes"])
    assert (report.ok, workspace.column("notes")) == (True, [2, 3])
    workspace.append("raw", table(4))
    assert workspace.run().ok
    assert workspace.column("notes") == [2, 3, 4]


def test_what_replaced_a_source_may_be_taken_as_written(workspace: Workspace) -> None:
    make(workspace, "raw", table(1, 2))
    workspace.write(TABLE)
    assert workspace.run().ok
    lance.write_dataset(table(2, 3), workspace.location("raw"), mode="overwrite")
    report = workspace.run(adopt=True)
    assert (report.ok, len(report.warnings), workspace.column("notes")) == (True, 1, [1, 2])
    workspace.append("raw", table(4))
    assert workspace.run().ok
    assert workspace.column("notes") == [1, 2, 4]


def test_an_output_that_is_overwritten_follows_a_source_that_was_created_again(workspace: Workspace) -> None:
    make(workspace, "raw", table(1, 2))
    workspace.write(TABLE.replace("here.notes}", "here.notes, mode: overwrite}"))
    assert workspace.run().ok
    drop(workspace, "raw")
    make(workspace, "raw", table(3))  # of the same version
    assert workspace.run().ok
    assert workspace.column("notes") == [3]


# -- definitions ---------------------------------------------------------------------------------


def test_changed_sql_without_new_input_is_reported_until_it_is_applied(workspace: Workspace) -> None:
    on_two_files(workspace)
    workspace.write(FILES.replace("upper(text)", "lower(text)"))
    for _ in range(2):
        report = workspace.run()
        (warning,) = report.warnings
        assert report.idle
        assert "The definition of the output 'notes'" in warning
        assert "--full notes" in warning
    output = command(workspace, "status").stdout
    assert "The definition of the output 'notes'" in " ".join(output.split())
    report = workspace.run(full=["notes"])
    assert (report.ok, report.warnings) == (True, [])
    assert workspace.column("notes", "text") == ["text 1", "text 2", "text 3"]
    again = workspace.run()
    assert (again.idle, again.warnings) == (True, [])


def test_a_changed_function_is_reported_and_comments_are_not(workspace: Workspace) -> None:
    code = "def same(batch):\n    return batch\n"
    workspace.functions(code)
    text = FILES.replace('{sql: "SELECT id, upper(text) AS text FROM raw"}', "{batches: 'steps:same', inputs: raw, %s}")
    on_two_files(workspace, text.replace("%s", 'schema: "id BIGINT, text STRING"'))
    workspace.functions(f"# the same\n{code}")
    assert workspace.run().warnings == []
    workspace.functions(code.replace("return batch", "return batch.slice(0, 1)"))
    (warning,) = workspace.run().warnings
    assert "nothing new was there to apply it to" in warning
    workspace.data("c.json", row(4))
    (warning,) = workspace.run().warnings
    assert "only the rows of this run were made by the new one" in warning
    assert workspace.run().warnings == []


def test_one_output_is_rebuilt_and_the_others_get_what_is_new(workspace: Workspace) -> None:
    on_two_files(workspace, FILES + "  copy: {from: raw, table: here.copy}\n")
    workspace.data("c.json", row(4))
    report = workspace.run(full=["notes"])
    assert {step.name: (step.rows, step.details["mode"]) for step in report.steps} == {
        "notes": (4, "overwrite"),
        "copy": (1, "append"),
    }
    assert workspace.column("notes") == workspace.column("copy") == [1, 2, 3, 4]
    assert workspace.run().idle
    with pytest.raises(InvalidInputError, match=r"has no output 'nots'. .*notes"):
        workspace.run(full=["nots"])


def test_a_rebuild_of_one_output_that_ends_early_goes_on_as_such(workspace: Workspace) -> None:
    on_two_files(workspace, FILES + "  copy: {from: raw, table: here.copy}\n")

    class Cut(BaseException):
        pass

    def cut(event: pipelines.Event) -> None:
        if event.moment == "begun":
            raise Cut

    with pytest.raises(Cut):
        workspace.run(full=["notes"], listen=cut)
    report = workspace.run()
    assert (report.ok, report.continued, report.rows) == (True, True, 3)
    assert workspace.table("notes").version == 3


def test_the_command_line_rebuilds_the_outputs_that_it_names(workspace: Workspace) -> None:
    workspace.write(FILES)
    workspace.data("a.json", row(1))
    result = command(workspace, "run", "--full", "nots")
    assert result.exit_code == 1
    assert "nots" in result.stderr
    result = command(workspace, "run", "notes")
    assert result.exit_code == 2
    assert "--full notes" in result.stderr


def test_the_command_line_decides_what_becomes_of_a_table_that_was_lost(workspace: Workspace) -> None:
    on_two_files(workspace, f"{FILES}on_lost_output: fail\n")
    drop(workspace, "notes")
    refused = command(workspace, "run")
    assert refused.exit_code == 1
    assert "on_lost_output is fail" in refused.stderr
    assert "--full notes" in refused.stderr
    rebuilt = command(workspace, "run", "--full", "notes")
    assert rebuilt.exit_code == 0, rebuilt.output
    assert workspace.column("notes") == [1, 2, 3]


def test_the_command_line_takes_what_is_there_as_written(workspace: Workspace) -> None:
    on_two_files(workspace)
    lose_state(workspace)
    refused = command(workspace, "run")
    assert refused.exit_code == 1
    assert "--adopt" in refused.stderr
    adopted = command(workspace, "run", "--adopt")
    assert adopted.exit_code == 0, adopted.output
    assert workspace.column("notes") == [1, 2, 3]
    workspace.data("c.json", row(4))
    assert command(workspace, "run").exit_code == 0
    assert workspace.column("notes") == [1, 2, 3, 4]
