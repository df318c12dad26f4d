"""Storage options of a table in an Iceberg catalog: whose word counts, and what servers call them."""

from __future__ import annotations

from typing import Any

import pytest

from lanceway.catalogs.metastore.iceberg.storage import options_of, public
from lanceway.errors import InvalidInputError
from lanceway.wire.iceberg import LoadedTable, read_table


def loaded(properties: dict[str, str] | None = None, **answer: Any) -> LoadedTable:
    return read_table({"metadata": {"location": "s3://b/ns/t", "properties": properties or {}}, **answer})


def test_the_more_special_wins() -> None:
    table = loaded({"storage.region": "table", "owner": "ralph"}, config={"s3.region": "vended"})
    settings = {"region": "own", "timeout": "9s"}
    assert options_of(table, settings, vended=False) == {"region": "table", "timeout": "9s"}
    assert options_of(table, settings, vended=True) == {"region": "table", "timeout": "9s", "aws_region": "vended"}
    assert options_of(loaded(), {}, vended=True) is None


def test_the_credentials_of_the_catalog_go_to_no_address_that_a_table_names() -> None:
    settings = {"aws_access_key_id": "mine", "aws_secret_access_key": "hush"}
    address = {"storage.aws_endpoint": "https://elsewhere.example"}
    theirs = {"storage.aws_access_key_id": "theirs", "storage.aws_secret_access_key": "own"}
    with pytest.raises(InvalidInputError, match="aws_endpoint"):
        options_of(loaded(address), settings, vended=False)
    options = options_of(loaded({**address, **theirs}), settings, vended=False) or {}
    assert "mine" not in options.values()
    assert options["aws_endpoint"] == "https://elsewhere.example"
    with pytest.raises(InvalidInputError, match="aws_endpoint"):
        options_of(loaded({**address, **theirs}, config={"s3.access-key-id": "vended"}), settings, vended=True)


def test_options_are_no_properties() -> None:
    assert public({"storage.secret": "hush", "owner": "ralph"}) == {"owner": "ralph"}


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (
            {
                "s3.access-key-id": "k",
                "s3.secret-access-key": "s",
                "s3.session-token": "t",
                "client.region": "r",
                "s3.endpoint": "http://e",
                "s3.session-token-expires-at-ms": "1",
                "s3.path-style-access": "true",
            },
            {
                "aws_access_key_id": "k",
                "aws_secret_access_key": "s",
                "aws_session_token": "t",
                "aws_region": "r",
                "aws_endpoint": "http://e",
                "expires_at_millis": "1",
                "allow_http": "true",
            },
        ),
        ({"s3.endpoint": "https://e"}, {"aws_endpoint": "https://e"}),
        (
            {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "2"},
            {"google_bearer_token": "t", "expires_at_millis": "2"},
        ),
        (
            {
                "adls.sas-token.acc.dfs.core.windows.net": "sas",
                "adls.sas-token-expires-at-ms.acc.dfs.core.windows.net": "3",
            },
            {"azure_storage_sas_token": "sas", "azure_storage_account_name": "acc", "expires_at_millis": "3"},
        ),
    ],
    ids=["s3", "s3 with TLS", "gcs", "adls"],
)
def test_what_is_vended_is_translated(config: dict[str, str], options: dict[str, str]) -> None:
    assert options_of(loaded(config=config), {}, vended=True) == options
    assert options_of(loaded(config=config), {}, vended=False) is None


def test_credentials_are_chosen_by_the_longest_prefix() -> None:
    rows = [
        {"prefix": prefix, "config": {"s3.access-key-id": prefix}} for prefix in ("s3://b", "s3://b/ns/t", "s3://b/ns")
    ]
    table = loaded(config={"s3.access-key-id": "all", "s3.region": "r"}, **{"storage-credentials": rows})
    assert options_of(table, {}, vended=True) == {"aws_access_key_id": "s3://b/ns/t", "aws_region": "r"}
    elsewhere = loaded(
        config={"s3.access-key-id": "all"}, **{"storage-credentials": [{"prefix": "s3://other", "config": {}}]}
    )
    assert options_of(elsewhere, {}, vended=True) == {"aws_access_key_id": "all"}
