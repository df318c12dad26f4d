"""The checks of a storage: on one that enforces policies, and on others that do not, or make no credentials."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import obstore
import pytest

from lanceway.access.credentials import checks
from lanceway.access.credentials.checks import CHECKS, FAILED, LAKE, PASSED, SKIPPED, EndWait, StorageSite
from lanceway.access.credentials.vendor import Credential
from lanceway.config import CredentialSettings
from lanceway.tables.storage.store import open_store
from tests.servers import moto, seaweedfs
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, ROLE, S3, SECRET


def expired(credential: Credential) -> Credential:
    """A real credential whose end was changed to a moment ago, signed again as the storage signs."""
    token = seaweedfs.ending(credential.options["aws_session_token"], int(time.time()) - 5)
    return replace(credential, options={**credential.options, "aws_session_token": token})


def reaching(endpoint: str, key: str, secret: str) -> dict[str, str]:
    return {
        "aws_access_key_id": key,
        "aws_secret_access_key": secret,
        "aws_region": "us-east-1",
        "aws_endpoint": endpoint,
        "allow_http": "true",
    }


@pytest.fixture
def s3(whole_run: Run) -> S3:
    return seaweedfs.start_sts(whole_run)


def test_a_storage_that_enforces_policies_passes_every_check(s3: S3) -> None:
    seen: list[str] = []
    place = s3.prefix()
    site = StorageSite("here", place, s3.storage_options, CredentialSettings(ROLE))
    results = checks.run(site, expire=expired, watch=lambda result: seen.append(result.name))
    assert [(result.name, result.outcome, result.reason) for result in results] == [
        (name, PASSED, "they get credentials" if name == "Iceberg clients" else None) for name in CHECKS
    ]
    assert seen == list(CHECKS)
    assert all(result.seconds >= 0 for result in results)
    assert not [entry for page in obstore.list(s3.store(place)) for entry in page], "it leaves nothing behind"


def test_a_credential_that_ends_while_one_waits_is_refused_from_then_on(s3: S3) -> None:
    """What `doctor --storage --wait` does, with an end in two seconds instead of STS's 900."""
    place, opened, told = s3.prefix(), list[bytes](), list[float]()
    wait_for_end = EndWait(threading.Event(), told.append)

    def wait(credential: Credential) -> Credential:
        end = int(time.time()) + 2
        options = {**credential.options}
        options["aws_session_token"] = seaweedfs.ending(options["aws_session_token"], end)
        (file,) = (
            key for key in list(open_store(place, s3.storage_options).keys()) if key.endswith("/table/data/file")
        )
        table, _, inside = file.partition("/data/")
        opened.append(open_store(f"{place}/{table}", options).read(f"data/{inside}"))
        # Clients may be told an end that comes earlier than that of the key.
        return wait_for_end(replace(credential, options=options, expires_at=end - 60, ends_at=end))

    site = StorageSite("here", place, s3.storage_options, CredentialSettings(ROLE))
    results = {result.name: result for result in checks.run(site, expire=wait)}
    assert opened == [b"lanceway"], "before its end it opens the table"
    assert told
    assert 0 < min(told) <= max(told) <= 3, "how long it still takes is told"
    assert results["expired is refused"].outcome == PASSED, results["expired is refused"]


def test_without_a_wait_it_is_not_known_whether_an_end_is_enforced(s3: S3) -> None:
    site = StorageSite("here", s3.prefix(), s3.storage_options, CredentialSettings(ROLE))
    outcomes = {result.name: result for result in checks.run(site)}
    assert outcomes["expired is refused"].outcome == SKIPPED
    assert "--wait" in (outcomes["expired is refused"].reason or "")
    assert {name for name, result in outcomes.items() if result.outcome == PASSED} == {*CHECKS} - {"expired is refused"}


def test_a_storage_that_ignores_policies_fails() -> None:
    """moto makes credentials and ignores their policies."""
    with moto.serve() as server:
        server.client("s3").create_bucket(Bucket="ignored")
        settings = CredentialSettings(f"arn:aws:iam::{moto.ACCOUNT}:role/tables")
        options = reaching(server.endpoint, moto.KEY, moto.SECRET)
        site = StorageSite("moto", "s3://ignored/warehouse", options, settings)
        results = {result.name: result for result in checks.run(site)}
    assert results["writes"].outcome == PASSED, results["writes"]
    assert results["refused outside the table"].outcome == FAILED
    assert "do not vend credentials" in (results["refused outside the table"].reason or "")
    assert results["read-only cannot write"].outcome == SKIPPED


def test_a_role_that_may_not_be_taken_fails_and_names_no_secret(s3: S3) -> None:
    settings = CredentialSettings("arn:aws:iam::role/none", external_id="sesame")
    results = checks.run(StorageSite("here", s3.prefix(), s3.storage_options, settings))
    assert [result.outcome for result in results[:4]] == [PASSED, PASSED, PASSED, FAILED]
    assert all(result.outcome == SKIPPED for result in results[4:])
    assert not any(secret in repr(results) + repr(settings) for secret in (SECRET, KEY, "sesame"))


def test_a_storage_that_is_not_there_fails_at_once() -> None:
    options = reaching("http://127.0.0.1:9", "key", "secret")
    results = checks.run(StorageSite("none", "s3://none/w", options, CredentialSettings(ROLE)))
    assert [result.outcome for result in results[:2]] == [PASSED, FAILED]
    assert results[-1].reason == "'reachable' failed"


def test_without_a_role_the_storage_itself_is_checked(s3: S3) -> None:
    results = checks.run(StorageSite("here", s3.prefix(), s3.storage_options))
    assert [result.outcome for result in results[:3]] == [SKIPPED, PASSED, SKIPPED]
    assert "through the server" in (results[0].reason or "")


def test_it_is_said_how_iceberg_clients_reach_the_files_of_the_lake(s3: S3) -> None:
    place = s3.prefix()
    _, _, signed, *others = checks.run(StorageSite(LAKE, place, s3.storage_options))
    assert (signed.outcome, signed.reason) == (PASSED, "they have their requests signed, one by one")
    assert {result.outcome for result in others} == {SKIPPED}
    assert not [entry for page in obstore.list(s3.store(place)) for entry in page], "it leaves nothing behind"
    with moto.serve() as server:
        server.client("s3").create_bucket(Bucket="unbound")
        options = reaching(server.endpoint, moto.KEY, moto.SECRET)
        _, _, unbound, *_ = checks.run(StorageSite(LAKE, "s3://unbound/warehouse", options))
    assert unbound.outcome == SKIPPED
    assert "keys of their own to write" in (unbound.reason or "")


def test_a_folder_is_not_written_to(tmp_path: Path) -> None:
    results = checks.run(StorageSite("here", f"{tmp_path}/warehouse"))
    assert {result.outcome for result in results} == {SKIPPED}
    assert list(tmp_path.iterdir()) == []
