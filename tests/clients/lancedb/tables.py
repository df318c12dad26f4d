"""Exercises of tables, tags, branches, merges and jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa
from lance.blob import blob_array, blob_field
from lancedb.index import (
    FTS,
    Bitmap,
    BTree,
    Fm,
    HnswFlat,
    HnswPq,
    HnswSq,
    IvfFlat,
    IvfPq,
    IvfRq,
    IvfSq,
    LabelList,
)

from lanceway.wire.lance import ARROW_STREAM
from tests.clients.lancedb.connections import backfill
from tests.clients.lancedb.side import REFUSALS, ROWS, Exercise, Side, done, fruit, ids, refusal, value_of

MINUTE = timedelta(minutes=1)
BLOBS = [b"small", None, bytes(range(256)) * 2_000]


async def add(side: Side) -> None:
    table = await side.table()
    assert (await done(table.add(fruit(7, 8)))).version == 2
    assert await done(table.count_rows()) == 8
    assert (await done(table.add([{"id": 1, "text": "a", "vector": [0.0, 1.0]}], mode="overwrite"))).version == 3
    assert await done(table.count_rows()) == 1
    parts = fruit(*range(5_000)).to_reader(500)
    assert (await done(table.add(parts, write_parallelism=2))).version == 4


async def update(side: Side) -> None:
    table = await side.table()
    values = {"values" if side.is_sync else "updates": {"text": "plum"}}
    assert (await done(table.update(where="id = 1", **values))).rows_updated == 1
    expressions = {"values_sql" if side.is_sync else "updates_sql": {"id": "id + 10"}}
    assert (await done(table.update(where="id < 3", **expressions))).version == 3
    assert await done(table.count_rows("id > 10 AND text = 'plum'")) == 1


async def delete(side: Side) -> None:
    table = await side.table()
    assert (await done(table.delete("id > 4"))).num_deleted_rows == 2
    assert await done(table.count_rows()) == 4


async def count_rows(side: Side) -> None:
    table = await side.table()
    assert (await done(table.count_rows()), await done(table.count_rows("id > 4"))) == (6, 2)


async def head(side: Side) -> None:
    assert (await done((await side.table()).head(2)))["id"].to_pylist() == [1, 2]


async def merge_insert(side: Side) -> None:
    table = await side.table()
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merged = await done(merge.execute(fruit(6, 7)))
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)


async def search(side: Side) -> None:
    table = await side.table()
    query = table.search([3.1, 0.0])
    assert await ids((await done(query)).limit(2)) == [3, 4]


async def query(side: Side) -> None:
    assert await ids((await side.table()).query().where("id > 4")) == [5, 6]


async def vector_search(side: Side) -> None:
    assert await ids((await side.table()).vector_search([3.1, 0.0]).limit(1)) == [3]


async def take_offsets(side: Side) -> None:
    assert await ids((await side.table()).take_offsets([1, 3])) == [2, 4]


async def take_row_ids(side: Side) -> None:
    assert await ids((await side.table()).take_row_ids([5])) == [6]


async def to_arrow(side: Side) -> str | None:
    return await _everything(side, "to_arrow")


async def to_pandas(side: Side) -> str | None:
    return await _everything(side, "to_pandas")


async def to_polars(side: Side) -> str | None:
    return await _everything(side, "to_polars")


async def _everything(side: Side, method: str) -> str | None:
    table = await side.table()
    if side.is_sync:
        return await refusal(lambda: getattr(table, method)())
    assert len(await done(getattr(table, method)())) == ROWS
    return None


async def to_lance(side: Side) -> str | None:
    """It opens the table where it is stored, which the client can reach here."""
    table = await side.table()
    if side.is_sync:
        return await refusal(lambda: table.to_lance())
    assert (await done(table.to_lance())).count_rows() == ROWS
    return None


# -- what a table is -----------------------------------------------------------------------------


async def name(side: Side) -> None:
    assert (await side.table()).name.startswith("t")


async def schema(side: Side) -> None:
    assert await value_of(await side.table(), "schema") == fruit().schema


async def version(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    assert await value_of(table, "version") == 2


async def uri(side: Side) -> None:
    assert await value_of(await side.table(), "uri")


async def stats(side: Side) -> None:
    assert (await done((await side.table()).stats()))["num_rows"] == ROWS


async def embedding_functions(side: Side) -> None:
    assert await value_of(await side.table(), "embedding_functions") == {}


async def close(side: Side) -> None:
    table = await side.table()
    await done(table.close())


async def is_open(side: Side) -> None:
    assert (await side.table()).is_open()


async def initial_storage_options(side: Side) -> None:
    assert await done((await side.table()).initial_storage_options()) is None


async def latest_storage_options(side: Side) -> None:
    assert await done((await side.table()).latest_storage_options()) is None


# -- versions, tags, branches --------------------------------------------------------------------


async def list_versions(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    assert [row["version"] for row in await done(table.list_versions())] == [1, 2]


async def checkout(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    await done(table.checkout(1))
    assert await done(table.count_rows()) == 6
    assert "fixed at version 1" in await refusal(lambda: table.add(fruit(8)))
    assert "not found" in await refusal(lambda: table.checkout(99))


async def checkout_latest(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    await done(table.checkout(1))
    await done(table.checkout_latest())
    assert await done(table.count_rows()) == 7


async def restore(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    await done(table.restore(1))
    assert (await value_of(table, "version"), await done(table.count_rows())) == (3, 6)


async def tags(side: Side) -> None:
    assert await done((await side.table()).tags.list()) == {}


async def create_tag(side: Side) -> None:
    table = await side.table()
    await done(table.tags.create("first", 1))
    assert (await done(table.tags.list()))["first"]["version"] == 1
    assert "already" in await refusal(lambda: table.tags.create("first", 1))
    await done(table.checkout("first"))


async def get_tag_version(side: Side) -> None:
    table = await side.table()
    await done(table.tags.create("first", 1))
    assert await done(table.tags.get_version("first")) == 1
    assert "no tag 'none'" in await refusal(lambda: table.tags.get_version("none"))


async def update_tag(side: Side) -> None:
    table = await side.table()
    await done(table.tags.create("current", 1))
    await done(table.add(fruit(7)))
    await done(table.tags.update("current", 2))
    assert await done(table.tags.get_version("current")) == 2


async def delete_tag(side: Side) -> None:
    table = await side.table()
    await done(table.tags.create("first", 1))
    await done(table.tags.delete("first"))
    assert await done(table.tags.list()) == {}


TAGS: Mapping[str, Exercise] = {
    "create": create_tag,
    "delete": delete_tag,
    "get_version": get_tag_version,
    "list": create_tag,
    "update": update_tag,
}


async def branches(side: Side) -> None:
    assert await done((await side.table()).branches.list()) == {}


async def current_branch(side: Side) -> None:
    table = await side.table()
    branch = await done(table.branches.create("draft"))
    assert (table.current_branch(), branch.current_branch()) == (None, "draft")


async def create_branch(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    branch = await done(table.branches.create("draft"))
    await done(branch.add(fruit(8)))
    assert (await done(branch.count_rows()), await done(table.count_rows())) == (8, 7)
    former = await done(table.branches.create("former", from_version=1))
    assert await done(former.count_rows()) == 6
    assert "already exists" in await refusal(lambda: table.branches.create("draft"))


async def list_branches(side: Side) -> None:
    table = await side.table()
    await done(table.branches.create("draft"))
    assert list(await done(table.branches.list())) == ["draft"]


async def checkout_branch(side: Side) -> None:
    table = await side.table()
    await done((await done(table.branches.create("draft"))).add(fruit(7)))
    assert await done((await done(table.branches.checkout("draft"))).count_rows()) == 7


async def delete_branch(side: Side) -> None:
    table = await side.table()
    await done(table.branches.create("draft"))
    await done(table.branches.delete("draft"))
    assert await done(table.branches.list()) == {}


async def diff(side: Side) -> str:
    table = await side.table()
    await done(table.branches.create("draft"))
    return await refusal(lambda: table.branches.diff("draft"))


async def cherry_pick(side: Side) -> str:
    table = await side.table()
    await done(table.branches.create("draft"))
    return await refusal(lambda: table.branches.cherry_pick("draft"))


BRANCHES: Mapping[str, Exercise] = {
    "checkout": checkout_branch,
    "cherry_pick": cherry_pick,
    "create": create_branch,
    "delete": delete_branch,
    "diff": diff,
    "list": list_branches,
}


# -- indices -------------------------------------------------------------------------------------


async def indexed(side: Side) -> Any:
    table = await side.table()
    await done(table.create_index("id", config=BTree(), wait_timeout=MINUTE))
    return table


async def create_index(side: Side) -> None:
    table = await indexed(side)
    await done(table.create_index("text", config=FTS(), wait_timeout=MINUTE))
    await done(table.create_index("vector", config=IvfFlat(num_partitions=1), name="near", wait_timeout=MINUTE))
    names = {index.name for index in await done(table.list_indices())}
    assert names == {"id_idx", "text_idx", "near"}
    assert "none" in await refusal(lambda: table.create_index("none", config=BTree()))


def _of_type(column: str, config: Any) -> Exercise:
    """An exercise of an index of one type."""

    async def exercise(side: Side) -> str | None:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(range(300 * 16), pa.float32()), 16)
        rows = {"id": range(300), "text": ["apple"] * 300, "tags": [["red", "ripe"]] * 300, "vector": vectors}
        table = await done(side.db.create_table(side.new_name(), pa.table(rows)))
        try:
            await done(table.create_index(column, config=config, wait_timeout=MINUTE))
        except REFUSALS:
            return await refusal(lambda: table.create_index(column, config=config))
        (index,) = await done(table.list_indices())
        assert (index.columns, index.index_type.endswith(type(config).__name__)) == ([column], True)
        assert (await done(table.index_stats(index.name))).num_indexed_rows == 300
        return None

    return exercise


INDICES: Mapping[str, Exercise] = {
    type(config).__name__: _of_type(column, config)
    for column, config in (
        *(("id", BTree()), ("id", Bitmap()), ("tags", LabelList()), ("text", FTS()), ("text", Fm())),
        *(("vector", IvfFlat(num_partitions=2)), ("vector", IvfSq(num_partitions=2))),
        *(("vector", IvfPq(num_partitions=2, num_sub_vectors=4)), ("vector", IvfRq(num_partitions=2))),
        *(("vector", HnswFlat(num_partitions=1)), ("vector", HnswSq(num_partitions=1))),
        ("vector", HnswPq(num_partitions=1, num_sub_vectors=4)),
    )
}


async def create_index_async(side: Side) -> None:
    table = await side.table()
    job = await done(table.create_index_async("id", config=BTree()))
    await done(job.wait(MINUTE))
    assert [index.name for index in await done(table.list_indices())] == ["id_idx"]


async def create_scalar_index(side: Side) -> None:
    table = await side.table()
    await done(table.create_scalar_index("id", "BITMAP", wait_timeout=MINUTE))
    assert [index.index_type for index in await done(table.list_indices())] == ["Bitmap"]


async def create_fts_index(side: Side) -> None:
    table = await side.table()
    await done(table.create_fts_index("text", wait_timeout=MINUTE))
    assert await ids(table.search("pear", query_type="fts").limit(1)) == [2]


async def list_indices(side: Side) -> None:
    (index,) = await done((await indexed(side)).list_indices())
    assert (index.name, index.index_type, index.columns) == ("id_idx", "BTree", ["id"])


async def index_stats(side: Side) -> None:
    table = await indexed(side)
    assert (await done(table.index_stats("id_idx"))).num_indexed_rows == ROWS
    assert await done(table.index_stats("none")) is None


async def wait_for_index(side: Side) -> None:
    table = await indexed(side)
    await done(table.wait_for_index(["id_idx"], MINUTE))
    assert await refusal(lambda: table.wait_for_index(["none"], timedelta(seconds=1)))


async def drop_index(side: Side) -> None:
    table = await indexed(side)
    await done(table.drop_index("id_idx"))
    assert await done(table.list_indices()) == []


async def prewarm_index(side: Side) -> None:
    table = await indexed(side)
    await done(table.prewarm_index("id_idx"))
    assert "not found" in await refusal(lambda: table.prewarm_index("none"))


async def prewarm_data(side: Side) -> None:
    await done((await side.table()).prewarm_data(["id"]))


async def tokenize(side: Side) -> str | None:
    table = await side.table()
    await done(table.create_index("text", config=FTS(stem=False), wait_timeout=MINUTE))
    try:
        tokens = await done(table.tokenize("Apple pear", column="text"))
    except REFUSALS:
        return await refusal(lambda: table.tokenize("Apple pear", column="text"))
    assert [token.text for token in tokens] == ["apple", "pear"]
    return None


# -- columns -------------------------------------------------------------------------------------


async def add_columns(side: Side) -> None:
    table = await side.table()
    await done(table.add_columns({"twice": "id * 2"}))
    await done(table.add_columns([pa.field("place", pa.struct([("city", pa.string())]))]))
    await done(table.add_columns(computed={"later": "id + 1"}))
    assert (await value_of(table, "schema")).names == ["id", "text", "vector", "twice", "place", "later"]


async def alter_columns(side: Side) -> None:
    table = await side.table()
    await done(table.alter_columns({"path": "id", "rename": "number", "data_type": pa.int32(), "nullable": True}))
    assert (await value_of(table, "schema")).field("number").type == pa.int32()


async def drop_columns(side: Side) -> None:
    table = await side.table()
    await done(table.drop_columns(["text"]))
    assert (await value_of(table, "schema")).names == ["id", "vector"]


async def update_field_metadata(side: Side) -> None:
    table = await side.table()
    await done(table.update_field_metadata({"path": "id", "metadata": {"unit": "piece"}}))
    assert (await value_of(table, "schema")).field("id").metadata == {b"unit": b"piece"}


async def replace_field_metadata(side: Side) -> None:
    table = await side.table()
    await done(table.replace_field_metadata("id", {"unit": "piece"}))
    assert (await value_of(table, "schema")).field("id").metadata == {b"unit": b"piece"}


async def refresh_column_async(side: Side) -> None:
    _, job = await backfill(side)
    assert await done(job.status()) == "running"
    await done(job.cancel())


async def refresh_column(side: Side) -> str:
    table, job = await backfill(side)
    await done(job.cancel())
    return await refusal(lambda: table.refresh_column("later"))


async def function_errors(side: Side) -> str:
    table = await side.table()
    return await refusal(lambda: table.function_errors())


# -- blobs ---------------------------------------------------------------------------------------


async def _pictures(side: Side) -> tuple[Any, list[int]]:
    """A table with blobs, made through Lance REST, since the client's rows have none of their type."""
    from tests.clients.lancedb.raw import create

    data = pa.table(
        [pa.array(range(len(BLOBS))), blob_array(BLOBS)],
        schema=pa.schema([pa.field("id", pa.int64()), blob_field("picture")]),
    )
    name = side.new_name()
    create(side, name, data, ARROW_STREAM)
    table = await done(side.db.open_table(name))
    query = table.search() if side.is_sync else table.query()
    rows = (query.select(["id"]).with_row_id(True) if side.is_sync else query.select(["id"]).with_row_id()).to_list()
    return table, [row["_rowid"] for row in await done(rows)]


async def blob_columns(side: Side) -> None:
    table, _ = await _pictures(side)
    assert await done(table.blob_columns()) == ["picture"]


async def fetch_blobs(side: Side) -> None:
    table, rows = await _pictures(side)
    assert (await done(table.fetch_blobs("picture", rows))).to_pylist() == BLOBS


async def fetch_blob_files(side: Side) -> None:
    table, rows = await _pictures(side)
    small, null, large = await done(table.fetch_blob_files("picture", rows))
    assert (small.read(), null) == (b"small", None)
    large.seek(256)
    assert large.read(3) == b"\0\1\2"


async def fetch_blob_ranges(side: Side) -> str:
    table, rows = await _pictures(side)
    return await refusal(lambda: table.fetch_blob_ranges("picture", [(rows[0], 0, 2)]))


# -- upkeep and the LSM write path ---------------------------------------------------------------


def _plain(method: str) -> Exercise:
    """An exercise of a method that the client answers itself, or must be refused."""

    async def exercise(side: Side) -> str | None:
        table = await side.table()
        try:
            await done(getattr(table, method)())
        except REFUSALS:
            return await refusal(lambda: getattr(table, method)())
        return None

    return exercise


async def set_lsm_write_spec(side: Side) -> str:
    from lancedb._lancedb import LsmWriteSpec

    table = await side.table()
    return await refusal(lambda: table.set_lsm_write_spec(LsmWriteSpec.unsharded()))


async def set_unenforced_primary_key(side: Side) -> str:
    table = await side.table()
    return await refusal(lambda: table.set_unenforced_primary_key("id"))


async def get_lsm_write_spec(side: Side) -> None:
    assert await done((await side.table()).get_lsm_write_spec()) is None


async def get_lsm_stats(side: Side) -> None:
    assert await done((await side.table()).get_lsm_stats()) is None


TABLE: Mapping[str, Exercise] = {
    **{
        exercise.__name__: exercise
        for exercise in (
            *(add, update, delete, count_rows, head, merge_insert, search, query, vector_search, take_offsets),
            *(take_row_ids, to_arrow, to_pandas, to_polars, to_lance, name, schema, version, uri, stats, close),
            *(embedding_functions, is_open, initial_storage_options, latest_storage_options, list_versions),
            *(checkout, checkout_latest, restore, tags, branches, current_branch, create_index, create_index_async),
            *(create_scalar_index, create_fts_index, list_indices, index_stats, wait_for_index, drop_index),
            *(prewarm_index, prewarm_data, tokenize, add_columns, alter_columns, drop_columns),
            *(update_field_metadata, replace_field_metadata, refresh_column_async, refresh_column, function_errors),
            *(blob_columns, fetch_blobs, fetch_blob_files, fetch_blob_ranges, set_lsm_write_spec),
            *(set_unenforced_primary_key, get_lsm_write_spec, get_lsm_stats),
        )
    },
    **{
        method: _plain(method)
        for method in (
            *("checkpoint_lsm", "cleanup_old_versions", "close_lsm_writers", "compact_files", "compact_lsm"),
            *("flush_lsm", "migrate_manifest_paths_v2", "migrate_v2_manifest_paths", "optimize"),
            *("unset_lsm_write_spec", "uses_v2_manifest_paths"),
        )
    },
}


# -- merges --------------------------------------------------------------------------------------


async def _merged(side: Side, *steps: tuple[str, dict[str, Any]]) -> tuple[Any, Any]:
    table = await side.table()
    merge = table.merge_insert("id")
    for step, options in steps:
        merge = getattr(merge, step)(**options)
    return table, await done(merge.execute(fruit(6, 7)))


INSERT, UPDATE = ("when_not_matched_insert_all", {}), ("when_matched_update_all", {})


async def when_not_matched_insert_all(side: Side) -> None:
    assert (await _merged(side, INSERT))[1].num_inserted_rows == 1


async def when_matched_update_all(side: Side) -> None:
    assert (await _merged(side, UPDATE))[1].num_updated_rows == 1
    limited = ("when_matched_update_all", {"where": "target.id > 6"})
    assert (await _merged(side, limited, INSERT))[1].num_updated_rows == 0


async def when_not_matched_by_source_delete(side: Side) -> None:
    table, merged = await _merged(side, INSERT, ("when_not_matched_by_source_delete", {"condition": "id < 3"}))
    assert (merged.num_deleted_rows, await done(table.count_rows())) == (2, 5)


async def use_index(side: Side) -> None:
    assert (await _merged(side, INSERT, ("use_index", {"use_index": False})))[1].num_inserted_rows == 1


async def use_lsm(side: Side) -> str:
    assert (await _merged(side, INSERT, ("use_lsm", {"enable": False})))[1].num_inserted_rows == 1
    return await refusal(lambda: _merged(side, INSERT, ("use_lsm", {"enable": True})))


async def validate_single_shard(side: Side) -> None:
    await _merged(side, INSERT, ("validate_single_shard", {"validate_single_shard": False}))


async def execute(side: Side) -> None:
    table, merged = await _merged(side, INSERT, UPDATE)
    assert (merged.version, await done(table.count_rows())) == (2, 7)


MERGE: Mapping[str, Exercise] = {
    exercise.__name__: exercise
    for exercise in (
        *(when_not_matched_insert_all, when_matched_update_all, when_not_matched_by_source_delete),
        *(use_index, use_lsm, validate_single_shard, execute),
    )
}


# -- jobs ----------------------------------------------------------------------------------------


async def job_wait(side: Side) -> None:
    _, job = await backfill(side)
    await done(job.cancel())
    assert "cancelled" in (await refusal(lambda: job.wait(MINUTE))).lower()


async def job_cancel(side: Side) -> None:
    _, job = await backfill(side)
    await done(job.cancel())
    assert await done(job.status()) == "cancelled"


async def job_fields(side: Side) -> None:
    _, job = await backfill(side)
    await done(job.refresh())
    assert (job.state, job.job_type, job.result, job.failure) == ("running", "backfill", None, None)
    assert job.id
    assert job.creation_ms > 0
    assert "later" in str(job.spec)


async def job_events(side: Side) -> str:
    _, job = await backfill(side)
    return await refusal(lambda: job.events())


JOB: Mapping[str, Exercise] = {
    **dict.fromkeys(
        ("creation_ms", "failure", "id", "job_type", "refresh", "result", "spec", "state", "status"), job_fields
    ),
    "cancel": job_cancel,
    "events": job_events,
    "wait": job_wait,
}
