import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace import (
    CreateNamespaceRequest,
    DescribeTableRequest,
    MergeInsertIntoTableRequest,
    QueryTableRequest,
)

from lanceway.catalogs.contract.requests import (
    accept,
    mode,
    page_limit,
    page_start,
    page_start_id,
    page_token,
    received,
    table_id,
)
from lanceway.errors import InvalidInputError
from lanceway.tables.read.sorting import SortedQuery


def test_a_model_is_taken_as_it_is():
    request = DescribeTableRequest(id=["t"])
    assert accept(DescribeTableRequest, request) is request


def test_a_dictionary_becomes_the_model():
    request = accept(DescribeTableRequest, {"id": ["a", "t"], "version": 3})
    assert (request.id, request.version) == (["a", "t"], 3)


def test_unknown_fields_that_a_client_sends_are_tolerated_in_silence():
    request = received(DescribeTableRequest, {"id": ["a", "t"], "new_in_some_release": True})
    assert request.id == ["a", "t"]


def test_a_client_sends_no_short_forms():
    with pytest.raises(InvalidInputError, match=r"DescribeTableRequest is not valid: id: .*list"):
        received(DescribeTableRequest, {"id": "a"})


def test_no_request_at_all_is_an_empty_one():
    assert accept(DescribeTableRequest, None).id is None


def test_a_wrong_type_says_which_field():
    with pytest.raises(InvalidInputError, match=r"DescribeTableRequest is not valid: id: .*list"):
        accept(DescribeTableRequest, {"id": 7})


@pytest.mark.parametrize(
    ("key", "value", "form"),
    [
        ("columns", "id", '{"column_names": ["id", "name"]}'),
        ("full_text_query", 3, '{"string_query": {"query": "some words"}}'),
        ("vector", "0.5", '{"single_vector": [0.5, 0.9]}'),
    ],
)
def test_a_wrong_type_says_how_the_value_is_written(key: str, value: object, form: str):
    with pytest.raises(InvalidInputError, match=re.escape(f"QueryTableRequest is not valid: {key}: Write {form}.")):
        accept(QueryTableRequest, {"id": ["t"], "k": 1, "vector": {}, key: value})


def test_a_request_with_further_fields_has_the_name_of_the_contract():
    with pytest.raises(InvalidInputError, match=r"^QueryTableRequest is not valid: k: Field required"):
        received(SortedQuery, {"id": ["t"], "vector": {}})


def test_one_key_of_a_merge_is_a_list():
    with pytest.raises(InvalidInputError, match=r'on: Write a list, such as \["id"\]\.'):
        accept(MergeInsertIntoTableRequest, {"id": ["t"], "on": "id"})


def test_the_wrong_kind_of_request_is_refused():
    with pytest.raises(InvalidInputError, match="DescribeTableRequest or a dictionary is needed"):
        accept(DescribeTableRequest, CreateNamespaceRequest(id=["n"]))


def test_credentials_of_a_bad_request_are_not_repeated():
    with pytest.raises(InvalidInputError) as caught:
        accept(DescribeTableRequest, {"identity": {"auth_token": ["hunter2"]}})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("spelling", ["exist_ok", "ExistOk", "EXIST_OK", "existok", "EXISTOK"])
def test_a_mode_is_known_in_any_case(spelling: str):
    assert mode("The mode", spelling, "create", "exist_ok", "overwrite") == "exist_ok"


def test_no_mode_is_the_first():
    assert mode("The mode", None, "create", "exist_ok") == "create"


@pytest.mark.parametrize("spelling", ["", "exists", "create!", " create"])
def test_an_unknown_mode_is_refused_with_the_known_ones(spelling: str):
    with pytest.raises(InvalidInputError, match="must be one of create, exist_ok"):
        mode("The mode", spelling, "create", "exist_ok")


@given(st.text(min_size=1).filter(lambda name: not any("\ud800" <= c <= "\udfff" for c in name)))
def test_a_page_token_gives_its_name_back(name: str):
    assert page_start("tables", page_token("tables", name)) == name


def test_no_token_is_the_first_page():
    assert page_start("tables", None) is None
    assert page_start("tables", "") is None


@pytest.mark.parametrize(
    "token", ["t1", "!!", "é", "AAAA", page_token("namespaces", "t1"), page_token("tables", "t1")[:-1]]
)
def test_a_token_from_elsewhere_is_refused(token: str):
    with pytest.raises(InvalidInputError, match="does not belong to this list"):
        page_start("tables", token)


def test_a_token_gives_its_number_back():
    assert page_start_id("jobs", page_token("jobs", "17")) == 17
    assert page_start_id("jobs", None) is None


@pytest.mark.parametrize("start", ["t1", "-1", "1.0", "٣", "9" * 19])
def test_a_token_of_something_else_than_a_number_is_refused(start: str):
    with pytest.raises(InvalidInputError, match="does not belong to this list"):
        page_start_id("jobs", page_token("jobs", start))


@pytest.mark.parametrize("limit", [0, -1])
def test_a_page_holds_at_least_one(limit: int):
    with pytest.raises(InvalidInputError, match=f"limit is {limit}"):
        page_limit(limit)


@pytest.mark.parametrize("names", [None, []])
def test_the_root_is_no_table(names: list[str] | None):
    with pytest.raises(InvalidInputError, match="drop_table needs a table's identifier"):
        table_id(names, "drop_table")


def test_an_empty_name_is_refused():
    with pytest.raises(InvalidInputError, match="empty name"):
        table_id(["a", ""], "drop_table")
