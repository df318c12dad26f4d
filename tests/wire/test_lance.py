"""The routes of Lance REST, held against the client that is generated from the protocol's own description."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import lance_namespace_urllib3_client.api as foreign
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace.errors import ErrorCode
from lance_namespace_urllib3_client.api_client import ApiClient

from lanceway.catalogs.contract.hooks import OPERATIONS, REQUESTS
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.wire import lance
from lanceway.wire.lance import BY_OPERATION, ROUTES, Body, QueryEncoding

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def generated() -> Iterator[tuple[str, str, str, set[str], str | None]]:
    """Operation, method, path, query and type of the body, as the generated client sends them."""
    client = ApiClient()
    for found in pkgutil.iter_modules(foreign.__path__):
        module = importlib.import_module(f"{foreign.__name__}.{found.name}")
        for name, api in inspect.getmembers(module, lambda item: inspect.isclass(item) and hasattr(item, "__init__")):
            if not name.endswith("Api"):
                continue
            for method in vars(api):
                if method.startswith("_") and method.endswith("_serialize"):
                    yield _sent(api(client), method)


def _sent(api: Any, method: str) -> tuple[str, str, str, set[str], str | None]:
    serialize = getattr(api, method)
    fields = [name for name in inspect.signature(serialize).parameters if not name.startswith("_")]
    values = {name: _value(name) for name in fields}
    blank = {name: None for name in inspect.signature(serialize).parameters if name.startswith("_")}
    verb, url, headers, _, _ = serialize(**{**values, **blank, "_host_index": 0})
    path, _, query = url.removeprefix(api.api_client.configuration.host).partition("?")
    path = path.replace("ID", "{id}").replace("INDEX", "{index_name}")
    names = {pair.partition("=")[0] for pair in query.split("&")}
    return (
        method.removeprefix("_").removesuffix("_serialize"),
        verb,
        path,
        names - {"delimiter"},
        headers.get("Content-Type"),
    )


def _value(name: str) -> Any:
    if name in ("id", "index_name"):
        return {"id": "ID", "index_name": "INDEX"}[name]
    return b"" if name == "body" else ["x"] if name == "on" else "x"


GENERATED = {sent[0]: sent for sent in generated()}


def test_there_are_54_operations_and_each_of_the_contract_has_its_route() -> None:
    assert len(GENERATED) == len(ROUTES) == 54
    assert set(BY_OPERATION) == set(GENERATED)
    assert set(OPERATIONS) - set(BY_OPERATION) == {"create_empty_table"}, "deprecated, and never on the wire"


@pytest.mark.parametrize("operation", GENERATED)
def test_a_route_is_the_one_that_the_generated_client_takes(operation: str) -> None:
    _, verb, path, query, content_type = GENERATED[operation]
    route = BY_OPERATION[operation]
    assert (route.method, route.path) == (verb, path)
    assert set(route.query) == query
    expected = {Body.NONE: None, Body.MODEL: lance.JSON, Body.MAP: lance.JSON, Body.ARROW: lance.ARROW_STREAM}
    assert expected[route.body] == content_type


@pytest.mark.parametrize("operation", GENERATED)
def test_every_field_in_a_query_is_one_of_the_request(operation: str) -> None:
    assert set(BY_OPERATION[operation].query) <= set(REQUESTS[operation].model_fields)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_path_finds_its_route(route: lance.LanceRoute) -> None:
    id_ = ["a/b", "100 %", "ü$"] if route.has_id else None
    written = lance.path(route, id_, delimiter="::", index_name="i/1")
    match = lance.match(written)
    assert match.methods[route.method] is route
    assert (match.id, match.index_name) == (
        "a/b::100 %::ü$" if route.has_id else None,
        "i/1" if "{index_name}" in route.path else None,
    )
    assert lance.match(written + "/").methods == match.methods


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v2/table", "/v1/table/t", "/v1/table/t/nothing", "/v1/table/t/create/more", "/v1/x/y/z"]
)
def test_a_path_that_no_operation_has(path: str) -> None:
    assert lance.match(path).methods == {}


@pytest.mark.parametrize("name", ["version", "batch-commit", "index", "*", "{id}"])
def test_a_table_may_have_the_name_of_a_verb(name: str) -> None:
    match = lance.match(f"/v1/table/{quote(name, safe='')}/describe")
    assert match.methods["POST"].operation == "describe_table"
    assert match.id == name


@given(st.lists(NAMES, max_size=4))
def test_an_identifier_comes_back(names: list[str]) -> None:
    try:
        text = lance.write_id(names)
    except InvalidInputError:
        assert any("$" in name for name in names)
        return
    if text == "$":
        assert names in ([], ["$"])
    else:
        assert lance.read_id(text) == Identifier(names)


def test_the_root_is_the_delimiter() -> None:
    assert lance.write_id([]) == lance.write_id(None) == "$"
    assert lance.read_id("$").is_root
    assert lance.write_id(None, ".") == "."


@pytest.mark.parametrize(
    ("given_", "same"),
    [
        (["a", "b"], True),
        (["a$b"], True),
        (["a"], False),
        ([], False),
        ("a$b", False),
        ([1], False),
        (["b", "a"], False),
    ],
)
def test_an_identifier_in_the_body_is_that_of_the_path(given_: object, same: bool) -> None:
    assert lance.is_same_id(given_, "a$b") is same


def test_the_root_in_a_body() -> None:
    assert lance.is_same_id([], "$")
    assert not lance.is_same_id(["a"], "$")


def test_a_query_comes_back() -> None:
    route = BY_OPERATION["merge_insert_into_table"]
    fields = {"on": ["a", "b"], "use_index": False, "when_matched_update_all": True, "timeout": "30s", "branch": None}
    pairs = lance.write_query(route, fields)
    assert lance.read_query(route, [*pairs, ("newer", "x")]) == {k: v for k, v in fields.items() if v is not None}
    create = BY_OPERATION["create_table"]
    maps = {"mode": "overwrite", "properties": {"a": "ü&="}, "storage_options": {}}
    assert lance.read_query(create, lance.write_query(create, maps)) == maps


@pytest.mark.parametrize(
    ("operation", "name", "text"),
    [
        ("list_tables", "limit", "ten"),
        ("list_tables", "limit", "٣"),
        ("list_tables", "limit", "-"),
        ("list_tables", "include_declared", "yes"),
        ("create_table", "properties", "{"),
        ("create_table", "properties", "[]"),
        ("create_table", "storage_options", '{"secret": 1}'),
        ("create_table", "properties", "[" * 100_000),
    ],
)
def test_a_query_that_cannot_be_read(operation: str, name: str, text: str) -> None:
    with pytest.raises(InvalidInputError, match=name) as refused:
        lance.read_query(BY_OPERATION[operation], [(name, text)])
    assert "secret" not in str(refused.value)


def test_every_code_has_a_status() -> None:
    assert set(lance.STATUS) == {code.value for code in ErrorCode}


def test_kinds_fit_the_fields() -> None:
    for route in ROUTES:
        for name, kind in route.query.items():
            hint = str(REQUESTS[route.operation].model_fields[name].annotation).lower()
            word = {
                QueryEncoding.TEXT: "str",
                QueryEncoding.NUMBER: "int",
                QueryEncoding.FLAG: "bool",
                QueryEncoding.LIST: "list",
                QueryEncoding.MAP: "dict",
            }[kind]
            assert word in hint, f"{route.operation}: {name} is {hint}"
