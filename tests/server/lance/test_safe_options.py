from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args

import lance_namespace_urllib3_client.models as contract
import pytest
from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance.answers import SafeCatalog, encode_answer, safe_options, without_secrets
from lanceway.server.lance.fields import forwarded_headers, merge_context, to_headers
from lanceway.wire.lance import BY_OPERATION

SECRETS = (
    "access_key_id",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "secret_access_key",
    "token",
    "azure_storage_account_key",
    "azure_storage_sas_key",
    "google_service_account_key",
    "account_key",
    "sas_token",
    "client_secret",
    "headers",
    "header.authorization",
    "something_new",
)


def test_what_is_not_known_to_be_harmless_stays() -> None:
    assert safe_options(dict.fromkeys(SECRETS, "x")) == {}


@pytest.mark.parametrize("key", ["region", "aws_region", "AWS_REGION", "aws_endpoint", "azure_storage_account_name"])
def test_where_and_how_is_told(key: str) -> None:
    assert safe_options({key: "here"}) == {key: "here"}


def test_an_address_with_a_password_is_a_secret() -> None:
    assert safe_options({"endpoint": "https://me:pass@host"}) == {}
    assert safe_options({"endpoint": "https://host/?sig=abc"}) == {}
    assert safe_options({"endpoint": "https://host:9000"}) == {"endpoint": "https://host:9000"}
    assert safe_options(None) is None


# -- answers, however deep -----------------------------------------------------------------------

CANARY = "canary-in-a-storage-option"
OPTIONS = {"aws_secret_access_key": CANARY, "something_new": CANARY, "aws_region": "here"}


def held(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from held(argument)


def with_canaries(model: type[BaseModel], above: tuple[type[BaseModel], ...] = ()) -> BaseModel | None:
    """A model with secret options wherever it can hold any, None if it cannot."""
    given: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name == "storage_options":
            given[name] = dict(OPTIONS)
        for inner in held(field.annotation):
            below = None if inner in above else with_canaries(inner, (*above, model))
            if below is not None:
                given[name] = [below] if "list" in str(field.annotation).lower() else below
    return model.model_construct(**given) if given else None


MODELS = [found for _, found in inspect.getmembers(contract, inspect.isclass) if issubclass(found, BaseModel)]
HOLDERS = [found for found in MODELS if with_canaries(found) is not None]


def test_the_contract_has_options_deep_inside() -> None:
    assert {"DescribeTableResponse", "BatchCommitTablesResponse", "CommitTableResult"} <= {m.__name__ for m in HOLDERS}


@pytest.mark.parametrize("model", HOLDERS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("form", ["model", "dictionary"])
def test_no_model_of_the_contract_is_written_with_a_secret(model: type[BaseModel], form: str) -> None:
    full = with_canaries(model)
    assert full is not None
    assert CANARY in full.model_dump_json()
    before = full.model_dump_json()
    answer = full if form == "model" else full.model_dump()
    body = encode_answer(BY_OPERATION["describe_table"], answer).body.decode()
    assert CANARY not in body
    assert '"here"' in body
    assert CANARY not in str(without_secrets(answer))
    assert full.model_dump_json() == before  # a catalog may go on using what it has answered


class NoVendor:
    """The credentials of a server that makes none."""

    def is_vended(self, names: list[str], location: str) -> bool:
        return False


class Generous(LanceNamespace):
    """A catalog whose every answer has secrets in it."""

    storage = NoVendor()

    def namespace_id(self) -> str:
        return "generous"

    def batch_commit_tables(self, request: Any) -> Any:
        return with_canaries(contract.BatchCommitTablesResponse)

    def describe_table(self, request: Any) -> Any:
        return with_canaries(contract.DescribeTableResponse)

    def try_fast(self, operation: str, names: list[str] | None, fields: Any) -> dict[str, Any]:
        return {"location": "x", "storage_options": dict(OPTIONS)}


def test_what_a_server_sees_of_a_catalog_has_no_secret() -> None:
    view: Any = SafeCatalog(Generous(), PageTokenSeal(bytes(64)))  # type: ignore[arg-type]
    answers = [
        view.batch_commit_tables({"operations": []}),
        view.describe_table({"id": ["t"]}),
        view.try_fast("describe_table", ["t"], {}),
    ]
    assert not any(CANARY in str(answer) for answer in answers)
    assert all("here" in str(answer) for answer in answers)


# -- headers and context -------------------------------------------------------------------------

SENT = [
    (b"host", b"x"),
    (b"authorization", b"Bearer secret"),
    (b"x-api-key", b"secret"),
    (b"cookie", b"secret"),
    (b"content-length", b"3"),
    (b"accept-encoding", b"gzip"),
    (b"x-forwarded-for", b"1.2.3.4"),
    (b"x-request-id", b"1"),
    (b"x-lancedb-min-timestamp", b"7"),
]


def test_headers_become_context_but_no_credential_does() -> None:
    named = forwarded_headers(["X-LanceDB-Min-Timestamp", "authorization", "cookie"])
    assert merge_context(None, SENT, named) == {"header.x-lancedb-min-timestamp": "7"}
    assert merge_context(None, SENT[:-1], named) is None
    assert merge_context(None, SENT, forwarded_headers([])) is None


def test_what_was_sent_beats_what_is_said() -> None:
    said = {
        "header.x-lancedb-min-timestamp": "1",
        "header.Authorization": "Bearer other",
        "header.X-Api-Key": "k",
        "a": "b",
    }
    named = forwarded_headers(["x-lancedb-min-timestamp"])
    assert merge_context(said, SENT, named) == {"header.x-lancedb-min-timestamp": "7", "a": "b"}
    assert merge_context({"HEADER.X-Remote-User": "root", **said}, SENT, forwarded_headers([])) == {"a": "b"}


def test_context_of_an_answer_becomes_headers() -> None:
    context = {"header.x-cost": "3", "plain": "1", "header.Retry-After": "9"}
    assert to_headers(context) == [(b"x-cost", b"3"), (b"retry-after", b"9")]


@pytest.mark.parametrize(
    "entry",
    [
        ("header.content-length", "1"),
        ("header.Transfer-Encoding", "chunked"),
        ("header.connection", "close"),
        ("header.set-cookie", "a=b"),
        ("header.x-a\r\nx-b", "1"),
        ("header.x-a", "1\r\nx-b: 2"),
        ("header.x-a", "日本"),
        ("header.", "1"),
        ("header.www-authenticate", "Basic"),
    ],
)
def test_what_would_break_an_answer_is_no_header(entry: tuple[str, str]) -> None:
    assert to_headers(dict([entry])) == []
