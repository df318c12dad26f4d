"""Bad input: refused with its code, a message that says so, and nothing changed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from lance_namespace import CreateNamespaceRequest, CreateTableRequest, DropNamespaceRequest, InsertIntoTableRequest

from lanceway.errors import ErrorCode, InvalidInputError, UnknownKeyWarning
from lanceway.testing.capabilities import Suite, needs
from lanceway.testing.requests import ON_A_TABLE, ask, model
from lanceway.testing.sandbox import Sandbox, code, rows, stream

WHOLE = stream(rows(*range(2000)))
# Rows as text. A reader may take the first four bytes for a length: a line break last, or it is gigabytes.
TEXT = b"id\r\n1\r\n2\r\n"
BROKEN = {"nothing": b"", "no Arrow": TEXT, "cut short": WHOLE[: len(WHOLE) // 2]}
STRANGE_NAMES = {
    "parent": "..",
    "itself": ".",
    "slash": "a/b",
    "upwards": "../up",
    "absolute": "/absolute",
    "backslash": "a\\b",
    "null byte": "a\x00b",
    "line break": "a\nb",
    "dollar": "a$b",
    "dot": "a.b",
    "blank": " ",
    "percent": "%2e",
    "hidden": ".hidden",
    "letters of the world": "äöü漢字",
    "very long": "x" * 300,
}
LISTS = pytest.mark.parametrize(
    "operation",
    [
        "list_namespaces",
        "list_tables",
        "list_table_tags",
        "list_table_branches",
        "list_table_versions",
        "list_table_indices",
    ],
)


class UnknownModeTests(Suite):
    """An unknown mode is refused, never guessed."""

    @needs("namespaces")
    def test_an_unknown_mode_creates_no_namespace(self, space: Sandbox) -> None:
        namespace = space.id()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.create_namespace(CreateNamespaceRequest(id=namespace, mode="replace"))
        assert not space.has_namespace(namespace)

    @needs("namespaces")
    @pytest.mark.parametrize("wrong", [{"mode": "ignore"}, {"behavior": "everything"}], ids=["mode", "behavior"])
    def test_an_unknown_mode_or_behavior_drops_no_namespace(self, space: Sandbox, wrong: dict[str, Any]) -> None:
        namespace = space.namespace()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.drop_namespace(DropNamespaceRequest(id=namespace, **wrong))
        assert space.has_namespace(namespace)

    def test_an_unknown_mode_creates_no_table(self, space: Sandbox) -> None:
        table = space.id()
        with code(ErrorCode.INVALID_INPUT):
            space.table(id=table, mode="replace")
        assert not space.has_table(table)

    def test_an_unknown_mode_inserts_nothing(self, space: Sandbox) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            space.insert(table, rows(4), mode="upsert")
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)


class MissingTableTests(Suite):
    """Every operation on a missing table answers "table not found"."""

    @pytest.mark.parametrize("operation", list(ON_A_TABLE))
    def test_an_operation_on_a_missing_table_is_not_found(self, space: Sandbox, operation: str) -> None:
        missing = space.id()
        with code(ErrorCode.TABLE_NOT_FOUND):
            ask(space.catalog, operation, missing, as_dict=False)
        assert not space.has_table(missing)

    @pytest.mark.parametrize("operation", list(ON_A_TABLE))
    def test_an_operation_in_a_missing_namespace_is_not_found(self, space: Sandbox, operation: str) -> None:
        with code(ErrorCode.NAMESPACE_NOT_FOUND):
            ask(space.catalog, operation, space.id(inside=space.id()), as_dict=False)

    @pytest.mark.parametrize("operation", ["declare_table", "create_table", *ON_A_TABLE])
    def test_an_operation_on_a_table_needs_an_identifier(self, space: Sandbox, operation: str) -> None:
        with code(ErrorCode.INVALID_INPUT):
            ask(space.catalog, operation, [], as_dict=False)


class IdentifierTests(Suite):
    """Identifiers are lists of names. A catalog may refuse a name, but must not mistake it for another."""

    @needs("strange_paths")
    @pytest.mark.parametrize("id_", [[""], ["a", ""], ["", "a"]], ids=["alone", "last", "first"])
    def test_an_empty_name_is_refused(self, space: Sandbox, id_: list[str]) -> None:
        with code(ErrorCode.INVALID_INPUT):
            space.table(id=[*space.home, *id_])

    @needs("strange_paths")
    @pytest.mark.parametrize("kind", STRANGE_NAMES)
    def test_a_strange_name_is_refused_or_kept_whole(self, space: Sandbox, kind: str) -> None:
        name = STRANGE_NAMES[kind]
        table, before = [*space.home, name], space.tables()
        try:
            space.table(id=table)
        except InvalidInputError:
            assert space.tables() == before
        else:
            assert space.ids(table) == [1, 2, 3]
            assert sorted(space.tables()) == sorted([*before, name])

    @needs("namespaces")
    @pytest.mark.parametrize("delimiter", [".", "$", "/", ":", "\x1f"], ids=ascii)
    def test_a_name_with_a_delimiter_is_not_a_path(self, space: Sandbox, delimiter: str) -> None:
        outer = space.namespace()
        inside = space.table(id=space.id(inside=outer))
        joined = [*space.home, delimiter.join(inside[-2:])]
        with code(ErrorCode.TABLE_NOT_FOUND, ErrorCode.INVALID_INPUT):
            space.describe(joined)


class BrokenArrowTests(Suite):
    """Arrow data that cannot be read is refused, and nothing is written."""

    @pytest.mark.parametrize("kind", BROKEN)
    def test_broken_arrow_creates_no_table(self, space: Sandbox, kind: str) -> None:
        table = space.id()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.create_table(CreateTableRequest(id=table), BROKEN[kind])
        assert not space.has_table(table)
        assert table[-1] not in space.tables()
        assert space.ids(space.table(id=table)) == [1, 2, 3]

    @pytest.mark.parametrize("mode", ["append", "overwrite"])
    @pytest.mark.parametrize("kind", BROKEN)
    def test_broken_arrow_inserts_nothing(self, space: Sandbox, kind: str, mode: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.insert_into_table(InsertIntoTableRequest(id=table, mode=mode), BROKEN[kind])
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)

    @pytest.mark.parametrize("kind", BROKEN)
    def test_broken_arrow_overwrites_nothing(self, space: Sandbox, kind: str) -> None:
        table = space.table()
        with code(ErrorCode.INVALID_INPUT):
            space.catalog.create_table(CreateTableRequest(id=table, mode="overwrite"), BROKEN[kind])
        assert (space.ids(table), space.version(table)) == ([1, 2, 3], 1)


class PageTests(Suite):
    """Limits below one and page tokens of another list are refused."""

    def _ask(self, space: Sandbox, operation: str, **options: Any) -> Any:
        id_ = space.table() if operation in ON_A_TABLE else list(space.home)
        return getattr(space.catalog, operation)(model(operation)(id=id_, **options))

    @LISTS
    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_page_holds_at_least_one(self, space: Sandbox, operation: str, limit: int) -> None:
        with code(ErrorCode.INVALID_INPUT):
            self._ask(space, operation, limit=limit)

    @LISTS
    @pytest.mark.parametrize("token", ["!", "bm90aGluZw", "ä"], ids=ascii)
    def test_a_token_from_elsewhere_is_refused(self, space: Sandbox, operation: str, token: str) -> None:
        with code(ErrorCode.INVALID_INPUT):
            self._ask(space, operation, page_token=token)

    @LISTS
    def test_an_empty_token_begins_the_list(self, space: Sandbox, operation: str) -> None:
        self._ask(space, operation, page_token="")


class WrongTypeTests(Suite):
    """A request whose values have the wrong types is refused."""

    @pytest.mark.parametrize(
        ("operation", "request_"),
        [
            ("list_tables", {"id": 7}),
            ("list_tables", {"id": [1]}),
            ("list_tables", {"limit": "many"}),
            ("describe_table", {"id": ["a"], "version": "first"}),
            ("query_table", {"id": ["a"], "k": -1, "vector": {}}),
            ("query_table", {"id": ["a"], "vector": {"single_vector": "near"}, "k": 1}),
            ("update_table", {"id": ["a"]}),
            ("create_table_tag", {"id": ["a"], "tag": "x", "version": -1}),
            ("list_tables", 7),
            ("list_tables", ["a"]),
        ],
        ids=str,
    )
    def test_a_request_of_the_wrong_shape_is_refused(self, space: Sandbox, operation: str, request_: Any) -> None:
        with code(ErrorCode.INVALID_INPUT):
            getattr(space.catalog, operation)(request_)

    def test_unknown_fields_and_context_are_tolerated(self, space: Sandbox) -> None:
        table = space.table()
        catalog: Any = space.catalog
        with warnings.catch_warnings(action="ignore", category=UnknownKeyWarning):
            response = catalog.describe_table(
                {"id": table, "context": {"header.x-anything": "1"}, "field_of_tomorrow": [1, 2]}
            )
        assert response.location
