"""A Lance table by its location: how to reach it, and opening it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lance_namespace import GetTableTagVersionRequest, ListTableBranchesRequest, ListTableVersionsRequest
from lance_namespace_urllib3_client.models.table_basic_stats import TableBasicStats

from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    UnsupportedOperationError,
)
from lanceway.tables import bases
from lanceway.tables.errors import FOREIGN, translate, translated
from lanceway.tables.schema import arrow_json
from lanceway.tables.storage.store import Store, local_path, open_store

if TYPE_CHECKING:
    import lance
    from lance_namespace import DescribeTableRequest, DescribeTableResponse, GetTableTagVersionResponse, LanceNamespace

MAIN = "main"
RESERVED = ".lance-reserved"
# Kept in the table's own metadata for alter_transaction; no metadata of its users.
OWN_METADATA = "lanceway.transaction."
# In the metadata of a view's schema: how its rows come about.
VIEW = b"lanceway.view"
_LARGEST_VERSION = 2**63 - 1


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A Lance table's location and how to reach it.

    `name` is for messages alone. A server-managed table also has the `client` that its versions
    are claimed through and the `id` it has there; for a storage-managed one both are empty.
    """

    name: str
    location: str
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    client: LanceNamespace | None = None
    id: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the location as pylance reads it without mistaking `%`, `#` or `?` in a local path."""
        local = local_path(self.location)
        return self.location if local is None else str(local)

    @property
    def options(self) -> dict[str, str] | None:
        return None if self.storage_options is None else dict(self.storage_options)

    def store(self) -> Store:
        return open_store(self.location, self.storage_options)


def uri(location: str) -> str:
    """Return a location as a complete URI."""
    path = local_path(location)
    return location if path is None else path.as_uri()


def has_data(table: StoredTable) -> bool:
    """Return whether any version was ever written. Nothing is opened."""
    if table.client is not None:
        latest = ListTableVersionsRequest(id=list(table.id), descending=True, limit=1)
        return bool(table.client.list_table_versions(latest).versions)
    return any(key.endswith(".manifest") for key in table.store().keys("_versions"))


def open_at(
    table: StoredTable,
    *,
    version: int | None = None,
    tag: str | None = None,
    branch: str | None = None,
    remembering: tuple[int, int] | None = None,
) -> lance.LanceDataset:
    """Open a dataset, at its latest version unless another is asked for. No other place opens one.

    `remembering` so many bytes of its indices and of its files' metadata, where it is to be kept for long.

    Raises InvalidTableStateError where there is no Lance data, TableVersionNotFoundError,
    TableTagNotFoundError and TableBranchNotFoundError; InvalidInputError for base paths that are not allowed here.
    """
    opened = _open_reference(table, version, tag, branch, remembering)
    bases.check(table, opened)
    return opened


def clone(source: StoredTable, version: int, target: StoredTable) -> None:
    """Write a table whose one version has the files of a version of another one, and none of its own.

    It gets the number of that version. The source is read as storage has it, and its base paths must be allowed.
    """
    opened = open_at(source, version=version)
    with translated(source, f"Cloning version {version}"):
        opened.shallow_clone(target.path, version, storage_options=target.options)


def _open_reference(
    table: StoredTable, version: int | None, tag: str | None, branch: str | None, remembering: tuple[int, int] | None
) -> lance.LanceDataset:
    if tag is not None and (version is not None or branch is not None):
        raise InvalidInputError(f"{table.name}: give a tag, or a version and a branch, but not both.")
    if tag is not None:
        return _at_tag(table, tag)
    if is_main(branch):
        return _open(table, version, remembering)
    return _on_branch(table, str(branch), version)


def is_main(branch: str | None) -> bool:
    """Return whether a request means the main branch: it names it, or none."""
    return not branch or branch == MAIN


def _open(table: StoredTable, version: int | None, remembering: tuple[int, int] | None = None) -> lance.LanceDataset:
    import lance
    from lance.dataset import Session  # type: ignore[attr-defined]

    _check_version(table, version)
    # A session is never shared: with it, one user's keys could serve another.
    session = None if remembering is None else Session(*remembering)
    try:
        if table.client is not None:
            return lance.dataset(
                namespace_client=table.client,
                table_id=list(table.id),
                version=version,
                storage_options=table.options,
                session=session,
            )
        return lance.dataset(table.path, version=version, storage_options=table.options, session=session)
    except FOREIGN as error:
        failure = translate(table, "Opening the table", error)
        # Without any version the same sentence of pylance means something else.
        if isinstance(failure, InvalidTableStateError | TableVersionNotFoundError) and not has_data(table):
            raise _no_lance_table(table) from error
        if isinstance(failure, TableVersionNotFoundError):
            raise no_version(table, version) from error
        raise failure from error


def _check_version(table: StoredTable, version: int | None) -> None:
    if version is not None and not 1 <= version <= _LARGEST_VERSION:
        raise no_version(table, version)


def no_version(table: StoredTable, version: int | None, branch: str | None = None) -> TableVersionNotFoundError:
    where = "" if is_main(branch) else f" on branch {branch!r}"
    return TableVersionNotFoundError(f"{table.name} has no version {version}{where}.{_latest(table, version, branch)}")


def _latest(table: StoredTable, missing: int | None, branch: str | None) -> str:
    """Return a sentence with the latest version, after a space; empty where that is what is missing."""
    if missing is None:
        return ""
    with suppress(LanceNamespaceError):
        return f" The latest is {_open_reference(table, None, None, branch, None).version}."
    return ""


def _no_lance_table(table: StoredTable) -> InvalidTableStateError:
    store = table.store()
    # Where versions are claimed, only a version makes a table; other files there count for nothing.
    if table.client is not None or store.exists(RESERVED) or not store.has_any():
        return InvalidTableStateError(
            f"{table.name} holds no Lance data yet: nothing was written to {table.location} since it was declared. "
            "Write its first version with create_table."
        )
    return InvalidTableStateError(
        f"{table.name} is not a Lance table: the content of {table.location} does not follow the Lance table format. "
        "Drop it, or register the location that was meant."
    )


def _at_tag(table: StoredTable, tag: str) -> lance.LanceDataset:
    named = None if table.client is None else _tagged_version(table, table.client, tag)
    if named is not None:
        branch = named.branch
        return _open(table, named.version) if is_main(branch) else _on_branch(table, str(branch), named.version)
    dataset = _open(table, None)
    with translated(table, f"Opening the tag {tag!r}"):
        _require_tag(table, dataset, tag)
        return dataset.checkout_version(tag)


def tag_branch(table: StoredTable, tag: str) -> str | None:
    """Return the branch of the version that a tag names, None for the main one. Raises TableTagNotFoundError."""
    named = None if table.client is None else _tagged_version(table, table.client, tag)
    if named is not None:
        return None if is_main(named.branch) else named.branch
    with translated(table, f"Looking for the tag {tag!r}"):
        return _require_tag(table, _open(table, None), tag)


def _require_tag(table: StoredTable, dataset: lance.LanceDataset, tag: str) -> str | None:
    """Return the branch of a tag in storage. Raises TableTagNotFoundError."""
    tags = dataset.tags.list()
    if tag not in tags:
        raise TableTagNotFoundError(f"{table.name} has no tag {tag!r}. list_table_tags names those it has.")
    return tags[tag].get("branch")


def _tagged_version(table: StoredTable, client: LanceNamespace, tag: str) -> GetTableTagVersionResponse | None:
    """Return the version that a tag names where versions are claimed; None where the client keeps no tags."""
    try:
        return client.get_table_tag_version(GetTableTagVersionRequest(id=list(table.id), tag=tag))
    except UnsupportedOperationError:
        return None


def _on_branch(table: StoredTable, branch: str, version: int | None) -> lance.LanceDataset:
    dataset = _open(table, None)
    require_branch(table, dataset, branch)
    _check_version(table, version)
    try:
        with translated(table, f"Opening the branch {branch!r}"):
            return dataset.checkout_version((branch, version))
    except TableVersionNotFoundError as error:
        raise no_version(table, version, branch) from error


def require_branch(table: StoredTable, dataset: lance.LanceDataset, branch: str) -> None:
    """Refuse a branch that a table does not have."""
    names = None if table.client is None else _branch_names(table, table.client)
    if names is None:
        with translated(table, "Listing the branches"):
            names = sorted(dataset.branches.list())
    if branch not in names:
        raise TableBranchNotFoundError(f"{table.name} has no branch {branch!r}. It has: {', '.join([MAIN, *names])}.")


def _branch_names(table: StoredTable, client: LanceNamespace) -> list[str] | None:
    """Return the branches that there are where versions are claimed; None where the client keeps none."""
    names: list[str] = []
    request = ListTableBranchesRequest(id=list(table.id))
    try:
        while True:
            response = client.list_table_branches(request)
            names += response.branches
            if not response.page_token:
                return names
            request = request.model_copy(update={"page_token": response.page_token})
    except UnsupportedOperationError:
        return None


def describe(table: StoredTable, request: DescribeTableRequest, response: DescribeTableResponse) -> None:
    """Complete a description with what only the dataset knows, if that was asked for."""
    pinned = request.version is not None or request.tag is not None or request.branch is not None
    if not pinned and (not request.load_detailed_metadata or response.is_only_declared):
        return
    dataset = open_at(table, version=request.version, tag=request.tag, branch=request.branch)
    if request.load_detailed_metadata:
        _describe_in_detail(table, dataset, response)


def _describe_in_detail(table: StoredTable, dataset: lance.LanceDataset, response: DescribeTableResponse) -> None:
    with translated(table, "describe_table"):
        counts = dataset.stats.dataset_stats()
        summary = dataset.get_version()["metadata"]
        metadata = {key: value for key, value in dataset.metadata.items() if not key.startswith(OWN_METADATA)}
        response.version = dataset.version
        response.var_schema = arrow_json.schema(dataset.schema)
        response.stats = TableBasicStats(
            num_deleted_rows=counts["num_deleted_rows"], num_fragments=counts["num_fragments"]
        )
        response.metadata = {**summary, **metadata}
