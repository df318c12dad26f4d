"""What a catalog may leave out, how it says so, and which tests that leaves out.

A catalog's test class names what its specification leaves out, with the reason:

    without = {**NO_ENGINE, "rename_table": "the service cannot rename"}

A key is an operation of the contract or one of CAPABILITIES. Tests that need it are deselected, the
report shows each key with its reason, and an operation left out must answer 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import pytest
from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.hooks import OPERATIONS
from lanceway.testing import plugin
from lanceway.testing.inspection import Raw
from lanceway.testing.sandbox import Sandbox

Function = TypeVar("Function", bound=Callable[..., object])

CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "cascade": "a namespace can be dropped, or overwritten, with all that it holds",
        "chosen_location": "a table may be declared at a location of the caller's choosing",
        "close": "the catalog can be closed, and opens again when it is used",
        "fork": "a forked child finds and lists tables after its parent has used the catalog",
        "managed_versions": "the catalog owns the versions of its tables: they are claimed through it",
        "mixed_namespaces": "a namespace may hold tables and namespaces alike",
        "namespace_properties": "a namespace keeps the properties it was given",
        "namespaces": "namespaces can be created and dropped",
        "nested_namespaces": "a namespace that was created may hold namespaces",
        "pickle": "the catalog can be pickled",
        "races": "of several who create one name at the same time, exactly one wins",
        "storage_access": "the tests can reach the storage below the catalog by themselves",
        "strange_paths": "names such as ../up and empty locations may be tried: a careless server harms no data",
        "streams": "rows stream in and out through the twins that end in _stream",
        "table_properties": "a table keeps the properties it was given",
        "unique_names": "a name belongs to a namespace or to a table, never to both",
    }
)

NO_ENGINE: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("alter_table_backfill_columns", "create_materialized_view", "refresh_materialized_view"),
        "it needs an engine, and none is connected",
    )
)
STORAGE_MANAGED: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("batch_commit_tables", "batch_create_table_versions", "managed_versions"),
        "versions live in storage, where each table commits on its own",
    )
)

_IMPLIED: Mapping[str, tuple[str, ...]] = {
    "mixed_namespaces": ("unique_names",),
    "namespaces": ("cascade", "mixed_namespaces", "namespace_properties", "nested_namespaces", "unique_names"),
    "pickle": ("fork",),
}


def needs(*names: str) -> Callable[[Function], Function]:
    """Mark a test with what it needs of a catalog."""
    _refuse_unknown(names, "A test")

    def mark(test: Function) -> Function:
        test.needs = frozenset(names)  # type: ignore[attr-defined]
        return test

    return mark


def left_out(without: Mapping[str, str], owner: str) -> dict[str, str]:
    """Return what a class leaves out with the reasons, and what that implies. Raise ValueError for an unknown key."""
    _refuse_unknown(without, owner)
    missing = dict(without)
    for name, implied in _IMPLIED.items():
        if name in without:
            missing |= {other: without[name] for other in implied if other not in missing}
    return missing


def _refuse_unknown(names: Mapping[str, str] | tuple[str, ...], owner: str) -> None:
    unknown = sorted(set(names) - set(OPERATIONS) - set(CAPABILITIES))
    if unknown:
        raise ValueError(
            f"{owner} names {', '.join(unknown)}, which is neither an operation of the contract nor one of "
            f"{', '.join(CAPABILITIES)}."
        )


class Suite:
    """What a subclass declares of its catalog, and the fixtures that its tests use."""

    # What the catalog's specification leaves out, each with the reason (see capabilities.py).
    without: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Tests that a foreign catalog is known to fail, each with the reason.
    deviations: ClassVar[Mapping[str, str]] = MappingProxyType({})
    # Texts that must never be read from the catalog's repr or namespace_id.
    secrets: ClassVar[Sequence[str]] = ()
    # What joins the names in list_all_tables.
    delimiter: ClassVar[str] = "$"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        left_out(cls.without, cls.__name__)
        for name in cls.deviations:
            if not hasattr(cls, name.partition("[")[0]):
                raise TypeError(f"{cls.__name__}.deviations names {name}, which is not a test of it.")

    @pytest.fixture
    def catalog(self) -> LanceNamespace:
        """Return the catalog under test. A subclass must supply it."""
        raise NotImplementedError(f"{type(self).__name__} must supply a fixture named catalog.")

    @pytest.fixture
    def scratch(self) -> Sequence[str]:
        """Return the namespace in which the tests work; the root unless a subclass says otherwise."""
        return ()

    @pytest.fixture
    def space(self, catalog: LanceNamespace, scratch: Sequence[str], request: pytest.FixtureRequest) -> Sandbox:
        if plugin.LEFT_OUT not in request.config.stash:
            pytest.fail("CatalogTests needs its plugin: run pytest -p lanceway.testing.plugin.")
        return Sandbox(catalog, tuple(scratch))

    @pytest.fixture
    def raw(self, space: Sandbox) -> Raw:
        """Return the storage below the catalog. A subclass may supply its own credentials."""
        return Raw(space)
