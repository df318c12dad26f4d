"""LanceDB recognizes the errors of a catalog in its own process, by words that each of ours has in its text."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lancedb.namespace import LanceNamespaceDBConnection

from lanceway.catalogs import DirectoryCatalog, GlueCatalog, RestCatalog
from lanceway.catalogs.contract.base import Catalog
from lanceway.errors import (
    InternalError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
    from_error_code,
)
from tests.catalogs.hive import hive_helpers
from tests.catalogs.iceberg import iceberg_helpers
from tests.catalogs.lake import lake_helpers

pytestmark = pytest.mark.slow

Place = tuple[Catalog, list[str]]


def folder(request: pytest.FixtureRequest, root: Path) -> Place:
    return DirectoryCatalog(path=str(root), layout="manifest"), ["n"]


def lake(request: pytest.FixtureRequest, root: Path) -> Place:
    return lake_helpers.connect(request.getfixturevalue("sqlite_uri"), root), ["n"]


def glue(request: pytest.FixtureRequest, root: Path) -> Place:
    settings = request.getfixturevalue("glue").settings
    return GlueCatalog(**settings, hierarchy="databases", root=root.as_uri()), ["n"]


def unity(request: pytest.FixtureRequest, root: Path) -> Place:
    home = request.getfixturevalue("unity")
    return home.connect(root), [home.catalog, "n"]


def hive(request: pytest.FixtureRequest, root: Path) -> Place:
    catalog = hive_helpers.connect(request.getfixturevalue("hive"), root)
    return catalog, ["hive", f"n{uuid.uuid4().hex[:12]}"]


def iceberg(request: pytest.FixtureRequest, root: Path) -> Place:
    catalog = iceberg_helpers.connect(request.getfixturevalue("iceberg").endpoint, root)
    return catalog, [*catalog.list_namespaces({}).namespaces, f"n{uuid.uuid4().hex[:12]}"]  # type: ignore[arg-type]


def rest(request: pytest.FixtureRequest, root: Path) -> Place:
    server = request.getfixturevalue("server")
    return RestCatalog(uri=server.uri, token=server.token), ["lake", f"n{uuid.uuid4().hex[:12]}"]


CATALOGS: list[Callable[[pytest.FixtureRequest, Path], Place]] = [folder, lake, glue, hive, unity, iceberg, rest]


@pytest.mark.parametrize("connect", CATALOGS, ids=lambda connect: str(connect.__name__))
def test_lancedb_recognizes_what_is_missing_and_what_is_not_empty(
    connect: Callable[[pytest.FixtureRequest, Path], Place], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    catalog, namespace = connect(request, tmp_path)
    with catalog:
        database: Any = LanceNamespaceDBConnection(catalog)
        database.create_namespace(namespace)
        database.create_table("t", pa.table({"id": [1]}), namespace_path=namespace)
        with pytest.raises(TableNotFoundError):
            database.open_table("missing", namespace_path=namespace)
        with pytest.raises(TableNotFoundError):
            database.open_table("t", namespace_path=[*namespace[:-1], "missing"])
        with pytest.raises(NamespaceNotEmptyError):
            database.drop_namespace(namespace)
        database.drop_table("t", namespace_path=namespace)
        database.drop_namespace(namespace)


def test_an_error_from_an_answer_has_the_words_too() -> None:
    """Whatever server gave the answer, and in whatever words."""
    for code, kind, words in (
        (1, NamespaceNotFoundError, "was not found"),
        (3, NamespaceNotEmptyError, "Namespace not empty"),
        (4, TableNotFoundError, "Table not found"),
    ):
        error = from_error_code(code, "no such thing")
        assert type(error) is kind
        assert words in str(error)
        assert "no such thing" in str(error)
        assert str(from_error_code(code, str(error))) == str(error)
    assert str(from_error_code(18, "broken")) == "broken"
    assert type(from_error_code(999, "new")) is InternalError
