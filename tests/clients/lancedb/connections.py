"""Exercises of connections and catalogs: each returns nothing if it works, else the sentence of the refusal."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import lancedb
from lance_namespace import CountTableRowsRequest
from lancedb.functions import UdfDefinition, udf

from tests.clients.lancedb.side import Exercise, Side, done, fruit, refusal, value_of


async def create_table(side: Side) -> None:
    table = await done(side.db.create_table("made", fruit(1, 2)))
    assert await done(table.count_rows()) == 2
    assert "already exists" in await refusal(lambda: side.db.create_table("made", fruit(3)))
    again = await done(side.db.create_table("made", fruit(3), exist_ok=True))
    assert await done(again.count_rows()) == 2
    anew = await done(side.db.create_table("made", fruit(3), mode="overwrite"))
    assert await done(anew.count_rows()) == 1
    empty = await done(side.db.create_table("empty", schema=fruit().schema))
    assert await value_of(empty, "schema") == fruit().schema


async def open_table(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    assert await done((await done(side.db.open_table(table.name))).count_rows()) == 7
    assert await done((await done(side.db.open_table(table.name, version=1))).count_rows()) == 6
    await done((await value_of(table, "branches") if callable(table.branches) else table.branches).create("draft"))
    branch = await done(side.db.open_table(table.name, branch="draft"))
    assert branch.current_branch() == "draft"
    assert "not found" in await refusal(lambda: side.db.open_table("none"))


async def list_tables(side: Side) -> None:
    space = await side.space()
    for name in ("a", "b", "c"):
        await done(side.db.create_table(name, fruit(1), namespace_path=[space]))
    first = await done(side.db.list_tables([space], limit=2))
    second = await done(side.db.list_tables([space], page_token=first.page_token))
    assert (first.tables, second.tables, second.page_token) == (["a", "b"], ["c"], None)


async def table_names(side: Side) -> None:
    space = await side.space()
    for name in ("a", "b", "c"):
        await done(side.db.create_table(name, fruit(1), namespace_path=[space]))
    after = "page_token" if side.is_sync else "start_after"
    names = await done(side.db.table_names(**{after: "a"}, limit=1, namespace_path=[space]))
    assert list(names) == ["b"]


async def rename_table(side: Side) -> None:
    table, space, new = await side.table(), await side.space(), side.new_name()
    await done(side.db.rename_table(table.name, new, new_namespace_path=[space]))
    assert (await done(side.db.list_tables([space]))).tables == [new]


async def drop_table(side: Side) -> None:
    table = await side.table()
    await done(side.db.drop_table(table.name))
    assert "not found" in await refusal(lambda: side.db.open_table(table.name))
    assert "not found" in await refusal(lambda: side.db.drop_table(table.name))
    if not side.is_sync:
        assert "not found" in await refusal(lambda: side.db.drop_table(table.name, ignore_missing=True))


async def drop_table_async(side: Side) -> None:
    table = await side.table()
    job = await done(side.db.drop_table_async(table.name))
    await done(job.wait())
    assert "not found" in await refusal(lambda: side.db.open_table(table.name))


async def drop_all_tables(side: Side) -> str:
    space = await side.space()
    await done(side.db.create_table("a", fruit(1), namespace_path=[space]))
    said = await refusal(lambda: side.db.drop_all_tables([space]))
    assert (await done(side.db.list_tables([space]))).tables == ["a"]
    return said


async def drop_database(side: Side) -> str:
    return await refusal(lambda: side.db.drop_database())


async def clone_table(side: Side) -> None:
    table = await side.table()
    await done(table.add(fruit(7)))
    source = f"db://{side.database}/{table.name}"
    clone = await done(side.db.clone_table(side.new_name(), source, source_version=1))
    assert await done(clone.count_rows()) == 6


async def create_namespace(side: Side) -> None:
    name = side.new_name()
    await done(side.db.create_namespace([name], properties={"comment": "what is sold"}))
    assert name in (await done(side.db.list_namespaces())).namespaces
    await done(side.db.create_namespace([name, "inner"]))
    assert "exists already" in await refusal(lambda: side.db.create_namespace([name]))
    await done(side.db.create_namespace([name], mode="exist_ok"))


async def describe_namespace(side: Side) -> None:
    name = side.new_name()
    await done(side.db.create_namespace([name], properties={"comment": "what is sold"}))
    assert (await done(side.db.describe_namespace([name]))).properties["comment"] == "what is sold"
    assert "not found" in await refusal(lambda: side.db.describe_namespace(["none"]))


async def list_namespaces(side: Side) -> None:
    space = await side.space()
    for name in ("a", "b", "c"):
        await done(side.db.create_namespace([space, name]))
    first = await done(side.db.list_namespaces([space], limit=2))
    second = await done(side.db.list_namespaces([space], page_token=first.page_token))
    assert (first.namespaces, second.namespaces) == (["a", "b"], ["c"])


async def drop_namespace(side: Side) -> None:
    space = await side.space()
    await done(side.db.create_table("a", fruit(1), namespace_path=[space]))
    assert "not empty" in await refusal(lambda: side.db.drop_namespace([space]))
    await done(side.db.drop_namespace([space], behavior="cascade"))
    assert space not in (await done(side.db.list_namespaces())).namespaces
    await done(side.db.drop_namespace([space], mode="skip"))


async def namespace_exists(side: Side) -> str:
    return await refusal(lambda: side.db.namespace_exists(["a"]))


async def table_exists(side: Side) -> str:
    return await refusal(lambda: side.db.table_exists(["a"]))


async def namespace_client(side: Side) -> None:
    table = await side.table()
    client = await done(side.db.namespace_client())
    assert client.count_table_rows(CountTableRowsRequest(id=[table.name])).count == 6


async def uri(side: Side) -> str | None:
    if side.is_sync:
        return await refusal(lambda: side.db.uri)
    assert side.db.uri == f"db://{side.database}"
    return None


async def close(side: Side) -> None:
    other = await side.connect()
    await done(other.close())


async def is_open(side: Side) -> None:
    assert side.db.is_open()


async def serialize(side: Side) -> None:
    table = await side.table()
    again = lancedb.deserialize_conn(side.db.serialize())
    assert again.open_table(table.name).count_rows() == 6


async def get_read_consistency_interval(side: Side) -> str:
    return await refusal(lambda: side.db.get_read_consistency_interval())


# -- jobs ----------------------------------------------------------------------------------------


async def backfill(side: Side) -> tuple[Any, Any]:
    """A table, and a job that computes one of its columns and waits for a worker."""
    table = await side.table()
    await done(table.add_columns(computed={"later": "id + 1"}))
    return table, await done(table.refresh_column_async("later"))


async def list_jobs(side: Side) -> None:
    table, _ = await backfill(side)
    rows = [row for row in await done(side.db.list_jobs()) if row.table == table.name]
    assert [(row.job_type, row.state) for row in rows] == [("backfill", "running")]


async def open_job(side: Side) -> None:
    _, job = await backfill(side)
    opened = await done(side.db.open_job(job.id))
    assert await done(opened.status()) == "running"
    assert "not found" in await refusal(lambda: side.db.open_job("job-00000000000000000000"))


async def cancel_job(side: Side) -> None:
    _, job = await backfill(side)
    assert await done(side.db.cancel_job(job.id)) is True
    assert await done((await done(side.db.open_job(job.id))).status()) == "cancelled"
    assert await done(side.db.cancel_job("job-00000000000000000000")) is False


async def pause_job(side: Side) -> str:
    _, job = await backfill(side)
    return await refusal(lambda: side.db.pause_job(job.id))


async def resume_job(side: Side) -> str:
    _, job = await backfill(side)
    return await refusal(lambda: side.db.resume_job(job.id))


# -- what the server has in other ways -----------------------------------------------------------


def twice(x: int) -> int:
    return x * 2


def _definition() -> UdfDefinition:
    return udf(twice)


def _refused(method: str, *arguments: Any, **options: Any) -> Exercise:
    """An exercise of a method of the connection that must be refused."""

    async def exercise(side: Side) -> str:
        made = [each() if callable(each) else each for each in arguments]
        return await refusal(lambda: getattr(side.db, method)(*made, **options))

    return exercise


async def create_materialized_view(side: Side) -> str:
    return await _view(side, "create_materialized_view")


async def create_materialized_view_async(side: Side) -> str:
    return await _view(side, "create_materialized_view_async")


async def open_materialized_view(side: Side) -> str:
    table = await side.table()
    return await refusal(lambda: side.db.open_materialized_view(table.name))


async def _view(side: Side, method: str) -> str:
    table = await side.table()
    return await refusal(lambda: getattr(side.db, method)(side.new_name(), table.name, where="id > 1"))


CONNECTION: Mapping[str, Exercise] = {
    **{
        exercise.__name__: exercise
        for exercise in (
            *(create_table, open_table, list_tables, table_names, rename_table, drop_table, drop_table_async),
            *(drop_all_tables, drop_database, clone_table, create_namespace, describe_namespace, list_namespaces),
            *(drop_namespace, namespace_exists, table_exists, namespace_client, uri, close, is_open, serialize),
            *(get_read_consistency_interval, list_jobs, open_job, cancel_job, pause_job, resume_job),
            *(create_materialized_view, create_materialized_view_async),
        )
    },
    "alter_secret": _refused("alter_secret", "s", "value"),
    "create_function": _refused("create_function", _definition),
    "create_function_async": _refused("create_function_async", _definition),
    "create_secret": _refused("create_secret", "s", "value"),
    "create_view": _refused("create_view", "v", "SELECT 1"),
    "describe_query": _refused("describe_query", uuid.UUID(int=1)),
    "describe_secret": _refused("describe_secret", "s"),
    "describe_view": _refused("describe_view", "v"),
    "drop_function": _refused("drop_function", "f", version="1"),
    "drop_function_async": _refused("drop_function_async", "f", version="1"),
    "drop_materialized_view": _refused("drop_materialized_view", "v"),
    "drop_materialized_view_async": _refused("drop_materialized_view_async", "v"),
    "drop_secret": _refused("drop_secret", "s"),
    "drop_view": _refused("drop_view", "v"),
    "drop_view_async": _refused("drop_view_async", "v"),
    "execute_query": _refused("execute_query", "SELECT 1"),
    "execute_query_async": _refused("execute_query_async", "SELECT 1"),
    "get_function": _refused("get_function", "f", version="1"),
    "list_functions": _refused("list_functions"),
    "list_materialized_views": _refused("list_materialized_views"),
    "list_secrets": _refused("list_secrets"),
    "list_views": _refused("list_views"),
    "open_materialized_view": open_materialized_view,
}


# -- catalogs ------------------------------------------------------------------------------------


async def _catalog(side: Side) -> Any:
    make = lancedb.connect_catalog if side.is_sync else lancedb.connect_catalog_async
    return await done(make(side.uri, api_key=side.token))


def _new_database() -> str:
    return f"database_{uuid.uuid4().hex[:12]}"


async def create_catalog_database(side: Side) -> None:
    catalog, name = await _catalog(side), _new_database()
    db = await done(catalog.create_database(name))
    await done(db.create_table("a", fruit(1)))
    assert (await done((await side.connect(name)).list_tables())).tables == ["a"]
    assert "not empty" in await refusal(lambda: catalog.drop_database(name))
    await done(db.drop_table("a"))
    await done(catalog.drop_database(name))


async def connect_catalog_database(side: Side) -> None:
    db = await done((await _catalog(side)).connect_database("lake"))
    assert isinstance((await done(db.list_tables())).tables, list)


async def list_catalog_databases(side: Side) -> None:
    assert "lake" in (await done((await _catalog(side)).list_databases())).databases


async def drop_catalog_database(side: Side) -> None:
    catalog, name = await _catalog(side), _new_database()
    await done(catalog.create_database(name))
    await done(catalog.drop_database(name))
    assert name not in (await done(catalog.list_databases())).databases


async def catalog_uri(side: Side) -> None:
    assert side.uri.startswith(str(await value_of(await _catalog(side), "uri")).rstrip("/"))


CATALOG: Mapping[str, Exercise] = {
    "connect_database": connect_catalog_database,
    "create_database": create_catalog_database,
    "drop_database": drop_catalog_database,
    "list_databases": list_catalog_databases,
    "uri": catalog_uri,
}
