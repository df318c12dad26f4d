"""The conformance suite over Nessie, a server that chooses the locations of tables itself."""

from __future__ import annotations

import pytest

from lanceway.catalogs import IcebergCatalog
from lanceway.testing import CatalogTests
from tests.catalogs.iceberg.test_conformance import ICEBERG, IcebergTests
from tests.servers.nessie import Nessie
from tests.servers.seaweedfs import S3, SECRET

NESSIE = {**ICEBERG, "chosen_location": "Nessie gives each table a new folder of its own choice"}
RELOCATES = dict.fromkeys(
    (
        "test_a_registered_table_has_the_data_at_its_location",
        "test_a_registered_table_keeps_its_location",
        "test_a_registration_may_be_replaced",
        "test_a_table_may_get_its_name_back",
    ),
    "Nessie chooses locations itself, so that nothing can be registered where it lies; the catalog says so",
)


class TestNessie(IcebergTests, CatalogTests):
    without = NESSIE
    deviations = RELOCATES
    secrets = (SECRET,)

    @pytest.fixture
    def catalog(self, nessie: Nessie, s3: S3) -> IcebergCatalog:
        storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        return IcebergCatalog(endpoint=nessie.endpoint, warehouse=nessie.warehouse, **storage)
