"""Iceberg REST as data, held against the client and the server of the protocol's own project."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lance_namespace.errors import ErrorCode
from pyiceberg.catalog.rest import Endpoints
from pyiceberg.catalog.rest.response import ErrorResponseMessage
from pyiceberg.schema import Schema

from lanceway.errors import InternalError, InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.wire import iceberg
from lanceway.wire.iceberg import BY_OPERATION, ROUTES, IcebergFailure
from tests.servers.iceberg import Iceberg

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def test_the_routes_are_those_of_pyiceberg() -> None:
    paths = {f"/v1/{value}" for name, value in vars(Endpoints).items() if not name.startswith("_")}
    ours = {route.path.replace("/{prefix}", "") for route in ROUTES}
    shared = {path for path in paths if "view" not in path and "plan" not in path and "tasks" not in path}
    assert shared - ours == set()


def test_the_routes_are_those_that_the_reference_server_announces(iceberg: Iceberg) -> None:
    announced = set(httpx.get(f"{iceberg.endpoint}/v1/config").json()["endpoints"])
    ours = {route.endpoint for route in ROUTES if "{namespace}" in route.path or "/{prefix}/" in route.path}
    # One is newer than every release; the others need keys or a transaction, which this server may leave out.
    left_out = ("unregister_table", "load_credentials", "sign_request", "commit_transaction")
    assert ours - announced <= {BY_OPERATION[name].endpoint for name in left_out}


def test_each_operation_has_one_row() -> None:
    assert len(BY_OPERATION) == len(ROUTES)
    assert len({route.endpoint for route in ROUTES}) == len(ROUTES)


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        (None, "/v1/namespaces/a%1Fb%20c%2F%25/tables/t%3F"),
        ("wh", "/v1/wh/namespaces/a%1Fb%20c%2F%25/tables/t%3F"),
        ("catalogs/main%7Cwh", "/v1/catalogs/main%7Cwh/namespaces/a%1Fb%20c%2F%25/tables/t%3F"),
    ],
)
def test_a_path_is_encoded_once_and_a_prefix_not_at_all(prefix: str | None, path: str) -> None:
    assert iceberg.path(BY_OPERATION["load_table"], prefix, ["a", "b c/%"], "t?") == path


def test_a_namespace_is_joined_by_what_the_server_announces() -> None:
    route = BY_OPERATION["load_namespace"]
    assert iceberg.path(route, None, ["a", "b"], separator=".") == "/v1/namespaces/a.b"
    with pytest.raises(InvalidInputError, match=r"'\.'"):
        iceberg.path(route, None, ["a.b"], separator=".")


@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from(["\x1f", ".", "::"]))
def test_a_namespace_comes_back_from_every_client(names: list[str], separator: str) -> None:
    try:
        text = iceberg.write_namespace(names, separator)
    except InvalidInputError:
        assert separator in separator.join(names)
        return
    if "\x1f" not in text or separator == "\x1f":
        assert iceberg.read_namespace(text, separator) == Identifier(names)
        segment = iceberg.path(BY_OPERATION["load_namespace"], None, names, separator=separator).rpartition("/")[2]
        assert iceberg.read_segment(segment) == text
        assert iceberg.read_segment(quote_plus(text)) == text  # as Java's client writes it


def test_a_server_reads_the_unit_separator_whatever_it_announces() -> None:
    assert iceberg.read_namespace("a\x1fb", ".") == ("a", "b")
    assert iceberg.read_namespace("a.b", ".") == ("a", "b")


# -- the configuration -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("defaults", "given_", "overrides", "prefix"),
    [
        ({}, None, {}, None),
        ({"prefix": "d"}, None, {}, "d"),
        ({"prefix": "d"}, "c", {}, "c"),
        ({"prefix": "d"}, "c", {"prefix": "o"}, "o"),
        ({"prefix": ""}, None, {"prefix": None}, None),
        (None, None, None, None),
        ({}, None, {"prefix": "/a/b/"}, "a/b"),
    ],
)
def test_a_prefix_is_the_overrides_then_the_clients_then_the_defaults(
    defaults: Any, given_: str | None, overrides: Any, prefix: str | None
) -> None:
    assert iceberg.read_config({"defaults": defaults, "overrides": overrides}, given_).prefix == prefix


def test_what_a_server_announces() -> None:
    silent = iceberg.read_config({})
    assert (silent.separator, silent.uri) == ("\x1f", None)
    assert silent.has("drop_table")
    assert not silent.has("unregister_table")
    config = iceberg.read_config(
        {
            "overrides": {"namespace-separator": "%2E", "uri": "http://x/"},
            "endpoints": [BY_OPERATION["unregister_table"].endpoint],
        }
    )
    assert (config.separator, config.uri) == (".", "http://x/")
    assert config.has("unregister_table")
    assert not config.has("drop_table")


@pytest.mark.parametrize(
    "body",
    [
        *(None, [], "x", {"defaults": []}, {"overrides": "x"}, {"endpoints": 1}, {"endpoints": {}}),
        *(
            {"overrides": {"uri": uri}}
            for uri in ("http://[x", "http://x:port", "http:///", "ftp://x", "x", "http://ö")
        ),
    ],
    ids=str,
)
def test_a_configuration_that_cannot_be_read(body: object) -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        iceberg.read_config(body)


# -- bodies ----------------------------------------------------------------------------------------


def test_the_dummy_schema_is_one_nullable_string() -> None:
    schema = Schema.model_validate(dict(iceberg.DUMMY_SCHEMA))
    assert [(field.name, str(field.field_type), field.required) for field in schema.fields] == [
        ("dummy", "string", False)
    ]


def test_a_companion_says_what_it_is() -> None:
    body = iceberg.create_table_body("t", "s3://b/t", {"table_type": "delta", "owner": "ralph"})
    assert body["properties"] == {"table_type": "lance", "owner": "ralph"}
    assert (body["location"], body["stage-create"]) == ("s3://b/t", False)
    assert "location" not in iceberg.create_table_body("t", None, {})
    json.dumps(body)


@pytest.mark.parametrize(("type_", "is_lance"), [("lance", True), ("LANCE", True), ("iceberg", False), (None, False)])
def test_a_lance_table_is_told_by_its_type(type_: str | None, is_lance: bool) -> None:
    properties = {} if type_ is None else {"table_type": type_}
    loaded = iceberg.read_table({"metadata": {"location": "s3://b/t", "properties": properties}})
    assert loaded.is_lance is is_lance


def test_no_secret_of_a_table_is_shown() -> None:
    body = {
        "metadata": {"location": "s3://b/t"},
        "config": {"s3.secret-access-key": "hush"},
        "storage-credentials": [{"prefix": "s3://b", "config": {"s3.secret-access-key": "quiet"}}],
    }
    shown = repr(iceberg.read_table(body))
    assert "hush" not in shown
    assert "quiet" not in shown


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (iceberg.read_table, {}),
        (iceberg.read_table, {"metadata": {"location": None}}),
        (iceberg.read_table, {"metadata": {"location": "x", "properties": []}}),
        (iceberg.read_table, {"metadata": {"location": "x"}, "storage-credentials": [1]}),
        (iceberg.read_namespaces, {"namespaces": None}),
        (iceberg.read_namespaces, {"namespaces": ["a"]}),
        (iceberg.read_namespaces, {"__type": "UnknownOperationException"}),
        (iceberg.read_tables, {"identifiers": [{"name": "t"}]}),
        (iceberg.read_tables, {"identifiers": [{"namespace": ["a"], "name": 1}]}),
        (iceberg.read_properties, None),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_an_answer_that_cannot_be_read(read: Any, body: object) -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        read(body)


@pytest.mark.parametrize(("token", "expected"), [("x", "x"), ("", None), (None, None)])
def test_a_list_ends_without_a_token(token: str | None, expected: str | None) -> None:
    assert iceberg.next_page({"next-page-token": token}) == expected
    assert iceberg.next_page({}) is None


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "status", "type_", "code"),
    [
        ("create_namespace", 409, "AlreadyExistsException", ErrorCode.NAMESPACE_ALREADY_EXISTS),
        ("create_namespace", 404, "", ErrorCode.NAMESPACE_NOT_FOUND),
        ("drop_namespace", 409, "", ErrorCode.NAMESPACE_NOT_EMPTY),
        ("drop_namespace", 409, "NamespaceNotEmptyException", ErrorCode.NAMESPACE_NOT_EMPTY),
        ("drop_namespace", 409, "NamespaceProtected", ErrorCode.PERMISSION_DENIED),
        ("drop_namespace", 409, "NamespaceHasRunningTabularExpirations", ErrorCode.CONCURRENT_MODIFICATION),
        ("create_table", 409, "AlreadyExistsException", ErrorCode.TABLE_ALREADY_EXISTS),
        ("create_table", 409, "LocationAlreadyTaken", ErrorCode.INVALID_INPUT),
        ("create_table", 404, "NoSuchNamespaceException", ErrorCode.NAMESPACE_NOT_FOUND),
        ("load_table", 404, "NoSuchTableException", ErrorCode.TABLE_NOT_FOUND),
        ("load_table", 404, "NoSuchNamespaceException", ErrorCode.NAMESPACE_NOT_FOUND),
        ("rename_table", 404, "NoSuchNamespaceException", ErrorCode.NAMESPACE_NOT_FOUND),
        ("commit_table", 409, "CommitFailedException", ErrorCode.CONCURRENT_MODIFICATION),
        ("get_config", 404, "NoSuchWarehouseException", ErrorCode.NAMESPACE_NOT_FOUND),
        ("load_table", 400, "BadRequestException", ErrorCode.INVALID_INPUT),
        ("load_table", 401, "NotAuthorizedException", ErrorCode.UNAUTHENTICATED),
        ("load_table", 403, "ForbiddenException", ErrorCode.PERMISSION_DENIED),
        ("load_table", 419, "AuthenticationTimeoutException", ErrorCode.UNAUTHENTICATED),
        ("load_table", 429, "", ErrorCode.THROTTLING),
        ("load_table", 503, "SlowDownException", ErrorCode.SERVICE_UNAVAILABLE),
        ("load_table", 500, "InternalServerError", ErrorCode.INTERNAL),
        ("load_table", 418, "", ErrorCode.INTERNAL),
    ],
)
def test_what_a_refusal_means(operation: str, status: int, type_: str, code: ErrorCode) -> None:
    assert iceberg.code_of(BY_OPERATION[operation], status, IcebergFailure("", type_, status)) == code


def test_every_code_is_one_of_the_contract() -> None:
    codes = {*iceberg.CODE_OF_TYPE.values(), *iceberg.CODE_OF_STATUS.values()}
    codes |= {code for route in ROUTES for code in route.codes.values()}
    assert codes <= {code.value for code in ErrorCode}


def test_an_envelope_comes_back_and_pyiceberg_reads_it() -> None:
    failure = IcebergFailure("Namespace does not exist: a.b", "NoSuchNamespaceException", 404)
    assert iceberg.read_failure(failure.body()) == failure
    read = ErrorResponseMessage.model_validate(failure.body()["error"])
    assert (read.message, read.type, read.code) == (failure.message, failure.type, failure.code)


@pytest.mark.parametrize("body", [None, [], {}, {"error": "x"}, {"message": "x"}], ids=str)
def test_what_is_no_envelope(body: object) -> None:
    assert iceberg.read_failure(body) is None


def test_every_body_has_a_type() -> None:
    assert all(route.body is not None for route in iceberg.ROUTES if route.reads)
