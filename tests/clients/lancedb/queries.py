"""Exercises of queries: each kind of query that the client builds, with each method of its builder."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from lancedb.index import FTS
from lancedb.pydantic import LanceModel, Vector
from lancedb.query import ColumnOrdering
from lancedb.rerankers import LinearCombinationReranker, MRRReranker, RRFReranker

from tests.clients.lancedb.side import REFUSALS, Exercise, Side, done, fruit, ids, refusal

VECTOR, SEVERAL, TEXT, HYBRID, PLAIN, TAKE = "vector", "several vectors", "text", "hybrid", "plain", "take"
MINUTE = timedelta(minutes=1)


class Fruit(LanceModel):  # type: ignore[misc]
    """A row of a table of fruit."""

    id: int
    text: str
    vector: Vector(2)  # type: ignore[valid-type]


@dataclass(frozen=True)
class Kind:
    """A kind of query, how each API makes one, and the ids of what it finds, in order where it has one."""

    name: str
    sync: Callable[[Any], Any]
    asynchronous: Callable[[Any], Any]
    finds: tuple[int, ...]

    def query(self, side: Side, table: Any) -> Any:
        return self.sync(table) if side.is_sync else self.asynchronous(table)


NEAR = [3.1, 0.0]
KINDS = {
    kind.name: kind
    for kind in (
        Kind(VECTOR, lambda t: t.search(NEAR), lambda t: t.query().nearest_to(NEAR), (3, 4, 2, 5, 1, 6)),
        Kind(
            SEVERAL,
            lambda t: t.search([NEAR, [6.0, 0.0]]),
            lambda t: t.query().nearest_to([NEAR, [6.0, 0.0]]),
            (3, 4, 2, 5, 1, 6, 6, 5, 4, 3, 2, 1),
        ),
        Kind(
            TEXT,
            lambda t: t.search("apple", query_type="fts", fts_columns="text"),
            lambda t: t.query().nearest_to_text("apple", columns="text"),
            (1, 3, 5),
        ),
        Kind(
            HYBRID,
            lambda t: t.search(query_type="hybrid").vector(NEAR).text("apple"),
            lambda t: t.query().nearest_to(NEAR).nearest_to_text("apple"),
            (1, 2, 3, 4, 5, 6),
        ),
        Kind(PLAIN, lambda t: t.search(), lambda t: t.query(), (1, 2, 3, 4, 5, 6)),
        Kind(TAKE, lambda t: t.take_offsets([0, 1, 2]), lambda t: t.take_offsets([0, 1, 2]), (1, 2, 3)),
    )
}
_ORDERED = (VECTOR, SEVERAL, PLAIN)
Step = Callable[[Side, Kind, Any], Awaitable[str | None]]


async def searched(side: Side) -> Any:
    """The table that queries ask: they change nothing, so that one is enough."""
    name = "fruit"
    try:
        return await done(side.db.open_table(name))
    except ValueError:  # it is not there yet
        table = await done(side.db.create_table(name, fruit(*range(1, 7))))
    await done(table.create_index("text", config=FTS(with_position=True), wait_timeout=MINUTE))
    return table


async def finds(query: Any, kind: Kind) -> None:
    """Check that a query finds all that its kind finds."""
    rows = await ids(query)
    assert sorted(rows) == sorted(kind.finds), rows
    if kind.name in _ORDERED:
        assert tuple(rows) == kind.finds


# -- what changes the rows -----------------------------------------------------------------------


async def limit(side: Side, kind: Kind, query: Any) -> None:
    rows = await ids(query.limit(2))
    assert len(rows) == (4 if kind.name == SEVERAL else 2)
    if kind.name in (VECTOR, PLAIN):
        assert tuple(rows) == kind.finds[:2]
    if kind.name == PLAIN:  # the synchronous client takes 0 for no limit
        assert await ids(query.limit(0)) == (list(kind.finds) if side.is_sync else [])


async def offset(side: Side, kind: Kind, query: Any) -> str | None:
    if kind.name == SEVERAL:
        return await refusal(lambda: ids(query.limit(2).offset(1)))
    rows = await ids(query.limit(2).offset(1))
    if kind.name in (VECTOR, PLAIN):
        assert tuple(rows) == kind.finds[1:3]
    else:
        assert len(rows) == 2
    return None


async def where(side: Side, kind: Kind, query: Any) -> None:
    rows = await ids(query.where("id > 3").limit(9))
    assert sorted(set(rows)) == sorted({id_ for id_ in kind.finds if id_ > 3})


async def postfilter(side: Side, kind: Kind, query: Any) -> None:
    assert set(await ids(query.where("id > 4").postfilter().limit(2))) <= {5, 6}


async def select(side: Side, kind: Kind, query: Any) -> None:
    rows = await done(query.select(["text"]).to_list())
    assert {"text", "id", "vector"} & set(rows[0]) == {"text"}
    if kind.name in (VECTOR, TEXT, PLAIN, TAKE):
        twice = kind.query(side, await searched(side)).select({"twice": "id * 2"})
        assert {row["twice"] for row in await done(twice.to_list())} == {id_ * 2 for id_ in kind.finds}


async def order_by(side: Side, kind: Kind, query: Any) -> str | None:
    ordered = query.order_by([ColumnOrdering(column_name="id", ascending=False)])
    if kind.name == PLAIN:
        assert await ids(ordered.limit(2)) == [6, 5]
        return None
    if kind.name == HYBRID and side.is_sync:
        await finds(ordered, kind)  # the client drops the order
        return "The client drops the order: its reranker has one."
    return await refusal(lambda: ids(ordered))


async def with_row_id(side: Side, kind: Kind, query: Any) -> None:
    rows = await done(
        (query.with_row_id(True) if side.is_sync and kind.name != TAKE else query.with_row_id()).to_list()
    )
    assert {row["_rowid"] for row in rows} == {id_ - 1 for id_ in kind.finds}


async def distance_range(side: Side, kind: Kind, query: Any) -> None:
    rows = await ids(query.distance_range(0.5, 4.0).limit(6))
    assert {4, 2, 5} <= set(rows)
    if kind.name == VECTOR:
        assert rows == [4, 2, 5]


async def distance_type(side: Side, kind: Kind, query: Any) -> None:
    rows = await ids(query.distance_type("dot").limit(1))
    assert 6 in rows


async def metric(side: Side, kind: Kind, query: Any) -> None:
    assert 6 in await ids(query.metric("dot").limit(1))


async def phrase_query(side: Side, kind: Kind, query: Any) -> None:
    table = await searched(side)
    if kind.name == HYBRID:
        phrase = table.search(query_type="hybrid").vector(NEAR).text("apple 3").phrase_query()
        assert 3 in await ids(phrase)
    else:
        assert await ids(table.search("apple 3", query_type="fts", fts_columns="text").phrase_query()) == [3]


async def rerank(side: Side, kind: Kind, query: Any) -> str | None:
    if kind.name == HYBRID:
        for reranker in (RRFReranker(), LinearCombinationReranker(0.7), MRRReranker()):
            best = kind.query(side, await searched(side)).rerank(reranker)
            assert await ids(best.limit(1)) == [3], reranker
        return None
    if kind.name == PLAIN:
        return await refusal(lambda: query.rerank(Backwards()))
    words = {"query_string": "apple"} if kind.name in (VECTOR, SEVERAL) else {}
    assert await ids(query.rerank(Backwards(), **words).limit(3))
    return None


class Backwards(RRFReranker):  # type: ignore[misc]
    """A reranker that needs no model: it turns the order round."""

    def rerank_vector(self, query: str, vector_results: pa.Table) -> pa.Table:
        return self._turned(vector_results)

    def rerank_fts(self, query: str, fts_results: pa.Table) -> pa.Table:
        return self._turned(fts_results)

    @staticmethod
    def _turned(rows: pa.Table) -> pa.Table:
        turned = rows.take(list(range(rows.num_rows))[::-1])
        return turned.append_column("_relevance_score", pa.array([1.0] * rows.num_rows, pa.float32()))


# Methods of the asynchronous client that look for a method that its own Rust code does not have.
BROKEN_IN_HYBRID = ("maximum_nprobes", "minimum_nprobes")


# -- what tunes a search -------------------------------------------------------------------------


def tuned(method: str, *arguments: Any) -> Step:
    """An exercise of a method that changes how a search is done, but not what it finds."""

    async def step(side: Side, kind: Kind, query: Any) -> str | None:
        if kind.name == HYBRID and not side.is_sync and method in BROKEN_IN_HYBRID:
            return await refusal(lambda: getattr(query, method)(*arguments))
        await finds(getattr(query, method)(*arguments), kind)
        return None

    return step


async def fast_search(side: Side, kind: Kind, query: Any) -> None:
    """Only rows with an index are searched: vectors have none here."""
    rows = await ids(query.fast_search())
    assert set(rows) <= set(kind.finds)


async def nearest_to(side: Side, kind: Kind, query: Any) -> None:
    assert 3 in await ids(query.nearest_to(NEAR).limit(1))


async def nearest_to_text(side: Side, kind: Kind, query: Any) -> None:
    assert {1, 3, 5} <= set(await ids(query.nearest_to_text("apple").limit(6)))


async def vector(side: Side, kind: Kind, query: Any) -> str | None:
    """The vector of a hybrid search; elsewhere the client says that it has none."""
    return await _part(side, kind, lambda: query.vector(NEAR))


async def text(side: Side, kind: Kind, query: Any) -> str | None:
    return await _part(side, kind, lambda: query.text("apple"))


async def _part(side: Side, kind: Kind, call: Callable[[], Any]) -> str | None:
    if kind.name != HYBRID:
        return await refusal(call)
    await finds(call(), kind)
    return None


async def column(side: Side, kind: Kind, query: Any) -> None:
    await finds(query.column("vector"), kind)


async def get_query(side: Side, kind: Kind, query: Any) -> None:
    assert query.get_query() == "apple"


async def use_lsm(side: Side, kind: Kind, query: Any) -> str:
    await finds(query.use_lsm(False), kind)
    again = kind.query(side, await searched(side))
    return await refusal(lambda: ids(again.use_lsm(True)))


NOT_SENT = "The client does not send it."


async def with_row_address(side: Side, kind: Kind, query: Any) -> str:
    rows = await done(query.with_row_address().to_list())
    assert "_rowaddr" not in rows[0]
    return NOT_SENT


async def fragment_ids(side: Side, kind: Kind, query: Any) -> str:
    await finds(query.fragment_ids([99]), kind)
    return NOT_SENT


async def with_fragments(side: Side, kind: Kind, query: Any) -> str:
    await finds(query.with_fragments([99]), kind)
    return NOT_SENT


# -- answers -------------------------------------------------------------------------------------


async def to_arrow(side: Side, kind: Kind, query: Any) -> None:
    assert (await done(query.to_arrow())).num_rows == len(kind.finds)


async def to_batches(side: Side, kind: Kind, query: Any) -> str | None:
    if side.is_sync and kind.name in (TEXT, HYBRID):
        return await refusal(lambda: query.to_batches())
    reader = await done(query.to_batches())
    rows = 0
    if hasattr(reader, "__aiter__"):
        async for batch in reader:
            rows += batch.num_rows
    else:
        rows = sum(batch.num_rows for batch in reader)
    assert rows == len(kind.finds)
    return None


async def to_list(side: Side, kind: Kind, query: Any) -> None:
    await finds(query, kind)


def framed(method: str) -> Step:
    async def step(side: Side, kind: Kind, query: Any) -> None:
        assert len(await done(getattr(query, method)())) == len(kind.finds)

    return step


NOT_TRIED = "Not tried"


async def to_polars(side: Side, kind: Kind, query: Any) -> str:
    """The rows come as for `to_arrow`; what would convert them is missing."""
    with pytest.raises(ModuleNotFoundError, match="polars"):
        await done(query.to_polars())
    return f"{NOT_TRIED}: the suite has no polars, into which the client converts what `to_arrow` returns."


async def to_pydantic(side: Side, kind: Kind, query: Any) -> None:
    rows = await done(query.to_pydantic(Fruit))
    assert {row.id for row in rows} == set(kind.finds)


async def to_query_object(side: Side, kind: Kind, query: Any) -> str | None:
    if kind.name == HYBRID:
        return await refusal(lambda: query.to_query_object()) if side.is_sync else await panic(query.to_query_object)
    assert await done(query.to_query_object()) is not None
    return None


async def panic(call: Callable[[], Any]) -> str:
    """Return what the client's own Rust code says when it breaks."""
    try:
        call()
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return f"The client breaks: {error}."
    raise AssertionError("it did not break")


async def output_schema(side: Side, kind: Kind, query: Any) -> str | None:
    try:
        schema = await done(query.output_schema())
    except REFUSALS:
        return await refusal(lambda: query.output_schema())
    assert "id" in schema.names
    return None


async def explain_plan(side: Side, kind: Kind, query: Any) -> None:
    assert "LanceRead" in await done(query.explain_plan(True)) or "Take" in await done(query.explain_plan(True))


async def analyze_plan(side: Side, kind: Kind, query: Any) -> None:
    assert "metrics" in await done(query.analyze_plan())


async def create(side: Side, kind: Kind, query: Any) -> None:
    """What `search` calls."""
    await finds(query, kind)


STEPS: Mapping[str, Step] = {
    **{
        step.__name__: step
        for step in (
            *(limit, offset, where, postfilter, select, order_by, with_row_id, distance_range, distance_type, metric),
            *(phrase_query, rerank, fast_search, nearest_to, nearest_to_text, vector, text, column, get_query, use_lsm),
            *(with_row_address, fragment_ids, with_fragments, to_arrow, to_batches, to_list, to_pydantic),
            *(to_query_object, output_schema, explain_plan, analyze_plan, create),
        )
    },
    "bypass_vector_index": tuned("bypass_vector_index"),
    "ef": tuned("ef", 20),
    "maximum_nprobes": tuned("maximum_nprobes", 30),
    "minimum_nprobes": tuned("minimum_nprobes", 2),
    "nprobes": tuned("nprobes", 4),
    "refine_factor": tuned("refine_factor", 2),
    "to_df": framed("to_df"),
    "to_pandas": framed("to_pandas"),
    "to_polars": to_polars,
}


def exercises(kind: str) -> Mapping[str, Exercise]:
    """The exercises of a kind of query, by the methods of its builder."""
    return {method: partial(_exercise, KINDS[kind], step) for method, step in STEPS.items()}


async def _exercise(kind: Kind, step: Step, side: Side) -> str | None:
    return await step(side, kind, kind.query(side, await searched(side)))
