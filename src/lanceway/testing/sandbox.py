"""A namespace for each test, and short ways to make tables and requests in it."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import lance_namespace as ln
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.query_table_request_vector import QueryTableRequestVector

from lanceway.errors import (
    ErrorCode,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)

DIMENSIONS = 8
WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath")

# The contract allows either for a column that is not there.
MISSING_COLUMN = (ErrorCode.TABLE_COLUMN_NOT_FOUND, ErrorCode.INVALID_INPUT)

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), DIMENSIONS)),
    ]
)


def rows(*ids: int) -> pa.Table:
    """Return one row for each id: a sentence that names it, and a vector of its own."""
    return pa.table({"id": ids, "name": [sentence(i) for i in ids], "vector": [vector(i) for i in ids]}, SCHEMA)


def sentence(i: int) -> str:
    return f"the {WORDS[i % len(WORDS)]} number{i}"


def vector(i: int) -> list[float]:
    """Return the vector of a number. Vectors of near numbers are near: the first dimension is the number itself."""
    return [float(i), *(float((i * 7 + d) % 5) / 100 for d in range(1, DIMENSIONS))]


def stream(table: pa.Table) -> bytes:
    """Encode a table as an Arrow IPC stream, the form in which the contract takes rows."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def read_file(data: object) -> pa.Table:
    """Decode the Arrow IPC file of a query's response."""
    assert isinstance(data, bytes), "query_table gives no bytes"
    return pa.ipc.open_file(pa.py_buffer(data)).read_all()


@contextmanager
def code(*expected: ErrorCode) -> Iterator[pytest.ExceptionInfo[LanceNamespaceError]]:
    """Assert that the block is refused with one of these codes and a message."""
    with pytest.raises(LanceNamespaceError) as raised:
        yield raised
    if isinstance(raised.value, UnsupportedOperationError) and ErrorCode.UNSUPPORTED not in expected:
        raise raised.value  # not another answer than expected: the operation is not there
    assert raised.value.code in expected, (
        f"expected {_names(expected)}, got {_names([raised.value.code])}: {raised.value}"
    )
    assert str(raised.value).strip(), "an error without a message"


def _names(codes: Sequence[int]) -> str:
    return " or ".join(f"{int(c)} ({ErrorCode(c).name})" for c in codes)


Id = list[str]
_MOST_PAGES = 10_000


def fresh(kind: str) -> str:
    """Return a new unique name, in letters that every service accepts."""
    return f"{kind}_{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class Sandbox:
    """A catalog and the namespace in it in which the test works, alone or beside other users of the catalog."""

    catalog: ln.LanceNamespace
    home: tuple[str, ...] = ()
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    # -- names -----------------------------------------------------------------------------------

    def id(self, name: str | None = None, *, inside: Sequence[str] | None = None) -> Id:
        """Return an identifier in the test's namespace, or `inside` another: with a unique name, or with `name`."""
        return [*(self.home if inside is None else inside), name or f"t_{self.mark}_{uuid.uuid4().hex[:8]}"]

    def ours(self, names: Sequence[str]) -> list[str]:
        """Return those of the names that belong to this test: others may use the namespace at the same time."""
        return [name for name in names if self.mark in name]

    # -- namespaces ------------------------------------------------------------------------------

    def namespace(self, *, inside: Sequence[str] | None = None, **options: Any) -> Id:
        namespace = self.id(inside=inside)
        self.catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace, **options))
        return namespace

    def namespaces(self, parent: Sequence[str] | None = None, limit: int | None = None) -> list[str]:
        id_ = list(self.home if parent is None else parent)

        def page(token: str | None) -> Any:
            return self.catalog.list_namespaces(ln.ListNamespacesRequest(id=id_, page_token=token, limit=limit))

        return [name for response in pages(page, limit) for name in response.namespaces]

    def has_namespace(self, id_: Id) -> bool:
        try:
            self.catalog.namespace_exists(ln.NamespaceExistsRequest(id=id_))
        except NamespaceNotFoundError:
            return False
        return True

    # -- tables ----------------------------------------------------------------------------------

    def table(self, data: pa.Table | None = None, *, id: Id | None = None, **options: Any) -> Id:  # noqa: A002
        """Create a table; without data it has the rows 1, 2 and 3."""
        table = id or self.id()
        content = rows(1, 2, 3) if data is None else data
        self.catalog.create_table(ln.CreateTableRequest(id=table, **options), stream(content))
        return table

    def declare(self, id_: Id | None = None, **options: Any) -> Id:
        table = id_ or self.id()
        self.catalog.declare_table(ln.DeclareTableRequest(id=table, **options))
        return table

    def tables(self, parent: Sequence[str] | None = None, limit: int | None = None, **options: Any) -> list[str]:
        id_ = list(self.home if parent is None else parent)

        def page(token: str | None) -> Any:
            return self.catalog.list_tables(ln.ListTablesRequest(id=id_, page_token=token, limit=limit, **options))

        return [name for response in pages(page, limit) for name in response.tables]

    def has_table(self, id_: Id) -> bool:
        try:
            self.catalog.table_exists(ln.TableExistsRequest(id=id_))
        except (TableNotFoundError, NamespaceNotFoundError):
            return False
        return True

    def describe(self, id_: Id, **options: Any) -> ln.DescribeTableResponse:
        return self.catalog.describe_table(ln.DescribeTableRequest(id=id_, **options))

    def version(self, id_: Id, **options: Any) -> int:
        version = self.describe(id_, load_detailed_metadata=True, **options).version
        assert version is not None, "load_detailed_metadata brings no version"
        return version

    def columns(self, id_: Id, **options: Any) -> list[str]:
        schema = self.describe(id_, load_detailed_metadata=True, **options).var_schema
        assert schema is not None, "load_detailed_metadata brings no schema"
        return [column.name for column in schema.fields]

    # -- rows ------------------------------------------------------------------------------------

    def insert(self, id_: Id, data: pa.Table, **options: Any) -> Any:
        return self.catalog.insert_into_table(ln.InsertIntoTableRequest(id=id_, **options), stream(data))

    def count(self, id_: Id, **options: Any) -> int | None:
        return self.catalog.count_table_rows(ln.CountTableRowsRequest(id=id_, **options)).count

    def query(self, id_: Id, *, k: int = 1000, near: list[float] | None = None, **options: Any) -> pa.Table:
        return read_file(self.catalog.query_table(query(id_, k=k, near=near, **options)).data)

    def ids(self, id_: Id, **options: Any) -> list[int]:
        """Return the ids of the rows, sorted."""
        return sorted(self.ids_in_order(id_, **options))

    def ids_in_order(self, id_: Id, **options: Any) -> list[int]:
        """Return the ids of the rows, in the order of the response."""
        row_ids: list[int] = self.query(id_, **options)["id"].to_pylist()
        return row_ids

    def index(self, id_: Id, column: str, index_type: str, **options: Any) -> None:
        request = ln.CreateTableIndexRequest(id=id_, column=column, index_type=index_type, **options)
        scalar = index_type in ("BTREE", "BITMAP", "LABEL_LIST")
        create = self.catalog.create_table_scalar_index if scalar else self.catalog.create_table_index
        create(request)

    def add_column(self, id_: Id, name: str, expression: str, **options: Any) -> Any:
        entry = AddColumnsEntry(name=name, expression=expression)
        return self.catalog.alter_table_add_columns(
            ln.AlterTableAddColumnsRequest(id=id_, new_columns=[entry], **options)
        )


def query(id_: Id, *, k: int = 1000, near: list[float] | None = None, **options: Any) -> ln.QueryTableRequest:
    vector = options.pop("vector", QueryTableRequestVector(single_vector=near))
    return ln.QueryTableRequest(id=id_, k=k, vector=vector, **options)


def pages(page: Callable[[str | None], Any], limit: int | None) -> Iterator[Any]:
    """Yield every page of a list. Tokens are opaque; null and empty both end the list."""
    token: str | None = None
    for _ in range(_MOST_PAGES):
        response = page(token)
        entries = next(value for value in (getattr(response, name, None) for name in _HOLDS) if value is not None)
        assert limit is None or len(entries) <= limit, f"a page of {len(entries)} where at most {limit} were asked for"
        yield response
        token = response.page_token
        if not token:
            return
    raise AssertionError(f"the list did not end within {_MOST_PAGES} pages")


_HOLDS = ("namespaces", "tables", "tags", "branches", "versions", "indexes")


@contextmanager
def temporary_namespace(catalog: ln.LanceNamespace, inside: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """Create a namespace in a catalog that others use too; remove it with all its contents at the end."""
    namespace = make_scratch(catalog, inside)
    try:
        yield tuple(namespace)
    finally:
        for _, failure in clear(catalog, namespace):
            raise failure


def make_scratch(catalog: ln.LanceNamespace, inside: Sequence[str] = ()) -> Id:
    """Create a namespace with a unique name."""
    namespace = [*inside, fresh("lanceway_check")]
    catalog.create_namespace(ln.CreateNamespaceRequest(id=namespace))
    return namespace


def clear(catalog: ln.LanceNamespace, namespace: Id) -> list[tuple[Id, LanceNamespaceError]]:
    """Drop a namespace and its contents one by one, since not every service cascades; return what failed, and why."""
    space, failures = Sandbox(catalog), list[tuple[Id, LanceNamespaceError]]()

    def attempt(what: Id, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except LanceNamespaceError as error:
            failures.append((what, error))
            return None

    for table in attempt(namespace, lambda: space.tables(namespace)) or ():
        id_ = [*namespace, table]
        attempt(id_, partial(catalog.drop_table, ln.DropTableRequest(id=id_)))
    for child in attempt(namespace, lambda: space.namespaces(namespace)) or ():
        failures += clear(catalog, [*namespace, child])
    attempt(namespace, partial(catalog.drop_namespace, ln.DropNamespaceRequest(id=namespace)))
    return failures
