"""Runs of pipelines: only new rows are read, expectations hold, and follow-ups are done."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lanceway
from lanceway import jobs, pipelines
from lanceway.cli.app import app
from lanceway.errors import ConcurrentModificationError, InvalidInputError, InvalidTableStateError
from lanceway.pipelines import InvalidPipelineError, RunReport
from lanceway.pipelines.runs import store as states
from lanceway.spark.write import merge
from tests.pipelines.conftest import Workspace

NOTES = """\
pipeline: notes
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
transforms:
  clean:
    sql: SELECT id, upper(text) AS text FROM raw
outputs:
  notes:
    from: clean
    table: here.team.notes
"""


def states_of(report: RunReport) -> dict[str, str]:
    return {step.name: step.state for step in report.steps}


def test_files_are_read_once_and_new_ones_are_added(workspace: Workspace) -> None:
    workspace.write(NOTES)
    workspace.data("a.json", {"id": 1, "text": "a"}, {"id": 2, "text": "b"})
    first = workspace.run()
    assert (first.run.state, first.rows, first.steps[0].version) == ("done", 2, 1)
    assert workspace.column("team.notes", "text") == ["A", "B"]
    idle = pipelines.run(
        workspace.file, state=workspace.state, config=workspace.config, master="spark://nowhere:1"
    )  # it needs none
    assert idle.idle
    assert workspace.table("team.notes").version == 1
    workspace.data("b.json", {"id": 3, "text": "c"})
    again = workspace.run()
    assert (again.run.number, again.rows, again.steps[0].version) == (3, 1, 2)
    assert workspace.column("team.notes") == [1, 2, 3]
    full = workspace.run(full=True)
    assert (full.rows, workspace.table("team.notes").version, workspace.column("team.notes")) == (3, 3, [1, 2, 3])
    assert workspace.run().idle
    history = pipelines.history(workspace.file, state=workspace.state, config=workspace.config)
    assert [(run["number"], run["rows"], run["state"]) for run in history] == [
        (5, 0, "done"),
        (4, 3, "done"),
        (3, 1, "done"),
        (2, 0, "done"),
        (1, 2, "done"),
    ]


TABLES = """\
pipeline: tables
sources:
  orders: {table: here.orders}
  names: {table: here.names, incremental: false}
transforms:
  named: {sql: "SELECT o.id, o.who, n.name FROM orders o LEFT JOIN names n ON o.who = n.who"}
  counted: {sql: "SELECT who, count(*) AS orders FROM named GROUP BY who"}
outputs:
  named:
    from: named
    table: here.named
    keys: id
  counts:
    from: counted
    table: here.counts
    mode: overwrite
"""


def make(workspace: Workspace, table: str, rows: pa.Table) -> None:
    from lanceway.pipelines import model

    target = model.find(f"here.{table}", workspace.config)
    target.catalog().create_table_stream({"id": list(target.id)}, rows.to_reader())  # type: ignore[attr-defined]


def test_of_a_table_each_output_has_what_is_new_to_it(workspace: Workspace) -> None:
    workspace.write(TABLES.replace("  named:\n    from", "  orders_named:\n    from"))
    make(workspace, "orders", pa.table({"id": [1, 2], "who": ["a", "b"]}))
    make(workspace, "names", pa.table({"who": ["a", "b"], "name": ["Ada", "Bob"]}))
    workspace.run()
    assert workspace.column("named", "name") == ["Ada", "Bob"]
    workspace.append("orders", pa.table({"id": [3, 2], "who": ["a", "a"]}))
    report = workspace.run()
    reads = {(read.step, read.source): (read.after, read.version) for read in report.reads}
    assert reads["orders_named", "orders"] == (1, 2)
    assert reads["orders_named", "names"] == (0, 1)
    assert reads["counts", "orders"] == (0, 2)  # what replaces its table needs all
    assert workspace.table("named").to_table().sort_by("id").to_pylist() == [
        {"id": 1, "who": "a", "name": "Ada"},
        {"id": 2, "who": "a", "name": "Ada"},
        {"id": 3, "who": "a", "name": "Ada"},
    ]
    assert {row["who"]: row["orders"] for row in workspace.table("counts").to_table().to_pylist()} == {"a": 3, "b": 1}
    lance.dataset(workspace.location("orders")).delete("id = 1")  # nothing new in that
    lance.dataset(workspace.location("orders")).update({"who": "'b'"}, where="id = 3")
    where = "id = 2 AND who = 'a'"  # what is computed is written beside the rows, which stay
    jobs.backfill(
        workspace.location("orders"), "who", _bees, update=True, where=where, state=workspace.root / "jobs.sqlite"
    )
    workspace.run()
    assert {row["id"]: row["name"] for row in workspace.table("named").to_table().to_pylist()} == {
        1: "Ada",
        2: "Bob",
        3: "Bob",
    }
    edges = pipelines.lineage(workspace.file, state=workspace.state, config=workspace.config)
    assert {(edge.source, edge.source_version, edge.table, edge.version) for edge in edges} == {
        ("here.orders", 5, "here.named", workspace.table("named").version),
        ("here.names", 1, "here.named", workspace.table("named").version),
        ("here.orders", 5, "here.counts", workspace.table("counts").version),
        ("here.names", 1, "here.counts", workspace.table("counts").version),
    }
    by_table = pipelines.lineage(table="here.orders", state=workspace.state, config=workspace.config)
    assert {(edge.source, edge.table) for edge in by_table} == {
        ("here.orders", "here.named"),
        ("here.orders", "here.counts"),
    }


def _bees(batch: pa.RecordBatch) -> list[str]:
    return ["b"] * batch.num_rows


EXPECTING = """\
pipeline: expecting
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
transforms:
  clean:
    sql: SELECT * FROM raw
    expect:
      - {name: has a text, that: length(text) > 0, otherwise: quarantine, into: here.rejected}
      - {name: small, that: id < 100, otherwise: drop}
      - {name: positive, that: id > 0, otherwise: fail}
outputs:
  out: {from: clean, table: here.out}
"""


def test_rows_that_break_an_expectation_are_dropped_put_aside_or_end_the_step(workspace: Workspace) -> None:
    workspace.write(EXPECTING)
    workspace.data("a.json", {"id": 1, "text": "a"}, {"id": 2}, {"id": 300, "text": "c"}, {"id": 4, "text": ""})
    report = workspace.run()
    assert states_of(report) == {"clean/rejected": "done", "out": "done"}
    assert workspace.column("out") == [1]
    rejected = workspace.table("rejected").to_table().sort_by("id").to_pylist()
    assert [(row["id"], row["_broken"], row["_step"], row["_run"]) for row in rejected] == [
        (2, "has a text", "clean", report.run.key),
        (4, "has a text", "clean", report.run.key),
    ]
    for step in report.steps:
        assert step.details["expectations"]["clean"] == {
            "rows": 4,
            "expectations": {
                "has a text": {"broken": 2, "otherwise": "quarantine"},
                "small": {"broken": 1, "otherwise": "drop"},
                "positive": {"broken": 0, "otherwise": "fail"},
            },
        }
    workspace.data("b.json", {"id": 5, "text": "e"}, {"id": -6, "text": "f"})
    failed = workspace.run()
    assert (failed.run.state, states_of(failed)["out"]) == ("failed", "failed")
    (error,) = [step.error or "" for step in failed.steps if step.name == "out"]
    assert "Expectation failed in 'clean': 'positive' does not hold of" in error
    assert '"id":-6' in error
    assert workspace.column("out") == [1]
    workspace.data("b.json", {"id": 5, "text": "e"}, {"id": 6, "text": "f"})
    # The run that failed goes on with what it had begun to read, and that is no more.
    workspace.run(restart=True)
    assert workspace.column("out") == [1, 5, 6]
    assert workspace.column("rejected") == [2, 4]


def test_after_a_write_come_indices_tags_other_catalogs_and_retention(workspace: Workspace) -> None:
    workspace.write(
        NOTES
        + """\
    schema: {id: bigint, text: string}
    indices: [{column: id, type: BTREE}]
    tags: [published, "run-{run}"]
    publish: there.shop.notes
    retention: {versions: 1}
"""
    )
    workspace.data("a.json", {"id": 1, "text": "a"})
    report = workspace.run()
    names = ["notes", "notes/indices", "notes/tags", "notes/publish", "notes/retention"]
    assert [step.name for step in report.steps] == names
    assert report.ok, report.failed
    dataset = workspace.table("team.notes")
    assert [index.name for index in dataset.describe_indices()] == ["id_idx"]
    assert {name: tag["version"] for name, tag in dataset.tags.list().items()} == {"published": 2, "run-1": 2}
    there = lance.dataset(pipeline_location(workspace, "there.shop.notes"))
    assert there.count_rows() == 1
    workspace.data("b.json", {"id": 2, "text": "b"})
    assert workspace.run().ok
    dataset = workspace.table("team.notes")
    assert dataset.describe_indices()[0].num_rows_indexed == 2
    assert dataset.tags.list()["published"]["version"] == dataset.version
    idle = workspace.run()
    assert idle.idle
    assert set(states_of(idle).values()) == {"skipped"}
    assert dataset.version == workspace.table("team.notes").version


def test_what_one_lake_publishes_into_another_stays_the_first_ones(workspace: Workspace) -> None:
    config = workspace.config.read_text().partition("[namespaces.there]")
    root = workspace.root
    first = f'[namespaces.here]\ntype = "lake"\nuri = "sqlite:///{root}/first.db"\nroot = "{root}/first"\n'
    workspace.config.write_text("".join((first, *config[1:])))
    workspace.write(NOTES + "    publish: there.shop.notes\n")
    here, there = (lanceway.connect(name=name, config=workspace.config) for name in ("here", "there"))
    for number in range(1, 4):
        workspace.data(f"{number}.json", {"id": number, "text": "a"})
        assert workspace.run().ok
        for catalog, table in ((there, ["shop", "notes"]), (here, ["team", "notes"])):
            assert catalog.count_table_rows({"id": table}).count == number  # type: ignore[arg-type]
    described = there.describe_table({"id": ["shop", "notes"]})  # type: ignore[arg-type]
    assert described.managed_versioning is False
    assert workspace.spark is not None
    options = {"namespace.type": "lake", "namespace.uri": workspace.state, "table": "shop.notes"}
    frame = workspace.spark.createDataFrame([(9, "b")], "id bigint, text string")
    with pytest.raises(Exception, match="another lake manages"):
        frame.write.format("lance").options(**options).mode("append").save()
    with pytest.raises(InvalidTableStateError, match="another lake manages"):
        merge.delete(workspace.spark, options, where="id = 1")
    assert here.count_table_rows({"id": ["team", "notes"]}).count == 3  # type: ignore[arg-type]


def pipeline_location(workspace: Workspace, name: str) -> str:
    from lanceway.pipelines import model

    return model.find(name, workspace.config).table().location


def test_python_functions_make_rows_and_change_them(workspace: Workspace) -> None:
    workspace.functions(
        """\
        from pyspark.sql import functions as f

        def rows(spark, count):
            return spark.range(count)

        def doubled(frame, other, by):
            return frame.withColumn("double", f.udf(lambda x: x * by, "bigint")("id")).join(other, "id")

        def lengthened(batch, more):
            import pyarrow.compute as pc
            return batch.set_column(0, "id", pc.add(batch.column("id"), more))
        """
    )
    workspace.write(
        """\
        pipeline: functions
        sources:
          numbers: {python: "steps:rows", with: {count: 4}}
        transforms:
          even: {sql: SELECT id FROM numbers WHERE id % 2 = 0}
          doubled: {python: "steps:doubled", inputs: [numbers, even], with: {by: 2}}
          longer: {batches: "steps:lengthened", inputs: doubled, with: {more: 10}, schema: "id BIGINT, double BIGINT"}
        outputs:
          out: {from: longer, table: here.out, mode: overwrite}
        """
    )
    report = workspace.run()
    assert report.ok, report.failed
    assert workspace.table("out").to_table().sort_by("id").to_pylist() == [
        {"id": 10, "double": 0},
        {"id": 12, "double": 4},
    ]


def test_a_function_that_raises_is_told_with_its_row_and_what_was_committed_stays(workspace: Workspace) -> None:
    workspace.functions(
        """\
        def picky(batch):
            if 77_777 in batch.column("id").to_pylist():
                raise ValueError("I do not like this one")
            return batch
        """
    )
    workspace.write(
        """\
        pipeline: picky
        sources:
          raw: {format: rate-of-nothing, python: "steps:rows"}
        transforms:
          picked: {batches: "steps:picky", inputs: raw, schema: id BIGINT}
        outputs:
          first: {from: raw, table: here.first, mode: overwrite}
          second: {from: picked, table: here.second, mode: overwrite}
        """.replace('format: rate-of-nothing, python: "steps:rows"', 'python: "steps:rows"')
    )
    with (workspace.root / "steps.py").open("a") as file:
        file.write("\ndef rows(spark):\n    return spark.range(0, 100_000, 1, 1)\n")
    report = workspace.run()
    assert (report.run.state, states_of(report)) == ("failed", {"first": "done", "second": "failed"})
    (error,) = [step.error or "" for step in report.failed]
    assert error == (
        "'second': steps:picky raised ValueError: I do not like this one (steps.py:3) for row 77,778 of its task, "
        "{'id': 77777}"
    )
    assert workspace.table("first").count_rows() == 100_000
    assert report.as_record()["committed"] == [{"table": "here.first", "version": 1}]
    arguments = [
        "--config",
        str(workspace.config),
        "pipeline",
        "status",
        str(workspace.file),
        "--state",
        workspace.state,
    ]
    output = CliRunner().invoke(app, arguments, prog_name="lanceway", catch_exceptions=False).stdout
    assert f"s. {error}. Committed: here.first version 1. Run it again to resume from there.\n" in output
    with pytest.raises(Exception, match="no table second"):
        workspace.location("second")


@pytest.mark.parametrize(
    ("change", "line", "expected"),
    [
        (("upper(text)", "upper(txt)"), 10, "txt"),
        (("SELECT id, upper(text) AS text FROM raw", "SELEKT raw"), 9, "SELEKT"),
        (("table: here.team.notes", "table: here.team.notes\n    schema: id BIGINT, text BIGINT"), 14, "text"),
        (("table: here.team.notes", "table: here.team.notes\n    schema: id BIGINT"), 14, "has the column 'text'"),
        (("table: here.team.notes", "table: here.team.notes\n    keys: [idd]"), 14, "no column 'idd' for a key"),
        (("schema: id BIGINT, text STRING", "schema: id BIGGER"), 4, "BIGGER"),
        (("files: data", "files: nowhere"), None, "There is no file or folder"),
        (("format: json", "format: jsoon"), 4, "jsoon"),
    ],
)
def test_what_only_spark_can_tell_is_told_before_anything_is_written(
    workspace: Workspace, change: tuple[str, str], line: int | None, expected: str
) -> None:
    workspace.data("a.json", {"id": 1, "text": "a"})
    text = NOTES.replace("    sql: SELECT", "    sql: |\n      SELECT") if line == 10 else NOTES
    workspace.write(text.replace(*change))
    with pytest.raises(InvalidInputError, match=expected) as caught:
        workspace.run()
    if line is not None:
        assert isinstance(caught.value, InvalidPipelineError)
        assert caught.value.problems[0].where == f"{workspace.file}:{line}"
    assert not (workspace.root / "tables" / "team").exists()


def test_a_second_run_at_the_same_time_is_refused(workspace: Workspace) -> None:
    workspace.write(NOTES)
    with (
        states.open_run_store(workspace.state) as store,
        states.hold(store, "notes"),
        pytest.raises(ConcurrentModificationError, match=r"is being run by .* since"),
    ):
        workspace.run()


@pytest.mark.parametrize(("key", "told"), [("id", "id = 1"), ("place", "place = Row(id=1)")])
def test_keys_given_twice_are_refused(workspace: Workspace, key: str, told: str) -> None:
    # Plain ones are compared by the driver as long as they are few, others by Spark.
    workspace.write(NOTES.replace("upper(text) AS text", "struct(id) AS place") + f"    keys: {key}\n")
    workspace.data("a.json", {"id": 1, "text": "a"}, {"id": 1, "text": "b"}, {"id": 2})
    (failed,) = workspace.run().failed
    assert f"team.notes was not written: several rows have the same keys ({told})." in (failed.error or "")
    assert {path.name for path in (workspace.root / "tables").iterdir()} <= {"__manifest"}


def test_rows_come_from_a_database_and_from_any_format(workspace: Workspace) -> None:
    assert workspace.spark is not None
    uri = f"jdbc:derby:memory:{workspace.root.name};create=true"
    orders = workspace.spark.sql("SELECT 1 AS id, 'paid' AS state")
    orders.write.format("jdbc").options(url=uri, dbtable="orders").mode("overwrite").save()
    workspace.write(
        f"""\
        pipeline: foreign
        sources:
          orders: {{jdbc: "{uri}", options: {{dbtable: orders}}}}
          ticks: {{format: text, options: {{path: "{workspace.root}/words.txt"}}}}
        transforms:
          all: {{sql: "SELECT o.id, o.state, t.value FROM orders o CROSS JOIN ticks t"}}
        outputs:
          out: {{from: all, table: here.out, mode: overwrite}}
        """
    )
    (workspace.root / "words.txt").write_text("one\ntwo\n")
    report = workspace.run()
    assert report.ok, report.failed
    assert workspace.column("out", "value") == ["one", "two"]
    assert workspace.run().rows == 2  # what is new cannot be told, so all of it is read again
