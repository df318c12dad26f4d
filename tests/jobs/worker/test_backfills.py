"""Computed and virtual columns: empty when they are added, filled by the worker, and again for rows that come later."""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

import pytest

from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.tables.schema import views
from tests.jobs.worker.conftest import FUNCTIONS, Bench, people


def add(bench: Bench, **entry: Any) -> Any:
    return bench.lake.alter_table_add_columns({"id": ["people"], "new_columns": [entry]})


def virtual(function: str, *outputs: tuple[str, str, str], **fields: Any) -> dict[str, Any]:
    return {
        "input_columns": ["name"],
        "outputs": [
            {"column": column, "struct_field": field, "data_type": {"type": type_}, "nullable": True}
            for column, field, type_ in outputs
        ],
        "image": "",
        "udf": views.write(f"{FUNCTIONS}:{function}"),
        "udf_name": function,
        "udf_version": "1",
        "udf_backend": views.BACKEND,
        **fields,
    }


@pytest.fixture
def table(bench: Bench) -> Bench:
    bench.create("people", people(1, 2, 3))
    return bench


def test_a_computed_column_is_empty_until_it_is_backfilled(table: Bench) -> None:
    assert add(table, name="twice", computed="id * 2").version == 2
    described = table.lake.describe_table({"id": ["people"], "load_detailed_metadata": True})
    assert described.var_schema is not None
    field = described.var_schema.fields[2]
    assert (field.name, field.type.type, field.metadata) == ("twice", "int64", {"lanceway.computed": "id * 2"})
    assert table.rows("people", "id", "twice") == [(1, None), (2, None), (3, None)]
    job = table.backfill("people", "twice")
    assert (job.state, job.kind, job.table, job.requested_by) == ("done", "backfill", ["people"], "alice")
    assert job.result is not None
    assert (job.result["rows"], job.result["version"], job.result["changed"]) == (3, 3, True)
    assert table.rows("people", "id", "twice") == [(1, 2), (2, 4), (3, 6)]


def test_rows_that_come_later_are_filled_by_the_next_backfill(table: Bench) -> None:
    add(table, name="twice", computed="id * 2")
    table.backfill("people", "twice")
    table.append("people", people(4, 5))
    assert table.rows("people", "id", "twice", filter="id > 3") == [(4, None), (5, None)]
    job = table.backfill("people", "twice", where="twice IS NULL AND id = 4")
    assert job.result is not None
    assert job.result["rows"] == 1
    assert table.backfill("people", "twice").state == "done"
    assert table.rows("people", "id", "twice", filter="id > 3") == [(4, 8), (5, 10)]
    again = table.backfill("people", "twice")
    assert again.result is not None
    assert (again.state, again.result["changed"], again.result["rows"]) == ("done", False, 0)


def test_a_branch_is_filled_and_the_main_one_stays_as_it_is(table: Bench) -> None:
    add(table, name="twice", computed="id * 2")
    table.lake.create_table_branch({"id": ["people"], "name": "dev"})
    job = table.backfill("people", "twice", branch="dev", where="id > 1")
    assert (job.state, job.error) == ("done", None)
    assert table.rows("people", "id", "twice", branch="dev") == [(1, None), (2, 4), (3, 6)]
    assert table.backfill("people", "twice", branch="dev").result is not None
    assert table.rows("people", "id", "twice", branch="dev") == [(1, 2), (2, 4), (3, 6)]
    at_once = virtual("length", ("size", "size", "int32"), auto_backfill=True)
    entry = {"name": "size", "virtual_column": at_once}
    answer = table.lake.alter_table_add_columns({"id": ["people"], "branch": "dev", "new_columns": [entry]})
    assert table.done(answer.context["lanceway.jobs"]).error is None
    assert table.rows("people", "id", "size", branch="dev") == [(1, 2), (2, 2), (3, 2)]
    assert (table.rows("people", "id", "twice"), table.version("people")) == ([(1, None), (2, None), (3, None)], 2)


def test_a_virtual_column_is_computed_by_a_function_that_is_allowed(table: Bench) -> None:
    add(table, name="length", virtual_column=virtual("length", ("length", "length", "int32")))
    job = table.backfill("people", "length")
    assert job.state == "done", job.error
    assert table.rows("people", "id", "length") == [(1, 2), (2, 2), (3, 2)]


def test_a_function_may_answer_several_columns_and_they_may_be_filled_at_once(table: Bench) -> None:
    outputs = (("upper", "upper", "utf8"), ("size", "size", "int64"))
    answer = add(table, name="both", virtual_column=virtual("both", *outputs, auto_backfill=True))
    jobs = answer.context["lanceway.jobs"].split(",")
    assert [table.done(job).state for job in jobs] == ["done", "done"]
    assert table.rows("people", "upper", "size") == [("N1", 2), ("N2", 2), ("N3", 2)]


def test_a_function_that_is_not_allowed_is_not_run(table: Bench) -> None:
    entry = {**virtual("x", ("x", "x", "utf8")), "udf": views.write("os:getcwd")}
    add(table, name="x", virtual_column=entry)
    job = table.backfill("people", "x")
    assert job.state == "failed"
    assert "os:getcwd may not be run by this worker" in str(job.error)
    assert "--functions os" in str(job.error)


@pytest.mark.parametrize("name", ["imported", "hidden"])
def test_what_an_allowed_module_has_imported_is_not_allowed(table: Bench, name: str) -> None:
    entry = {**virtual("x", ("x", "x", "utf8")), "udf": views.write(f"{FUNCTIONS}:{name}")}
    add(table, name="x", virtual_column=entry)
    job = table.backfill("people", "x")
    assert job.state == "failed"
    assert "defined in subprocess" in str(job.error)


def test_a_function_that_fails_says_where_and_changes_nothing(table: Bench) -> None:
    add(table, name="x", virtual_column=virtual("broken", ("x", "x", "utf8")))
    job = table.backfill("people", "x")
    assert (job.state, table.version("people")) == ("failed", 2)
    assert "RuntimeError: this one always fails" in str(job.error)
    assert "nothing was committed" in str(job.error)


def test_a_pickle_is_never_loaded(table: Bench) -> None:
    pickled = base64.b64encode(pickle.dumps(print)).decode()
    with pytest.raises(UnsupportedOperationError, match=r"pickled function is not loaded.*lanceway\.import\.v1"):
        add(table, name="x", virtual_column={**virtual("x", ("x", "x", "utf8")), "udf": pickled})
    with pytest.raises(UnsupportedOperationError, match="DockerUDFSpecV1"):
        add(table, name="x", virtual_column=virtual("x", ("x", "x", "utf8"), udf_backend="DockerUDFSpecV1"))
    assert table.version("people") == 1


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        ({"name": "id", "computed": "1"}, InvalidInputError, "taken"),
        ({"name": "x", "computed": "none * 2"}, TableColumnNotFoundError, "none"),
        ({"name": "x", "computed": "id +* 2"}, InvalidInputError, "x"),
        ({"name": "x", "computed": "NULL"}, InvalidInputError, "no known type"),
        ({"name": "x", "virtual_column": virtual("x")}, InvalidInputError, "no outputs"),
        ({"name": "x", "virtual_column": virtual("x", ("id", "x", "utf8"))}, InvalidInputError, "taken"),
        (
            {"name": "x", "virtual_column": {**virtual("x", ("x", "x", "utf8")), "input_columns": ["none"]}},
            TableColumnNotFoundError,
            "none",
        ),
        (
            {
                "name": "x",
                "virtual_column": {
                    **virtual("x", ("x", "x", "utf8")),
                    "udf": base64.b64encode(json.dumps({"function": "no path"}).encode()).decode(),
                },
            },
            InvalidInputError,
            "not an import path",
        ),
    ],
    ids=str,
)
def test_a_column_that_cannot_be_added(
    table: Bench, entry: dict[str, Any], error: type[LanceNamespaceError], words: str
) -> None:
    with pytest.raises(error, match=words):
        add(table, **entry)
    assert table.version("people") == 1


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"id": ["none"]}, TableNotFoundError),
        ({"column": "none"}, TableColumnNotFoundError),
        ({"column": "id"}, InvalidInputError),
        ({"branch": "none"}, TableBranchNotFoundError),
        ({"read_version": 99}, TableVersionNotFoundError),
        ({"read_version": 1}, InvalidInputError),
        ({"where": "none > 1"}, TableColumnNotFoundError),
        ({"where": "id +"}, InvalidInputError),
        ({"concurrency": 0}, InvalidInputError),
    ],
    ids=str,
)
def test_a_backfill_that_cannot_be_is_refused_and_not_recorded(
    table: Bench, fields: dict[str, Any], error: type[LanceNamespaceError]
) -> None:
    add(table, name="twice", computed="id * 2")
    with pytest.raises(error):
        table.lake.alter_table_backfill_columns({"id": ["people"], "column": "twice", **fields})
    assert table.lake.list_jobs() == ([], None)


def test_the_same_backfill_is_asked_for_twice(table: Bench) -> None:
    add(table, name="twice", computed="id * 2")
    request = {"id": ["people"], "column": "twice"}
    first = table.lake.alter_table_backfill_columns(request).job_id
    assert table.lake.alter_table_backfill_columns(request).job_id == first
    assert table.done(first).state == "done"
    assert table.lake.alter_table_backfill_columns(request).job_id != first


def test_a_table_that_is_dropped_meanwhile(table: Bench) -> None:
    add(table, name="twice", computed="id * 2")
    job = table.lake.alter_table_backfill_columns({"id": ["people"], "column": "twice"}).job_id
    table.lake.drop_table({"id": ["people"]})
    found = table.done(job)
    assert found.state == "failed"
    assert "people" in str(found.error)


def test_an_expression_of_no_column(table: Bench) -> None:
    add(table, name="seven", computed="7")
    assert table.backfill("people", "seven").error is None
    assert table.rows("people", "seven") == [(7,), (7,), (7,)]
