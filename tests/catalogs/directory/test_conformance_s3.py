"""The conformance suite over a bucket on a real S3 server."""

from __future__ import annotations

import uuid

import pytest

from lanceway.catalogs import DirectoryCatalog
from lanceway.testing import CatalogTests
from lanceway.testing.catalog import LifeTests, NamespaceTests, TableTests
from tests.catalogs.directory.test_conformance import FLAT, MANIFEST
from tests.servers.seaweedfs import S3, SECRET


def connect(s3: S3, **settings: str) -> DirectoryCatalog:
    """A catalog of its own below a prefix that nobody else has."""
    storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
    return DirectoryCatalog(path=f"s3://{s3.bucket}/{uuid.uuid4().hex}", **storage, **settings)


class TestPlainBucket(CatalogTests):
    without = FLAT
    secrets = (SECRET,)

    @pytest.fixture
    def catalog(self, s3: S3) -> DirectoryCatalog:
        return connect(s3)


class TestManifestBucket(NamespaceTests, TableTests, LifeTests):
    """What the layout changes; the data of a table is written and read as above."""

    without = MANIFEST
    secrets = (SECRET,)

    @pytest.fixture
    def catalog(self, s3: S3) -> DirectoryCatalog:
        return connect(s3, layout="manifest")
