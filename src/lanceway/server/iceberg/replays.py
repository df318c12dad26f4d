"""Answers that were kept under an `Idempotency-Key`, given again to who may still ask.

The storage of a table is added as it is reached now: answers are kept without credentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from lanceway.access.iceberg import IcebergTarget, Step
from lanceway.lake.idempotency import KeptAnswer
from lanceway.server.iceberg import answers, tables, views
from lanceway.server.iceberg.calls import IcebergRestCall
from lanceway.server.iceberg.envelope import ReplayedError
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire.iceberg_requests import NameChange, NamespaceCreation

_FEWEST_ERROR = 400
_MAKING_TABLES, _COMMITS = (
    frozenset({"create_table", "register_table"}),
    frozenset({"commit_table", "commit_transaction"}),
)
_MAKING_VIEWS = frozenset({"create_view", "register_view"})
# What each operation asks the guard for; commits ask for each of their tables.
_NEEDS: Mapping[str, str] = {
    "create_namespace": "create_namespace",
    "update_properties": "drop_namespace",  # the owner's, as dropping it is
    "drop_namespace": "drop_namespace",
    "create_table": "create_iceberg_table",
    "register_table": "register_iceberg_table",
    "rename_table": "rename_iceberg_table",
    "drop_table": "drop_iceberg_table",
    "unregister_table": "drop_iceberg_table",
    "create_view": "create_iceberg_view",
    "register_view": "register_iceberg_view",
    "replace_view": "replace_iceberg_view",
    "rename_view": "rename_iceberg_view",
    "drop_view": "drop_iceberg_view",
}


def replay(call: IcebergRestCall, kept: KeptAnswer) -> EncodedAnswer:
    """Return the answer that a request had before, or raise its refusal.

    Raises PermissionDeniedError for a caller who has lost the rights since.
    """
    is_refusal = kept.status >= _FEWEST_ERROR
    call.guard.require_again(_steps(call, is_refusal=is_refusal))
    if is_refusal:
        raise _refusal(kept)
    if call.route.operation in _MAKING_TABLES:
        id_ = _object(call)
        loaded = answers.read_kept(kept) or call.guard.load_iceberg_table(id_)
        return answers.table_answer(call, id_, loaded, optional=True)
    if kept.body is None:
        return _loaded_again(call)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in kept.headers.items()]
    return EncodedAnswer(kept.status, kept.body, headers)


def _steps(call: IcebergRestCall, *, is_refusal: bool) -> Iterator[Step]:
    """Yield what the request needs, seen from where it left things."""
    operation, body = call.route.operation, call.body
    if operation in _COMMITS:
        for commit in tables.commits(call):
            need = "create_iceberg_table" if commit.creates else "commit_iceberg_table"
            yield need, IcebergTarget(list(commit.id))
    elif isinstance(body, NameChange):
        side = body.source if is_refusal else body.destination
        place = IcebergTarget([*call.inside(side.namespace), side.name], call.inside(body.destination.namespace))
        yield _NEEDS[operation], place
    else:
        yield _NEEDS[operation], IcebergTarget(list(_object(call)))


def _object(call: IcebergRestCall) -> Sequence[str]:
    """Return the identifier of what a request is about: one that its path names, or one that it makes."""
    if isinstance(call.body, NamespaceCreation):
        return call.inside(call.body.namespace)
    if call.route.operation in _MAKING_VIEWS:
        return views.new_id(call)
    if call.route.operation in _MAKING_TABLES:
        return [*call.namespace, call.body.name]
    return call.table if {"table", "view"} & set(call.names) else call.namespace


def _refusal(kept: KeptAnswer) -> ReplayedError:
    failure = msgspec.json.decode(kept.body or b"{}").get("error", {})
    return ReplayedError(str(failure.get("message", "")), str(failure.get("type", "")), kept.status)


def _loaded_again(call: IcebergRestCall) -> EncodedAnswer:
    """Return a table or a view as it is now, where the answer was too large to be kept."""
    if call.route.operation == "commit_table":
        return answers.commit_answer(call.guard.load_iceberg_table(call.table))
    return answers.view_answer(call.guard.load_iceberg_view(_object(call)))
