from __future__ import annotations

import pytest

from lanceway.errors import InvalidInputError
from lanceway.tables.storage.options import check, combined, for_table

S3, AZURE = "s3://bucket/t", "az://container/t"
OWN = {
    "aws_access_key_id": "own-id",
    "AWS_SECRET_ACCESS_KEY": "own-secret",
    "aws_session_token": "own-token",
    "something_new": "own-something",
    "aws_endpoint": "http://here",
    "allow_http": "true",
    "proxy_url": "http://proxy",
    "aws_region": "eu",
}
WHERE = {key: OWN[key] for key in ("aws_endpoint", "allow_http", "proxy_url", "aws_region")}
KEYS = {"aws_access_key_id": "my-id", "aws_secret_access_key": "my-secret"}


def test_region_and_time_outs_override_those_of_the_catalog() -> None:
    made = combined(S3, OWN, {"REGION": "us", "timeout": "30s"})
    assert made == {
        **{key: value for key, value in OWN.items() if key != "aws_region"},
        "REGION": "us",
        "timeout": "30s",
    }


def test_with_credentials_of_its_own_a_request_has_none_of_the_catalog() -> None:
    assert combined(S3, OWN, KEYS) == {**WHERE, **KEYS}
    moved = {**KEYS, "region": "us"}
    assert combined(S3, OWN, moved) == {**{key: WHERE[key] for key in WHERE if key != "aws_region"}, **moved}
    assert combined(S3, None, KEYS) == KEYS
    own = {"azure_storage_account_name": "here", "azure_storage_account_key": "own"}
    asked = {"azure_storage_sas_token": "mine"}
    assert combined(AZURE, own, asked) == {"azure_storage_account_name": "here", **asked}


@pytest.mark.parametrize("key", ["aws_endpoint", "AWS_ENDPOINT", "proxy_url", "token", "something_new", "allow_http"])
def test_with_anything_else_it_has_its_own_alone(key: str) -> None:
    assert combined(S3, OWN, {key: "x"}) == {key: "x"}
    assert combined(S3, OWN, {**KEYS, key: "x"}) == {**KEYS, key: "x"}


@pytest.mark.parametrize(
    ("location", "asked"),
    [
        (S3, {"aws_access_key_id": "my-id"}),
        (S3, {"aws_secret_access_key": "my-secret"}),
        (S3, {"aws_session_token": "my-token"}),
        (S3, {"azure_storage_account_key": "mine"}),
        (S3, {**KEYS, "azure_storage_account_key": "mine"}),
        (AZURE, KEYS),
        (AZURE, {"azure_storage_client_id": "me", "azure_storage_client_secret": "mine"}),
        ("gs://bucket/t", KEYS),
    ],
)
def test_credentials_that_are_not_whole_or_not_for_this_cloud(location: str, asked: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="credentials for") as caught:
        combined(location, OWN, asked)
    assert not any(value in str(caught.value) for value in (*asked.values(), *OWN.values()) if value.startswith("my-"))


def test_a_folder_needs_no_credentials() -> None:
    assert combined("/folder/t", OWN, {"aws_access_key_id": "my-id"})["aws_access_key_id"] == "my-id"


# -- from elsewhere ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        None,
        {},
        KEYS,
        {"aws_region": "us-east-1", "timeout": "30s"},  # the specification's own example
        {"AWS_ACCESS_KEY_ID": "x", "Secret_Access_Key": "y", "aws_session_token": "z"},
        {"azure_storage_sas_token": "x"},
    ],
)
def test_what_a_request_may_bring(asked: dict[str, str] | None) -> None:
    check(asked)


@pytest.mark.parametrize(
    "key",
    [
        *("aws_endpoint", "endpoint", "ENDPOINT_URL", "aws_endpoint_url_s3", "allow_http", "proxy_url"),
        *("allow_invalid_certificates", "root_certificate", "proxy_ca_certificate", "aws_metadata_endpoint"),
        *(
            "aws_container_credentials_relative_uri",
            "aws_container_credentials_full_uri",
            "aws_web_identity_token_file",
        ),
        *("aws_endpoint_url_sts", "aws_role_arn", "aws_bucket", "virtual_hosted_style_request", "skip_signature"),
        *("azure_storage_endpoint", "azure_storage_authority_host", "azure_msi_endpoint", "azure_storage_account_name"),
        *("azure_federated_token_file", "azure_use_azure_cli", "azure_storage_use_emulator", "google_base_url"),
        *("google_service_account", "google_service_account_key", "google_application_credentials", "headers"),
        *("base_1.aws_endpoint", "user_agent", "token", "", "something_new"),
    ],
)
def test_what_it_may_not(key: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be set by a request") as caught:
        check({**KEYS, key: "value-of-it"})
    assert repr(key) in str(caught.value)
    assert "value-of-it" not in str(caught.value)


@pytest.mark.parametrize("region", ["evil.example/#", "a.b", "x@y", "", "us east", "a:1", 7])
def test_a_region_is_no_address(region: object) -> None:
    with pytest.raises(InvalidInputError, match="is not a region"):
        check({"aws_region": region})


def test_a_table_names_no_address_for_credentials_that_are_not_its_own() -> None:
    address = {"aws_endpoint": "https://elsewhere"}
    for own in (OWN, {}, None):  # without any, a store would find those of this machine
        with pytest.raises(InvalidInputError, match="aws_endpoint"):
            for_table(S3, own, address)
        with pytest.raises(InvalidInputError, match="complete"):
            for_table(S3, own, {**address, "aws_access_key_id": "my-id"})
        with pytest.raises(InvalidInputError, match="region"):
            for_table(S3, own, {"aws_region": "elsewhere.example/"})
        with pytest.raises(InvalidInputError, match="aws_web_identity_token_file"):
            for_table(S3, own, {**KEYS, "aws_web_identity_token_file": "/run/token"})
        assert for_table(S3, own, {**KEYS, **address}) == {**KEYS, **address}


def test_a_table_may_say_what_its_catalog_says_and_where_its_region_is() -> None:
    assert for_table(S3, OWN, {"aws_region": "us", **{key: WHERE[key] for key in WHERE if key != "aws_region"}}) == {
        **OWN,
        "aws_region": "us",
    }
    assert for_table(S3, OWN, KEYS) == {**WHERE, **KEYS}
    assert for_table("/folder/t", OWN, {"allow_http": "false"}) == {"allow_http": "false"}
