"""Where a test works: a catalog, the namespace the test stays in, and short words for long requests."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from lance_namespace import (
    AlterTableAddColumnsRequest,
    CountTableRowsRequest,
    CreateNamespaceRequest,
    CreateTableIndexRequest,
    CreateTableRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    DescribeTableResponse,
    DropNamespaceRequest,
    DropTableRequest,
    InsertIntoTableRequest,
    LanceNamespace,
    ListNamespacesRequest,
    ListTablesRequest,
    NamespaceExistsRequest,
    QueryTableRequest,
    TableExistsRequest,
)
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from lance_namespace_urllib3_client.models.query_table_request_vector import QueryTableRequestVector

from lanceway.errors import LanceNamespaceError, NamespaceNotFoundError, TableNotFoundError
from lanceway.testing import builders

Id = list[str]
_MOST_PAGES = 10_000


def fresh(kind: str) -> str:
    """A name that nothing has, in letters that every service accepts."""
    return f"{kind}_{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class Sandbox:
    """A catalog and the namespace in it that belongs to the test, alone or shared with strangers."""

    catalog: LanceNamespace
    home: tuple[str, ...] = ()
    mark: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    # -- names -----------------------------------------------------------------------------------

    def id(self, name: str | None = None, *, inside: Sequence[str] | None = None) -> Id:
        """An identifier in the test's namespace (or `inside` another): of a name that nothing has, or of `name`."""
        return [*(self.home if inside is None else inside), name or f"t_{self.mark}_{uuid.uuid4().hex[:8]}"]

    def ours(self, names: Sequence[str]) -> list[str]:
        """Those of the names that this test made: strangers may share the namespace."""
        return [name for name in names if self.mark in name]

    # -- namespaces ------------------------------------------------------------------------------

    def namespace(self, *, inside: Sequence[str] | None = None, **options: Any) -> Id:
        made = self.id(inside=inside)
        self.catalog.create_namespace(CreateNamespaceRequest(id=made, **options))
        return made

    def namespaces(self, parent: Sequence[str] | None = None, limit: int | None = None) -> list[str]:
        id_ = list(self.home if parent is None else parent)

        def page(token: str | None) -> Any:
            return self.catalog.list_namespaces(ListNamespacesRequest(id=id_, page_token=token, limit=limit))

        return [name for answer in pages(page, limit) for name in answer.namespaces]

    def has_namespace(self, id_: Id) -> bool:
        try:
            self.catalog.namespace_exists(NamespaceExistsRequest(id=id_))
        except NamespaceNotFoundError:
            return False
        return True

    # -- tables ----------------------------------------------------------------------------------

    def table(self, data: pa.Table | None = None, *, id: Id | None = None, **options: Any) -> Id:  # noqa: A002
        """A new table; without data it has the rows 1, 2 and 3."""
        made = id or self.id()
        content = builders.rows(1, 2, 3) if data is None else data
        self.catalog.create_table(CreateTableRequest(id=made, **options), builders.stream(content))
        return made

    def declare(self, id_: Id | None = None, **options: Any) -> Id:
        made = id_ or self.id()
        self.catalog.declare_table(DeclareTableRequest(id=made, **options))
        return made

    def tables(self, parent: Sequence[str] | None = None, limit: int | None = None, **options: Any) -> list[str]:
        id_ = list(self.home if parent is None else parent)

        def page(token: str | None) -> Any:
            return self.catalog.list_tables(ListTablesRequest(id=id_, page_token=token, limit=limit, **options))

        return [name for answer in pages(page, limit) for name in answer.tables]

    def has_table(self, id_: Id) -> bool:
        try:
            self.catalog.table_exists(TableExistsRequest(id=id_))
        except (TableNotFoundError, NamespaceNotFoundError):
            return False
        return True

    def describe(self, id_: Id, **options: Any) -> DescribeTableResponse:
        return self.catalog.describe_table(DescribeTableRequest(id=id_, **options))

    def version(self, id_: Id, **options: Any) -> int:
        found = self.describe(id_, load_detailed_metadata=True, **options).version
        assert found is not None, "load_detailed_metadata brings no version"
        return found

    def columns(self, id_: Id, **options: Any) -> list[str]:
        schema = self.describe(id_, load_detailed_metadata=True, **options).var_schema
        assert schema is not None, "load_detailed_metadata brings no schema"
        return [column.name for column in schema.fields]

    # -- rows ------------------------------------------------------------------------------------

    def insert(self, id_: Id, data: pa.Table, **options: Any) -> Any:
        return self.catalog.insert_into_table(InsertIntoTableRequest(id=id_, **options), builders.stream(data))

    def count(self, id_: Id, **options: Any) -> int | None:
        return self.catalog.count_table_rows(CountTableRowsRequest(id=id_, **options)).count

    def query(self, id_: Id, *, k: int = 1000, near: list[float] | None = None, **options: Any) -> pa.Table:
        return builders.read_file(self.catalog.query_table(query(id_, k=k, near=near, **options)).data)

    def ids(self, id_: Id, **options: Any) -> list[int]:
        """The ids of the rows, in order."""
        return sorted(self.found(id_, **options))

    def found(self, id_: Id, **options: Any) -> list[int]:
        """The ids of the rows, as the answer has them."""
        found: list[int] = self.query(id_, **options)["id"].to_pylist()
        return found

    def index(self, id_: Id, column: str, index_type: str, **options: Any) -> None:
        request = CreateTableIndexRequest(id=id_, column=column, index_type=index_type, **options)
        scalar = index_type in ("BTREE", "BITMAP", "LABEL_LIST")
        create = self.catalog.create_table_scalar_index if scalar else self.catalog.create_table_index
        create(request)

    def add_column(self, id_: Id, name: str, expression: str, **options: Any) -> Any:
        entry = AddColumnsEntry(name=name, expression=expression)
        return self.catalog.alter_table_add_columns(AlterTableAddColumnsRequest(id=id_, new_columns=[entry], **options))


def query(id_: Id, *, k: int = 1000, near: list[float] | None = None, **options: Any) -> QueryTableRequest:
    vector = options.pop("vector", QueryTableRequestVector(single_vector=near))
    return QueryTableRequest(id=id_, k=k, vector=vector, **options)


def pages(page: Callable[[str | None], Any], limit: int | None) -> Iterator[Any]:
    """Every page of a list. A caller never looks into a token; null and empty both end the list."""
    token: str | None = None
    for _ in range(_MOST_PAGES):
        answer = page(token)
        held = next(value for value in (getattr(answer, name, None) for name in _HOLDS) if value is not None)
        assert limit is None or len(held) <= limit, f"a page of {len(held)} where at most {limit} were asked for"
        yield answer
        token = answer.page_token
        if not token:
            return
    raise AssertionError(f"the list did not end within {_MOST_PAGES} pages")


_HOLDS = ("namespaces", "tables", "tags", "branches", "versions", "indexes")


@contextmanager
def temporary_namespace(catalog: LanceNamespace, inside: Sequence[str] = ()) -> Iterator[tuple[str, ...]]:
    """A namespace that is removed at the end with all that was made in it; for a catalog others use too."""
    made = make_scratch(catalog, inside)
    try:
        yield tuple(made)
    finally:
        for _, failure in clear(catalog, made):
            raise failure


def make_scratch(catalog: LanceNamespace, inside: Sequence[str] = ()) -> Id:
    """A namespace of one's own for a while."""
    made = [*inside, fresh("lanceway_check")]
    catalog.create_namespace(CreateNamespaceRequest(id=made))
    return made


def clear(catalog: LanceNamespace, namespace: Id) -> list[tuple[Id, LanceNamespaceError]]:
    """Drop a namespace and all in it one by one, since not every service cascades; what could not be, and why."""
    space, failures = Sandbox(catalog), list[tuple[Id, LanceNamespaceError]]()

    def attempt(what: Id, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except LanceNamespaceError as error:
            failures.append((what, error))
            return None

    for table in attempt(namespace, lambda: space.tables(namespace)) or ():
        id_ = [*namespace, table]
        attempt(id_, partial(catalog.drop_table, DropTableRequest(id=id_)))
    for child in attempt(namespace, lambda: space.namespaces(namespace)) or ():
        failures += clear(catalog, [*namespace, child])
    attempt(namespace, partial(catalog.drop_namespace, DropNamespaceRequest(id=namespace)))
    return failures
