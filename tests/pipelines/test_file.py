"""A pipeline's file: every problem is reported, with its line."""

from __future__ import annotations

import json

import pytest

from lanceway import pipelines
from lanceway.errors import InvalidInputError
from lanceway.pipelines import InvalidPipelineError, model
from tests.pipelines.conftest import Workspace

SOUND = """\
pipeline: sound
sources:
  raw:
    files: data
    format: json
outputs:
  out:
    from: raw
    table: here.out
"""


def problems(workspace: Workspace, text: str) -> list[str]:
    workspace.file.write_text(text)
    return [f"{problem.where.rpartition(':')[2]}: {problem.message}" for problem in pipelines.check(workspace.file)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SOUND.replace("sources:", "souces:"), "2: The pipeline has no key 'souces'. Did you mean 'sources'?"),
        (SOUND.replace("format", "fromat"), "5: The source 'raw' has no key 'fromat'. Did you mean 'format'?"),
        (SOUND.replace("from: raw", "from: row"), "8: 'out' reads 'row', but the pipeline has no step 'row'."),
        (SOUND.replace("from: raw", "from: out"), "8: 'out' reads 'out', which is an output."),
        (SOUND.replace("    format: json\n", ""), "4: The source 'raw' needs format"),
        (SOUND.replace("files: data", "files: data\n    table: a.b"), "4: The source 'raw' must have exactly one of"),
        (SOUND.replace("files: data", "stream: kafka"), "4: The source 'raw' must have exactly one of"),
        (SOUND.replace("files: data\n    format: json", "stream: kafka"), "4: The source 'raw' needs into: the table"),
        (
            SOUND.replace("files: data\n    format: json", "stream: kafka\n    into: a.b\n    incremental: false"),
            "6: The source 'raw': a stream is always read part by part.",
        ),
        (SOUND.replace("files: data", "files: data\n    into: a.b"), "5: The source 'raw': into is for a stream."),
        (
            SOUND.replace("files: data\n    format: json", "stream: kafka\n    into: nowhere.raw"),
            "4: No namespace is called 'nowhere'",
        ),
        (SOUND.replace("  raw:", "  ra-w:"), "4: 'ra-w' cannot be a name here"),
        (SOUND.replace("  out:", "  raw:"), "8: The name 'raw' was given in line 4 already."),
        (SOUND + "    mode: upsert\n", "10: The output 'out': mode is 'upsert', but must be one of append, overwrite"),
        (SOUND + "    mode: merge\n", "10: The output 'out': merge needs keys"),
        (SOUND + "    mode: append\n    keys: id\n", "10: The output 'out': append knows no keys."),
        (SOUND + "    indices: [{column: id}]\n", "10: An index of the output 'out' needs type"),
        (SOUND + "    vectors: {v: many}\n", "10: The output 'out': the vector 'v' must have its size"),
        (SOUND + "    retention: {}\n", "10: The output 'out': retention needs versions"),
        (SOUND + "    retention: {days: -1}\n", "10: The retention of the output 'out': days must be a whole number"),
        (SOUND + "    tags: [[a]]\n", "10: The output 'out': tags must be a text or a list of texts."),
        (SOUND + "together: perhaps\n", "10: The pipeline: together must be true or false, but it is a text."),
        (SOUND + "sources: {}\n", "10: 'sources' was given in line 2 already."),
        (SOUND + "transforms:\n  t:\n    sql: SELECT 1\n", "12: The transform 't' mentions none of the steps"),
        (SOUND + "transforms:\n  t:\n    python: a:b\n", "12: The transform 't' needs inputs"),
        (SOUND + "transforms:\n  t:\n    batches: a:b\n    inputs: raw\n", "12: The transform 't' needs schema"),
        (SOUND + "transforms:\n  t: SELECT\n", "11: The transform 't' must be a mapping, but it is a text."),
        ("pipeline: [", "1: This is not YAML"),
        ("- a\n- b\n", "1: The pipeline must be a mapping, but it is a list."),
        ("pipeline: x\nsources: &a\n  b: *a\n", "nested more than"),
        ("", "1: The file is empty."),
    ],
)
def test_what_is_wrong_is_told_with_its_line(plain_workspace: Workspace, text: str, expected: str) -> None:
    messages = problems(plain_workspace, text)
    assert [each for each in messages if expected in each], messages


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(plain_workspace: Workspace) -> None:
    text = SOUND.replace("sources:", "souces: {}\nsources:").replace("from: raw", "from: row") + "    mode: x\n"
    messages = problems(plain_workspace, text)
    assert [int(each.partition(":")[0]) for each in messages] == [2, 9, 11]
    with pytest.raises(InvalidPipelineError) as caught:
        pipelines.load(plain_workspace.file)
    assert len(caught.value.problems) == 3
    assert caught.value.code == InvalidInputError("").code


def test_keys_of_the_pipeline_itself_are_read_beside_what_is_wrong_in_its_steps(plain_workspace: Workspace) -> None:
    text = SOUND.replace("from: raw", "from: row") + "together: perhaps\n"
    assert [int(each.partition(":")[0]) for each in problems(plain_workspace, text)] == [8, 10]


def test_a_name_that_two_expectations_have_is_one_problem(plain_workspace: Workspace) -> None:
    rules = "[{that: a, name: n}, {that: b, name: n}]"
    messages = problems(plain_workspace, SOUND.replace("format: json", f"format: json\n    expect: {rules}"))
    assert messages == ["6: The source 'raw' has two expectations named 'n'."]


def test_a_circle_is_told_with_the_way_round(plain_workspace: Workspace) -> None:
    text = SOUND + "transforms:\n  a:\n    sql: SELECT * FROM b JOIN raw\n  b:\n    sql: SELECT * FROM a\n"
    messages = [each for each in problems(plain_workspace, text) if "These need one another" in each]
    assert len(messages) == 1
    assert messages[0].endswith(("a → b → a.", "b → a → b."))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{that: x > 1, otherwise: keep}", "otherwise is 'keep', but must be one of drop, fail, quarantine"),
        ("{that: x > 1, otherwise: quarantine}", "needs into: the table for rows that are put aside"),
        ("{that: x > 1, into: here.bad}", "only otherwise: quarantine puts rows into a table"),
        ("{otherwise: drop}", "needs that: what must hold of each row"),
        ("{that: a, name: n}, {that: b, name: n}", "has two expectations named 'n'"),
        (
            "{that: a, otherwise: quarantine, into: here.a}, {that: b, otherwise: quarantine, into: here.b}",
            "go into one table, but here.a, here.b are named",
        ),
    ],
)
def test_expectations_are_held_to_their_form(plain_workspace: Workspace, rule: str, expected: str) -> None:
    messages = problems(plain_workspace, SOUND.replace("format: json", f"format: json\n    expect: [{rule}]"))
    assert [each for each in messages if expected in each and each.startswith("6: ")], messages


def test_inputs_of_sql_are_the_steps_that_it_mentions(plain_workspace: Workspace) -> None:
    plain_workspace.write(
        SOUND.replace("from: raw", "from: t")
        + "transforms:\n  other: {sql: SELECT * FROM raw}\n"
        + "  t:\n    sql: SELECT 'other' AS x FROM raw -- other\n"
    )
    assert pipelines.load(plain_workspace.file).transforms["t"].inputs == ("raw",)


def test_what_is_probably_a_mistake_is_noted(plain_workspace: Workspace) -> None:
    text = SOUND.replace("files: data\n    format: json", "python: steps:rows") + "transforms:\n"
    plain_workspace.functions("def rows(spark): ...")
    messages = problems(plain_workspace, text + "  idle: {sql: SELECT * FROM raw}\n")
    assert messages[0] == "10: Nothing reads 'idle', so it is not computed."
    assert messages[1].startswith("7: raw is read whole by each run, and its rows are added to here.out each time.")
    assert len(messages) == 2


def test_functions_and_tables_are_looked_for(plain_workspace: Workspace) -> None:
    plain_workspace.functions("x = 1")
    plain_workspace.write(
        """\
        pipeline: p
        sources:
          a: {python: "steps:rows"}
          b: {python: nowhere}
          c: {python: "no.such.module:f"}
          d: {table: here.missing}
          e: {table: nowhere.missing}
        transforms:
          all: {sql: "SELECT * FROM a, b, c, d, e"}
        outputs:
          out: {from: all, table: elsewhere.out, publish: [alone]}
        """
    )
    by_line = {
        problem.where.rpartition(":")[2]: problem
        for problem in pipelines.check(plain_workspace.file, config=plain_workspace.config)
    }
    assert {line for line, problem in by_line.items() if problem.wrong} == {"3", "4", "5", "6", "7", "11"}
    assert "has no function 'rows'" in by_line["3"].message
    assert "Write package.module:function" in by_line["4"].message
    assert "cannot be imported" in by_line["5"].message
    assert "There is no table missing" in by_line["6"].message


def test_a_variable_of_the_environment_stands_for_a_secret(
    plain_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SOUND.replace("files: data\n    format: json", "jdbc: jdbc:x\n    options: {password: '${ORDERS_PASSWORD}'}")
    assert "5: The source 'raw': the variable ORDERS_PASSWORD is not set in the environment." in problems(
        plain_workspace, text
    )
    monkeypatch.setenv("ORDERS_PASSWORD", "sesame")
    pipeline = pipelines.load(plain_workspace.file)
    assert pipeline.sources["raw"].options == {"password": "sesame"}
    assert "sesame" not in repr(pipeline)
    assert "sesame" not in json.dumps(model.as_record(pipeline))


def test_a_file_that_is_not_there_is_told(plain_workspace: Workspace) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        pipelines.load(plain_workspace.root / "missing.yaml")
