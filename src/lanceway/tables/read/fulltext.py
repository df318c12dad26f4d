"""The text half of a query: the contract's query tree as pylance's.

A query without a column searches every column that has a full-text index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidInputError
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields

if TYPE_CHECKING:
    import lance
    from lance.query import FullTextQuery
    from lance_namespace_urllib3_client.models.fts_query import FtsQuery
    from lance_namespace_urllib3_client.models.match_query import MatchQuery
    from lance_namespace_urllib3_client.models.phrase_query import PhraseQuery
    from lance_namespace_urllib3_client.models.query_table_request_full_text_query import (
        QueryTableRequestFullTextQuery,
    )

    from lanceway.tables.dataset import Table

_KINDS = ("match", "phrase", "boost", "multi_match", "boolean")


def query(
    table: Table, dataset: lance.LanceDataset, request: QueryTableRequestFullTextQuery | None
) -> FullTextQuery | None:
    """What pylance is to search for, None if the request has no text."""
    text, tree = (request.string_query, request.structured_query) if request is not None else (None, None)
    if text is not None and tree is not None:
        raise InvalidInputError("query_table: give string_query or structured_query, not both.")
    if text is not None:
        return _Builder(table, dataset).text(text.query, text.columns)
    return _Builder(table, dataset).build(tree.query) if tree is not None else None


class _Builder:
    def __init__(self, table: Table, dataset: lance.LanceDataset) -> None:
        self._table, self._dataset = table, dataset

    def text(self, terms: str, columns: list[str] | None) -> FullTextQuery:
        from lance.query import MatchQuery, MultiMatchQuery

        searched = self._searched(columns)
        return MatchQuery(terms, searched[0]) if len(searched) == 1 else MultiMatchQuery(terms, searched)

    def build(self, node: FtsQuery) -> FullTextQuery:
        given = [kind for kind in _KINDS if getattr(node, kind) is not None]
        if len(given) != 1:
            raise InvalidInputError(
                f"query_table: a full-text query must be exactly one of {', '.join(_KINDS)}, but has {given or 'none'}."
            )
        make: Callable[[Any], FullTextQuery] = getattr(self, f"_{given[0]}")
        return make(getattr(node, given[0]))

    def _match(self, node: MatchQuery) -> FullTextQuery:
        return self._anywhere(node.column, lambda column: _match(node, column))

    def _phrase(self, node: PhraseQuery) -> FullTextQuery:
        from lance.query import PhraseQuery

        return self._anywhere(node.column, lambda column: PhraseQuery(node.terms, column, slop=node.slop or 0))

    def _boost(self, node: Any) -> FullTextQuery:
        from lance.query import BoostQuery

        factor = 0.5 if node.negative_boost is None else node.negative_boost
        return BoostQuery(self.build(node.positive), self.build(node.negative), negative_boost=factor)

    def _multi_match(self, node: Any) -> FullTextQuery:
        return _any_of([self._match(match) for match in node.match_queries])

    def _boolean(self, node: Any) -> FullTextQuery:
        from lance.query import BooleanQuery, Occur

        clauses = ((Occur.MUST, node.must), (Occur.MUST_NOT, node.must_not), (Occur.SHOULD, node.should))
        return BooleanQuery([(occur, self.build(part)) for occur, parts in clauses for part in parts])

    def _anywhere(self, column: str | None, make: Callable[[str], FullTextQuery]) -> FullTextQuery:
        return _any_of([make(name) for name in self._searched([column] if column else None)])

    def _searched(self, columns: list[str] | None) -> list[str]:
        if columns:
            for column in columns:
                fields.require(self._table, self._dataset.schema, column, "query_table")
            return columns
        with translated(self._table, "query_table"):
            indices = self._dataset.describe_indices()
        indexed = sorted({name for index in indices if index.index_type == "Inverted" for name in index.field_names})
        if not indexed:
            raise InvalidInputError(
                f"query_table: {self._table.name} has no full-text index to search. Name a column, or make an index "
                "of type FTS with create_table_index."
            )
        return indexed


def _match(node: MatchQuery, column: str) -> FullTextQuery:
    from lance.query import MatchQuery

    return MatchQuery(
        node.terms,
        column,
        boost=1.0 if node.boost is None else node.boost,
        fuzziness=node.fuzziness or 0,
        max_expansions=50 if node.max_expansions is None else node.max_expansions,
        operator=_operator(node.operator),
        prefix_length=node.prefix_length or 0,
    )


def _operator(name: str | None) -> Any:
    from lance.query import FullTextOperator

    if name is None:
        return FullTextOperator.OR
    if name.upper() not in ("AND", "OR"):
        raise InvalidInputError(f"query_table: the operator of a match is {name!r}, but must be And or Or.")
    return FullTextOperator(name.upper())


def _any_of(queries: list[FullTextQuery]) -> FullTextQuery:
    from lance.query import BooleanQuery, Occur

    if not queries:
        raise InvalidInputError("query_table: a full-text query needs at least one match.")
    return queries[0] if len(queries) == 1 else BooleanQuery([(Occur.SHOULD, query) for query in queries])
