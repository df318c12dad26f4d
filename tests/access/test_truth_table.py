"""The truth table of nested schemas: who lists, loads, creates and drops what."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lanceway.access.privileges import CREATE_SCHEMA, USE_CATALOG, USE_SCHEMA
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import LakeStore
from tests.access.rights_helpers import ME, World, make_world

TREE = ("A", "A:B", "A:B:C", "A:B:D", "X", "X:Y")
LISTS = ("", "A", "A:B", "zz")
LOADS = ("A", "A:B:C", "A:zz")
CREATES = ("N", "A:N", "A:B:N", "N1:N2", "A:N1:N2")


@dataclass(frozen=True)
class Case:
    """What is granted (privilege, path), denied and owned; and what follows, in the order of the columns."""

    name: str
    grants: tuple[tuple[str, str], ...]
    lists: str
    loads: str
    creates: str
    owns: str
    denials: tuple[tuple[str, str], ...] = ()
    owned: tuple[str, ...] = ()


UC = (USE_CATALOG, "")
NO_LISTS, NO_LOADS, NO_CREATES = "403 403 403 403", "403 403 403", "403 403 403 403 403"
ALL_OF_A, C_AND_D = "A A:B A:B:C,A:B:D", "A:B:C,A:B:D"
CASES = (
    Case("no grants", (), NO_LISTS, NO_LOADS, NO_CREATES, "403"),
    Case("USE_CATALOG only", (UC,), "- - - -", NO_LOADS, NO_CREATES, "403"),
    Case("USE_SCHEMA on A, no USE_CATALOG", ((USE_SCHEMA, "A"),), NO_LISTS, NO_LOADS, NO_CREATES, "403"),
    Case("USE_SCHEMA on A", (UC, (USE_SCHEMA, "A")), f"{ALL_OF_A} -", "200 200 404", NO_CREATES, "403"),
    Case("USE_SCHEMA on A:B:C", (UC, (USE_SCHEMA, "A:B:C")), "A A:B A:B:C -", "403 200 403", NO_CREATES, "403"),
    Case(
        "USE_SCHEMA on the catalog, DENY on A",
        (UC, (USE_SCHEMA, "")),
        "X - - 404",
        NO_LOADS,
        NO_CREATES,
        "403",
        denials=((USE_SCHEMA, "A"),),
    ),
    Case(
        "USE_SCHEMA on A, DENY on A:B",
        (UC, (USE_SCHEMA, "A")),
        "A - - -",
        "200 403 404",
        NO_CREATES,
        "403",
        denials=((USE_SCHEMA, "A:B"),),
    ),
    Case(
        "DENY on A, ALLOW on A:B",
        (UC, (USE_SCHEMA, "A:B")),
        "- - - -",
        NO_LOADS,
        NO_CREATES,
        "403",
        denials=((USE_SCHEMA, "A"),),
    ),
    Case("CREATE_SCHEMA on A", (UC, (CREATE_SCHEMA, "A")), "- - - -", NO_LOADS, "403 200 200 403 200", "403"),
    Case("CREATE_SCHEMA on A:B", (UC, (CREATE_SCHEMA, "A:B")), "- - - -", NO_LOADS, "403 403 200 403 403", "403"),
    Case("CREATE_SCHEMA on the catalog", (UC, (CREATE_SCHEMA, "")), "- - - -", NO_LOADS, "200 200 200 200 200", "403"),
    Case(
        "CREATE_SCHEMA on the catalog, DENY on A",
        (UC, (CREATE_SCHEMA, "")),
        "- - - -",
        NO_LOADS,
        "200 403 403 200 403",
        "403",
        denials=((CREATE_SCHEMA, "A"),),
    ),
    Case("owner of A, no USE_CATALOG", (), NO_LISTS, NO_LOADS, "403 200 200 403 200", "403", owned=("A",)),
    Case("owner of A", (UC,), f"{ALL_OF_A} -", "200 200 404", "403 200 200 403 200", "200", owned=("A",)),
    Case("owner of A:B:C", (UC,), "A A:B A:B:C -", "403 200 403", NO_CREATES, "200", owned=("A:B:C",)),
    Case(
        "owner of A, DENY USE_SCHEMA on A",
        (UC,),
        f"{ALL_OF_A} -",
        "200 200 404",
        "403 200 200 403 200",
        "200",
        denials=((USE_SCHEMA, "A"),),
        owned=("A",),
    ),
    Case(
        "owner of the catalog", (), f"A,X A:B {C_AND_D} 404", "200 200 404", "200 200 200 200 200", "200", owned=("",)
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_truth_table(store: LakeStore, case: Case) -> None:
    world = make_world(store, "m", TREE)
    _grant(world, case)
    assert " ".join(_shown(world.list(path)) for path in LISTS) == case.lists
    assert " ".join(world.load(path) for path in LOADS) == case.loads
    assert " ".join(world.create(path) for path in CREATES) == case.creates
    assert ("200" if world.may("own schema", "A:B:C") else "403") == case.owns


def test_there_are_seventeen_cases() -> None:
    assert len(CASES) == 17


def _grant(world: World, case: Case) -> None:
    for privilege, path in case.grants:
        world.grant("r", path, privilege)
    for privilege, path in case.denials:
        world.grant("r", path, privilege, deny=True)
    for path in case.owned:
        world.own(path, Owner(ME.user))


def _shown(names: object) -> str:
    return names if isinstance(names, str) else ",".join(names) or "-"  # type: ignore[arg-type]
