"""What a request of Iceberg REST is about, for its errors and for the audit."""

from __future__ import annotations

from collections.abc import Iterator

from lanceway.server.iceberg.calls import IcebergRestCall
from lanceway.server.iceberg.envelope import IcebergEnvelope
from lanceway.wire import iceberg
from lanceway.wire.iceberg_requests import NameChange, NamespaceCreation, TransactionCommit

_LONGEST = 1_000  # characters of a name that the body has


def subject_of(call: IcebergRestCall, envelope: IcebergEnvelope) -> list[list[str]]:
    """Tell the envelope what a request is about, and return the identifiers of all that it is about."""
    operation, names = call.route.operation, call.names
    envelope.noun = "view" if operation.endswith(("_view", "_views")) or operation == "view_exists" else "table"
    if "namespace" in names:
        envelope.namespace = iceberg.read_namespace(names["namespace"])
    elif operation == "list_namespaces":
        envelope.namespace = iceberg.read_namespace(call.query.get("parent", ""))
    elif isinstance(call.body, NamespaceCreation):
        envelope.namespace = call.body.namespace
    elif isinstance(call.body, NameChange):
        envelope.namespace, envelope.name = call.body.source.namespace, call.body.source.name
    if "namespace" in names:
        envelope.name = names.get("table") or names.get("view") or getattr(call.body, "name", None)
    return [[text[:_LONGEST] for text in each] for each in _objects(call, envelope)]


def _objects(call: IcebergRestCall, envelope: IcebergEnvelope) -> Iterator[list[str]]:
    if isinstance(call.body, TransactionCommit):
        for change in call.body.changes:
            if change.identifier is not None:
                yield [call.catalog, *change.identifier.namespace, change.identifier.name]
    elif isinstance(call.body, NameChange):
        for side in (call.body.source, call.body.destination):
            yield [call.catalog, *side.namespace, side.name]
    elif "prefix" in call.names:
        yield [call.catalog, *envelope.namespace, *([envelope.name] if envelope.name else [])]
