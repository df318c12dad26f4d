"""register_table, deregister_table and rename_table."""

from __future__ import annotations

import pytest
from lance_namespace import DeregisterTableRequest, ListTableVersionsRequest, RegisterTableRequest, RenameTableRequest

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Id, Sandbox, code, rows


def deregistered(space: Sandbox, *ids: int) -> tuple[Id, str]:
    """Create and deregister a table; return its identifier and the location of its data."""
    table = space.table(rows(*ids) if ids else None)
    response = space.catalog.deregister_table(DeregisterTableRequest(id=table))
    assert response.location, "deregister_table must say where the data is left"
    return table, response.location


class DeregisteredTableTests(Suite):
    """deregister_table forgets a table and keeps its data."""

    @needs("deregister_table")
    def test_a_deregistered_table_is_gone(self, space: Sandbox) -> None:
        table, _ = deregistered(space)
        assert not space.has_table(table)
        assert table[-1] not in space.tables()
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.describe(table)

    @needs("deregister_table", "storage_access")
    def test_a_deregistered_table_keeps_its_data(self, space: Sandbox, raw: Raw) -> None:
        table = space.table()
        place = raw.place(table)
        response = space.catalog.deregister_table(DeregisterTableRequest(id=table))
        assert response.id == table
        assert place.ids() == [1, 2, 3]

    @needs("deregister_table")
    def test_deregistering_a_missing_table_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.deregister_table(DeregisterTableRequest(id=space.id()))

    @needs("deregister_table")
    def test_deregistering_twice_is_not_found(self, space: Sandbox) -> None:
        table, _ = deregistered(space)
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.deregister_table(DeregisterTableRequest(id=table))


def register(space: Sandbox, location: str) -> Id:
    table = space.id()
    space.catalog.register_table(RegisterTableRequest(id=table, location=location))
    return table


class RegisteredTableTests(Suite):
    """register_table gives a name to existing data."""

    @needs("register_table", "deregister_table")
    def test_a_registered_table_has_the_data_at_its_location(self, space: Sandbox) -> None:
        _, location = deregistered(space)
        table = register(space, location)
        assert space.ids(table) == [1, 2, 3]
        assert table[-1] in space.tables()

    @needs("register_table", "deregister_table")
    def test_a_registered_table_keeps_its_location(self, space: Sandbox) -> None:
        _, location = deregistered(space)
        table = space.id()
        response = space.catalog.register_table(RegisterTableRequest(id=table, location=location))
        assert response.location == location
        assert space.describe(table).location == location

    @needs("register_table", "deregister_table")
    def test_a_table_may_get_its_name_back(self, space: Sandbox) -> None:
        table, location = deregistered(space)
        space.catalog.register_table(RegisterTableRequest(id=table, location=location))
        assert space.ids(table) == [1, 2, 3]

    @needs("register_table", "deregister_table")
    @pytest.mark.parametrize("mode", [None, "Create", "create"])
    def test_registering_a_name_that_is_taken_is_a_conflict(self, space: Sandbox, mode: str | None) -> None:
        _, location = deregistered(space)
        table = space.table(rows(7))
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.catalog.register_table(RegisterTableRequest(id=table, location=location, mode=mode))
        assert space.ids(table) == [7]

    @needs("register_table", "deregister_table")
    @pytest.mark.parametrize("mode", ["Overwrite", "overwrite"])
    def test_a_registration_may_be_replaced(self, space: Sandbox, mode: str) -> None:
        _, first = deregistered(space)
        table = register(space, first)
        _, second = deregistered(space, 7)
        space.catalog.register_table(RegisterTableRequest(id=table, location=second, mode=mode))
        assert space.ids(table) == [7]

    @needs("register_table", "deregister_table")
    def test_registering_in_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        _, location = deregistered(space)
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.register_table(RegisterTableRequest(id=space.id(inside=space.id()), location=location))

    @needs("register_table", "strange_paths")
    def test_registering_needs_a_location(self, space: Sandbox) -> None:
        table = space.id()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.register_table(RegisterTableRequest(id=table, location=""))
        assert not space.has_table(table)

    @needs("register_table", "deregister_table")
    def test_an_unknown_mode_registers_nothing(self, space: Sandbox) -> None:
        _, location = deregistered(space)
        table = space.id()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.register_table(RegisterTableRequest(id=table, location=location, mode="exist_ok"))
        assert not space.has_table(table)


class RenamedTableTests(Suite):
    """rename_table changes a name and nothing else."""

    @needs("rename_table")
    def test_a_renamed_table_has_its_data_under_the_new_name_alone(self, space: Sandbox) -> None:
        old, new = space.table(), space.id()
        space.catalog.rename_table(RenameTableRequest(id=old, new_table_name=new[-1]))
        assert space.ids(new) == [1, 2, 3]
        assert not space.has_table(old)
        assert space.ours(space.tables()) == [new[-1]]

    @needs("rename_table")
    def test_a_renamed_table_keeps_its_history(self, space: Sandbox) -> None:
        old, new = space.table(), space.id()
        space.insert(old, rows(4))
        space.catalog.rename_table(RenameTableRequest(id=old, new_table_name=new[-1]))
        assert space.count(new, version=1) == 3
        assert len(space.catalog.list_table_versions(ListTableVersionsRequest(id=new)).versions) == 2

    @needs("rename_table", "namespaces")
    def test_a_table_may_move_to_another_namespace(self, space: Sandbox) -> None:
        old, other = space.table(), space.namespace()
        space.catalog.rename_table(RenameTableRequest(id=old, new_table_name="moved", new_namespace_id=other))
        assert space.tables(other) == ["moved"]
        assert space.ids([*other, "moved"]) == [1, 2, 3]
        assert not space.has_table(old)

    @needs("rename_table")
    def test_a_name_that_is_taken_is_a_conflict(self, space: Sandbox) -> None:
        old, other = space.table(), space.table(rows(7))
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.catalog.rename_table(RenameTableRequest(id=old, new_table_name=other[-1]))
        assert (space.ids(old), space.ids(other)) == ([1, 2, 3], [7])

    @needs("rename_table", "mixed_namespaces", "unique_names")
    def test_a_table_cannot_be_renamed_to_a_namespace(self, space: Sandbox) -> None:
        old, namespace = space.table(), space.namespace()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.catalog.rename_table(RenameTableRequest(id=old, new_table_name=namespace[-1]))
        assert space.ids(old) == [1, 2, 3]

    @needs("rename_table")
    def test_renaming_a_missing_table_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.rename_table(RenameTableRequest(id=space.id(), new_table_name="new"))

    @needs("rename_table")
    def test_moving_to_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        old = space.table()
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.rename_table(RenameTableRequest(id=old, new_table_name="new", new_namespace_id=space.id()))
        assert space.ids(old) == [1, 2, 3]
