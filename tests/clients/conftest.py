"""Where the clients read and write: folders of each layout, and a bucket."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Read when Ray is first imported: it then listens on loopback alone, and leaves no token in the user's home.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}

import lance_namespace
import pyarrow as pa
import pytest
from lance_namespace import LanceNamespace

IMPLEMENTATION = "lanceway.catalogs.DirectoryCatalog"


@dataclass(frozen=True)
class Place:
    """A catalog the way a client is told of it: a class by its path, properties, and a namespace inside."""

    properties: dict[str, str]
    namespace: tuple[str, ...] = ()

    @property
    def implementation(self) -> str:
        return IMPLEMENTATION

    @property
    def catalog(self) -> LanceNamespace:
        return lance_namespace.connect(self.implementation, self.properties)

    def table(self, name: str) -> list[str]:
        return [*self.namespace, name]


@pytest.fixture(params=["plain", "lance", "manifest", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Each layout on local files, and the layout that LanceDB likes best in a bucket."""
    if request.param == "bucket":
        s3 = request.getfixturevalue("s3")
        options = {f"storage.{key}": value for key, value in s3.storage_options.items()}
        return Place({"path": s3.prefix(), "layout": "lance", **options})
    properties = {"path": str(tmp_path / "warehouse"), "layout": request.param}
    if request.param != "manifest":
        return Place(properties)
    nested = Place(properties, ("team", "sales"))
    nested.catalog.create_namespace({"id": ["team"]})
    nested.catalog.create_namespace({"id": ["team", "sales"]})
    return nested


@pytest.fixture
def fruit() -> pa.Table:
    names = ["apple", "banana", "cherry"]
    vectors = pa.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], pa.list_(pa.float32(), 2))
    return pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": names, "vector": vectors})


@pytest.fixture(scope="package")
def ray_cluster() -> Iterator[None]:
    """A small Ray on this machine, for all files that ask for it: it takes long to start."""
    import ray

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:  # sockets need a short path
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * 1024 * 1024,
            _temp_dir=folder,
        )
        yield
        ray.shutdown()
