"""Every operation over HTTP, as the protocol has it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import httpx
import lance
import pyarrow as pa
import pytest

from lanceway.wire.lance import ARROW_FILE, BY_OPERATION, ROUTES
from tests.server.server_helpers import Id, ask, created, path, refused, space, stream, table
from tests.servers.lanceway import Lanceway


class Life:
    """A table's life, each operation asked for once."""

    def __init__(self, server: Lanceway) -> None:
        self.server = server
        self.space = space(server)
        self.table = [*self.space, "t"]
        self.asked: set[str] = set()

    def __call__(self, operation: str, id_: Id | None, body: Any = None, **options: Any) -> httpx.Response:
        route = BY_OPERATION[operation]
        self.asked.add(operation)
        where = route.path.removeprefix("/v1/")
        if id_ is not None:
            kind, _, verb = where.partition("/{id}/")
            where = path(kind, id_, verb.replace("{index_name}", options.pop("index_name", "")))
        answer = self.server.ask(route.method, where, body, **options)
        if answer.is_success:
            assert answer.status_code == route.status
            assert "x-request-id" in answer.headers
            assert "server" not in answer.headers
        return answer

    def done(self, operation: str, id_: Id | None, body: Any = None, **options: Any) -> Any:
        answer = self(operation, id_, body, **options)
        assert answer.is_success, f"{operation}: {answer.text}"
        if not answer.content:
            return None
        is_json = answer.headers["content-type"] == "application/json"
        return answer.json() if is_json else answer.content


@pytest.fixture
def life(server: Lanceway) -> Life:
    return Life(server)


def test_every_operation_can_be_asked_for(life: Life) -> None:
    steps: list[Callable[[Life], None]] = [
        namespaces,
        creation,
        rows,
        queries,
        columns,
        indices,
        references,
        versions,
        transactions,
        batches,
        refusals,
        removals,
    ]
    for step in steps:
        step(life)
    assert life.asked == {route.operation for route in ROUTES}


def namespaces(life: Life) -> None:
    inner = [*life.space, "inner"]
    assert life.done("create_namespace", inner, {"properties": {"a": "b"}})["properties"] == {"a": "b"}
    assert life.done("describe_namespace", inner)["properties"] == {"a": "b"}
    assert life.done("namespace_exists", inner) is None
    assert life.done("list_namespaces", life.space)["namespaces"] == ["inner"]
    assert life.done("drop_namespace", inner, {}) == {"properties": {"a": "b"}}


def creation(life: Life) -> None:
    made = life.done("create_table", life.table, content=stream(table(1, 2, 3)), params={"properties": '{"p":"q"}'})
    assert made["version"] == 1
    assert made["properties"] == {"p": "q"}
    declared = life.done("declare_table", [*life.space, "declared"])
    assert declared["managed_versioning"] is True
    assert life.done("list_tables", life.space)["tables"] == ["declared", "t"]
    assert life.done("list_tables", life.space, params={"include_declared": "false"})["tables"] == ["t"]
    assert "$".join(life.table) in life.done("list_all_tables", None)["tables"]
    assert life.done("table_exists", life.table) is None
    told = life.done("describe_table", life.table, {}, params={"load_detailed_metadata": "true"})
    assert [field["name"] for field in told["schema"]["fields"]] == ["id", "name"]
    assert (told["table"], told["namespace"], told["location"]) == ("t", life.space, made["location"])


def rows(life: Life) -> None:
    assert life.done("insert_into_table", life.table, content=stream(table(4, 5)))["num_inserted_rows"] == 2
    merged = life.done(
        "merge_insert_into_table",
        life.table,
        content=stream(table(5, 6)),
        params=[("on", "id"), ("when_matched_update_all", "true"), ("when_not_matched_insert_all", "true")],
    )
    assert (merged["num_updated_rows"], merged["num_inserted_rows"]) == (1, 1)
    assert life.done("update_table", life.table, {"updates": [["name", "'x'"]], "predicate": "id = 1"})["updated_rows"]
    life.done("delete_from_table", life.table, {"predicate": "id = 2"})
    assert life.done("count_table_rows", life.table) == 5
    assert life.done("count_table_rows", life.table, {"predicate": "id > 4"}) == 2
    assert life.done("get_table_stats", life.table)["num_rows"] == 5


def queries(life: Life) -> None:
    asked = {"k": 10, "vector": {}, "filter": "id < 5", "columns": {"column_names": ["id"]}}
    answer = life("query_table", life.table, asked)
    assert answer.headers["content-type"] == ARROW_FILE
    found = pa.ipc.open_file(io.BytesIO(answer.content)).read_all()
    assert sorted(found["id"].to_pylist()) == [1, 3, 4]
    plan = life.done("explain_table_query_plan", life.table, {"query": asked})
    assert isinstance(plan, str)
    assert isinstance(life.done("analyze_table_query_plan", life.table, asked), str)


def columns(life: Life) -> None:
    new = {"new_columns": [{"name": "twice", "expression": "id * 2"}]}
    assert life.done("alter_table_add_columns", life.table, new)["version"]
    life.done("alter_table_alter_columns", life.table, {"alterations": [{"path": "twice", "rename": "double"}]})
    life.done("update_field_metadata", life.table, {"updates": [{"path": "double", "metadata": {"unit": "m"}}]})
    life.done("alter_table_drop_columns", life.table, {"columns": ["double"]})
    assert life.done("update_table_schema_metadata", life.table, {"owner": "ada"})["owner"] == "ada"


def indices(life: Life) -> None:
    life.done("create_table_scalar_index", life.table, {"column": "id", "index_type": "BTREE", "name": "by id"})
    life.done("create_table_index", life.table, {"column": "name", "index_type": "FTS", "name": "words"})
    listed = life.done("list_table_indices", life.table)["indexes"]
    assert [index["index_name"] for index in listed] == ["by id", "words"]
    assert life.done("describe_table_index_stats", life.table, index_name="by%20id")["num_indexed_rows"] == 5
    life.done("drop_table_index", life.table, index_name="by%20id")


def references(life: Life) -> None:
    life.done("create_table_tag", life.table, {"tag": "first", "version": 1})
    assert life.done("get_table_tag_version", life.table, {"tag": "first"})["version"] == 1
    life.done("update_table_tag", life.table, {"tag": "first", "version": 2})
    assert life.done("list_table_tags", life.table)["tags"]["first"]["version"] == 2
    life.done("delete_table_tag", life.table, {"tag": "first"})
    life.done("create_table_branch", life.table, {"name": "work"})
    assert list(life.done("list_table_branches", life.table)["branches"]) == ["work"]
    life.done("insert_into_table", life.table, content=stream(table(7)), params={"branch": "work"})
    life.done("delete_table_branch", life.table, {"name": "work"})


def versions(life: Life) -> None:
    newest = life.done("list_table_versions", life.table, params={"descending": "true", "limit": "1"})
    latest = newest["versions"][0]["version"]
    assert newest["page_token"]
    assert life.done("describe_table_version", life.table, {"version": latest})["version"]["version"] == latest
    life.done("restore_table", life.table, {"version": 1})
    assert life.done("count_table_rows", life.table) == 3
    life.done("batch_delete_table_versions", life.table, {"ranges": [{"start_version": 2, "end_version": 3}]})
    # A claim for a manifest that nobody staged.
    claim = {"version": latest + 2, "manifest_path": "nowhere/1.manifest-x"}
    assert refused(life("create_table_version", life.table, claim))[0] in (400, 404, 409)


def transactions(life: Life) -> None:
    id_ = [*life.table, "1"]
    assert life.done("describe_transaction", id_)["status"]
    altered = {"actions": [{"setPropertyAction": {"key": "note", "value": "x"}}]}
    life.done("alter_transaction", id_, altered)


def batches(life: Life) -> None:
    declare = {"operations": [{"declare_table": {"id": [*life.space, "together"]}}]}
    life.done("batch_commit_tables", None, declare)
    entry = {"id": life.table, "version": 10_000, "manifest_path": "nowhere/1.manifest-x"}
    assert refused(life("batch_create_table_versions", None, {"entries": [entry]}))[0] in (400, 404, 409)


def refusals(life: Life) -> None:
    """What is asked for as background work, where it cannot be done: tests/jobs/worker has what can."""
    assert refused(life("alter_table_backfill_columns", life.table, {"column": "id"})) == (400, 13)
    view = {"kind": "query", "source_query": "x", "output_schema": "x"}
    assert refused(life("create_materialized_view", [*life.space, "view"], view)) == (400, 13)
    assert refused(life("refresh_materialized_view", [*life.space, "view"], {})) == (404, 4)


def removals(life: Life) -> None:
    life.done("rename_table", life.table, {"new_table_name": "u"})
    renamed = [*life.space, "u"]
    location = life.done("describe_table", renamed)["location"]
    gone = life.done("deregister_table", renamed)
    assert (gone["id"], gone["location"]) == (renamed, location)
    life.done("register_table", life.table, {"location": location})
    assert life.done("drop_table", life.table)["id"] == life.table
    assert refused(life("table_exists", life.table)) == (404, 4)


def test_stock_pylance_reads_and_writes_through_the_server(server: Lanceway) -> None:
    import lance_namespace

    id_ = created(server, 1, 2)
    client = lance_namespace.connect(
        "rest", {"uri": server.uri, "header.Authorization": server.headers["Authorization"]}
    )
    assert lance.dataset(namespace_client=client, table_id=id_).count_rows() == 2
    lance.write_dataset(table(3), namespace_client=client, table_id=id_, mode="append")
    assert ask(server, "table", id_, "count_rows").json() == 3
    with pytest.raises(Exception, match="no table"):
        lance.dataset(namespace_client=client, table_id=[*id_[:-1], "other"])
