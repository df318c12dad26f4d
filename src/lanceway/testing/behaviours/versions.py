"""Versions and the transactions that made them."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from lance_namespace import (
    AlterTransactionRequest,
    BatchDeleteTableVersionsRequest,
    CreateTableVersionRequest,
    DescribeTableVersionRequest,
    DescribeTransactionRequest,
    ListTableVersionsRequest,
    RestoreTableRequest,
)
from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction
from lance_namespace_urllib3_client.models.alter_transaction_set_property import AlterTransactionSetProperty
from lance_namespace_urllib3_client.models.alter_transaction_set_status import AlterTransactionSetStatus
from lance_namespace_urllib3_client.models.alter_transaction_unset_property import (
    AlterTransactionUnsetProperty,
)
from lance_namespace_urllib3_client.models.version_range import VersionRange

from lanceway.errors import ErrorCode
from lanceway.testing.builders import code, rows
from lanceway.testing.capabilities import needs
from lanceway.testing.sandbox import Id, Sandbox, pages
from lanceway.testing.storage import Raw
from lanceway.testing.suite import Suite


def three_versions(space: Sandbox) -> Id:
    made = space.table()
    space.insert(made, rows(4))
    space.insert(made, rows(5))
    return made


def versions(space: Sandbox, id_: Id, limit: int | None = None, **options: Any) -> list[int]:
    def page(token: str | None) -> object:
        return space.catalog.list_table_versions(
            ListTableVersionsRequest(id=id_, page_token=token, limit=limit, **options)
        )

    return [found.version for answer in pages(page, limit) for found in answer.versions]


def delete(space: Sandbox, id_: Id, start: int, end: int) -> int | None:
    ranges = [VersionRange(start_version=start, end_version=end)]
    answer = space.catalog.batch_delete_table_versions(BatchDeleteTableVersionsRequest(id=id_, ranges=ranges))
    return answer.deleted_count


class VersionTests(Suite):
    """list, describe, restore, create and delete versions."""

    def test_every_write_makes_a_version(self, space: Sandbox) -> None:
        assert sorted(versions(space, three_versions(space))) == [1, 2, 3]

    def test_versions_are_listed_from_the_latest_when_asked(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert versions(space, made, descending=True) == [3, 2, 1]
        assert versions(space, made, descending=True, limit=2) == [3, 2, 1]

    def test_pages_of_versions_add_up_to_the_list(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert sorted(versions(space, made, limit=1)) == [1, 2, 3]

    def test_a_version_is_described(self, space: Sandbox) -> None:
        made = three_versions(space)
        request = DescribeTableVersionRequest(id=made, version=2)
        found = space.catalog.describe_table_version(request).version
        assert found.version == 2
        assert found.manifest_path.endswith(".manifest")
        assert (found.timestamp_millis or 0) > 1_600_000_000_000

    def test_the_latest_version_is_described_unless_one_is_named(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert space.catalog.describe_table_version(DescribeTableVersionRequest(id=made)).version.version == 3

    def test_describing_a_version_that_is_missing_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.describe_table_version(DescribeTableVersionRequest(id=space.table(), version=99))

    def test_a_restored_version_becomes_the_latest(self, space: Sandbox) -> None:
        made = three_versions(space)
        space.catalog.restore_table(RestoreTableRequest(id=made, version=1))
        assert space.ids(made) == [1, 2, 3]
        assert space.version(made) == 4
        assert space.count(made, version=3) == 5

    def test_restoring_a_missing_version_is_not_found(self, space: Sandbox) -> None:
        made = space.table()
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.restore_table(RestoreTableRequest(id=made, version=99))
        assert space.version(made) == 1

    def test_versions_are_deleted_in_ranges_whose_end_stays(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert delete(space, made, 1, 3) == 2
        assert versions(space, made) == [3]
        assert space.count(made) == 5
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.count(made, version=1)

    def test_a_range_without_versions_deletes_none(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert delete(space, made, 50, 60) == 0
        assert len(versions(space, made)) == 3

    @pytest.mark.parametrize(("start", "end"), [(1, 4), (0, -1)])
    def test_the_latest_version_is_never_deleted(self, space: Sandbox, start: int, end: int) -> None:
        made = three_versions(space)
        with code(ErrorCode.INVALID_INPUT, ErrorCode.INVALID_TABLE_STATE):
            delete(space, made, start, end)
        assert sorted(versions(space, made)) == [1, 2, 3]

    @needs("create_table_version", "storage_access")
    def test_a_staged_version_is_created(self, space: Sandbox, raw: Raw) -> None:
        made, staged = staged_second_version(space, raw)
        request = CreateTableVersionRequest(id=made, version=2, manifest_path=staged, naming_scheme="V2")
        answer = space.catalog.create_table_version(request)
        assert answer.version is not None
        assert answer.version.version == 2
        assert space.ids(made) == [1, 2, 3, 4]

    @needs("create_table_version", "storage_access")
    @pytest.mark.parametrize("version", [1, 5])
    def test_only_the_next_version_can_be_created(self, space: Sandbox, raw: Raw, version: int) -> None:
        made, staged = staged_second_version(space, raw)
        request = CreateTableVersionRequest(id=made, version=version, manifest_path=staged, naming_scheme="V2")
        with code(ErrorCode.CONCURRENT_MODIFICATION):
            space.catalog.create_table_version(request)
        assert versions(space, made) == [1]


def staged_second_version(space: Sandbox, raw: Raw, *ids: int) -> tuple[Id, str]:
    """A table at version 1 whose second version lies ready: as a writer leaves it before it claims it."""
    made = space.table()
    return made, staged_next_version(space, raw, made, *(ids or (4,)))


def staged_next_version(space: Sandbox, raw: Raw, made: Id, *ids: int) -> str:
    latest = space.catalog.describe_table_version(DescribeTableVersionRequest(id=made)).version
    place = raw.place(made)
    before = set(place.store().keys("_versions"))
    place.append(rows(*ids))
    store = place.store()
    (manifest,) = (key for key in set(store.keys("_versions")) - before if key.endswith(".manifest"))
    staged = f"{manifest}-{uuid.uuid4().hex}"
    store.put(staged, store.read(manifest) or b"")
    store.delete(manifest)
    return f"{latest.manifest_path.rpartition('/_versions/')[0]}/{staged}"


def transaction(space: Sandbox, id_: Id, name: str) -> Any:
    return space.catalog.describe_transaction(DescribeTransactionRequest(id=[*id_, name]))


def alter(space: Sandbox, id_: Id, name: str, **action: Any) -> Any:
    actions = [AlterTransactionAction(**action)]
    return space.catalog.alter_transaction(AlterTransactionRequest(id=[*id_, name], actions=actions))


class TransactionTests(Suite):
    """describe_transaction and alter_transaction: a transaction is its table's names and its version."""

    def test_a_transaction_that_was_committed_succeeded(self, space: Sandbox) -> None:
        made = three_versions(space)
        assert transaction(space, made, "2").status.lower() == "succeeded"

    def test_a_transaction_is_found_by_its_own_uuid(self, space: Sandbox) -> None:
        made = three_versions(space)
        found = (transaction(space, made, "2").properties or {})["uuid"]
        assert transaction(space, made, found).properties["version"] == "2"

    @pytest.mark.parametrize("name", ["99", "nothing"])
    def test_a_missing_transaction_is_not_found(self, space: Sandbox, name: str) -> None:
        with code(ErrorCode.TRANSACTION_NOT_FOUND):
            transaction(space, space.table(), name)

    @needs("alter_transaction")
    def test_a_transaction_keeps_the_properties_it_is_given(self, space: Sandbox) -> None:
        made = space.table()
        alter(space, made, "1", set_property_action=AlterTransactionSetProperty(key="job", value="7"))
        assert transaction(space, made, "1").properties["job"] == "7"
        alter(space, made, "1", unset_property_action=AlterTransactionUnsetProperty(key="job"))
        assert "job" not in transaction(space, made, "1").properties

    @needs("alter_transaction")
    def test_a_property_is_overwritten_kept_or_refused_by_its_mode(self, space: Sandbox) -> None:
        made = space.table()

        def give(value: str, mode: str | None) -> str:
            action = AlterTransactionSetProperty(key="job", value=value, mode=mode)
            return str(alter(space, made, "1", set_property_action=action).properties["job"])

        assert [give("1", None), give("2", "Skip"), give("3", "overwrite")] == ["1", "1", "3"]
        with code(ErrorCode.INVALID_INPUT, ErrorCode.CONCURRENT_MODIFICATION, ErrorCode.INVALID_TABLE_STATE):
            give("4", "FAIL")
        assert transaction(space, made, "1").properties["job"] == "3"

    @needs("alter_transaction")
    def test_a_committed_transaction_keeps_its_status(self, space: Sandbox) -> None:
        made = space.table()
        with code(ErrorCode.INVALID_TABLE_STATE):
            alter(space, made, "1", set_status_action=AlterTransactionSetStatus(status="Canceled"))
        assert transaction(space, made, "1").status.lower() == "succeeded"

    @needs("alter_transaction")
    def test_altering_a_missing_transaction_is_not_found(self, space: Sandbox) -> None:
        made = space.table()
        with code(ErrorCode.TRANSACTION_NOT_FOUND):
            alter(space, made, "99", set_property_action=AlterTransactionSetProperty(key="job", value="7"))
        assert space.version(made) == 1
