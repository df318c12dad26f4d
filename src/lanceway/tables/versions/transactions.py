"""Transactions: what made a version, by the version's number or by the transaction's own uuid.

Storage keeps committed transactions only, so each of them has succeeded. Properties set later
are kept beside it, in the table's own metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from lance_namespace import AlterTransactionRequest, AlterTransactionResponse, DescribeTransactionResponse
from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction
from lance_namespace_urllib3_client.models.alter_transaction_set_property import AlterTransactionSetProperty
from lance_namespace_urllib3_client.models.alter_transaction_set_status import AlterTransactionSetStatus
from lance_namespace_urllib3_client.models.alter_transaction_unset_property import AlterTransactionUnsetProperty

from lanceway.errors import InvalidInputError, InvalidTableStateError, TransactionNotFoundError
from lanceway.tables.dataset import OWN_METADATA, StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.versions import versions

if TYPE_CHECKING:
    import lance
    from lance.dataset import Transaction

SUCCEEDED = "SUCCEEDED"
_STATUSES = ("QUEUED", "RUNNING", SUCCEEDED, "FAILED", "CANCELED")


class _CommittedTransaction(NamedTuple):
    version: int
    transaction: Transaction

    @property
    def key(self) -> str:
        return f"{OWN_METADATA}{self.transaction.uuid}"

    def fixed(self) -> dict[str, str]:
        """Return the properties that storage records; they cannot be set."""
        return {
            "uuid": self.transaction.uuid,
            "operation": type(self.transaction.operation).__name__,
            "read_version": str(self.transaction.read_version),
            "version": str(self.version),
        }


def describe(table: StoredTable, transaction: str) -> DescribeTransactionResponse:
    dataset = open_at(table)
    committed = _find(table, dataset, transaction)
    return DescribeTransactionResponse(status=SUCCEEDED, properties=committed.fixed() | _properties(dataset, committed))


def alter(table: StoredTable, transaction: str, request: AlterTransactionRequest) -> AlterTransactionResponse:
    """Apply all actions in one commit, or none."""
    dataset = open_at(table)
    committed = _find(table, dataset, transaction)
    before = _properties(dataset, committed)
    after = dict(before)
    for action in request.actions:
        _apply(action, after, committed)
    if after != before:
        with translated(table, "alter_transaction"):
            dataset.update_metadata({committed.key: json.dumps(after, sort_keys=True)})
    return AlterTransactionResponse(status=SUCCEEDED, properties=committed.fixed() | after)


def _find(table: StoredTable, dataset: lance.LanceDataset, name: str) -> _CommittedTransaction:
    for version in _candidates(table, name):
        with translated(table, "describe_transaction"):
            transaction = dataset.read_transaction(version)
        if transaction is not None and name in (str(version), transaction.uuid):
            return _CommittedTransaction(version, transaction)
    raise TransactionNotFoundError(
        f"{table.name} has no transaction {name!r}. Give the version that it made, or its uuid."
    )


def _candidates(table: StoredTable, name: str) -> Iterable[int]:
    """Return the versions that a transaction may have made: those after the one it read, oldest first."""
    if name.isascii() and name.isdigit():
        return [int(name)] if int(name) in versions.numbers(table) else []
    files = (key.rpartition("/")[2] for key in table.store().keys("_transactions"))
    read = next((int(file.partition("-")[0]) for file in files if file.endswith(f"-{name}.txn")), 0)
    return sorted(version for version in versions.numbers(table) if version > read)


def _properties(dataset: lance.LanceDataset, committed: _CommittedTransaction) -> dict[str, str]:
    """Return the transaction's own properties, or what alter_transaction made of them."""
    altered = dataset.metadata.get(committed.key)
    if altered is not None:
        return {str(key): str(value) for key, value in json.loads(altered).items()}
    return dict(committed.transaction.transaction_properties or {})


def _apply(action: AlterTransactionAction, properties: dict[str, str], committed: _CommittedTransaction) -> None:
    parts = [
        part
        for part in (action.set_status_action, action.set_property_action, action.unset_property_action)
        if part is not None
    ]
    if len(parts) != 1:
        raise InvalidInputError(
            "alter_transaction: each action must be exactly one of setStatusAction, setPropertyAction and "
            f"unsetPropertyAction, but one has {len(parts)} of them."
        )
    part = parts[0]
    if isinstance(part, AlterTransactionSetStatus):
        _set_status(part, committed)
    elif isinstance(part, AlterTransactionSetProperty):
        _set_property(part, properties, committed)
    else:
        _unset_property(part, properties, committed)


def _set_status(action: AlterTransactionSetStatus, committed: _CommittedTransaction) -> None:
    status = _choice("status", action.status, *_STATUSES)
    if status != SUCCEEDED:
        raise InvalidTableStateError(
            f"alter_transaction: transaction {committed.transaction.uuid} has succeeded and is part of version "
            f"{committed.version}; it cannot become {status}. Restore an earlier version to undo it."
        )


def _set_property(
    action: AlterTransactionSetProperty, properties: dict[str, str], committed: _CommittedTransaction
) -> None:
    key = _property(action.key, committed)
    chosen = _choice("mode", action.mode or "OVERWRITE", "OVERWRITE", "FAIL", "SKIP")
    if action.value is None:
        raise InvalidInputError(f"alter_transaction: the property {key!r} needs a value.")
    if key not in properties or chosen == "OVERWRITE":
        properties[key] = action.value
    elif chosen == "FAIL":
        raise InvalidInputError(f"alter_transaction: the property {key!r} is already set, and the mode is Fail.")


def _unset_property(
    action: AlterTransactionUnsetProperty, properties: dict[str, str], committed: _CommittedTransaction
) -> None:
    key = _property(action.key, committed)
    chosen = _choice("mode", action.mode or "SKIP", "SKIP", "FAIL")
    if key not in properties and chosen == "FAIL":
        raise InvalidInputError(f"alter_transaction: the property {key!r} is not set, and the mode is Fail.")
    properties.pop(key, None)


def _property(key: str | None, committed: _CommittedTransaction) -> str:
    if not key:
        raise InvalidInputError("alter_transaction: a property needs a key.")
    if key in committed.fixed():
        raise InvalidInputError(f"alter_transaction: {key!r} is what the transaction is and cannot be changed.")
    return key


def _choice(what: str, given: str | None, *choices: str) -> str:
    chosen = (given or "").replace("_", "").upper()
    if chosen not in choices:
        raise InvalidInputError(
            f"alter_transaction: the {what} is {given!r}, but must be one of {', '.join(choices)} (in any case)."
        )
    return chosen
