"""A table is not declared over a Lance table that is there: a later drop would delete it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs import GlueCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableAlreadyExistsError
from tests.catalogs.iceberg import iceberg_helpers
from tests.servers.seaweedfs import S3

Place = tuple[Catalog, list[str]]
ROWS = pa.table({"id": [1, 2, 3]})


def glue(request: pytest.FixtureRequest, root: str, **storage: str) -> Place:
    settings = request.getfixturevalue("glue").settings
    catalog = GlueCatalog(**settings, **storage, hierarchy="databases", root=root)
    catalog.create_namespace({"id": ["n"]})  # type: ignore[arg-type]
    return catalog, ["n"]


def unity(request: pytest.FixtureRequest, root: str, **storage: str) -> Place:
    home = request.getfixturevalue("unity")
    return home.connect(root, **storage), home.schema("n")


def iceberg(request: pytest.FixtureRequest, root: str, **storage: str) -> Place:
    catalog = iceberg_helpers.connect(request.getfixturevalue("iceberg").endpoint, root=Path(root), **storage)
    return catalog, iceberg_helpers.namespace(catalog)


every_catalog = pytest.mark.parametrize("connect", [glue, unity, iceberg], ids=lambda connect: str(connect.__name__))


def tables(catalog: Catalog, namespace: list[str]) -> list[str]:
    request: Any = {"id": namespace, "include_declared": True}
    return list(catalog.list_tables(request).tables)


@every_catalog
@pytest.mark.parametrize("spelling", [str, Path.as_uri], ids=["path", "uri"])
def test_nothing_is_declared_where_a_lance_table_is(
    connect: Callable[..., Place], request: pytest.FixtureRequest, tmp_path: Path, spelling: Callable[[Path], str]
) -> None:
    catalog, namespace = connect(request, str(tmp_path))
    theirs = tmp_path / "theirs.lance"
    lance.write_dataset(ROWS, theirs)
    asked: Any = {"id": [*namespace, "t"], "location": spelling(theirs)}
    with pytest.raises(InvalidInputError, match=r"there is a Lance table already.*Register it"):
        catalog.declare_table(asked)
    assert tables(catalog, namespace) == []
    assert lance.dataset(theirs).count_rows() == 3
    catalog.register_table(asked)
    with pytest.raises(TableAlreadyExistsError):
        catalog.declare_table(asked)


@pytest.mark.parametrize("connect", [glue, unity], ids=["glue", "unity"])
def test_in_a_bucket_too(connect: Callable[..., Place], request: pytest.FixtureRequest, s3: S3) -> None:
    storage = {f"storage.{key}": value for key, value in s3.storage_options.items()}
    root = s3.prefix()
    catalog, namespace = connect(request, root, **storage)
    lance.write_dataset(ROWS, f"{root}/theirs.lance", storage_options=s3.storage_options)
    asked: Any = {"id": [*namespace, "t"], "location": f"{root}/theirs.lance"}
    with pytest.raises(InvalidInputError, match="there is a Lance table already"):
        catalog.declare_table(asked)
    assert tables(catalog, namespace) == []


def test_what_a_deregistered_table_left_at_the_location_of_the_name_is_in_the_way(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Iceberg's default location follows from the name alone."""
    catalog, namespace = iceberg(request, str(tmp_path))
    asked: Any = {"id": [*namespace, "t"]}
    catalog.create_table_stream(asked, ROWS.to_reader())
    catalog.deregister_table(asked)
    with pytest.raises(ConcurrentModificationError, match="It was deregistered, or is being dropped"):
        catalog.declare_table(asked)
    assert tables(catalog, namespace) == []


@pytest.mark.parametrize("connect", [glue, unity], ids=["glue", "unity"])
def test_a_location_that_cannot_be_looked_at_may_be_declared(
    connect: Callable[..., Place], request: pytest.FixtureRequest, tmp_path: Path, s3: S3
) -> None:
    """A catalog need not have access to the storage of its tables."""
    wrong = {**s3.storage_options, "aws_secret_access_key": "wrong"}
    storage = {f"storage.{key}": value for key, value in wrong.items()}
    catalog, namespace = connect(request, str(tmp_path), **storage)
    asked: Any = {"id": [*namespace, "t"], "location": f"{s3.prefix()}/t.lance"}
    assert catalog.declare_table(asked).location == asked["location"]
