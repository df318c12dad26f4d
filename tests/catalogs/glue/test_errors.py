"""What Glue answers becomes the contract's errors: by code, over the wire, with the real botocore."""

from __future__ import annotations

import sys
import traceback

import botocore.session
import pytest
from botocore.retries.standard import ExponentialBackoff

from lanceway.catalogs import GlueCatalog
from lanceway.catalogs.glue.client import ATTEMPTS
from lanceway.catalogs.glue.errors import KINDS, MISSING, TAKEN
from lanceway.errors import (
    InternalError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    ThrottlingError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from tests.catalogs.glue.glue_helpers import connect, database, declare, describe, namespaces, tables
from tests.servers.moto import Glue
from tests.servers.run import free_ports

# Every operation of Glue that the catalog uses.
USED = [
    f"{verb}{noun}" for noun in ("Catalog", "Database", "Table") for verb in ("Create", "Get", "Update", "Delete")
] + ["GetCatalogs", "GetDatabases", "GetTables"]
MEANINGS = [
    ("EntityNotFoundException", 400, 1),
    ("AlreadyExistsException", 400, 2),
    ("InvalidInputException", 400, 13),
    ("ConcurrentModificationException", 400, 14),
    ("AccessDeniedException", 400, 16),
    ("ExpiredTokenException", 400, 16),
    ("UnrecognizedClientException", 400, 16),
    ("OperationTimeoutException", 400, 17),
    ("FederationSourceException", 400, 17),
    ("ResourceNotReadyException", 400, 17),
    ("GlueEncryptionException", 400, 18),
    ("InternalServiceException", 400, 18),
    ("ResourceNumberLimitExceededException", 400, 21),
    ("UnknownOperationException", 400, 0),
    # Nobody's code: the status decides.
    ("Unheard", 401, 16),
    ("Unheard", 403, 16),
    ("Unheard", 429, 21),
    ("Unheard", 408, 17),
    ("Unheard", 502, 17),
    ("Unheard", 503, 17),
    ("Unheard", 504, 17),
    ("Unheard", 400, 18),
    ("Unheard", 500, 18),
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """botocore tries again as it does, but at once: its pauses grow to many seconds, and show nothing."""
    monkeypatch.setattr(ExponentialBackoff, "delay_amount", lambda self, context: 0.0)


def test_every_error_that_the_model_of_glue_names_has_a_meaning() -> None:
    model = botocore.session.get_session().get_service_model("glue")
    named = {shape.name for operation in USED for shape in model.operation_model(operation).error_shapes}
    assert len(named) > 10
    assert named - {*KINDS, MISSING, *TAKEN} == set()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("said", "status", "code"), MEANINGS, ids=lambda value: str(value))
def test_a_code_becomes_the_contracts(glue: Glue, said: str, status: int, code: int) -> None:
    glue.refuse("GetDatabases", said, status=status, message="the reason", times=9)
    glue.refuse("GetCatalogs", "AccessDeniedException", times=9)
    with pytest.raises(LanceNamespaceError) as raised:
        namespaces(connect(glue))
    assert raised.value.code.value == code
    assert said in str(raised.value)


def test_a_denied_call_is_denied_with_the_specifications_code(glue: Glue) -> None:
    glue.refuse("GetTable", "AccessDeniedException", message="not authorized to perform glue:GetTable")
    with pytest.raises(PermissionDeniedError, match=r"glue:GetTable.*Lake Formation") as raised:
        describe(connect(glue), "db", "t")
    assert raised.value.code.value == 16
    assert not isinstance(raised.value, UnauthenticatedError)


@pytest.mark.slow
def test_throttling_is_waited_out(glue: Glue) -> None:
    database(glue)
    glue.refuse("GetTables", "ThrottlingException", times=2)
    with glue.state.counted() as requests:
        assert tables(connect(glue), "db") == []
    assert requests == ["GetTables"] * 3


@pytest.mark.usefixtures("impatient")
def test_throttling_without_end_is_told_after_a_few_tries(glue: Glue) -> None:
    glue.refuse("GetTables", "ThrottlingException", times=100)
    with glue.state.counted() as requests, pytest.raises(ThrottlingError, match="Try again later"):
        tables(connect(glue), "db")
    assert requests == ["GetTables"] * ATTEMPTS


@pytest.mark.usefixtures("impatient")
def test_a_server_error_is_tried_again_and_told(glue: Glue) -> None:
    database(glue)
    fault = glue.refuse("GetTables", "InternalServiceException", status=500)
    assert tables(connect(glue), "db") == []
    fault.code, fault.status, fault.times = "Unheard", 503, 100
    with pytest.raises(ServiceUnavailableError):
        tables(connect(glue), "db")


@pytest.mark.usefixtures("impatient")
def test_a_service_that_cannot_be_reached_is_unavailable(glue: Glue) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(ServiceUnavailableError, match="cannot be reached"):
        tables(connect(glue, endpoint=nobody), "db")


def test_what_was_signed_is_never_quoted(glue: Glue) -> None:
    token = "".join(("hush", "-", "hush"))  # a traceback shows this line too
    glue.refuse("GetTables", "InvalidSignatureException", message=f"x-amz-security-token:{token}", times=9)
    with pytest.raises(UnauthenticatedError) as raised:
        tables(connect(glue, session_token=token), "db")
    assert token not in "".join(traceback.format_exception(raised.value))


def test_a_request_that_the_library_refuses_is_bad_input(glue: Glue) -> None:
    role = {"assume_role_arn": "arn:aws:iam::123456789012:role/reader", "assume_role_session_name": "x"}
    with pytest.raises(InvalidInputError, match="RoleSessionName"):
        tables(connect(glue, **role), "db")


def test_a_page_that_comes_again_and_again_ends(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.servers import moto_catalogs

    for number in range(3):
        database(glue, f"d{number}")
    glue.state.page = 1
    monkeypatch.setattr(moto_catalogs, "_start", lambda token: 0)
    with pytest.raises(InternalError, match="over and over"):
        namespaces(connect(glue))


def test_without_boto3_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(UnsupportedOperationError, match=r"lanceway\[glue\]"):
        tables(GlueCatalog(region="us-east-1"), "db")


def test_a_throttled_declare_claims_the_name_once(glue: Glue) -> None:
    database(glue, LocationUri="s3://bucket/db")
    glue.refuse("CreateTable", "ThrottlingException", times=2)
    declare(connect(glue), "db", "t")
    assert tables(connect(glue), "db") == ["t"]
