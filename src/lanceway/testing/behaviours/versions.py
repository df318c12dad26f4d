"""Versions, and the transactions that created them."""

from __future__ import annotations

import uuid
from typing import Any

import lance_namespace as ln
import pytest
from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction
from lance_namespace_urllib3_client.models.alter_transaction_set_property import AlterTransactionSetProperty
from lance_namespace_urllib3_client.models.alter_transaction_set_status import AlterTransactionSetStatus
from lance_namespace_urllib3_client.models.alter_transaction_unset_property import AlterTransactionUnsetProperty
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Id, Sandbox, code, pages, rows


def three_versions(space: Sandbox) -> Id:
    table = space.table()
    space.insert(table, rows(4))
    space.insert(table, rows(5))
    return table


def versions(space: Sandbox, id_: Id, limit: int | None = None, **options: Any) -> list[int]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_versions(
            ln.ListTableVersionsRequest(id=id_, page_token=token, limit=limit, **options)
        )

    return [version.version for response in pages(page, limit) for version in response.versions]


def delete(space: Sandbox, id_: Id, start: int, end: int) -> int | None:
    ranges = [VersionRange(start_version=start, end_version=end)]
    response = space.catalog.batch_delete_table_versions(ln.BatchDeleteTableVersionsRequest(id=id_, ranges=ranges))
    return response.deleted_count


class VersionTests(Suite):
    """list, describe, restore, create and delete versions."""

    def test_every_write_makes_a_version(self, space: Sandbox) -> None:
        assert sorted(versions(space, three_versions(space))) == [1, 2, 3]

    def test_versions_are_listed_from_the_latest_when_asked(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert versions(space, table, descending=True) == [3, 2, 1]
        assert versions(space, table, descending=True, limit=2) == [3, 2, 1]

    def test_pages_of_versions_add_up_to_the_list(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert sorted(versions(space, table, limit=1)) == [1, 2, 3]

    def test_a_version_is_described(self, space: Sandbox) -> None:
        table = three_versions(space)
        request = ln.DescribeTableVersionRequest(id=table, version=2)
        version = space.catalog.describe_table_version(request).version
        assert version.version == 2
        assert version.manifest_path.endswith(".manifest")
        assert (version.timestamp_millis or 0) > 1_600_000_000_000

    def test_the_latest_version_is_described_unless_one_is_named(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert space.catalog.describe_table_version(ln.DescribeTableVersionRequest(id=table)).version.version == 3

    def test_describing_a_version_that_is_missing_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.describe_table_version(ln.DescribeTableVersionRequest(id=space.table(), version=99))

    def test_a_restored_version_becomes_the_latest(self, space: Sandbox) -> None:
        table = three_versions(space)
        space.catalog.restore_table(ln.RestoreTableRequest(id=table, version=1))
        assert space.ids(table) == [1, 2, 3]
        assert space.version(table) == 4
        assert space.count(table, version=3) == 5

    def test_restoring_a_missing_version_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.restore_table(ln.RestoreTableRequest(id=table, version=99))
        assert space.version(table) == 1

    def test_versions_are_deleted_in_ranges_whose_end_stays(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert delete(space, table, 1, 3) == 2
        assert versions(space, table) == [3]
        assert space.count(table) == 5
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.count(table, version=1)

    def test_a_range_without_versions_deletes_none(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert delete(space, table, 50, 60) == 0
        assert len(versions(space, table)) == 3

    @pytest.mark.parametrize(("start", "end"), [(1, 4), (0, -1)])
    def test_the_latest_version_is_never_deleted(self, space: Sandbox, start: int, end: int) -> None:
        table = three_versions(space)
        with code(ErrorCode.INVALID_INPUT, ErrorCode.INVALID_TABLE_STATE):
            delete(space, table, start, end)
        assert sorted(versions(space, table)) == [1, 2, 3]

    @needs("create_table_version", "storage_access")
    def test_a_staged_version_is_created(self, space: Sandbox, raw: Raw) -> None:
        table, staged = staged_second_version(space, raw)
        request = ln.CreateTableVersionRequest(id=table, version=2, manifest_path=staged, naming_scheme="V2")
        response = space.catalog.create_table_version(request)
        assert response.version is not None
        assert response.version.version == 2
        assert space.ids(table) == [1, 2, 3, 4]

    @needs("create_table_version", "storage_access")
    @pytest.mark.parametrize("version", [1, 5])
    def test_only_the_next_version_can_be_created(self, space: Sandbox, raw: Raw, version: int) -> None:
        table, staged = staged_second_version(space, raw)
        request = ln.CreateTableVersionRequest(id=table, version=version, manifest_path=staged, naming_scheme="V2")
        with code(ErrorCode.CONCURRENT_MODIFICATION):
            space.catalog.create_table_version(request)
        assert versions(space, table) == [1]


def staged_second_version(space: Sandbox, raw: Raw, *ids: int) -> tuple[Id, str]:
    """Create a table at version 1 whose second version is staged, as a writer leaves it before claiming it."""
    table = space.table()
    return table, staged_next_version(space, raw, table, *(ids or (4,)))


def staged_next_version(space: Sandbox, raw: Raw, table: Id, *ids: int) -> str:
    latest = space.catalog.describe_table_version(ln.DescribeTableVersionRequest(id=table)).version
    place = raw.place(table)
    before = set(place.store().keys("_versions"))
    place.append(rows(*ids))
    store = place.store()
    (manifest,) = (key for key in set(store.keys("_versions")) - before if key.endswith(".manifest"))
    staged = f"{manifest}-{uuid.uuid4().hex}"
    store.put(staged, store.read(manifest) or b"")
    store.delete(manifest)
    return f"{latest.manifest_path.rpartition('/_versions/')[0]}/{staged}"


def transaction(space: Sandbox, id_: Id, name: str) -> Any:
    return space.catalog.describe_transaction(ln.DescribeTransactionRequest(id=[*id_, name]))


def alter(space: Sandbox, id_: Id, name: str, **action: Any) -> Any:
    actions = [AlterTransactionAction(**action)]
    return space.catalog.alter_transaction(ln.AlterTransactionRequest(id=[*id_, name], actions=actions))


class TransactionTests(Suite):
    """describe_transaction and alter_transaction. A transaction's identifier is its table's and its version."""

    def test_a_transaction_that_was_committed_succeeded(self, space: Sandbox) -> None:
        table = three_versions(space)
        assert transaction(space, table, "2").status.lower() == "succeeded"

    def test_a_transaction_is_found_by_its_own_uuid(self, space: Sandbox) -> None:
        table = three_versions(space)
        uuid = (transaction(space, table, "2").properties or {})["uuid"]
        assert transaction(space, table, uuid).properties["version"] == "2"

    @pytest.mark.parametrize("name", ["99", "nothing"])
    def test_a_missing_transaction_is_not_found(self, space: Sandbox, name: str) -> None:
        with code(ErrorCode.TRANSACTION_NOT_FOUND):
            transaction(space, space.table(), name)

    @needs("alter_transaction")
    def test_a_transaction_keeps_the_properties_it_is_given(self, space: Sandbox) -> None:
        table = space.table()
        alter(space, table, "1", set_property_action=AlterTransactionSetProperty(key="job", value="7"))
        assert transaction(space, table, "1").properties["job"] == "7"
        alter(space, table, "1", unset_property_action=AlterTransactionUnsetProperty(key="job"))
        assert "job" not in transaction(space, table, "1").properties

    @needs("alter_transaction")
    def test_a_property_is_overwritten_kept_or_refused_by_its_mode(self, space: Sandbox) -> None:
        table = space.table()

        def give(value: str, mode: str | None) -> str:
            action = AlterTransactionSetProperty(key="job", value=value, mode=mode)
            return str(alter(space, table, "1", set_property_action=action).properties["job"])

        assert [give("1", None), give("2", "Skip"), give("3", "overwrite")] == ["1", "1", "3"]
        with code(ErrorCode.INVALID_INPUT, ErrorCode.CONCURRENT_MODIFICATION, ErrorCode.INVALID_TABLE_STATE):
            give("4", "FAIL")
        assert transaction(space, table, "1").properties["job"] == "3"

    @needs("alter_transaction")
    def test_a_committed_transaction_keeps_its_status(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_TABLE_STATE):
            alter(space, table, "1", set_status_action=AlterTransactionSetStatus(status="Canceled"))
        assert transaction(space, table, "1").status.lower() == "succeeded"

    @needs("alter_transaction")
    def test_altering_a_missing_transaction_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TRANSACTION_NOT_FOUND):
            alter(space, table, "99", set_property_action=AlterTransactionSetProperty(key="job", value="7"))
        assert space.version(table) == 1
