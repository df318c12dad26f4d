"""Laid beside pyiceberg's own tests as their `conftest.py`: its catalogs are the one server that is judged."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pyiceberg.catalog
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError

# Tests of other catalogs, and of tables that only pyiceberg's containers hold.
ELSEWHERE = re.compile(r"hive|memory_catalog|sqlite_catalog|(?<!session_)(?<!_)\brest_catalog\b")
HELD = ("test_table_snapshot_operations", "test_all_types")
# Hundreds of pairs of types that the client refuses before it asks any server.
OF_THE_CLIENT = ("test_disallowed_updates",)


def load_judged(name: str | None = None, **properties: Any) -> Catalog:
    """Stand in for `load_catalog` of modules that name the address of pyiceberg's own container."""
    catalog = load_catalog("judged")
    catalog.create_namespace_if_not_exists("default")
    return catalog


pyiceberg.catalog.load_catalog = load_judged  # before the tests are imported


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {item for item in items if item.name.startswith(OF_THE_CLIENT) or is_elsewhere(item)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def is_elsewhere(item: pytest.Item) -> bool:
    return bool(ELSEWHERE.search(item.name.partition("[")[2])) or needs_held(item)


def needs_held(item: pytest.Item) -> bool:
    names = getattr(getattr(item, "function", None), "__code__", None)
    return names is not None and any(word in str(constant) for constant in names.co_consts for word in HELD)


@pytest.fixture(scope="session")
def session_catalog() -> Catalog:
    return load_judged()


@pytest.fixture
def catalog() -> Iterator[Catalog]:
    """The server, empty again afterwards: many of the tests make the same names."""
    catalog = load_catalog("judged")
    yield catalog
    empty(catalog, ())


@pytest.fixture
def catalog_with_warehouse(catalog: Catalog) -> Catalog:
    return catalog


def empty(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    for inside in catalog.list_namespaces(namespace):
        # The reference server lists parents that no one has made, takes names that cannot be asked for, and pyiceberg
        # encodes a name twice where it asks what is inside it.
        with contextlib.suppress(NoSuchNamespaceError):
            drop(catalog, inside)


def drop(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    if all(part.strip() for part in namespace):
        for table in catalog.list_tables(namespace):
            catalog.drop_table(table)
        for view in catalog.list_views(namespace):
            catalog.drop_view(view)
        with contextlib.suppress(NoSuchNamespaceError):
            empty(catalog, namespace)
        catalog.drop_namespace(namespace)
