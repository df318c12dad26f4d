"""A search that is put together step by step, and runs when its rows are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import lance_namespace as ln

from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.handles.rows import Rows
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa


class Search(Rows):
    """A search of a table: `table.search([0.5, 0.9]).where("price < 3").select("name").limit(5).to_pandas()`.

    Each step returns a new search, and the one it is called on stays as it is.
    """

    def __init__(self, catalog: ln.LanceNamespace, request: Mapping[str, Any]) -> None:
        super().__init__(self._ask)
        self._catalog = catalog
        self._request = dict(request)

    def where(self, condition: str) -> Self:
        """Keep the rows for which an SQL condition holds, beside those given before."""
        before = self._request.get("filter")
        return self._with(filter=f"({before}) AND ({condition})" if before else condition)

    def select(self, *columns: str | Iterable[str] | Mapping[str, str]) -> Self:
        """Return these columns alone: names, a list of names, or a dictionary of SQL expressions by new names."""
        if len(columns) == 1 and isinstance(columns[0], Mapping):
            return self._with(columns={"column_aliases": dict(columns[0])})
        names = [name for column in columns for name in ([column] if isinstance(column, str) else column)]
        if not names:
            raise InvalidInputError("select() needs the name of a column. Leave it out for all columns.")
        return self._with(columns={"column_names": names})

    def limit(self, count: int) -> Self:
        """Return at most so many rows. A search by a vector or a text gives 10 otherwise, any other one all."""
        if count < 1:
            raise InvalidInputError(f"limit({count}) leaves no row. Give 1 or more.")
        return self._with(k=count)

    def offset(self, count: int) -> Self:
        """Skip so many rows."""
        return self._with(offset=count)

    def metric(self, name: str) -> Self:
        """Measure distances by `l2`, `cosine`, `dot` or `hamming`."""
        return self._with(distance_type=name)

    def nprobes(self, count: int) -> Self:
        """Look into so many partitions of a vector index: more find better neighbours, and take longer."""
        return self._with(nprobes=count)

    def refine(self, factor: int) -> Self:
        """Compare `factor` times as many candidates by their whole vectors, rather than by the index alone."""
        return self._with(refine_factor=factor)

    def _with(self, **changes: object) -> Self:
        return type(self)(self._catalog, {**self._request, **changes})

    def _ask(self) -> pa.RecordBatchReader:
        return carry_out(self._catalog, "query_table_stream", accept(ln.QueryTableRequest, self._request))


def query_fields(query: object, column: str | None, text: str | None) -> dict[str, Any]:
    """Return the fields of a request that searches by a vector, several vectors, a text, or a vector and a text."""
    if isinstance(query, str):
        if text is not None:
            raise InvalidInputError("search() was given two texts. Give a vector and a text, or one of them.")
        return {"full_text_query": _text(query, column)}
    fields: dict[str, Any] = {} if text is None else {"full_text_query": _text(text, column if query is None else None)}
    if query is None:
        return fields
    values = _values(query)
    kind = "multi_vector" if values and isinstance(values[0], list) else "single_vector"
    return {**fields, "vector": {kind: values}, **({} if column is None else {"vector_column": column})}


def _text(query: str, column: str | None) -> dict[str, Any]:
    return {"string_query": {"query": query, **({} if column is None else {"columns": [column]})}}


def _values(query: Any) -> list[Any]:
    """Return a vector, or several, as lists of numbers: of numpy, torch and Arrow too."""
    given = query.tolist() if hasattr(query, "tolist") else query
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidInputError(f"search() takes a vector or a text, but {type(query).__name__} was given.")
    values = [list(item) if isinstance(item, Iterable) else item for item in given]
    if not values:
        raise InvalidInputError("The vector to search for is empty. Leave it out to search without one.")
    return values
