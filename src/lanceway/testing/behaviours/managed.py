"""Tables whose versions the catalog owns, and changes to several tables at once."""

from __future__ import annotations

from typing import Any

import lance_namespace as ln
import pytest

from lanceway.errors import ErrorCode
from lanceway.testing.behaviours.concurrency import race
from lanceway.testing.behaviours.versions import staged_next_version, staged_second_version, three_versions, versions
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Id, Sandbox, code, rows


def claim(space: Sandbox, id_: Id, staged: str, version: int = 2) -> Any:
    request = ln.CreateTableVersionRequest(id=id_, version=version, manifest_path=staged, naming_scheme="V2")
    return space.catalog.create_table_version(request).version


class ManagedTests(Suite):
    """A version belongs to a managed table once it is claimed, and only then."""

    @needs("managed_versions")
    def test_a_managed_table_says_so(self, space: Sandbox) -> None:
        table = space.id()
        assert space.catalog.declare_table(ln.DeclareTableRequest(id=table)).managed_versioning is True
        assert space.describe(table).managed_versioning is True

    @needs("managed_versions", "storage_access")
    def test_what_is_written_behind_the_catalog_is_not_shown(self, space: Sandbox, raw: Raw) -> None:
        table = space.table()
        raw.place(table).append(rows(99))
        assert space.ids(table) == [1, 2, 3]
        assert versions(space, table) == [1]
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.count(table, version=2)

    @needs("managed_versions", "storage_access")
    def test_what_is_written_behind_the_catalog_is_not_shown_after_the_next_commit(
        self, space: Sandbox, raw: Raw
    ) -> None:
        table = space.table()
        for number in (4, 5):
            raw.place(table).append(rows(90 + number))
            space.insert(table, rows(number))
        assert space.ids(table) == [1, 2, 3, 4, 5]
        numbers = sorted(versions(space, table))
        # The catalog may have made versions of its own, to be certain of what follows on what.
        assert numbers == list(range(1, max(numbers) + 1))

    @needs("managed_versions", "storage_access")
    def test_a_first_version_behind_the_catalog_is_not_shown(self, space: Sandbox, raw: Raw) -> None:
        table = space.declare()
        raw.place(table).append(rows(99))
        assert space.describe(table, check_declared=True).is_only_declared is True
        assert versions(space, table) == []
        space.table(id=table)
        assert space.ids(table) == [1, 2, 3]

    @needs("managed_versions", "storage_access")
    def test_the_same_claim_may_be_made_again(self, space: Sandbox, raw: Raw) -> None:
        table, staged = staged_second_version(space, raw)
        assert claim(space, table, staged) == claim(space, table, staged)
        assert sorted(versions(space, table)) == [1, 2]
        assert space.ids(table) == [1, 2, 3, 4]

    @needs("managed_versions", "storage_access")
    def test_a_claim_says_what_describing_it_says(self, space: Sandbox, raw: Raw) -> None:
        table, staged = staged_second_version(space, raw)
        claimed = claim(space, table, staged)
        described = space.catalog.describe_table_version(ln.DescribeTableVersionRequest(id=table, version=2)).version
        assert claimed == described
        store = raw.place(table).store()
        manifest = "_versions/" + described.manifest_path.rpartition("/")[2]
        assert len(store.read(manifest) or b"") == described.manifest_size

    @needs("managed_versions", "storage_access")
    def test_what_another_has_claimed_is_taken(self, space: Sandbox, raw: Raw) -> None:
        table, first = staged_second_version(space, raw, 4)
        second = staged_next_version(space, raw, table, 5)
        claim(space, table, first)
        with code(ErrorCode.CONCURRENT_MODIFICATION):
            claim(space, table, second)
        assert space.ids(table) == [1, 2, 3, 4]

    @needs("managed_versions", "storage_access")
    @pytest.mark.parametrize("path", ["nothing", "_versions/nothing", "/etc/passwd", "../_versions/up", ""])
    def test_only_a_staged_manifest_can_be_claimed(self, space: Sandbox, path: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            claim(space, table, path)
        assert versions(space, table) == [1]

    @needs("managed_versions", "storage_access", "races")
    def test_one_of_many_claims_a_version(self, space: Sandbox, raw: Raw) -> None:
        table = space.table()
        staged = [staged_next_version(space, raw, table, number) for number in range(10, 16)]
        results = race(lambda number: claim(space, table, staged[number]), len(staged))
        assert results.count(None) == 1
        assert set(results) == {None, ErrorCode.CONCURRENT_MODIFICATION}
        assert space.ids(table) == [1, 2, 3, 10 + results.index(None)]


def entry(id_: Id, staged: str, version: int = 2) -> dict[str, Any]:
    return {"id": id_, "version": version, "manifest_path": staged, "naming_scheme": "V2"}


def create_all(space: Sandbox, *entries: dict[str, Any]) -> list[int]:
    request = ln.BatchCreateTableVersionsRequest.model_validate({"entries": list(entries)})
    return [version.version for version in space.catalog.batch_create_table_versions(request).versions]


def commit(space: Sandbox, *operations: dict[str, Any]) -> list[Any]:
    request = ln.BatchCommitTablesRequest.model_validate({"operations": list(operations)})
    return list(space.catalog.batch_commit_tables(request).results)


class BatchTests(Suite):
    """Several tables change together, or none does."""

    @needs("batch_create_table_versions", "managed_versions", "storage_access")
    def test_versions_of_several_tables_are_created_together(self, space: Sandbox, raw: Raw) -> None:
        (table, first), (other, second) = staged_second_version(space, raw, 4), staged_second_version(space, raw, 5)
        assert create_all(space, entry(table, first), entry(other, second)) == [2, 2]
        assert (space.ids(table), space.ids(other)) == ([1, 2, 3, 4], [1, 2, 3, 5])

    @needs("batch_create_table_versions", "managed_versions", "storage_access")
    @pytest.mark.parametrize("version", [1, 3])
    def test_one_version_that_cannot_be_created_keeps_all_back(self, space: Sandbox, raw: Raw, version: int) -> None:
        (table, first), (other, second) = staged_second_version(space, raw, 4), staged_second_version(space, raw, 5)
        with code(ErrorCode.CONCURRENT_MODIFICATION):
            create_all(space, entry(table, first), entry(other, second, version))
        assert versions(space, table) == versions(space, other) == [1]
        assert create_all(space, entry(table, first), entry(other, second)) == [2, 2]

    @needs("batch_create_table_versions", "managed_versions", "storage_access")
    def test_a_missing_table_keeps_all_back(self, space: Sandbox, raw: Raw) -> None:
        table, staged = staged_second_version(space, raw)
        with code(ErrorCode.TABLE_NOT_FOUND):
            create_all(space, entry(table, staged), entry(space.id(), staged))
        assert versions(space, table) == [1]

    @needs("batch_commit_tables", "managed_versions", "storage_access")
    def test_changes_of_every_kind_are_committed_together(self, space: Sandbox, raw: Raw) -> None:
        changed, staged = staged_second_version(space, raw)
        trimmed, forgotten, new = three_versions(space), space.table(), space.id()
        results = commit(
            space,
            {"declare_table": {"id": new}},
            {"create_table_version": entry(changed, staged)},
            {"delete_table_versions": {"id": trimmed, "ranges": [{"start_version": 1, "end_version": 3}]}},
            {"deregister_table": {"id": forgotten}},
        )
        assert results[0].declare_table.location
        assert results[1].create_table_version.version.version == 2
        assert results[2].delete_table_versions.deleted_count == 2
        assert results[3].deregister_table.id == forgotten
        assert space.describe(new, check_declared=True).is_only_declared is True
        assert space.ids(changed) == [1, 2, 3, 4]
        assert versions(space, trimmed) == [3]
        assert not space.has_table(forgotten)

    @needs("batch_commit_tables", "managed_versions", "storage_access")
    def test_one_change_that_fails_keeps_all_back(self, space: Sandbox, raw: Raw) -> None:
        changed, staged = staged_second_version(space, raw)
        trimmed, registered, new = three_versions(space), space.table(), space.id()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            commit(
                space,
                {"declare_table": {"id": new}},
                {"create_table_version": entry(changed, staged)},
                {"delete_table_versions": {"id": trimmed, "ranges": [{"start_version": 1, "end_version": 3}]}},
                {"deregister_table": {"id": registered}},
                {"declare_table": {"id": changed}},
            )
        assert not space.has_table(new)
        assert versions(space, changed) == [1]
        assert sorted(versions(space, trimmed)) == [1, 2, 3]
        assert [space.count(id_, version=1) for id_ in (trimmed, registered)] == [3, 3]

    @needs("batch_commit_tables")
    @pytest.mark.parametrize(
        "wrong",
        [
            pytest.param({}, id="none"),
            pytest.param({"declare_table": {"id": ["a"]}, "deregister_table": {"id": ["a"]}}, id="two"),
            pytest.param({"declare_table": {"id": []}}, id="root"),
        ],
    )
    def test_an_operation_is_exactly_one_on_one_table(self, space: Sandbox, wrong: dict[str, Any]) -> None:
        table = space.id()
        with code(ErrorCode.INVALID_INPUT):
            commit(space, {"declare_table": {"id": table}}, wrong)
        assert not space.has_table(table)

    @needs("batch_commit_tables", "managed_versions", "storage_access", "races")
    def test_one_of_many_batches_wins_whole(self, space: Sandbox, raw: Raw) -> None:
        tables = [space.table() for _ in range(3)]
        staged = [[staged_next_version(space, raw, table, 10 + number) for table in tables] for number in range(4)]

        def work(number: int) -> None:
            paths = list(zip(tables, staged[number], strict=True))
            # Half of them in the other order: they must not wait for each other in a circle.
            ordered = paths if number % 2 else paths[::-1]
            commit(space, *({"create_table_version": entry(table, path)} for table, path in ordered))

        results = race(work, len(staged))
        assert results.count(None) == 1
        assert set(results) == {None, ErrorCode.CONCURRENT_MODIFICATION}
        winner = 10 + results.index(None)
        assert [space.ids(table) for table in tables] == [[1, 2, 3, winner]] * 3
