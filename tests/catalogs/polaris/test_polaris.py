"""What Polaris and Lakekeeper have of Lance tables, and how they are asked, on a fake of both."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lanceway.catalogs import PolarisCatalog
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotEmptyError,
    PermissionDeniedError,
    TableAlreadyExistsError,
    UnauthenticatedError,
    UnsupportedOperationError,
)
from tests.servers.polaris import ID, LAKEKEEPER, POLARIS, SECRET, TOKEN, WAREHOUSE, Polaris, Seen

ROWS = pa.table({"id": [1, 2, 3]})
SPACE = [WAREHOUSE, "s"]
KEY = (("s",), "t")


def connect(fake: Polaris, root: Path, **settings: Any) -> PolarisCatalog:
    catalog = fake.connect(root=str(root), **settings)
    catalog.create_namespace({"id": SPACE})
    return catalog


def create(catalog: PolarisCatalog, name: str, **options: Any) -> list[str]:
    catalog.create_table_stream({"id": [*SPACE, name], **options}, ROWS.to_reader())
    return [*SPACE, name]


def test_a_table_is_a_generic_table_of_the_format_lance(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        table = create(catalog, "t", properties={"team": "red", "comment": "what is sold"})
        row = fake.tables[KEY]
        assert (row["format"], row["doc"], row["properties"]["team"]) == ("lance", "what is sold", "red")
        described = catalog.describe_table({"id": table})
        assert described.location == row["base-location"]
        assert described.properties == {"team": "red", "table_type": "lance", "comment": "what is sold"}
        assert catalog.count_table_rows({"id": table}).count == 3
        assert catalog.object_identity(table, is_namespace=False) == (row["properties"]["lanceway.claim"], None)


def test_each_service_is_asked_at_its_own_addresses(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        catalog.list_tables({"id": SPACE})
    paths = [seen.path for seen in fake.seen]
    assert (
        paths[-3:-1]
        == {
            POLARIS: ["/api/catalog/v1/p%2D1/namespaces", "/api/catalog/polaris/v1/p%2D1/namespaces/s/generic-tables"],
            LAKEKEEPER: ["/catalog/v1/p%2D1/namespaces", "/lakekeeper/v1/p%2D1/namespaces/s/generic-tables"],
        }[fake.dialect]
    )


def test_a_list_loads_what_it_does_not_know_several_at_a_time(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path, concurrency="3") as catalog:
        for name in "abcdefgh":
            catalog.declare_table({"id": [*SPACE, name]})
        fake.tables[("s",), "b"]["format"] = "delta"
        fake.seen.clear()
        running, most, meeting = set[int](), list[int](), threading.Barrier(3)

        def wait(seen: Seen) -> None:
            if not seen.path.endswith("generic-tables"):
                running.add(threading.get_ident())
                most.append(len(running))
                if len(most) <= 3:
                    meeting.wait(30)
                running.discard(threading.get_ident())

        fake.before = wait
        assert catalog.list_tables({"id": SPACE, "limit": 3}).tables == ["a", "c", "d"]
        fake.before = None
        loads = [seen for seen in fake.seen if not seen.path.endswith("generic-tables")]
        if fake.dialect == POLARIS:
            assert max(most) == 3
            assert 4 <= len(loads) <= 8, "in batches of twice the page, and no further"
        else:
            assert loads == []
        with pytest.raises(InvalidInputError, match="of the format 'delta'"):
            catalog.describe_table({"id": [*SPACE, "b"]})


def test_declared_tables_are_left_out_where_that_is_asked(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        create(catalog, "written")
        catalog.declare_table({"id": [*SPACE, "declared"]})
        assert catalog.list_tables({"id": SPACE, "include_declared": False}).tables == ["written"]


def test_a_client_signs_in_with_its_credential(fake: Polaris, tmp_path: Path) -> None:
    fake.signs_in = True
    with connect(fake, tmp_path, credential=f"{ID}:{SECRET}") as catalog:
        assert SECRET not in repr(catalog)
        assert catalog.list_tables({"id": SPACE}).tables == []
    form = next(seen.body for seen in fake.seen if seen.path.endswith("/tokens"))
    assert ("scope=PRINCIPAL_ROLE%3AALL" in form) == (fake.dialect == POLARIS)
    assert {seen.headers["authorization"] for seen in fake.seen if "/namespaces" in seen.path} == {f"Bearer {TOKEN}"}
    with fake.connect(auth_token="wrong-hush") as catalog, pytest.raises(UnauthenticatedError) as refused:
        catalog.list_tables({"id": SPACE})
    assert "wrong-hush" not in str(refused.value)


def test_credentials_are_vended_by_their_header_where_that_is_set(fake: Polaris, tmp_path: Path) -> None:
    fake.vended = [
        {"prefix": "file://", "config": {"s3.region": "anywhere"}},
        {"prefix": tmp_path.as_uri(), "config": {"s3.access-key-id": "there", "s3.secret-access-key": "hush"}},
    ]
    with connect(fake, tmp_path, vended_credentials="true", **{"storage.timeout": "9s"}) as catalog:
        declared = catalog.declare_table({"id": [*SPACE, "t"]})
        vended = {"timeout": "9s", "aws_access_key_id": "there", "aws_secret_access_key": "hush"}
        assert declared.storage_options == vended
        assert catalog.describe_table({"id": [*SPACE, "t"]}).storage_options == vended
        fake.seen.clear()
        assert catalog.list_tables({"id": SPACE}).tables == ["t"]
        assert not any("x-iceberg-access-delegation" in seen.headers for seen in fake.seen)
    with fake.connect() as catalog:
        assert catalog.describe_table({"id": [*SPACE, "t"]}).storage_options is None


def test_names_that_are_refused_are_refused_before_the_request(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        fake.seen.clear()
        for name in ("a/b", "a\\b", " a", "..", *(f"a{each}b" for each in ':*?"<>|#+`' if fake.dialect == POLARIS)):
            with pytest.raises(InvalidInputError, match="cannot be used"):
                catalog.declare_table({"id": [*SPACE, name]})
            with pytest.raises(InvalidInputError, match="cannot be used"):
                catalog.create_namespace({"id": [WAREHOUSE, name]})
        assert fake.seen == []


def test_where_tables_are_without_a_root(fake: Polaris, tmp_path: Path) -> None:
    with fake.connect() as catalog:
        catalog.create_namespace({"id": SPACE, "properties": {"location": tmp_path.as_uri()}})
        location = catalog.declare_table({"id": [*SPACE, "t"]}).location or ""
        assert location.startswith(f"{tmp_path.as_uri()}/t-")
        assert ("base-location" in fake.seen[-1].body) == (fake.dialect == POLARIS)
        if fake.dialect == POLARIS:
            catalog.create_namespace({"id": [WAREHOUSE, "bare"]})
            with pytest.raises(InvalidInputError, match="Set root"):
                catalog.declare_table({"id": [WAREHOUSE, "bare", "t"]})


def test_a_namespace_with_generic_tables_is_not_overwritten(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        create(catalog, "t")
        with pytest.raises(NamespaceNotEmptyError, match="it holds 't'"):
            catalog.create_namespace({"id": SPACE, "mode": "overwrite"})
        catalog.drop_table({"id": [*SPACE, "t"]})
        catalog.create_namespace({"id": SPACE, "mode": "overwrite", "properties": {"a": "1"}})
        assert catalog.describe_namespace({"id": SPACE}).properties == {"a": "1"}


def test_a_renamed_table_keeps_its_data_and_its_properties(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        if fake.dialect == LAKEKEEPER:
            create(catalog, "t", properties={"team": "red"})
        else:  # whose rename makes a new row
            create(catalog, "t", properties={"team": "red", "comment": "kept"})
        catalog.rename_table({"id": [*SPACE, "t"], "new_table_name": "u"})
        assert catalog.count_table_rows({"id": [*SPACE, "u"]}).count == 3
        assert (catalog.describe_table({"id": [*SPACE, "u"]}).properties or {})["team"] == "red"
        assert catalog.list_tables({"id": SPACE}).tables == ["u"]


def test_a_replacement_that_is_refused_puts_the_old_row_back(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        table, other = create(catalog, "t"), create(catalog, "other")
        location = catalog.deregister_table({"id": other}).location
        before = fake.tables[KEY]["base-location"]
        fake.denied = str(location)
        refused = PermissionDeniedError if fake.dialect == POLARIS else UnsupportedOperationError
        if fake.dialect == LAKEKEEPER:  # it takes empty locations alone, and would not take the old one back
            fake.denied = None
        with pytest.raises(refused):
            catalog.register_table({"id": table, "location": location, "mode": "overwrite"})
        assert fake.tables[KEY]["base-location"] == before
        assert catalog.count_table_rows({"id": table}).count == 3


def test_a_name_that_another_client_has_taken_is_a_conflict(fake: Polaris, tmp_path: Path) -> None:
    with connect(fake, tmp_path) as catalog:
        create(catalog, "t")
        with pytest.raises(TableAlreadyExistsError):
            catalog.declare_table({"id": [*SPACE, "t"]})
        if fake.dialect == LAKEKEEPER:
            with pytest.raises(TableAlreadyExistsError):
                catalog.declare_table({"id": [*SPACE, "T"]})


@pytest.mark.parametrize("path", ["/api/catalog", "/api/catalog/polaris"])
def test_an_address_with_the_path_of_an_api_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match="without it"):
        PolarisCatalog(endpoint=f"http://127.0.0.1:1{path}", warehouse="w")
