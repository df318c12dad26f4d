"""What mounted catalogs are asked for by those who may have tables in certain places only. Nothing is connected to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lanceway.catalogs import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.config import CatalogSettings
from lanceway.errors import InvalidInputError, PermissionDeniedError, ServiceUnavailableError
from tests.catalogs.federated.tree_helpers import settings

_NOWHERE = "http://127.0.0.1:1"
MOUNTED = {
    "aws": CatalogSettings("glue", {"endpoint": _NOWHERE, "region": "here"}),
    "unity": CatalogSettings("unity", {"endpoint": _NOWHERE, "catalog": "c", "root": "s3://unity/root"}),
    "ice": CatalogSettings("iceberg", {"endpoint": _NOWHERE, "warehouse": "w"}),
    "away": CatalogSettings("rest", {"uri": f"{_NOWHERE}/lance"}),
}
ALLOWED = AllowedLocations(("/warehouse", "s3://bucket/tables"), "/warehouse")
Tree = Any


@pytest.fixture
def tree() -> Tree:
    with FederatedCatalog(MOUNTED) as root:
        yield root.confined_to(ALLOWED)


@pytest.mark.parametrize("mount", MOUNTED)
@pytest.mark.parametrize(
    "location",
    ["s3://other/x", "s3://bucket/tables2/x", "s3://bucket/tables", "/elsewhere/x", "/warehouse/x", "gs://b/x"],
)
def test_no_mounted_catalog_is_asked_for_another_place(tree: Tree, mount: str, location: str) -> None:
    id_ = [mount, "c", "s", "t"]
    for call in (tree.declare_table, tree.register_table):
        with pytest.raises(PermissionDeniedError, match="s3://bucket/tables"):
            call({"id": id_, "location": location})
    for operations in ([{"declare_table": {"id": id_, "location": location}}],):
        with pytest.raises(PermissionDeniedError):
            tree.batch_commit_tables({"operations": operations})


@pytest.mark.parametrize("mount", MOUNTED)
@pytest.mark.parametrize("key", ["location", "Location", "storage_root", "write.metadata.path"])
def test_nor_by_a_property(tree: Tree, mount: str, key: str) -> None:
    with pytest.raises(PermissionDeniedError):
        tree.create_namespace({"id": [mount, "c"], "properties": {key: "s3://other/x"}})
    with pytest.raises(PermissionDeniedError):
        tree.declare_table({"id": [mount, "c", "s", "t"], "properties": {key: "s3://other/x"}})


def test_the_root_of_a_mount_is_its_own(tree: Tree) -> None:
    with pytest.raises(ServiceUnavailableError):  # it is asked
        tree.declare_table({"id": ["unity", "c", "s", "t"], "location": "s3://unity/root/t"})
    with pytest.raises(PermissionDeniedError, match="s3://unity/root"):
        tree.declare_table({"id": ["unity", "c", "s", "t"], "location": "s3://unity/other/t"})
    with pytest.raises(PermissionDeniedError):
        tree.declare_table({"id": ["ice", "w", "s", "t"], "location": "s3://unity/root/t"})


def test_in_process_any_place_may_be_asked_for() -> None:
    with FederatedCatalog(MOUNTED) as root, pytest.raises(ServiceUnavailableError):
        root.declare_table({"id": ["unity", "c", "s", "t"], "location": "s3://other/x"})  # type: ignore[arg-type]


def test_the_warehouse_is_allowed_unless_other_places_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    alone = settings(warehouse=f"{tmp_path}/link")
    assert AllowedLocations.from_settings(alone) == AllowedLocations((f"{tmp_path}/real",), f"{tmp_path}/real")
    monkeypatch.setenv("LANCEWAY_ALLOWED_LOCATIONS", "s3://a/b, gs://c/d%65")
    assert AllowedLocations.from_settings(settings()).roots == ("s3://a/b", "gs://c/de")
    monkeypatch.setenv("LANCEWAY_SERVER__ALLOWED_LOCATIONS", "s3://e")
    assert AllowedLocations.from_settings(settings()).roots == ("s3://e",)
    assert AllowedLocations.from_settings(settings(allowed_locations="/f")).roots == ("/f",)
    with pytest.raises(InvalidInputError, match="allowed_locations"):
        AllowedLocations.from_settings(settings(allowed_locations="/proc/self"))
