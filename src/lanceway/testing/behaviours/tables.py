"""Tables as a catalog knows them: declared, found, described, dropped."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import lance_namespace as ln
import pytest

from lanceway.errors import ErrorCode
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Id, Sandbox, code, rows, stream


class DeclaredTableTests(Suite):
    """A declared table has a name and a location; its data is yet to be written."""

    def test_a_declared_table_exists_and_has_a_location(self, space: Sandbox) -> None:
        table = space.id()
        response = space.catalog.declare_table(ln.DeclareTableRequest(id=table))
        assert response.location
        assert space.has_table(table)

    def test_a_declared_table_says_so_when_asked(self, space: Sandbox) -> None:
        table = space.declare()
        assert space.describe(table, check_declared=True).is_only_declared is True
        assert space.describe(table).is_only_declared is None

    def test_a_written_table_is_not_only_declared(self, space: Sandbox) -> None:
        assert space.describe(space.table(), check_declared=True).is_only_declared is False

    def test_a_name_is_declared_once(self, space: Sandbox) -> None:
        table = space.declare()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.declare(table)

    def test_the_name_of_a_table_cannot_be_declared(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_ALREADY_EXISTS):
            space.declare(table)
        assert space.ids(table) == [1, 2, 3]

    def test_declaring_in_a_missing_namespace_is_not_found(self, space: Sandbox) -> None:
        missing = space.id()
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.declare(space.id(inside=missing))
        assert missing[-1] not in space.tables()

    def test_creating_a_declared_table_writes_where_it_was_declared(self, space: Sandbox) -> None:
        table = space.id()
        declared = space.catalog.declare_table(ln.DeclareTableRequest(id=table)).location
        space.table(id=table)
        assert _same_place(space.describe(table).location, declared)
        assert space.describe(table, check_declared=True).is_only_declared is False
        assert space.ids(table) == [1, 2, 3]

    @needs("storage_access")
    def test_what_a_client_writes_to_the_declared_location_is_the_table(self, space: Sandbox, raw: Raw) -> None:
        table = space.declare()
        raw.place(table).write(rows(4, 5))
        assert space.ids(table) == [4, 5]
        assert table[-1] in space.tables(include_declared=False)

    @pytest.mark.parametrize(
        "reading",
        [
            pytest.param(lambda space, table: space.count(table), id="count"),
            pytest.param(lambda space, table: space.query(table), id="query"),
            pytest.param(lambda space, table: space.describe(table, version=1), id="describe a version"),
        ],
    )
    def test_a_declared_table_cannot_be_read_yet(
        self, space: Sandbox, reading: Callable[[Sandbox, Id], object]
    ) -> None:
        table = space.declare()
        with code(ErrorCode.INVALID_TABLE_STATE):
            reading(space, table)

    def test_a_declared_table_can_be_dropped(self, space: Sandbox) -> None:
        table = space.declare()
        space.catalog.drop_table(ln.DropTableRequest(id=table))
        assert not space.has_table(table)
        assert table[-1] not in space.tables()

    @needs("table_properties")
    def test_a_declared_table_keeps_its_properties(self, space: Sandbox) -> None:
        table = space.declare(properties={"owner": "ralph"})
        assert (space.describe(table).properties or {}).get("owner") == "ralph"

    @needs("chosen_location", "storage_access")
    def test_a_table_may_be_declared_at_a_chosen_location(self, space: Sandbox, raw: Raw) -> None:
        beside = raw.place(space.declare()).location.rstrip("/") + "-beside"
        table = space.declare(location=beside)
        assert _same_place(space.describe(table).location, beside)
        space.table(id=table)
        assert raw.place(table).ids() == [1, 2, 3]

    @needs("create_empty_table")
    def test_an_empty_table_is_a_declared_one(self, space: Sandbox) -> None:
        table = space.id()
        with warnings.catch_warnings():
            # The contract itself calls the operation deprecated.
            warnings.simplefilter("ignore", DeprecationWarning)
            space.catalog.create_empty_table(ln.CreateTableRequest(id=table))
        assert space.describe(table, check_declared=True).is_only_declared is True


class DescribedTableTests(Suite):
    """describe_table and table_exists."""

    def test_a_missing_table_does_not_exist(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.table_exists(ln.TableExistsRequest(id=space.id()))

    def test_describing_a_missing_table_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.describe(space.id())

    def test_a_table_in_a_missing_namespace_lacks_its_namespace(self, space: Sandbox) -> None:
        id_ = space.id(inside=space.id())
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.catalog.table_exists(ln.TableExistsRequest(id=id_))
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            space.describe(id_)

    def test_a_version_exists_or_does_not(self, space: Sandbox) -> None:
        table = space.table()
        space.catalog.table_exists(ln.TableExistsRequest(id=table, version=1))
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.catalog.table_exists(ln.TableExistsRequest(id=table, version=99))

    @needs("storage_access")
    def test_the_described_location_can_be_opened(self, space: Sandbox, raw: Raw) -> None:
        assert raw.place(space.table()).ids() == [1, 2, 3]

    def test_a_plain_description_reads_no_table(self, space: Sandbox) -> None:
        described = space.describe(space.table())
        assert described.location
        assert [described.version, described.var_schema, described.stats, described.metadata] == [None] * 4

    def test_a_detailed_description_has_name_version_schema_and_statistics(self, space: Sandbox) -> None:
        table = space.table()
        described = space.describe(table, load_detailed_metadata=True)
        assert (described.table, described.namespace, described.version) == (table[-1], table[:-1], 1)
        assert described.stats is not None
        assert (described.stats.num_fragments, described.stats.num_deleted_rows) == (1, 0)
        assert described.var_schema is not None
        assert [(f.name, f.type.type) for f in described.var_schema.fields] == [
            ("id", "int64"),
            ("name", "utf8"),
            ("vector", "fixed_size_list"),
        ]

    def test_a_table_uri_is_given_only_when_asked_for(self, space: Sandbox) -> None:
        table = space.table()
        assert space.describe(table).table_uri is None
        assert "://" in (space.describe(table, with_table_uri=True).table_uri or "")

    def test_a_table_is_described_as_it_was_at_a_version(self, space: Sandbox) -> None:
        table = space.table()
        space.add_column(table, "twice", "id * 2")
        assert space.columns(table, version=1) == ["id", "name", "vector"]
        assert space.columns(table) == ["id", "name", "vector", "twice"]

    def test_describing_a_missing_version_is_not_found(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.TABLE_VERSION_NOT_FOUND):
            space.describe(table, version=99)

    def test_a_table_is_described_at_a_tag(self, space: Sandbox) -> None:
        table = _tagged(space)
        assert space.version(table, tag="first") == 1
        with code(ErrorCode.TABLE_TAG_NOT_FOUND):
            space.describe(table, tag="nowhere")

    def test_a_tag_and_a_version_together_are_refused(self, space: Sandbox) -> None:
        table = _tagged(space)
        with code(ErrorCode.INVALID_INPUT):
            space.describe(table, tag="first", version=1)

    @needs("table_properties")
    def test_a_table_keeps_its_properties(self, space: Sandbox) -> None:
        table = space.table(properties={"owner": "ralph"})
        assert (space.describe(table).properties or {}).get("owner") == "ralph"


class DroppedTableTests(Suite):
    """drop_table."""

    def test_a_dropped_table_is_gone(self, space: Sandbox) -> None:
        table = space.table()
        space.catalog.drop_table(ln.DropTableRequest(id=table))
        assert table[-1] not in space.tables()
        for asking in (space.describe, space.count, space.query):
            with code(ErrorCode.TABLE_NOT_FOUND):
                asking(table)

    def test_dropping_a_table_answers_what_it_was(self, space: Sandbox) -> None:
        table = space.table()
        location = space.describe(table).location
        response = space.catalog.drop_table(ln.DropTableRequest(id=table))
        assert response.id == table
        assert _same_place(response.location, location)

    @needs("storage_access")
    def test_dropping_a_table_deletes_its_data(self, space: Sandbox, raw: Raw) -> None:
        table = space.table()
        place = raw.place(table)
        assert not place.is_empty()
        space.catalog.drop_table(ln.DropTableRequest(id=table))
        assert place.is_empty()

    def test_dropping_a_table_leaves_its_neighbours(self, space: Sandbox) -> None:
        neighbour = space.table()
        gone = space.table(id=space.id(neighbour[-1] + "0"))
        space.catalog.drop_table(ln.DropTableRequest(id=gone))
        assert space.ids(neighbour) == [1, 2, 3]

    def test_dropping_a_missing_table_is_not_found(self, space: Sandbox) -> None:
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.drop_table(ln.DropTableRequest(id=space.id()))

    @needs("namespaces")
    def test_a_namespace_is_not_dropped_as_a_table(self, space: Sandbox) -> None:
        namespace = space.namespace()
        with code(ErrorCode.TABLE_NOT_FOUND):
            space.catalog.drop_table(ln.DropTableRequest(id=namespace))
        assert space.has_namespace(namespace)

    def test_a_dropped_name_begins_anew(self, space: Sandbox) -> None:
        table = space.table()
        space.insert(table, rows(4))
        space.catalog.drop_table(ln.DropTableRequest(id=table))
        response = space.catalog.create_table(ln.CreateTableRequest(id=table), stream(rows(7).select(["id", "name"])))
        assert response.version == 1
        assert space.ids(table) == [7]
        assert space.columns(table) == ["id", "name"]


def _tagged(space: Sandbox) -> Id:
    table = space.table()
    space.catalog.create_table_tag(ln.CreateTableTagRequest(id=table, tag="first", version=1))
    space.insert(table, rows(4))
    return table


def _same_place(one: str | None, other: str | None) -> bool:
    """Tell whether two locations are the same place; a local one may be a path or a file URI."""

    def plain(location: str | None) -> str:
        return (location or "").removeprefix("file://").rstrip("/")

    return plain(one) == plain(other) != ""
