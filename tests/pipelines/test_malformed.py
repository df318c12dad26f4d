"""Rows that a schema cannot read, and keys that are null, never reach a table in silence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lanceway.pipelines import RunReport
from tests.pipelines.conftest import Workspace
from tests.pipelines.test_continuity import make

JSON = """\
pipeline: readings
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
outputs:
  out: {from: raw, table: here.out, keys: id}
"""
RULE = "    expect: [{name: readable, that: _malformed IS NULL, otherwise: %s}]\n"
CSV = JSON.replace("format: json", "format: csv\n    options: {header: true}")
XML = JSON.replace("format: json", "format: xml\n    options: {rowTag: row}")


def error_of(report: RunReport, name: str = "out") -> str:
    assert report.run.state == "failed"
    (error,) = [step.error or "" for step in report.failed if step.name == name]
    return error


def expecting(text: str, otherwise: str) -> str:
    return text.replace("outputs:", f"{RULE % otherwise}outputs:")


def write(workspace: Workspace, name: str, text: str) -> Path:
    (workspace.root / "data").mkdir(exist_ok=True)
    file = workspace.root / "data" / name
    file.write_text(text)
    return file


GOOD = '{"id": 1, "text": "a"}\n'
BAD = {"wrong type": '{"id": "x", "text": "b"}', "truncated": '{"id": 2, "text": "b', "not JSON": "id: 2"}
BAD_ROWS = {"wrong type": "<row><id>x</id></row></rows>", "truncated": "<row><id>2</id><te"}
BAD_LINES = {"wrong type": "x,b", "truncated": "2"}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
@pytest.mark.parametrize("schema", [True, False], ids=["schema", "inferred"])
def test_json_that_cannot_be_read_fails_the_step_and_shows_the_row(
    workspace: Workspace, line: str, schema: bool
) -> None:
    text = JSON if schema else JSON.replace("    schema: id BIGINT, text STRING\n", "")
    workspace.write(text)
    write(workspace, "a.json", f"{GOOD}{line}\n")
    if not schema and line == BAD["wrong type"]:  # then it is of the type that was found
        assert workspace.run().ok
        return
    error = error_of(workspace.run())
    assert "Expectation failed in 'raw': 'can be read by the schema' does not hold of" in error
    with pytest.raises(Exception, match="no table out"):
        workspace.location("out")


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES)
def test_csv_that_cannot_be_read_fails_the_step(workspace: Workspace, line: str) -> None:
    workspace.write(CSV)
    write(workspace, "a.csv", f"id,text\n1,a\n{line}\n")
    assert "'can be read by the schema'" in error_of(workspace.run())


@pytest.mark.parametrize("row", BAD_ROWS.values(), ids=BAD_ROWS)
def test_xml_that_cannot_be_read_fails_the_step_or_is_put_aside(workspace: Workspace, row: str) -> None:
    workspace.write(XML)
    write(workspace, "a.xml", f"<rows><row><id>1</id><text>a</text></row>{row}")
    assert "'can be read by the schema'" in error_of(workspace.run())
    workspace.write(expecting(XML, "quarantine, into: here.rejected"))
    assert workspace.run(restart=True).ok
    assert workspace.column("out") == [1]
    (text,) = workspace.column("rejected", "_malformed")
    assert row in text  # which is the whole file's


@pytest.mark.parametrize("query", [None, "SELECT id FROM raw", "SELECT upper(text) AS id FROM raw WHERE id < 9"])
@pytest.mark.parametrize("format_", ["json", "csv"])
def test_rows_that_cannot_be_read_are_put_aside_with_their_text(
    workspace: Workspace, format_: str, query: str | None
) -> None:
    text = expecting(JSON if format_ == "json" else CSV, "quarantine, into: here.rejected")
    if query:  # whichever columns are needed
        text = text.replace("outputs:", f"transforms:\n  some: {{sql: {query}}}\noutputs:").replace(
            "from: raw", "from: some"
        )
    workspace.write(text)
    bad = ['{"id": 3, "text": 4', '{"id": 5, "text": {"b": 1', '{"id": "x", "text": "b"}']
    if format_ == "json":
        write(workspace, "a.json", GOOD + "\n".join(bad) + "\n")
    else:
        bad = ["x,b", "7"]
        write(workspace, "a.csv", "id,text\n1,a\n" + "\n".join(bad) + "\n")
    report = workspace.run()
    assert report.ok, report.failed
    assert workspace.column("out") == (["A"] if query and "upper" in query else [1])
    assert workspace.column("rejected", "_malformed") == sorted(bad)
    assert "_malformed" not in workspace.table("out").schema.names
    counted = report.steps[-1].details["expectations"]["raw"]
    assert counted == {
        "rows": 1 + len(bad),
        "expectations": {"readable": {"broken": len(bad), "otherwise": "quarantine"}},
    }


def test_rows_that_cannot_be_read_are_dropped_only_where_that_is_said(workspace: Workspace) -> None:
    workspace.write(expecting(JSON, "drop").replace("drop}]", "drop}, {that: id > 0}]"))
    write(workspace, "a.json", GOOD + BAD["truncated"])
    report = workspace.run()
    assert (report.ok, workspace.column("out")) == (True, [1])  # the other expectation is not asked of it


@pytest.mark.parametrize("options", ["{mode: DROPMALFORMED}", "{mode: PERMISSIVE}"])
def test_an_option_of_spark_decides_what_becomes_of_them(workspace: Workspace, options: str) -> None:
    workspace.write(JSON.replace("format: json", f"format: json\n    options: {options}").replace(", keys: id", ""))
    write(workspace, "a.json", GOOD + '{"id": "x", "text": "b"}')
    assert workspace.run().ok
    ids = workspace.table("out").to_table()["id"].to_pylist()
    assert sorted(ids, key=str) == ([1] if "DROP" in options else [1, None])


@pytest.mark.parametrize("exists", [False, True])
def test_a_null_key_of_a_merge_is_refused(workspace: Workspace, exists: bool) -> None:
    workspace.write(JSON)
    if exists:
        write(workspace, "a.json", GOOD)
        assert workspace.run().ok
    write(workspace, "b.json", '{"text": "without"}\n{"id": 3, "text": "c"}\n')
    error = error_of(workspace.run())
    assert "The output 'out' is merged by id, which is null and matches nothing." in error
    assert "without" in error
    rule = "{name: has an id, that: id IS NOT NULL, otherwise: quarantine, into: here.rejected}"
    workspace.write(JSON.replace("outputs:", f"    expect: [{rule}]\noutputs:"))
    assert workspace.run(restart=True).ok
    assert workspace.column("out") == ([1, 3] if exists else [3])
    assert workspace.column("rejected", "text") == ["without"]


STREAM = JSON.replace("files: data\n    format: json", "stream: json\n    into: here.raw\n    options: {path: FOLDER}")


def test_rows_of_a_stream_that_cannot_be_read_are_put_aside(workspace: Workspace) -> None:
    text = STREAM.replace("FOLDER", str(workspace.root / "data"))
    workspace.write(text)
    write(workspace, "a.json", GOOD + BAD["wrong type"])
    assert "'can be read by the schema'" in error_of(workspace.run())
    workspace.write(expecting(text, "quarantine, into: here.rejected"))
    report = workspace.run()
    assert report.ok, report.failed
    assert workspace.column("out") == [1]
    assert workspace.column("rejected", "_malformed") == [BAD["wrong type"]]


def test_a_stream_whose_table_has_no_place_for_them_fails(workspace: Workspace) -> None:
    workspace.write(STREAM.replace("FOLDER", str(workspace.root / "data")))
    make(workspace, "raw", pa.table({"id": pa.array([7], pa.int64()), "text": ["g"]}))
    write(workspace, "a.json", GOOD + BAD["wrong type"])
    with pytest.raises(Exception, match=r"has no column _malformed to keep it in.*x.*"):
        workspace.run()
