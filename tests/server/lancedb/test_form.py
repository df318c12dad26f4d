"""What the stock client asks for in its own form: tables, rows, indices, tags, versions, columns."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import lancedb
import pyarrow as pa
import pytest
from lancedb.index import FTS, BTree, IvfFlat
from lancedb.remote.db import RemoteDBConnection
from lancedb.remote.errors import HttpError
from lancedb.remote.table import RemoteTable

from tests.server.lancedb.conftest import SCHEMA, connect, fruit
from tests.server.server_helpers import space
from tests.servers.lanceway import Lanceway

MINUTE = timedelta(minutes=1)


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


# -- databases -----------------------------------------------------------------------------------


def test_a_database_is_a_catalog_or_a_namespace_in_it(server: Lanceway) -> None:
    catalog, name = space(server)
    whole, inner = connect(server, catalog), connect(server, f"{catalog}/{name}")
    inner.create_table("fruit", fruit(1))
    assert inner.list_tables().tables == ["fruit"]
    assert whole.list_tables([name]).tables == ["fruit"]
    assert whole.open_table("fruit", namespace_path=[name]).count_rows() == 1
    assert server.ask("POST", f"table/{catalog}${name}$fruit/count_rows", {}).json() == 1


def test_a_bearer_token_is_as_good_as_a_key(server: Lanceway, database: str) -> None:
    headers = {"authorization": f"Bearer {server.token}"}
    with_bearer = lancedb.connect(
        f"db://{database}", api_key="", host_override=server.uri, client_config={"extra_headers": headers}
    )
    assert isinstance(with_bearer.list_tables().tables, list)
    with pytest.raises(HttpError, match="401"):
        connect(server, database, "wrong").list_tables()


def test_a_client_may_join_names_by_another_character(server: Lanceway) -> None:
    catalog, name = space(server)
    marked = {"headers": {"x-lancedb-database": catalog}}
    connect(server, catalog).create_table("fruit", fruit(1), namespace_path=[name])
    assert server.ask("POST", f"table/{name}:fruit/count_rows/?delimiter=:", {}, **marked).json() == 1
    assert "fruit" not in server.ask("GET", "table/?delimiter=:", **marked).json()["tables"]


def test_a_database_may_have_a_name_in_any_letters(server: Lanceway) -> None:
    catalog, name = space(server)
    connect(server, catalog).create_namespace([name, "größe"])
    inner = connect(server, f"{catalog}/{name}/größe")
    inner.create_table("fruit", fruit(1))
    assert connect(server, catalog).list_tables([name, "größe"]).tables == ["fruit"]
    with pytest.raises(HttpError, match="no catalog 'größe'"):
        connect(server, "größe").list_tables()


def test_a_name_that_is_no_text_is_refused(server: Lanceway) -> None:
    answer = server.ask("GET", "table/", headers={"x-lancedb-database": b"\xff"})
    assert answer.status_code == 400
    assert "not valid Unicode" in answer.json()["error"]


def test_without_the_mark_a_path_is_lance_rest(server: Lanceway, db: RemoteDBConnection, database: str) -> None:
    db.create_table("plain", fruit(1)).tags.create("first", 1)
    name = "$".join([*database.split("/"), "plain"])
    assert list(server.ask("POST", f"table/{name}/tags/list/").json()) == ["tags"]
    marked = server.ask(
        "POST",
        "table/plain/tags/list/",
        headers={
            "x-lancedb-database": database.split("/")[0],
            "x-lancedb-database-prefix": database.split("/")[1],
        },
    )
    assert list(marked.json()) == ["first"]
    assert marked.headers["phalanx-version"]


def test_a_database_without_a_name_is_refused(server: Lanceway) -> None:
    answer = server.ask("GET", "table/", headers={"x-lancedb-database": ""})
    assert answer.status_code == 400
    assert "db://NAME" in answer.json()["error"]


# -- tables and namespaces -----------------------------------------------------------------------


def test_tables_are_created_in_every_mode(db: RemoteDBConnection) -> None:
    db.create_table("modes", fruit(1, 2))
    with pytest.raises(ValueError, match="already exists"):
        db.create_table("modes", fruit(3))
    assert db.create_table("modes", fruit(3), exist_ok=True).count_rows() == 2
    assert db.create_table("modes", fruit(3), mode="overwrite").count_rows() == 1
    assert db.create_table("empty", schema=SCHEMA).schema == SCHEMA


def test_tables_are_listed_page_by_page(server: Lanceway) -> None:
    db = connect(server, "/".join(space(server)))
    for name in ("a", "b", "c"):
        db.create_table(name, fruit(1))
    first = db.list_tables(limit=2)
    assert (first.tables, db.list_tables(page_token=first.page_token).tables) == (["a", "b"], ["c"])
    with pytest.deprecated_call():
        assert db.table_names(limit=1) == ["a"]
        assert db.table_names(page_token="a", limit=2) == ["b", "c"]


def test_a_table_is_renamed_and_dropped(db: RemoteDBConnection) -> None:
    db.create_namespace(["shelf"])
    assert "shelf" in db.list_namespaces().namespaces
    db.create_table("old", fruit(1), namespace_path=["shelf"])
    db.rename_table("old", "new", cur_namespace_path=["shelf"], new_namespace_path=["shelf"])
    assert db.list_tables(["shelf"]).tables == ["new"]
    db.drop_table("new", namespace_path=["shelf"])
    db.drop_namespace(["shelf"])
    with pytest.raises(ValueError, match="not found"):
        db.open_table("new", namespace_path=["shelf"])


TYPES: dict[str, pa.DataType] = {
    "binary": pa.binary(),
    "bool": pa.bool_(),
    "date32": pa.date32(),
    "date64": pa.date64(),
    "decimal": pa.decimal128(10, 2),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "double": pa.float64(),
    "duration": pa.duration("us"),
    "fixed": pa.binary(4),
    "half": pa.float16(),
    "large_string": pa.large_string(),
    "list": pa.list_(pa.field("item", pa.struct([pa.field("inner", pa.float32())]))),
    "null": pa.null(),
    "time": pa.time64("ns"),
    "timestamp": pa.timestamp("ms"),
    "zoned": pa.timestamp("us", "Europe/Berlin"),
}


def test_a_schema_is_read_with_every_type(db: RemoteDBConnection) -> None:
    schema = pa.schema(
        [pa.field(name, type_, name != "bool") for name, type_ in TYPES.items()], metadata={"made by": "hand"}
    )
    described = db.create_table("types", schema=schema).schema
    assert described == schema
    assert (described.metadata or {})[b"made by"] == b"hand"


def test_a_map_is_shown_as_its_entries(db: RemoteDBConnection) -> None:
    schema = pa.schema([pa.field("map", pa.map_(pa.string(), pa.int64()))])
    column = db.create_table("map", schema=schema).schema.field("map").type
    assert pa.types.is_list(column)
    assert [field.type for field in column.value_type] == [pa.string(), pa.int64()]


# -- rows ----------------------------------------------------------------------------------------


def test_rows_are_added_merged_updated_and_deleted(table: RemoteTable) -> None:
    assert table.add(fruit(7, 8)).version == 2
    merged = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fruit(8, 9))
    assert (merged.num_updated_rows, merged.num_inserted_rows, merged.num_rows, merged.version) == (1, 1, 2, 3)
    updated = table.update("id = 1", {"text": "plum"})
    assert (updated.rows_updated, updated.version) == (1, 4)
    deleted = table.delete("id > 7")
    assert (deleted.num_deleted_rows, deleted.version) == (2, 5)
    assert (table.count_rows(), table.count_rows("text = 'plum'")) == (7, 1)
    assert table.add(fruit(1), mode="overwrite").version == 6
    assert table.count_rows() == 1


# -- searches ------------------------------------------------------------------------------------


def test_vectors_are_searched(table: RemoteTable) -> None:
    assert ids(table.search([3.1, 0.0]).limit(2).to_list()) == [3, 4]
    assert ids(table.search([3.1, 0.0]).where("id > 4").limit(2).to_list()) == [5, 6]
    assert ids(table.search([3.1, 0.0]).where("id > 4", prefilter=False).limit(2).to_list()) == []
    assert ids(table.search([3.1, 0.0]).limit(2).offset(1).to_list()) == [4, 2]
    assert ids(table.search([3.1, 0.0]).distance_range(0.5, 4.0).limit(6).to_list()) == [4, 2, 5]
    tuned = table.search([3.1, 0.0]).distance_type("dot").nprobes(3).refine_factor(2).select(["id"]).limit(1)
    assert tuned.to_list() == [{"id": 6, "_distance": pytest.approx(1 - 3.1 * 6, rel=1e-5)}]
    several = table.search([[1.0, 0.0], [6.0, 0.0]]).limit(1).to_arrow()
    assert (several["query_index"].to_pylist(), several["id"].to_pylist()) == ([0, 1], [1, 6])


def test_rows_are_filtered_chosen_and_sorted(table: RemoteTable) -> None:
    assert table.search().to_arrow().num_rows == 6
    assert table.search().where("id > 5").select({"double": "id * 2"}).to_list() == [{"double": 12}]
    descending = table.search().order_by([{"column_name": "id", "ascending": False}])
    assert ids(descending.limit(2).to_list()) == [6, 5]
    assert table.search().with_row_id(True).limit(1).to_list()[0]["_rowid"] == 0
    assert table.head(2).num_rows == 2
    assert ids(table.take_offsets([1, 3]).to_list()) == [2, 4]
    assert ids(table.take_row_ids([5]).to_list()) == [6]


def test_a_limit_of_nothing_finds_nothing(server: Lanceway, table: RemoteTable, database: str) -> None:
    """The asynchronous client sends it as it is, the synchronous one means no limit."""

    async def found(where: str | None = None) -> list[dict[str, Any]]:
        db = await lancedb.connect_async(f"db://{database}", api_key=server.token, host_override=server.uri)
        query = (await db.open_table(table.name)).query().select(["id"]).limit(0)
        return list(await (query if where is None else query.where(where)).to_list())

    assert asyncio.run(found()) == asyncio.run(found("id > 1 OR id = 1")) == []
    assert len(table.search().limit(0).to_list()) == 6
    with pytest.raises(HttpError, match="nothing"):
        asyncio.run(found("nothing = 1"))


def test_a_search_that_is_to_be_sorted_is_refused(server: Lanceway, table: RemoteTable, database: str) -> None:
    name = "$".join([*database.split("/"), table.name])
    order = [{"column_name": "id"}]
    body = {"vector": {"single_vector": [1.0, 0.0]}, "k": 1, "order_by": order}
    answer = server.ask("POST", f"table/{name}/query", body)
    assert answer.status_code == 400
    assert "order_by cannot be used with a search" in answer.json()["error"]
    missing = server.ask("POST", f"table/{name}/query", {"vector": {}, "k": 1, "order_by": [{"column_name": "no"}]})
    assert missing.status_code == 404


def test_text_is_searched(table: RemoteTable) -> None:
    from lancedb.query import BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, PhraseQuery

    table.create_index("text", config=FTS(with_position=True), wait_timeout=MINUTE)
    assert sorted(ids(table.search("apple", query_type="fts").to_list())) == [1, 3, 5]
    apple, three = MatchQuery("apple", "text"), MatchQuery("3", "text")
    for query, found in (
        (PhraseQuery("apple 3", "text"), [3]),
        (BooleanQuery([(Occur.MUST, apple), (Occur.MUST_NOT, three)]), [1, 5]),
        (MultiMatchQuery("pear", ["text"], boosts=[2.0]), [2, 4, 6]),
        (BoostQuery(apple, three), [1, 3, 5]),
    ):
        assert sorted(ids(table.search(query).to_list())) == found, query


def test_vectors_and_text_are_searched_together(table: RemoteTable) -> None:
    from lancedb.rerankers import LinearCombinationReranker, RRFReranker

    table.create_index("text", config=FTS(), wait_timeout=MINUTE)
    for reranker in (RRFReranker(), LinearCombinationReranker(0.7)):
        query = table.search(query_type="hybrid").vector([3.0, 0.0]).text("apple").rerank(reranker)
        assert ids(query.limit(1).to_list()) == [3], reranker


def test_plans_are_explained(table: RemoteTable) -> None:
    query = table.search([3.0, 0.0]).where("id > 1").limit(2)
    assert "LanceRead" in query.explain_plan(verbose=True)
    assert "elapsed" in query.analyze_plan()
    ordered = table.search().order_by([{"column_name": "id", "ascending": False}])
    assert "Sort" in ordered.explain_plan()


# -- indices -------------------------------------------------------------------------------------


def test_indices_are_created_replaced_waited_for_and_dropped(table: RemoteTable) -> None:
    table.create_index("id", config=BTree(), wait_timeout=MINUTE)
    for partitions in (1, 2):
        table.create_index("vector", config=IvfFlat(num_partitions=partitions), wait_timeout=MINUTE)
    kinds = {index.name: index.index_type for index in table.list_indices()}
    assert kinds == {"id_idx": "BTree", "vector_idx": "IvfFlat"}
    table.wait_for_index(["id_idx", "vector_idx"], MINUTE)
    stats = table.index_stats("vector_idx")
    assert stats is not None
    assert (stats.num_indexed_rows, stats.index_type, stats.distance_type) == (6, "IVF_FLAT", "l2")
    assert table.index_stats("none") is None
    table.drop_index("id_idx")
    assert [index.name for index in table.list_indices()] == ["vector_idx"]
    with pytest.raises(RuntimeError, match="not found"):
        table.drop_index("id_idx")


def test_an_index_of_parts_of_words_keeps_its_options(table: RemoteTable) -> None:
    config = FTS(base_tokenizer="ngram", ngram_min_length=2, ngram_max_length=3, stem=False, remove_stop_words=False)
    table.create_index("text", config=config, wait_timeout=MINUTE)
    assert sorted(ids(table.search("pp", query_type="fts").to_list())) == [1, 3, 5]


def test_an_index_on_a_column_that_is_not_there_is_refused(table: RemoteTable) -> None:
    with pytest.raises(Exception, match="none"):
        table.create_index("none", config=BTree())


# -- tags, versions, branches --------------------------------------------------------------------


def test_tags_lead_to_versions(table: RemoteTable) -> None:
    table.add(fruit(7))
    table.tags.create("first", 1)
    assert {name: tag["version"] for name, tag in table.tags.list().items()} == {"first": 1}
    assert table.tags.get_version("first") == 1
    table.checkout("first")
    assert table.count_rows() == 6
    table.checkout_latest()
    table.tags.update("first", 2)
    assert table.tags.get_version("first") == 2
    with pytest.raises(Exception, match="already"):
        table.tags.create("first", 1)
    table.tags.delete("first")
    assert table.tags.list() == {}


def test_a_tag_that_is_missing_is_not_a_missing_table(table: RemoteTable) -> None:
    for ask in (
        lambda: table.tags.get_version("none"),
        lambda: table.tags.update("none", 1),
        lambda: table.tags.delete("none"),
        lambda: table.checkout("none"),
    ):
        with pytest.raises(HttpError, match="no tag 'none'"):
            ask()
    with pytest.raises(HttpError, match="no version 99"):
        table.tags.create("late", 99)


def test_versions_are_checked_out_and_restored(table: RemoteTable) -> None:
    table.add(fruit(7))
    assert [version["version"] for version in table.list_versions()] == [1, 2]
    table.checkout(1)
    assert (table.version, table.count_rows(), len(table.search().to_list())) == (1, 6, 6)
    with pytest.raises(Exception, match="fixed at version 1"):
        table.add(fruit(8))
    table.restore()
    assert (table.version, table.count_rows()) == (3, 6)
    table.restore(2)
    assert table.count_rows() == 7
    with pytest.raises(ValueError, match="not found"):
        table.checkout(99)


def test_branches_have_rows_of_their_own(table: RemoteTable) -> None:
    branch = table.branches.create("draft")
    branch.add(fruit(7))
    assert (branch.count_rows(), table.count_rows()) == (7, 6)
    assert ids(branch.search([7.0, 0.0]).limit(1).to_list()) == [7]
    assert list(table.branches.list()) == ["draft"]
    with pytest.raises(ValueError, match="already exists"):
        table.branches.create("draft")
    assert table.branches.checkout("draft").count_rows() == 7
    table.branches.delete("draft")
    assert table.branches.list() == {}


# -- columns and statistics ----------------------------------------------------------------------


def test_columns_are_added_altered_and_dropped(table: RemoteTable) -> None:
    table.add_columns({"twice": "id * 2"})
    table.alter_columns({"path": "twice", "rename": "double", "data_type": pa.int32()})
    assert table.schema.field("double").type == pa.int32()
    table.update_field_metadata({"path": "id", "metadata": {"unit": "piece"}})
    assert table.schema.field("id").metadata == {b"unit": b"piece"}
    table.drop_columns(["double"])
    assert table.schema.names == ["id", "text", "vector"]


def test_statistics_and_the_place_of_a_table(table: RemoteTable) -> None:
    assert table.stats()["num_rows"] == 6
    assert table.uri


# -- other versions of the client ----------------------------------------------------------------


def test_older_clients_write_words_in_quotes(server: Lanceway) -> None:
    catalog, name = space(server)
    marked = {"headers": {"x-lancedb-database": catalog}}
    path = f"namespace/{name}$inner"
    assert server.ask("POST", f"{path}/create", {"mode": '"Create"'}, **marked).status_code == 200
    assert server.ask("POST", f"{path}/create", {"mode": '"ExistOk"'}, **marked).status_code == 200
    connect(server, catalog).create_table("fruit", fruit(1), namespace_path=[name, "inner"])
    assert server.ask("POST", f"{path}/drop", {"behavior": '"Restrict"'}, **marked).json()["code"] == 3  # not empty
    assert server.ask("POST", f"{path}/drop", {"behavior": '"Cascade"'}, **marked).status_code == 200
    assert server.ask("POST", f"{path}/exists", {}, **marked).status_code == 404


def test_a_column_that_is_missing_is_not_a_missing_table(table: RemoteTable) -> None:
    with pytest.raises(HttpError, match="nothing"):
        table.search().where("nothing = 1").to_list()
