"""A table of a catalog, as users hold it."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, TypeVar, Unpack

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract.requests import accept
from lanceway.catalogs.handles import display, suggestions
from lanceway.catalogs.handles.history import History, PastVersion
from lanceway.catalogs.handles.names import joined
from lanceway.catalogs.handles.packages import require
from lanceway.catalogs.handles.rows import Rows
from lanceway.catalogs.handles.search import Search, query_fields
from lanceway.catalogs.handles.sql import Query
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.config.settings import nearest
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
    TableTagAlreadyExistsError,
    TransactionNotFoundError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables.dataset import StoredTable, is_main
from lanceway.tables.errors import translated
from lanceway.tables.read.search import size
from lanceway.tables.schema import fields
from lanceway.tables.write import data as rows_of

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance_namespace_urllib3_client.models.index_content import IndexContent

Request = TypeVar("Request", bound=BaseModel)

_VECTORS, _OTHERS = "IVF_PQ", "BTREE"


class IndexOptions(TypedDict, total=False):
    """What an index may be told beside its type, as `CreateTableIndexRequest` has it."""

    num_partitions: int
    num_sub_vectors: int
    num_bits: int
    sample_rate: int
    max_iterations: int
    target_partition_size: int
    m: int
    ef_construction: int
    with_position: bool
    base_tokenizer: str
    language: str
    max_token_length: int
    lower_case: bool
    stem: bool
    remove_stop_words: bool
    ascii_folding: bool


class Table:
    """A table of a catalog: `lake.table("team.fruit")`.

    It holds no data and no connection of its own: every call asks the catalog, and sees the table as it is then. `at`
    and `branch` give the same table at one version, or on a branch.
    """

    def __init__(
        self,
        catalog: ln.LanceNamespace,
        identifier: Identifier,
        *,
        branch: str | None = None,
        version: int | None = None,
    ) -> None:
        self._catalog = catalog
        self._id = identifier
        self._branch = None if is_main(branch) else branch
        self._version = version

    # -- what it is ------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The whole name, with dots."""
        return joined(self._id)

    @property
    def id(self) -> list[str]:
        """The names, as requests of the contract have them."""
        return list(self._id)

    @property
    def version(self) -> int:
        """The number of the latest version, or of the one that `at` chose."""
        if self._version is not None:
            return self._version
        request = self._request(ln.ListTableVersionsRequest, descending=True, limit=1, branch=self._branch)
        latest: int = self._catalog.list_table_versions(request).versions[0].version
        return latest

    @property
    def schema(self) -> pa.Schema:
        """The columns, with their exact Arrow types."""
        # An answer has them whatever the catalog is; a description over HTTP has not all of them.
        return self.head(1).to_reader().schema

    # -- reading ---------------------------------------------------------------------------------

    def count(self, where: str | None = None) -> int:
        """Return how many rows there are, or for how many an SQL condition holds."""
        request = self._request(ln.CountTableRowsRequest, predicate=where, **self._place)
        return self._catalog.count_table_rows(request).count or 0

    def head(self, n: int = 5) -> Rows:
        """Return the first rows."""
        return self.search().limit(n)

    def scan(self, where: str | None = None, columns: Sequence[str] | Mapping[str, str] | None = None) -> Rows:
        """Return all rows, or those for which an SQL condition holds, with some columns or all."""
        rows = self.search() if where is None else self.search().where(where)
        return rows if columns is None else rows.select(columns)

    def search(self, query: object = None, *, column: str | None = None, text: str | None = None) -> Search:
        """Search by a vector, by a text, or by a vector and a `text`; without any, `where` and `limit` choose rows.

        A text needs an index of the type FTS. `column` says where to search, where there is more than one.
        """
        return Search(self._catalog, {"id": self.id, **self._place, **query_fields(query, column, text)})

    def sql(self, query: str) -> Query:
        """Run an SQL query over this table, which it calls by its own name: `SELECT … FROM fruit`.

        It runs in this process, on the table's storage. Other tables have their whole names, as in the catalog's
        `sql()`.
        """
        return Query(query, self._open_for_sql)

    def _open_for_sql(self, identifier: Identifier) -> lance.LanceDataset:
        itself = identifier == Identifier((self._id.name,))
        return (self if itself else existing_table(self._catalog, identifier)).lance()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    # -- writing ---------------------------------------------------------------------------------

    def append(self, data: Any) -> ln.InsertIntoTableResponse:
        """Add rows, with the types of the table's columns. Columns that are left out become null."""
        request = self._change(ln.InsertIntoTableRequest, "append")
        response: ln.InsertIntoTableResponse = carry_out(
            self._catalog, "insert_into_table_stream", request, self._fitted(data)
        )
        return response

    def merge(
        self,
        data: Any,
        on: str | Sequence[str],
        *,
        update: bool | str = True,
        insert: bool = True,
        delete: bool | str = False,
    ) -> ln.MergeInsertIntoTableResponse:
        """Match rows with those of the table by the columns `on`: update those that match, insert the others.

        `delete` also deletes rows of the table that match none. `update` and `delete` may be SQL conditions for the
        rows they change.
        """
        if not (update or insert or delete):
            raise InvalidInputError("merge() would change nothing: let it update, insert or delete.")
        request = self._change(
            ln.MergeInsertIntoTableRequest,
            "merge",
            on=[on] if isinstance(on, str) else list(on),
            when_matched_update_all=bool(update),
            when_matched_update_all_filt=update if isinstance(update, str) else None,
            when_not_matched_insert_all=insert,
            when_not_matched_by_source_delete=bool(delete),
            when_not_matched_by_source_delete_filt=delete if isinstance(delete, str) else None,
        )
        response: ln.MergeInsertIntoTableResponse = carry_out(
            self._catalog, "merge_insert_into_table_stream", request, self._fitted(data)
        )
        return response

    def update(
        self, values: Mapping[str, str | float | bool | None], where: str | None = None
    ) -> ln.UpdateTableResponse:
        """Change columns, in all rows or in those for which an SQL condition holds.

        A text is an SQL expression, such as `price * 2` or `'a word'`; a number, a bool and None are values.
        """
        updates = [[column, _expression(value)] for column, value in values.items()]
        return self._catalog.update_table(
            self._change(ln.UpdateTableRequest, "update", updates=updates, predicate=where)
        )

    def delete(self, where: str) -> ln.DeleteFromTableResponse:
        """Delete the rows for which an SQL condition holds; `true` for all."""
        return self._catalog.delete_from_table(self._change(ln.DeleteFromTableRequest, "delete", predicate=where))

    def _fitted(self, data: Any) -> pa.RecordBatchReader:
        return rows_of.for_table(data, self.schema, self.name)

    # -- indices ---------------------------------------------------------------------------------

    def index(
        self,
        column: str,
        type: str | None = None,  # noqa: A002 - the word of LanceDB and of the command line
        *,
        name: str | None = None,
        metric: str | None = None,
        **options: Unpack[IndexOptions],
    ) -> None:
        """Make an index: `IVF_PQ` for vectors and `BTREE` for others, unless a type is given, such as `FTS` for texts.

        `metric` is how a vector index measures distances: `l2`, `cosine` or `dot`.
        """
        unknown = sorted(set(options) - IndexOptions.__annotations__.keys())
        if unknown:
            near = nearest(unknown[0], {*IndexOptions.__annotations__, "name", "metric", "type"})
            raise TypeError(f"index() got an unexpected keyword argument {unknown[0]!r}.{near}")
        request = self._change(
            ln.CreateTableIndexRequest,
            "index",
            column=column,
            index_type=type or self._index_type(column),
            name=name,
            distance_type=metric,
            **options,
        )
        self._catalog.create_table_index(request)

    def _index_type(self, column: str) -> str:
        found = fields.require(self._messages, self.schema, column, "index")
        return _OTHERS if size(found.type) is None else _VECTORS

    def indices(self) -> list[IndexContent]:
        """Return the indices."""
        request = self._request(ln.ListTableIndicesRequest, **self._place)
        found: list[IndexContent] = []
        while True:
            response = self._catalog.list_table_indices(request)
            found += response.indexes
            if not response.page_token:
                return found
            request = request.model_copy(update={"page_token": response.page_token})

    # -- versions --------------------------------------------------------------------------------

    def versions(self, limit: int | None = None, *, details: bool = False) -> History:
        """Return the versions, the newest first, with their tags.

        With `details` also the operation that made each, and how many rows it has: two more questions a version.
        """
        request = self._request(ln.ListTableVersionsRequest, descending=True, limit=limit, branch=self._branch)
        tags = {tag: version for tag, (version, branch) in self._tags().items() if branch == self._branch}
        found: list[PastVersion] = []
        while True:
            response = self._catalog.list_table_versions(request)
            found += [self._past(version, tags, details) for version in response.versions]
            if not response.page_token or (limit is not None and len(found) >= limit):
                return History(found[:limit])
            request = request.model_copy(update={"page_token": response.page_token})

    def _past(self, version: ln.TableVersion, tags: Mapping[str, int], details: bool) -> PastVersion:
        number = version.version
        operation = self._operation(number) if details else None
        rows = self.at(number).count() if details else None
        return PastVersion.of(number, version.timestamp_millis, tags, operation, rows)

    def _operation(self, version: int) -> str | None:
        if self._branch is not None:  # the contract describes the transactions of the main branch
            return None
        try:
            request = ln.DescribeTransactionRequest(id=[*self._id, str(version)])
            return (self._catalog.describe_transaction(request).properties or {}).get("operation")
        except TransactionNotFoundError:
            return None

    def tags(self) -> dict[str, int]:
        """Return the tags, each with the version that it names."""
        return {tag: version for tag, (version, _) in self._tags().items()}

    def _tags(self) -> dict[str, tuple[int, str | None]]:
        request = self._request(ln.ListTableTagsRequest)
        found: dict[str, tuple[int, str | None]] = {}
        while True:
            response = self._catalog.list_table_tags(request)
            for tag, contents in response.tags.items():
                found[tag] = (contents.version, None if is_main(contents.branch) else contents.branch)
            if not response.page_token:
                return found
            request = request.model_copy(update={"page_token": response.page_token})

    def tag(self, name: str, *, move: bool = False) -> None:
        """Give this version a name that stays with it. `move` takes the name from the version that has it."""
        version = self.version
        try:
            self._catalog.create_table_tag(
                self._request(ln.CreateTableTagRequest, tag=name, version=version, branch=self._branch)
            )
        except TableTagAlreadyExistsError:
            if not move:
                raise
            self._catalog.update_table_tag(
                self._request(ln.UpdateTableTagRequest, tag=name, version=version, branch=self._branch)
            )

    def at(self, version: int | str) -> Table:
        """Return the table as it was at a version, by its number or a tag. It can be read, and not be changed."""
        if isinstance(version, int):
            return Table(self._catalog, self._id, branch=self._branch, version=version)
        named = self._catalog.get_table_tag_version(self._request(ln.GetTableTagVersionRequest, tag=version))
        return Table(self._catalog, self._id, branch=named.branch, version=named.version)

    def branch(self, name: str, *, create: bool = False) -> Table:
        """Return the table on a branch, which `create` makes of this version."""
        if create:
            request = self._request(
                ln.CreateTableBranchRequest, name=name, from_branch=self._branch, from_version=self._version
            )
            self._catalog.create_table_branch(request)
        return Table(self._catalog, self._id, branch=name)

    def restore(self, version: int | str | None = None) -> None:
        """Make an earlier version the latest again: by its number, its tag, or the one that `at` chose."""
        target = self if version is None else self.at(version)
        if target._version is None:
            raise InvalidInputError("restore() needs a version: its number or a tag, such as restore('gold').")
        self._catalog.restore_table(
            self._request(ln.RestoreTableRequest, version=target._version, branch=target._branch)
        )

    # -- other clients ---------------------------------------------------------------------------

    def lance(self) -> lance.LanceDataset:
        """Return the table as pylance has it."""
        import lance

        with translated(self._messages, "Opening the table"):
            if self._branch is None:
                return lance.dataset(namespace_client=self._catalog, table_id=self.id, version=self._version)
            dataset = lance.dataset(namespace_client=self._catalog, table_id=self.id)
            return dataset.checkout_version((self._branch, self._version))

    def lancedb(self) -> Any:
        """Return the table as LanceDB has it."""
        module = require("lancedb.namespace", "lancedb()")
        connection = module.LanceNamespaceDBConnection(self._catalog)
        options = {"branch": self._branch, "version": self._version}
        with translated(self._messages, "Opening the table"):
            return connection.open_table(self._id.name, namespace_path=list(self._id.parent), **options)

    # -- what is shown of it ---------------------------------------------------------------------

    def __repr__(self) -> str:
        """Return what is known without asking the catalog: a debugger calls this often."""
        branch = "" if self._branch is None else f", branch={self._branch!r}"
        version = "" if self._version is None else f", version={self._version}"
        return f"Table({self.name!r}{branch}{version})"

    def _repr_html_(self) -> str:
        try:
            columns = [(field.name, str(field.type)) for field in self.schema]
            facts = f"version {self.version}, {self.count():,} rows"
        except LanceNamespaceError:
            return html.escape(repr(self))  # dropped since, or out of reach: it still has its name
        return f"<p>{html.escape(repr(self))}: {facts}</p>{display.html_table(('column', 'type'), columns)}"

    # -- requests --------------------------------------------------------------------------------

    @property
    def _place(self) -> dict[str, Any]:
        given = {"version": self._version, "branch": self._branch}
        return {key: value for key, value in given.items() if value is not None}

    @property
    def _messages(self) -> StoredTable:
        return StoredTable(self.name, "")

    def _request(self, model: type[Request], **values: object) -> Request:
        return accept(model, {"id": self.id} | {key: v for key, v in values.items() if v is not None})

    def _change(self, model: type[Request], verb: str, **values: object) -> Request:
        """Return a request that changes the latest version. Raises InvalidInputError where one is pinned."""
        if self._version is not None:
            self._refuse_pinned(verb)
        return self._request(model, branch=self._branch, **values)

    def _refuse_pinned(self, verb: str) -> NoReturn:
        raise InvalidInputError(
            f"{verb}: this is {self.name} at version {self._version}, which cannot be changed. Take the table without "
            "at() to change it as it is now, or call restore() to make this version the latest."
        )


def existing_table(catalog: ln.LanceNamespace, identifier: Identifier) -> Table:
    """Return a table that is there. Raises TableNotFoundError, with the nearest name that there is."""
    try:
        catalog.table_exists(ln.TableExistsRequest(id=list(identifier)))
    except (TableNotFoundError, NamespaceNotFoundError) as error:
        hint = suggestions.for_table(catalog, identifier)
        raise table_not_found(f"There is no table {identifier}.{hint}") from error
    return Table(catalog, identifier)


def _expression(value: str | float | bool | None) -> str:
    """Write a value as SQL; a text is SQL already."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else repr(value)
