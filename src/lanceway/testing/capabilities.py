"""What a catalog may leave out, and how it says so.

A catalog's test class names what its specification leaves out, with the reason:

    without = {**NO_ENGINE, "rename_table": "the service cannot rename"}

A key is an operation of the contract or one of CAPABILITIES. Tests that need it are deselected, the
report shows each key with its reason, and an operation left out must answer 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from lanceway.catalogs.contract.operations import OPERATIONS

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
