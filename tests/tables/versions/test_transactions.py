from __future__ import annotations

from typing import Any

import lance
import pytest
from lance_namespace import AlterTransactionRequest, AlterTransactionResponse

from lanceway.errors import InvalidInputError, InvalidTableStateError, TransactionNotFoundError
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.versions import transactions
from tests.tables import table_helpers as samples


@pytest.fixture
def table(table: StoredTable) -> StoredTable:
    lance.write_dataset(
        samples.rows(10), table.location, mode="append", transaction_properties={"job": "nightly", "by": "me"}
    )
    return table


def alter(table: StoredTable, transaction: str, *actions: dict[str, Any]) -> AlterTransactionResponse:
    request = AlterTransactionRequest.model_validate({"actions": list(actions)})
    return transactions.alter(table, transaction, request)


def set_(key: str, value: str | None, mode: str | None = None) -> dict[str, Any]:
    return {"setPropertyAction": {"key": key, "value": value, "mode": mode}}


def unset(key: str, mode: str | None = None) -> dict[str, Any]:
    return {"unsetPropertyAction": {"key": key, "mode": mode}}


def status(value: str) -> dict[str, Any]:
    return {"setStatusAction": {"status": value}}


def properties(table: StoredTable, transaction: str = "2") -> dict[str, str]:
    told = transactions.describe(table, transaction)
    assert told.status == "SUCCEEDED"
    assert told.properties is not None
    return told.properties


def test_a_transaction_is_known_by_version_and_by_uuid(table: StoredTable) -> None:
    by_version = properties(table)
    assert {key: by_version[key] for key in ("operation", "read_version", "version", "job", "by")} == {
        "operation": "Append",
        "read_version": "1",
        "version": "2",
        "job": "nightly",
        "by": "me",
    }
    open_at(table).delete("id = 1")
    assert properties(table, by_version["uuid"]) == by_version
    assert properties(table, "3")["operation"] == "Delete"
    assert properties(table, properties(table, "1")["uuid"])["version"] == "1"


@pytest.mark.parametrize("name", ["0", "3", "99999999999999999999999", "none", "00000000-0000-0000-0000-000000000000"])
def test_a_transaction_that_is_not_there(table: StoredTable, name: str) -> None:
    with pytest.raises(TransactionNotFoundError, match=f"no transaction '{name}'"):
        transactions.describe(table, name)
    with pytest.raises(TransactionNotFoundError):
        alter(table, name, set_("a", "1"))


def test_properties_are_set_and_unset_in_one_commit(table: StoredTable) -> None:
    told = alter(table, "2", set_("a", "1"), set_("job", "weekly"), unset("by"), unset("missing"))
    assert told.status == "SUCCEEDED"
    assert told.properties == properties(table)
    assert (told.properties["a"], told.properties["job"]) == ("1", "weekly")
    assert "by" not in told.properties
    assert open_at(table).version == 3
    alter(table, told.properties["uuid"], unset("a"))
    assert "a" not in properties(table)


def test_modes_mean_what_they_say_in_any_case(table: StoredTable) -> None:
    alter(table, "2", set_("job", "kept", "skip"), set_("new", "1", "Fail"), set_("by", "you", "OVERWRITE"))
    told = properties(table)
    assert (told["job"], told["new"], told["by"]) == ("nightly", "1", "you")


@pytest.mark.parametrize(
    ("action", "kind", "words"),
    [
        (set_("job", "x", "fail"), InvalidInputError, "already set"),
        (unset("missing", "FAIL"), InvalidInputError, "not set"),
        (set_("x", "1", "perhaps"), InvalidInputError, "OVERWRITE, FAIL, SKIP"),
        (unset("x", "overwrite"), InvalidInputError, "SKIP, FAIL"),
        (set_("x", None), InvalidInputError, "needs a value"),
        (set_("", "x"), InvalidInputError, "needs a key"),
        (set_("uuid", "x"), InvalidInputError, "cannot be changed"),
        (unset("version"), InvalidInputError, "cannot be changed"),
        (status("Canceled"), InvalidTableStateError, "cannot become CANCELED"),
        (status("running"), InvalidTableStateError, "cannot become RUNNING"),
        (status("great"), InvalidInputError, "QUEUED"),
        ({}, InvalidInputError, "exactly one of"),
        (set_("x", "1") | unset("y"), InvalidInputError, "exactly one of"),
    ],
    ids=str,
)
def test_one_action_that_fails_undoes_all(
    table: StoredTable, action: dict[str, Any], kind: type[Exception], words: str
) -> None:
    before = properties(table)
    with pytest.raises(kind, match=words):
        alter(table, "2", set_("first", "1"), action)
    assert properties(table) == before
    assert open_at(table).version == 2


def test_what_changes_nothing_makes_no_version(table: StoredTable) -> None:
    told = alter(table, "2", status("Succeeded"), set_("job", "nightly"))
    assert told.properties == properties(table)
    assert open_at(table).version == 2
