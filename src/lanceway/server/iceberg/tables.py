"""Tables of a namespace: Iceberg tables, and Lance tables as companions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import lance_namespace as ln

from lanceway.catalogs.contract.iceberg import IcebergCommit, LoadedIceberg, NewIcebergTable
from lanceway.catalogs.contract.metadata import list_scope
from lanceway.catalogs.contract.requests import page_token
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.server.iceberg import answers
from lanceway.server.iceberg.calls import (
    NO_CONTENT,
    PAGE,
    FastHandler,
    Handler,
    IcebergRestCall,
    answer,
    exists,
    new_name,
)
from lanceway.server.iceberg.credentials import delegation
from lanceway.server.iceberg.envelope import NamespaceMissingError, NameTakenError
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire.iceberg_requests import (
    IcebergName,
    IcebergTableCreation,
    MetricsReport,
    NameChange,
    TableCommit,
    TableRegistration,
    TransactionCommit,
)

_NOT_MODIFIED = 304
_FEW = 200  # names that the event loop lists at once
_ATTEMPTS = 10
# What a report of each type must have beside what all have.
_REPORTS: Mapping[str, tuple[str, ...]] = {
    "scan-report": ("filter", "schema_id", "projected_field_ids", "projected_field_names"),
    "commit-report": ("sequence_number", "operation"),
}
NamesPage = Callable[..., Sequence[str]]


def list_tables(call: IcebergRestCall) -> EncodedAnswer:
    """List the tables of a namespace that the caller may see, Lance tables among them."""
    if call.is_mounted and call.is_paged():
        return _page_of_service(call)
    return listed(call, call.guard.list_iceberg_tables)


def _page_of_service(call: IcebergRestCall) -> EncodedAnswer:
    """Return a page as another service has it: not each lists in order, or from a name on."""
    names = call.namespace
    page = call.guard.list_tables(
        ln.ListTablesRequest(id=names, limit=call.page_size(), page_token=call.page_start(names))
    )
    return _names_answer(call, sorted(page.tables), page.page_token)


def listed(call: IcebergRestCall, list_: NamesPage) -> EncodedAnswer:
    """Return the names in a namespace: a page, or all of them where the client does not ask for pages."""
    namespace = call.namespace
    position: str | None = None
    if call.is_paged():
        size = call.page_size()
        names = list(list_(namespace, after=call.page_start(namespace), limit=size + 1))
        if len(names) > size:
            names = names[:size]
            position = names[-1]
    else:
        names = list(_all(namespace, list_))
    return _names_answer(call, names, position)


def _names_answer(call: IcebergRestCall, names: Sequence[str], position: str | None) -> EncodedAnswer:
    namespace = call.namespace
    rows = [{"namespace": namespace[1:], "name": name} for name in names]
    return answer({"identifiers": rows, **call.next_page(namespace, position)})


def _all(namespace: Sequence[str], list_: NamesPage) -> Iterator[str]:
    after: str | None = None
    while True:
        names = list_(namespace, after=after, limit=PAGE)
        yield from names
        if len(names) < PAGE:
            return
        after = names[-1]


def create_table(call: IcebergRestCall) -> EncodedAnswer:
    """Make a table, or answer what it would be for a commit that makes it."""
    body: IcebergTableCreation = call.body
    id_ = [*call.namespace, new_name("table", body.name)]
    table = NewIcebergTable(
        schema=body.schema,
        location=body.location,
        partition_spec=body.partition_spec,
        sort_order=body.write_order,
        properties=body.properties or {},
        staged=bool(body.stage_create),
    )
    with naming(call, id_):
        loaded = call.guard.create_iceberg_table(id_, table)
    return answers.table_answer(call, id_, loaded, optional=True)


def register_table(call: IcebergRestCall) -> EncodedAnswer:
    """Make a table from a metadata file that exists."""
    body: TableRegistration = call.body
    id_ = [*call.namespace, new_name("table", body.name)]
    with naming(call, id_):
        loaded = call.guard.register_iceberg_table(id_, body.metadata_location, overwrite=bool(body.overwrite))
    return answers.table_answer(call, id_, loaded, optional=True)


def load_table(call: IcebergRestCall) -> EncodedAnswer:
    """Return a table; nothing where the client has its current state."""
    snapshots = answers.read_snapshots(call)
    loaded = call.guard.load_iceberg_table(call.table)
    tag = answers.etag(loaded, snapshots)
    return _not_modified(call, tag) or answers.table_answer(call, call.table, loaded, snapshots)


def _not_modified(call: IcebergRestCall, tag: bytes | None) -> EncodedAnswer | None:
    """Return the answer for a client that has this state already; None for any other."""
    if tag is None or not answers.is_known(call, tag):
        return None
    return EncodedAnswer(_NOT_MODIFIED, b"", [(b"etag", tag)])


def table_exists(call: IcebergRestCall) -> EncodedAnswer:
    """Answer whether there is a table, by the status alone."""
    _require(call)
    return NO_CONTENT


def _require(call: IcebergRestCall) -> None:
    if not call.guard.iceberg_table_exists(call.table):
        raise table_not_found("Check the name.")


def commit_table(call: IcebergRestCall) -> EncodedAnswer:
    """Carry out the updates of a table, if its requirements hold."""
    with naming(call, call.table, own="Requirement failed: table already exists"):
        loaded = call.guard.commit_iceberg_tables(commits(call))
    return answers.commit_answer(loaded[0])


def commit_transaction(call: IcebergRestCall) -> EncodedAnswer:
    """Carry out the updates of several tables: all of them, or none."""
    call.guard.commit_iceberg_tables(commits(call))
    return NO_CONTENT


def commits(call: IcebergRestCall) -> list[IcebergCommit]:
    """Return the commits of a request: one to the table of its path, or those of a transaction."""
    body: TableCommit | TransactionCommit = call.body
    if isinstance(body, TransactionCommit):
        return [_commit(call, change) for change in body.changes]
    return [IcebergCommit(call.table, body.requirements, body.updates)]


def _commit(call: IcebergRestCall, change: TableCommit) -> IcebergCommit:
    if change.identifier is None:
        raise InvalidInputError("A change of a transaction has no identifier. Name the table of each.")
    return IcebergCommit(_id(call, change.identifier), change.requirements, change.updates)


def _id(call: IcebergRestCall, name: IcebergName) -> list[str]:
    return [*call.inside(name.namespace), name.name]


def rename_table(call: IcebergRestCall) -> EncodedAnswer:
    """Give a table another name, in another namespace too."""
    return renamed(call, "Table", call.guard.rename_iceberg_table)


def renamed(call: IcebergRestCall, noun: str, rename: Callable[[list[str], list[str]], None]) -> EncodedAnswer:
    """Give a table or a view the name that the body has for it."""
    body: NameChange = call.body
    source, target = _id(call, body.source), _id(call, body.destination)
    new_name(noun.lower(), body.destination.name)
    try:
        with naming(call, target, f"Cannot rename {_shown(source)} to {_shown(target)}. "):
            rename(source, target)
    except NamespaceNotFoundError as error:
        if not exists(call.guard, source[:-1]):
            raise table_not_found(str(error)) from error
        raise NamespaceMissingError(f"Namespace does not exist: {_shown(target[:-1])}. {error}") from error
    return NO_CONTENT


def drop_table(call: IcebergRestCall) -> EncodedAnswer:
    """Drop a table and keep its files, unless they are to be purged."""
    call.guard.drop_iceberg_table(call.table, purge=call.flag("purgeRequested"))
    return NO_CONTENT


def unregister_table(call: IcebergRestCall) -> EncodedAnswer:
    """Take a table out of the catalog, and return its last metadata, by which it can be registered again.

    A commit that comes in between is in it: the table is loaded again. Where commits come all the time, the request is
    refused, and to be repeated.
    """
    call.guard.require_table(call.table, None)  # so that a refusal says what the change needs
    for _ in range(_ATTEMPTS):
        loaded = call.guard.load_iceberg_table(call.table)
        with suppress(ConcurrentModificationError):
            call.guard.drop_iceberg_table(call.table, expected=loaded.metadata_location)
            return answers.commit_answer(loaded)
    raise ConcurrentModificationError("The table was changed by others all the time. Try again later.")


def report_metrics(call: IcebergRestCall) -> EncodedAnswer:
    """Take a report of a scan or a commit, which is counted among the requests and not kept."""
    body: MetricsReport = call.body
    needed = _REPORTS.get(body.report_type)
    if needed is None:
        known = " or ".join(map(repr, _REPORTS))
        raise InvalidInputError(f"The report-type is {body.report_type!r}, but must be {known}.")
    missing = next((field for field in needed if getattr(body, field) is None), None)
    if missing is not None:
        raise InvalidInputError(f"A {body.report_type} needs {missing.replace('_', '-')!r}. Send it.")
    _require(call)
    return NO_CONTENT


@contextmanager
def naming(call: IcebergRestCall, id_: Sequence[str], beginning: str = "", own: str | None = None) -> Iterator[None]:
    """Say what has a name that was to be given, in the words that clients look for; `own` are those for its like."""
    try:
        yield
    except TableAlreadyExistsError as error:
        words = _holder(call, id_, alike=bool(beginning), words=own)
        raise NameTakenError(f"{beginning}{words}: {_shown(id_)}. {error}") from error


def _holder(call: IcebergRestCall, id_: Sequence[str], *, alike: bool, words: str | None) -> str:
    own = "View" if call.route.operation.endswith("_view") else "Table"
    other, is_there = ("Table", call.guard.iceberg_table_exists) if own == "View" else ("View", _view_exists(call))
    try:
        has_other = is_there(id_)
    except LanceNamespaceError:  # whatever it is, the caller may not see it
        has_other = False
    if not has_other:
        return words or f"{own} already exists"
    return f"{other} already exists" if alike else f"{other} with same name already exists"


def _view_exists(call: IcebergRestCall) -> Callable[[Sequence[str]], bool]:
    return call.guard.iceberg_view_exists


def _shown(id_: Sequence[str]) -> str:
    return ".".join(id_[1:])


# -- in the event loop ---------------------------------------------------------------------------


def try_list_tables(call: IcebergRestCall) -> EncodedAnswer | None:
    """Return a short page, or a list of few tables, if that needs no waiting."""
    names = call.namespace
    size = call.page_size() if call.is_paged() else _FEW
    after = call.page_start(names)
    scope = list_scope(Identifier(names[1:]))
    fields = {"limit": size, "page_token": page_token(scope, after) if after else None}
    page = call.guard.try_fast("list_iceberg_tables", names, fields)
    if page is None or (page["page_token"] and not call.is_paged()):
        return None
    tables: list[str] = page["tables"]
    return _names_answer(call, tables, tables[-1] if page["page_token"] else None)


def try_load_table(call: IcebergRestCall) -> EncodedAnswer | None:
    """Return an Iceberg table whose metadata was read before, if that needs no waiting."""
    loaded = _at_hand(call)
    if loaded is None or answers.read_snapshots(call) != answers.ALL:
        return None
    return _not_modified(call, answers.etag(loaded)) or answers.bare_answer(loaded)


def try_table_exists(call: IcebergRestCall) -> EncodedAnswer | None:
    """Answer that there is an Iceberg table, if that needs no waiting."""
    return None if _at_hand(call) is None else NO_CONTENT


def _at_hand(call: IcebergRestCall) -> LoadedIceberg | None:
    return call.guard.try_load_iceberg_table(call.table, delegation(call.headers))


FAST: Mapping[str, FastHandler] = {
    "list_tables": try_list_tables,
    "load_table": try_load_table,
    "table_exists": try_table_exists,
}
HANDLERS: Mapping[str, Handler] = {
    "list_tables": list_tables,
    "create_table": create_table,
    "load_table": load_table,
    "table_exists": table_exists,
    "commit_table": commit_table,
    "drop_table": drop_table,
    "unregister_table": unregister_table,
    "report_metrics": report_metrics,
    "register_table": register_table,
    "rename_table": rename_table,
    "commit_transaction": commit_transaction,
}
