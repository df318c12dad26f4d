"""Materialized views: filled by the worker, by what is new in their source, and right after any change of it."""

from __future__ import annotations

import base64
from typing import Any

import lance
import pyarrow as pa
import pytest
from sqlalchemy import update

from lanceway.catalogs.contract.jobs import Job
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableAlreadyExistsError,
    TableColumnNotFoundError,
    TableNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.jobs.worker import write
from lanceway.jobs.worker.write import Refresh
from lanceway.lake.store.schema import jobs
from lanceway.tables import dataset
from tests.jobs.worker.conftest import Bench, people, spec, view_request

SCHEMA = pa.schema([("id", pa.int64()), ("label", pa.string())])
QUERY: dict[str, Any] = {"source": ["people"], "columns": {"id": "id", "label": "upper(name)"}, "where": "id < 100"}
KEYED = {**QUERY, "key": ["id"]}


@pytest.fixture
def source(bench: Bench) -> Bench:
    bench.create("people", people(1, 2, 3))
    return bench


def how(job: Job | None) -> str:
    assert job is not None
    assert job.state == "done", job.error
    assert job.result is not None
    return str(job.result["refreshed"])


def labels(*ids: int) -> list[tuple[int, str]]:
    return sorted(((id_, f"N{id_}") for id_ in ids), key=repr)


def rows(bench: Bench) -> list[tuple[Any, ...]]:
    return bench.rows("view", "id", "label")


def test_a_view_is_made_empty_and_filled_when_it_is_refreshed(source: Bench) -> None:
    assert source.view("view", SCHEMA, QUERY, with_no_data=True) is None
    assert rows(source) == []
    assert how(source.refresh("view")) == "replaced"
    assert rows(source) == labels(1, 2, 3)
    assert how(source.refresh("view")) == "nothing new"


@pytest.mark.parametrize("query", [QUERY, KEYED], ids=["plain", "keyed"])
def test_rows_that_are_added_are_added(source: Bench, query: dict[str, Any]) -> None:
    assert how(source.view("view", SCHEMA, query)) == "replaced"
    source.append("people", people(4, 500))
    source.append("people", people(5))
    job = source.refresh("view")
    assert how(job) == "added"
    assert job.result is not None
    assert (job.result["rows"], job.result["source_version"]) == (2, 3)
    assert rows(source) == labels(1, 2, 3, 4, 5)


def test_what_adds_nothing_is_remembered(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    source.append("people", people(500))
    assert how(source.refresh("view")) == "added"
    assert how(source.refresh("view")) == "nothing new"
    assert rows(source) == labels(1, 2, 3)


def test_an_added_row_is_added_although_its_source_was_compacted(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    source.append("people", people(4))
    table = source.lake._handle(*_found(source, "people"))
    dataset.open_at(table).optimize.compact_files()
    source.append("people", people(5))
    assert how(source.refresh("view")) == "added"
    assert rows(source) == labels(1, 2, 3, 4, 5)


def _found(bench: Bench, name: str) -> Any:
    from lanceway.identifiers import Identifier

    return Identifier((name,)), bench.lake._find_table(Identifier((name,)))


@pytest.mark.parametrize(("query", "way"), [(QUERY, "replaced"), (KEYED, "merged")], ids=["plain", "keyed"])
def test_rows_that_are_changed_or_deleted(source: Bench, query: dict[str, Any], way: str) -> None:
    source.view("view", SCHEMA, query)
    source.append("people", people(4, 5))
    source.lake.update_table({"id": ["people"], "predicate": "id = 2", "updates": [["name", "'two'"]]})
    source.lake.delete_from_table({"id": ["people"], "predicate": "id = 3"})
    source.lake.update_table({"id": ["people"], "predicate": "id = 1", "updates": [["id", "700"]]})
    assert how(source.refresh("view")) == way
    assert rows(source) == [(2, "TWO"), (4, "N4"), (5, "N5")]
    source.lake.delete_from_table({"id": ["people"], "predicate": "true"})
    assert how(source.refresh("view")) == way
    assert rows(source) == []
    source.append("people", people(6))
    assert how(source.refresh("view")) == "added"
    assert rows(source) == labels(6)


def test_a_key_of_two_columns(source: Bench) -> None:
    query = {**QUERY, "key": ["id", "label"]}
    source.view("view", SCHEMA, query)
    source.lake.update_table({"id": ["people"], "predicate": "id = 2", "updates": [["name", "'it''s'"]]})
    assert how(source.refresh("view")) == "merged"
    source.lake.delete_from_table({"id": ["people"], "predicate": "id < 3"})
    assert how(source.refresh("view")) == "merged"
    assert rows(source) == labels(3)


def test_a_backfilled_column_of_the_source_arrives(source: Bench) -> None:
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "twice", "computed": "id * 2"}]})
    schema = pa.schema([("id", pa.int64()), ("twice", pa.int64())])
    source.view("view", schema, {"source": ["people"], "columns": ["id", "twice"], "key": ["id"]})
    assert source.rows("view", "id", "twice") == [(1, None), (2, None), (3, None)]
    source.backfill("people", "twice")
    assert how(source.refresh("view")) == "merged"
    assert source.rows("view", "id", "twice") == [(1, 2), (2, 4), (3, 6)]


def test_a_source_that_is_made_anew(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    for _ in range(3):
        source.append("people", people(4))
    source.refresh("view")
    source.lake.drop_table({"id": ["people"]})
    source.create("people", people(7))
    for id_ in (8, 9, 10, 11):
        source.append("people", people(id_))
    assert how(source.refresh("view")) == "replaced"
    assert rows(source) == labels(7, 8, 9, 10, 11)


def test_a_view_that_somebody_else_has_written_to_is_made_anew(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    source.lake.delete_from_table({"id": ["view"], "predicate": "id = 1"})
    source.append("people", people(4))
    assert how(source.refresh("view")) == "replaced"
    assert rows(source) == labels(1, 2, 3, 4)


def test_an_older_version_of_the_source_may_be_shown(source: Bench) -> None:
    source.append("people", people(4))
    source.view("view", SCHEMA, QUERY)
    assert how(source.refresh("view", src_version=1)) == "replaced"
    assert rows(source) == labels(1, 2, 3)
    assert how(source.refresh("view")) == "added"
    assert rows(source) == labels(1, 2, 3, 4)


def test_a_view_keeps_its_definition(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    source.lake.update_table_schema_metadata({"id": ["view"], "metadata": {"team": "red"}})
    source.append("people", people(4))
    assert how(source.refresh("view")) in ("added", "replaced")
    assert rows(source) == labels(1, 2, 3, 4)


def test_all_columns_as_they_are(source: Bench) -> None:
    source.view("view", pa.schema([("name", pa.string()), ("id", pa.int32())]), {"source": ["people"]})
    assert source.rows("view", "id", "name") == [(1, "n1"), (2, "n2"), (3, "n3")]


def test_columns_with_strange_names(bench: Bench) -> None:
    names = ["my id", "Größe", "select", "Upper"]
    bench.create("people", pa.table({name: [1, 2] for name in names}))
    schema = pa.schema([(name, pa.int64()) for name in names])
    bench.view("view", schema, {"source": ["people"], "columns": names, "key": ["my id", "Upper"]})
    bench.lake.delete_from_table({"id": ["people"], "predicate": "`my id` = 1"})
    assert how(bench.refresh("view")) == "merged"
    assert bench.rows("view", *names) == [(2, 2, 2, 2)]


def test_a_chunker_makes_rows_of_the_rows_that_are_added(source: Bench) -> None:
    schema = pa.schema([("id", pa.int64()), ("letter", pa.string())])
    given = spec("chunker", "letters", input_columns=["id", "name"])
    assert how(source.view("view", schema, {"source": ["people"]}, kind="chunker", udtf_spec=given)) == "replaced"
    assert source.rows("view", "id", "letter") == sorted((id_, text) for id_ in (1, 2, 3) for text in ("n", str(id_)))
    source.append("people", people(4, 5))
    assert how(source.refresh("view", output_limit=7)) == "added"
    assert len(source.rows("view", "id", "letter")) == 7


def test_a_table_function_makes_all_rows_anew(source: Bench) -> None:
    schema = pa.schema([("rows", pa.int64()), ("sum", pa.int64())])
    source.view("view", schema, {"source": ["people"]}, kind="udtf", udtf_spec=spec("udtf", "total"))
    assert source.rows("view", "rows", "sum") == [(3, 6)]
    source.append("people", people(4))
    assert how(source.refresh("view")) == "replaced"
    assert source.rows("view", "rows", "sum") == [(4, 10)]


def test_a_table_function_is_given_the_rows_of_each_partition(source: Bench) -> None:
    source.append("people", pa.table({"id": [10, 20, 30], "name": ["n1", None, None]}))
    schema = pa.schema([("rows", pa.int64()), ("sum", pa.int64())])
    given = spec("udtf", "total", input_columns=["id"], partition_by="name")
    assert how(source.view("view", schema, {"source": ["people"]}, kind="udtf", udtf_spec=given)) == "replaced"
    assert source.rows("view", "rows", "sum") == [(1, 2), (1, 3), (2, 11), (2, 50)]
    source.append("people", people(1, 3, 4))
    assert how(source.refresh("view", concurrency=2)) == "replaced"
    assert source.rows("view", "rows", "sum") == [(1, 2), (1, 4), (2, 50), (2, 6), (3, 12)]
    failing = spec("udtf", "broken", partition_by="name")
    job = source.view("broken", schema, {"source": ["people"]}, kind="udtf", udtf_spec=failing)
    assert job is not None
    assert "broken failed where name = n1: RuntimeError" in str(job.error)


def test_a_function_that_fails_changes_nothing(source: Bench) -> None:
    schema = pa.schema([("rows", pa.int64())])
    given = spec("chunker", "broken")
    job = source.view("view", schema, {"source": ["people"]}, kind="chunker", udtf_spec=given)
    assert job is not None
    assert (job.state, source.version("view")) == ("failed", 1)
    assert "broken failed at the rows from 1 on: RuntimeError" in str(job.error)


def test_a_large_source_is_worked_on_in_shares(source: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_ROWS", 1)
    for id_ in range(4, 9):
        source.append("people", people(id_, 10 * id_))
    job = source.view("view", SCHEMA, QUERY, with_no_data=False)
    assert job is not None
    assert (how(job), job.result["parts"], job.progress) == ("replaced", 6, None)  # type: ignore[index]
    wanted = labels(1, 2, 3, *range(4, 9), *(10 * id_ for id_ in range(4, 9)))
    assert rows(source) == wanted
    found = [fragment.count_rows() for fragment in _opened(source, "view").get_fragments()]
    assert found == [3, 2, 2, 2, 2, 2]
    assert [row["id"] for row in _opened(source, "view").to_table().to_pylist()][:5] == [1, 2, 3, 4, 40]


def test_shares_that_were_written_go_where_another_fails(source: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_ROWS", 1)
    source.append("people", people(4))
    source.append("people", people(99))
    schema = pa.schema([("id", pa.int64())])
    given = spec("chunker", "not_99")
    job = source.view("view", schema, {"source": ["people"]}, kind="chunker", udtf_spec=given)
    assert job is not None
    assert (job.state, "no 99, please" in str(job.error)) == ("failed", True)
    table = source.lake._handle(*_found(source, "view"))
    assert list(table.store().keys("data")) == []


def _opened(bench: Bench, name: str) -> Any:
    return dataset.open_at(bench.lake._handle(*_found(bench, name)))


def test_free_sql_needs_a_worker_that_allows_it(source: Bench) -> None:
    job = source.view("view", SCHEMA, {"sql": "SELECT id, name AS label FROM people"})
    assert job is not None
    assert job.state == "failed"
    assert "--sql" in str(job.error)


def test_a_view_that_is_kept_fresh(source: Bench) -> None:
    source.worker.refresh_every = 0.0
    source.lake.create_materialized_view(view_request(["view"], SCHEMA, QUERY, with_no_data=True, auto_refresh=True))
    (job,), _ = source.lake.list_jobs()
    assert job.kind == "auto_refresh"
    assert _rounds(source, 2) == labels(1, 2, 3)
    version = source.version("view")
    source.append("people", people(4))
    assert _rounds(source, 3) == labels(1, 2, 3, 4)
    assert source.version("view") == version + 1
    assert source.lake.describe_job(job.id).state == "queued"
    source.lake.drop_table({"id": ["view"]})
    source.lake.create_materialized_view(view_request(["view"], SCHEMA, QUERY, with_no_data=True, auto_refresh=True))
    assert _rounds(source, 1) == labels(1, 2, 3, 4)
    assert len(source.lake.list_jobs()[0]) == 1
    source.lake.drop_table({"id": ["view"]})
    source.worker.run(once=True)
    assert source.lake.describe_job(job.id).state == "failed"


def _rounds(bench: Bench, count: int) -> list[tuple[Any, ...]]:
    for _ in range(count):
        job = bench.worker._claim()
        assert job is not None
        bench.worker.run_job(job)
    return rows(bench)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"kind": "other"}, (InvalidInputError, ValueError), "query"),
        ({"source_query": "no json"}, InvalidInputError, "not JSON"),
        ({"source_query": "[]"}, InvalidInputError, "object"),
        ({"source_query": '{"sorce": ["people"]}'}, InvalidInputError, "Did you mean 'source'"),
        ({"source_query": '{"where": "id > 1"}'}, InvalidInputError, "needs source or sql"),
        ({"source_query": '{"source": ["none"]}'}, TableNotFoundError, "none"),
        ({"source_query": '{"source": ["people"], "columns": {"id": "none"}}'}, TableColumnNotFoundError, "none"),
        ({"source_query": '{"source": ["people"], "where": "none > 1"}'}, TableColumnNotFoundError, "none"),
        ({"source_query": '{"source": ["people"], "columns": ["id"]}'}, InvalidInputError, "output_schema has"),
        (
            {"source_query": '{"source": ["people"], "columns": {"id": "id", "label": "name"}, "key": ["x"]}'},
            InvalidInputError,
            "not a column of the view",
        ),
        ({"source_query": '{"sql": "SELECT 1", "where": "x"}'}, InvalidInputError, "nothing else"),
        ({"output_schema": "x"}, InvalidInputError, "not an Arrow schema"),
        ({"output_schema": base64.b64encode(b"nothing").decode()}, InvalidInputError, "not an Arrow schema"),
        ({"udtf_spec": spec("udtf", "total")}, InvalidInputError, "Leave it out"),
        ({"kind": "udtf"}, InvalidInputError, "needs a udtf_spec"),
        ({"kind": "udtf", "udtf_spec": spec("chunker", "total")}, InvalidInputError, "same kind"),
        (
            {
                "kind": "udtf",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": {**spec("udtf", "total"), "udtf_sha": "0" * 64},
            },
            InvalidInputError,
            "SHA-256",
        ),
        (
            {
                "kind": "udtf",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": {**spec("udtf", "total"), "udtf": "gASVGw=="},
            },
            UnsupportedOperationError,
            "pickled",
        ),
        (
            {
                "kind": "udtf",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": spec("udtf", "total", partition_by_indexed_column="id"),
            },
            UnsupportedOperationError,
            "in none of its partitions",
        ),
        (
            {
                "kind": "udtf",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": spec("udtf", "total", partition_by="more"),
            },
            TableColumnNotFoundError,
            "more",
        ),
        (
            {
                "kind": "udtf",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": spec("udtf", "total", partition_by="name.first"),
            },
            InvalidInputError,
            "is inside name",
        ),
        (
            {
                "kind": "chunker",
                "source_query": '{"source": ["people"]}',
                "udtf_spec": spec("chunker", "letters", partition_by="id"),
            },
            InvalidInputError,
            "partition_by is for the kind udtf",
        ),
        ({"id": ["people"]}, TableAlreadyExistsError, "people"),
    ],
    ids=str,
)
def test_a_view_that_cannot_be_made(
    source: Bench, fields: dict[str, Any], error: type[LanceNamespaceError], words: str
) -> None:
    request = {**view_request(["view"], SCHEMA, QUERY), **fields}
    with pytest.raises(error, match=words):
        source.lake.create_materialized_view(request)
    assert source.lake.list_tables({"id": []}).tables == ["people"]
    assert source.lake.list_jobs() == ([], None)


def test_a_refresh_that_cannot_be(source: Bench) -> None:
    source.view("view", SCHEMA, QUERY)
    with pytest.raises(InvalidTableStateError, match="no materialized view"):
        source.refresh("people")
    with pytest.raises(InvalidInputError, match="chunker"):
        source.refresh("view", output_limit=3)
    with pytest.raises(TableVersionNotFoundError):
        source.refresh("view", src_version=99)
    with pytest.raises(TableNotFoundError):
        source.refresh("none")
    source.lake.drop_table({"id": ["people"]})
    with pytest.raises(TableNotFoundError):
        source.refresh("view")


def test_a_refresh_done_twice_repeats_nothing(source: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has lost its lease without knowing commits after the other one, and finds all done."""
    source.view("view", SCHEMA, QUERY)
    source.append("people", people(4))
    add, done = Refresh.add, list[Job]()

    def add_late(refresh: Refresh, fragments: Any) -> int:
        if not done:
            monkeypatch.setattr(Refresh, "add", add)
            with source.lake._lake.transaction() as connection:
                connection.execute(update(jobs).values(held_until=0))
            done.append(source.done(job))
        return add(refresh, fragments)

    job = source.lake.refresh_materialized_view({"id": ["view"]}).job_id
    monkeypatch.setattr(Refresh, "add", add_late)
    source.worker.run(once=True)
    assert [how(one) for one in done] == ["added"]
    assert source.lake.describe_job(job) == done[0]
    assert rows(source) == labels(1, 2, 3, 4)


def test_what_a_refresh_writes_is_all_used(source: Bench) -> None:
    source.view("view", SCHEMA, KEYED)
    source.append("people", people(4))
    source.refresh("view")
    source.lake.delete_from_table({"id": ["people"], "predicate": "id = 1"})
    source.refresh("view")
    table = source.lake._handle(*_found(source, "view"))
    used = {
        str(file.path)
        for version in dataset.open_at(table).versions()
        for fragment in lance.dataset(table.path, version=version["version"]).get_fragments()
        for file in fragment.metadata.files
    }
    assert {key.rpartition("/")[2] for key in table.store().keys("data")} == used
