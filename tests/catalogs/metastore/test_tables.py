"""What catalogs over external services share, as far as it needs no service."""

from __future__ import annotations

from typing import Any

import pytest

from lanceway.catalogs import Catalog, GlueCatalog, IcebergCatalog, UnityCatalog
from lanceway.catalogs.metastore.http import pages
from lanceway.catalogs.metastore.tables import CLAIM, is_own_folder, own_folder
from lanceway.errors import InternalError, InvalidInputError

NOWHERE = "http://127.0.0.1:9"
KEYS = {"access_key_id": "k", "secret_access_key": "s", "region": "eu-west-1"}


@pytest.mark.parametrize(
    ("catalog", "table"),
    [
        (GlueCatalog(endpoint=NOWHERE, **KEYS), ["db", "t"]),
        (UnityCatalog(endpoint=NOWHERE, catalog="main"), ["main", "s", "t"]),
        (IcebergCatalog(endpoint=NOWHERE, warehouse="wh"), ["wh", "ns", "t"]),
    ],
    ids=["glue", "unity", "iceberg"],
)
@pytest.mark.parametrize("properties", [{CLAIM: "x"}, {"table_type": "iceberg"}], ids=["claim", "type"])
def test_properties_of_the_catalog_are_refused_before_the_service_is_asked(
    catalog: Catalog, table: list[str], properties: dict[str, str]
) -> None:
    request: Any = {"id": table, "location": "s3://bucket/t", "properties": properties}
    for operation in (catalog.declare_table, catalog.register_table):
        with pytest.raises(InvalidInputError, match=next(iter(properties))):
            operation(request)


def test_a_folder_belongs_to_one_claim() -> None:
    folder = own_folder("t", "0123456789")
    assert folder == "t-01234567.lance"
    assert is_own_folder(f"s3://bucket/{folder}/", "0123456789")
    for location, claim in ((f"s3://bucket/{folder}", "9999999999"), ("s3://bucket/t.lance", "0123456789")):
        assert not is_own_folder(location, claim)
    assert not is_own_folder("s3://bucket/t-.lance", None)
    assert not is_own_folder("s3://bucket/t-.lance", "")


def test_pages_are_followed_to_the_end_and_not_for_ever() -> None:
    following = {None: "a", "a": "b", "b": ""}
    assert list(pages("A list", lambda token: token, lambda token: following[token])) == [None, "a", "b"]
    with pytest.raises(InternalError, match="does not end"):
        list(pages("A list", lambda token: token, lambda token: "a"))
