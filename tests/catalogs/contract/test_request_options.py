"""Storage options of a request: the catalog's credentials never go to an address that a request names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lanceway
from lanceway.errors import InvalidInputError, LanceNamespaceError, PermissionDeniedError, UnauthenticatedError
from tests.catalogs.lake import lake_helpers as lakes
from tests.servers.listener import Listener, listen
from tests.servers.seaweedfs import KEY, S3, SECRET

MINE = {"aws_access_key_id": "MYKEYID", "aws_secret_access_key": "my-secret"}


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listen() as listener:
        yield listener


@pytest.fixture(params=["dir", "storage", "managed"])
def catalog(request: pytest.FixtureRequest, s3: S3, tmp_path: Path) -> Iterator[Any]:
    """A catalog in a bucket, with keys of its own."""
    options = {f"storage.{name}": value for name, value in s3.storage_options.items()}
    if request.param == "dir":
        connected: Any = lanceway.connect("dir", path=s3.prefix(), **options)
    else:
        uri = f"sqlite:///{tmp_path}/lake.db"
        connected = lanceway.connect("lake", uri=uri, root=s3.prefix(), versioning=request.param, **options)
    with connected:
        yield connected


def create(catalog: Any, options: dict[str, str], **asked: Any) -> Any:
    request = {"id": ["t"], "storage_options": options, **asked}
    return catalog.create_table_stream(request, lakes.rows(1, 2).to_reader())


@pytest.mark.parametrize("mode", ["create", "overwrite"])
@pytest.mark.parametrize("keys", [{}, MINE, {"aws_skip_signature": "true"}], ids=["none", "own", "unsigned"])
def test_an_address_of_the_request_sees_no_key_of_the_catalog(
    catalog: Any, listener: Listener, mode: str, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where a request has no keys, they are looked for in the environment of the process and around the machine.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AMBIENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ambient-secret")
    if mode == "overwrite":
        catalog.create_table_stream({"id": ["t"]}, lakes.rows(1).to_reader())
    elsewhere = {"aws_endpoint": listener.endpoint, "allow_http": "true", "aws_region": "us-east-1"}
    quick = {"client_max_retries": "0", "client_retry_timeout": "1", "aws_metadata_endpoint": listener.endpoint}
    with pytest.raises(LanceNamespaceError):
        create(catalog, {**elsewhere, **keys, **quick}, mode=mode)
    assert listener.heads
    assert not [head for head in listener.heads if KEY in head or SECRET in head]
    if keys == MINE:
        assert [head for head in listener.heads if "Credential=MYKEYID/" in head]


def test_keys_of_the_request_are_used_where_the_catalog_says(catalog: Any, listener: Listener) -> None:
    keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    assert create(catalog, keys).version == 1
    assert create(catalog, keys, mode="overwrite").version == 2
    with pytest.raises((PermissionDeniedError, UnauthenticatedError)):
        create(catalog, {**keys, "aws_secret_access_key": "another"}, mode="overwrite")
    with pytest.raises(InvalidInputError, match="not complete credentials"):
        create(catalog, {"aws_access_key_id": "MYKEYID"}, mode="overwrite")
    assert catalog.count_table_rows({"id": ["t"]}).count == 2


def test_a_time_out_of_the_request_goes_with_the_keys_of_the_catalog(catalog: Any) -> None:
    assert create(catalog, {"aws_region": "us-east-1", "timeout": "30s"}).version == 1
