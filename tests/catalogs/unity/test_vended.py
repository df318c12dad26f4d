"""Credentials that Unity Catalog gives out for a table's storage; the server is a fake, the storage is not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lanceway.catalogs import UnityCatalog
from lanceway.catalogs.unity.tables import vended_options
from lanceway.errors import PermissionDeniedError
from lanceway.wire.unity import read_vended
from tests.catalogs.unity.unity_helpers import count, create, declare, describe, home, tables
from tests.servers.seaweedfs import KEY, S3, SECRET
from tests.servers.unity import Fault, Unity

ENDS = int(time.time() * 1000) + 3_600_000
VENDED = {
    "aws_temp_credentials": {"access_key_id": KEY, "secret_access_key": SECRET, "session_token": None},
    "expiration_time": ENDS,
    "url": "s3://warehouse/somewhere",
}


@pytest.fixture
def catalog(fake_unity: Unity, s3: S3) -> Iterator[UnityCatalog]:
    """A catalog that knows where the data is, but no key to it."""
    fake_unity.vended = VENDED
    addresses = {f"storage.{name}": text for name, text in s3.storage_options.items() if "key" not in name}
    with home(fake_unity.endpoint) as place:
        place.schema()
        with place.connect(s3.prefix(), vended_credentials=True, **addresses) as connected:
            yield connected


@pytest.fixture
def space(catalog: UnityCatalog) -> list[str]:
    return [catalog.list_namespaces({"id": []}).namespaces[0], "s"]  # type: ignore[arg-type]


def asked(unity: Unity) -> list[str]:
    return [
        request.body["operation"] for request in unity.seen if request.path.endswith("/temporary-table-credentials")
    ]


def test_a_table_is_written_and_read_with_what_the_server_gives(
    catalog: UnityCatalog, space: list[str], fake_unity: Unity
) -> None:
    table = create(catalog, [*space, "t"])
    assert count(catalog, table) == 3
    assert set(asked(fake_unity)) == {"READ_WRITE"}
    assert tables(catalog, space, include_declared=False) == ["t"]
    catalog.drop_table({"id": table})  # type: ignore[arg-type]
    assert tables(catalog, space) == []


def test_credentials_are_answered_with_their_end(catalog: UnityCatalog, space: list[str]) -> None:
    table = [*space, "t"]
    for response in (declare(catalog, table), describe(catalog, table)):
        options = response.storage_options
        assert (options["aws_access_key_id"], options["aws_secret_access_key"]) == (KEY, SECRET)
        assert options["expires_at_millis"] == str(ENDS)
        assert "aws_session_token" not in options
    assert SECRET not in repr(catalog) + catalog.namespace_id()


def test_who_may_not_write_gets_credentials_to_read(catalog: UnityCatalog, space: list[str], fake_unity: Unity) -> None:
    table = create(catalog, [*space, "t"])
    fake_unity.seen.clear()
    fake_unity.unvended = frozenset({"READ_WRITE"})
    assert count(catalog, table) == 3
    assert asked(fake_unity) == ["READ_WRITE", "READ"]
    fake_unity.unvended = frozenset({"READ_WRITE", "READ"})
    with pytest.raises(PermissionDeniedError):
        describe(catalog, table)


def test_a_table_for_which_nothing_is_vended_is_not_left_behind(
    catalog: UnityCatalog, space: list[str], fake_unity: Unity
) -> None:
    fake_unity.unvended = frozenset({"READ_WRITE", "READ"})
    with pytest.raises(PermissionDeniedError):
        declare(catalog, [*space, "t"])
    with pytest.raises(PermissionDeniedError):
        create(catalog, [*space, "t"])
    assert tables(catalog, space) == []


def test_forgetting_and_listing_ask_for_none(catalog: UnityCatalog, space: list[str], fake_unity: Unity) -> None:
    declare(catalog, [*space, "t"])
    fake_unity.seen.clear()
    assert tables(catalog, space) == ["t"]
    catalog.deregister_table({"id": [*space, "t"]})  # type: ignore[arg-type]
    assert asked(fake_unity) == []


def test_a_failed_question_is_asked_again(catalog: UnityCatalog, space: list[str], fake_unity: Unity) -> None:
    table = [*space, "t"]
    declare(catalog, table)
    fake_unity.will(Fault(503, headers={"Retry-After": "0"}, method="POST"))
    assert describe(catalog, table).storage_options["aws_access_key_id"] == KEY


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ({}, {}),
        ({"expiration_time": 1}, {}),
        (
            {"aws_temp_credentials": {"access_key_id": "k", "secret_access_key": "s", "session_token": "t"}},
            {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_session_token": "t"},
        ),
        (
            {"azure_user_delegation_sas": {"sas_token": "s"}, "expiration_time": 2},
            {"azure_storage_sas_token": "s", "expires_at_millis": "2"},
        ),
        ({"gcp_oauth_token": {"oauth_token": "o"}, "aws_temp_credentials": None}, {"google_bearer_token": "o"}),
    ],
    ids=["nothing", "a local folder", "aws", "azure", "gcp"],
)
def test_what_is_vended_is_translated(body: Mapping[str, Any], options: Mapping[str, str]) -> None:
    assert vended_options(read_vended(body)) == options
