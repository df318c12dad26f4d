"""Generic tables as Polaris and Lakekeeper write them, and answers that are none."""

from __future__ import annotations

from typing import Any

import pytest

from lanceway.errors import InternalError
from lanceway.wire import generic_tables, iceberg
from lanceway.wire.generic_tables import LAKEKEEPER, POLARIS, create_body, read_table, read_tables


def test_a_table_is_read_with_what_is_vended() -> None:
    row = read_table(
        {
            "table": {"name": "t", "format": "Lance", "base-location": "s3://b/t", "properties": {"a": "1", "b": None}},
            "config": {"s3.region": "r"},
            "storage-credentials": [{"prefix": "s3://b", "config": {"s3.access-key-id": "k"}}],
        }
    )
    assert (row.is_lance, row.comment, row.loaded.location) == (True, None, "s3://b/t")
    assert row.loaded.properties == {"a": "1"}
    assert row.loaded.credentials == (("s3://b", {"s3.access-key-id": "k"}),)
    assert "access-key" not in repr(row)


@pytest.mark.parametrize("fields", [{"format": "delta", "base-location": "s3://b/t"}, {"format": "lance"}])
def test_another_format_and_a_table_without_location_are_no_lance_tables(fields: dict[str, Any]) -> None:
    assert not read_table({"table": {"name": "t", **fields}}).is_lance


def test_a_list_may_say_formats() -> None:
    page = {"identifiers": [{"namespace": ["s"], "name": "a"}, {"namespace": ["s"], "name": "b", "format": "lance"}]}
    assert read_tables(page) == {"a": None, "b": "lance"}
    assert read_tables({}) == {}


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"table": []},
        {"table": {"format": "lance"}},
        {"table": {"name": "t"}, "storage-credentials": {"prefix": "s3://b"}},
        {"table": {"name": "t", "properties": []}},
    ],
    ids=str,
)
def test_what_cannot_be_read_is_said(body: object) -> None:
    with pytest.raises(InternalError, match="endpoint and dialect"):
        read_table(body)


@pytest.mark.parametrize(
    "body",
    [
        None,
        {"identifiers": {}},
        {"identifiers": [{"namespace": ["s"]}]},
        {"identifiers": [{"name": "a", "format": {}}]},
    ],
    ids=str,
)
def test_a_list_that_cannot_be_read_is_said(body: object) -> None:
    with pytest.raises(InternalError, match="a list of identifiers"):
        read_tables(body)


def test_a_body_leaves_out_what_the_service_shall_choose() -> None:
    assert create_body("t", "", {"comment": "c", "a": "1"}) == {
        "name": "t",
        "format": "lance",
        "doc": "c",
        "properties": {"a": "1", "table_type": "lance"},
    }
    assert create_body("t", "s3://b/t", {})["base-location"] == "s3://b/t"


def test_both_have_the_same_paths_below_their_own_addresses() -> None:
    path = iceberg.path(generic_tables.ROUTES["load_generic_table"], "p%2F1", ["a", "b c"], "t/x")
    assert path == "/v1/p%2F1/namespaces/a%1Fb%20c/generic-tables/t%2Fx"
    assert (POLARIS.tables, LAKEKEEPER.tables) == ("/api/catalog/polaris", "/lakekeeper")
