"""The conformance suite over Iceberg REST catalogs: whole on the reference server, in parts on others.

What happens inside a table is the same code whatever server knows it, so that an older reference server is asked for
what a server takes part in alone, and SeaweedFS also for all that is done to data in a real bucket. A class shares its
catalog, and each test has a namespace of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.errors import NamespaceNotEmptyError
from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.behaviours.concurrency import ConcurrencyTests
from lanceway.testing.capabilities import Suite
from lanceway.testing.catalog import DataTests, NamespaceTests, StructureTests, TableTests
from tests.catalogs.iceberg.iceberg_helpers import namespace
from tests.servers.iceberg import Iceberg
from tests.servers.seaweedfs import KEY, S3, SECRET, TABLE_BUCKET

SETTINGS = {"auth_token": "hush-hush", "storage.secret_access_key": "quiet-quiet"}
# What the specification leaves out.
ICEBERG = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "cascade": "the specification drops empty namespaces alone",
    "unique_names": "Iceberg keeps the names of namespaces and of tables apart",
}


class IcebergTests(Suite):
    """A namespace of its own for each test, in the one warehouse that a server has."""

    without = ICEBERG
    secrets = tuple(SETTINGS.values())

    @pytest.fixture
    def scratch(self, catalog: IcebergCatalog) -> Iterator[Sequence[str]]:
        space = namespace(catalog)
        yield space
        remove(catalog, space)


def remove(catalog: IcebergCatalog, namespace: list[str]) -> None:
    """Drop a namespace and all in it. Most tests leave it empty."""
    with suppress(NamespaceNotEmptyError):
        catalog.drop_namespace({"id": namespace})
        return
    for name in catalog.list_tables({"id": namespace}).tables:
        catalog.drop_table({"id": [*namespace, name]})
    for name in catalog.list_namespaces({"id": namespace}).namespaces:
        remove(catalog, [*namespace, name])
    catalog.drop_namespace({"id": namespace})


class TestReferenceServer(IcebergTests, CatalogTests):
    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, iceberg: Iceberg, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergCatalog]:
        with connect(iceberg, tmp_path_factory) as catalog:
            yield catalog


class TestOlderReferenceServer(IcebergTests, NamespaceTests, TableTests, ConcurrencyTests):
    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, older_iceberg: Iceberg, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergCatalog]:
        with connect(older_iceberg, tmp_path_factory) as catalog:
            yield catalog


def connect(server: Iceberg, folders: pytest.TempPathFactory) -> IcebergCatalog:
    root = str(folders.mktemp("iceberg"))
    return IcebergCatalog(endpoint=server.endpoint, warehouse=server.warehouse, root=root, **SETTINGS)


SEAWEEDFS = {**ICEBERG, "races": "several who declare one name at the same time may all be told that they did"}
DELETES = dict.fromkeys(
    (
        "test_a_deregistered_table_is_gone",
        "test_a_deregistered_table_keeps_its_data",
        "test_a_registered_table_has_the_data_at_its_location",
        "test_a_registered_table_keeps_its_location",
        "test_a_registration_may_be_replaced",
        "test_a_table_may_get_its_name_back",
        "test_an_unknown_mode_registers_nothing",
        "test_deregistering_twice_is_not_found",
        "test_registering_a_name_that_is_taken_is_a_conflict",
        "test_registering_in_a_missing_namespace_is_not_found",
    ),
    "SeaweedFS deletes a table's data although purgeRequested is false; the catalog notices and says so",
)
REFUSES_BRANCHES = dict.fromkeys(
    (
        "test_a_branch_begins_at_the_latest_version",
        "test_a_branch_has_columns_indices_and_versions_of_its_own",
        "test_a_branch_is_created_once",
        "test_a_branch_may_begin_at_an_older_version",
        "test_a_branch_may_begin_at_another_branch",
        "test_a_deleted_branch_is_gone",
        "test_a_tag_may_name_a_version_of_a_branch",
        "test_branches_are_listed_in_order_and_in_pages",
        "test_what_happens_on_a_branch_stays_there",
        "test_what_happens_on_main_does_not_reach_a_branch",
    ),
    "SeaweedFS allows certain folders alone in a bucket of tables, and Lance's for branches is none of them",
)


class TestSeaweedFS(IcebergTests, NamespaceTests, TableTests, DataTests, StructureTests):
    """A server with ideas of its own, and data in a real bucket."""

    without = SEAWEEDFS
    deviations: ClassVar[Mapping[str, str]] = {**DELETES, **REFUSES_BRANCHES}
    secrets = (SECRET,)

    @pytest.fixture(scope="class")
    @classmethod
    def catalog(cls, s3: S3) -> Iterator[IcebergCatalog]:
        storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        who = {"credential": f"{KEY}:{SECRET}"}
        with IcebergCatalog(endpoint=s3.iceberg, warehouse=TABLE_BUCKET, root="s3://", **who, **storage) as catalog:
            yield catalog
