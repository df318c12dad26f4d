"""Unity's protocol as data: paths, bodies, answers in all their forms, and errors in three dialects."""

from __future__ import annotations

from typing import Any

import pytest

from lanceway.errors import InternalError
from lanceway.wire import unity
from lanceway.wire.unity import UnityFailure

ROW = {
    "name": "orders",
    "table_type": "EXTERNAL",
    "storage_location": "s3://bucket/orders.lance",
    "table_id": "4711",
    "properties": {"table_type": "Lance", "team": "red"},
    "columns": [{"name": "id"}],
}


def test_a_name_in_a_path_is_joined_by_dots_and_encoded() -> None:
    route = unity.BY_OPERATION["get_table"]
    assert unity.path(route, ("main", "s", "t?é")) == "/tables/main.s.t%3F%C3%A9"


def test_a_lance_table_is_external_text_with_a_property() -> None:
    body = unity.create_table_body(("main", "s", "t"), "s3://b/t", {"team": "red"}, [])
    assert body == {
        "name": "t",
        "catalog_name": "main",
        "schema_name": "s",
        "table_type": "EXTERNAL",
        "data_source_format": "TEXT",
        "storage_location": "s3://b/t",
        "columns": [],
        "properties": {"team": "red", "table_type": "lance"},
    }


@pytest.mark.parametrize(
    ("change", "is_lance"),
    [
        ({}, True),
        ({"table_type": "MANAGED"}, False),
        ({"properties": {"table_type": "delta"}}, False),
        ({"properties": {}}, False),
        ({"properties": None}, False),
        ({"storage_location": None}, False),
        ({"field_of_tomorrow": 1}, True),
    ],
    ids=str,
)
def test_lance_tables_are_told_from_others(change: dict[str, Any], is_lance: bool) -> None:
    assert unity.read_table({**ROW, **change}).is_lance is is_lance


@pytest.mark.parametrize("properties", [None, {}, {"gone": None}], ids=str)
def test_no_properties_have_many_forms(properties: object) -> None:
    assert unity.read_properties({"properties": properties}) == {}
    assert unity.read_properties({}) == {}


@pytest.mark.parametrize(
    ("body", "token"),
    [({"next_page_token": "t"}, "t"), ({"next_page_token": None}, ""), ({"next_page_token": ""}, ""), ({}, "")],
    ids=str,
)
def test_a_list_ends_without_a_token(body: object, token: str) -> None:
    assert unity.next_page(body) == token


def test_an_empty_list_may_be_left_out() -> None:
    assert unity.read_tables({}) == []
    assert unity.read_schemas({}) == []


@pytest.mark.parametrize("body", [None, [], "ok", {"tables": {}}, {"tables": [1]}, {"tables": [{}]}], ids=str)
def test_an_answer_of_another_kind_is_internal(body: object) -> None:
    with pytest.raises(InternalError):
        unity.read_tables(body)


@pytest.mark.parametrize("change", [{"columns": "none"}, {"columns": [1]}, {"properties": []}], ids=str)
def test_a_table_that_cannot_be_read_is_internal(change: dict[str, Any]) -> None:
    with pytest.raises(InternalError):
        unity.read_table({**ROW, **change})


# The operation, the status, the code, and what the contract calls it.
DIALECTS = [
    # the open-source server up to 0.4.0
    ("get_schema", 404, "NOT_FOUND", 1),
    ("get_table", 404, "NOT_FOUND", 4),
    ("create_table", 404, "NOT_FOUND", 1),
    ("create_schema", 409, "ALREADY_EXISTS", 2),
    ("create_table", 409, "ALREADY_EXISTS", 5),
    ("delete_schema", 400, "FAILED_PRECONDITION", 3),
    # the open-source server since then
    ("list_schemas", 404, "CATALOG_NOT_FOUND", 1),
    ("get_table", 404, "SCHEMA_NOT_FOUND", 1),
    ("delete_table", 404, "TABLE_NOT_FOUND", 4),
    ("create_schema", 400, "SCHEMA_ALREADY_EXISTS", 2),
    ("create_table", 400, "TABLE_ALREADY_EXISTS", 5),
    ("create_table", 400, "INVALID_ARGUMENT", 13),
    ("create_table", 500, "INTERNAL", 18),
    ("get_table", 401, "UNAUTHENTICATED", 16),
    ("get_table", 403, "PERMISSION_DENIED", 15),
    # Databricks
    ("get_table", 404, "TABLE_DOES_NOT_EXIST", 4),
    ("get_table", 404, "SCHEMA_DOES_NOT_EXIST", 1),
    ("get_catalog", 404, "CATALOG_DOES_NOT_EXIST", 1),
    ("get_table", 404, "RESOURCE_DOES_NOT_EXIST", 4),
    ("create_table", 400, "RESOURCE_ALREADY_EXISTS", 5),
    ("delete_schema", 400, "SCHEMA_NOT_EMPTY", 3),
    ("create_table", 400, "INVALID_PARAMETER_VALUE", 13),
    ("list_tables", 429, "REQUEST_LIMIT_EXCEEDED", 21),
    ("list_tables", 503, "TEMPORARILY_UNAVAILABLE", 17),
    ("create_table", 409, "RESOURCE_CONFLICT", 14),
    # codes that nobody knows, and none at all
    ("get_table", 404, "NEW_WORD", 4),
    ("create_schema", 409, "NEW_WORD", 2),
    ("get_table", 409, "NEW_WORD", 14),
    ("get_table", 400, "NEW_WORD", 13),
    ("get_table", 500, "NEW_WORD", 18),
    ("get_table", 418, "NEW_WORD", 18),
    ("get_table", 502, None, 17),
    ("get_table", 405, None, 0),
    ("get_table", 403, None, 15),
]


@pytest.mark.parametrize(("operation", "status", "said", "code"), DIALECTS)
def test_a_refusal_means_one_thing(operation: str, status: int, said: str | None, code: int) -> None:
    failure = None if said is None else UnityFailure(said, "in words that are not looked at: TABLE_NOT_FOUND")
    assert unity.code_of(unity.BY_OPERATION[operation], status, failure) == code


@pytest.mark.parametrize("body", [None, "Status: 404", {}, {"message": "no"}, {"error": {"code": 404}}], ids=str)
def test_what_is_no_failure_of_unity_is_none(body: object) -> None:
    assert unity.read_failure(body) is None


def test_a_failure_has_its_code_and_its_words() -> None:
    assert unity.read_failure({"error_code": "X", "message": "no", "details": []}) == UnityFailure("X", "no")
