"""What can be told of a catalog without asking anybody: where it is, how deep tables lie, which names they may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import DirectoryCatalog, IcebergCatalog, LakeCatalog, RestCatalog, UnityCatalog
from lanceway.catalogs.contract import limits
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

NOWHERE = "http://127.0.0.1:9"


def test_a_place_is_the_same_for_everybody_and_holds_no_secret(tmp_path: Path) -> None:
    lake = LakeCatalog(uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path))
    assert limits.address(lake) == f"lake uri=sqlite+pysqlite:///{tmp_path}/lake.db metalake=lanceway catalog=lake"
    first, other = (RestCatalog(uri=f"{NOWHERE}/lance", token=token) for token in ("hush", "hush-hush"))
    assert limits.address(first) == limits.address(other) == f"rest uri={NOWHERE}/lance"
    assert limits.address(Subtree(first, Identifier(("a", "b")))) == f"rest uri={NOWHERE}/lance at=['a', 'b']"


@pytest.mark.parametrize("address", ["postgresql://me:hush@db/lake", "postgresql://db/lake?password=hush"])
def test_an_address_is_bare_of_who_asks(address: str) -> None:
    assert limits.bare_address(address) == "postgresql://db/lake"


def test_depths_are_told_from_the_root_that_is_meant(tmp_path: Path) -> None:
    unity = UnityCatalog(endpoint=NOWHERE, catalog="main")
    assert limits.identifier_limits(unity)[:2] == (3, 3)
    assert limits.identifier_limits(Subtree(unity, Identifier(("main",))))[:2] == (2, 2)
    assert limits.identifier_limits(IcebergCatalog(endpoint=NOWHERE, warehouse="wh"))[:2] == (3, None)
    assert limits.identifier_limits(DirectoryCatalog(path=str(tmp_path)))[:2] == (1, 1)
    assert limits.identifier_limits(DirectoryCatalog(path=str(tmp_path), layout="manifest"))[:2] == (1, None)
    assert limits.identifier_limits(RestCatalog(uri=NOWHERE))[:2] == (1, None)
    with pytest.raises(InvalidInputError, match="holds none so deep"):
        limits.identifier_limits(Subtree(unity, Identifier(("main", "a", "b"))))


def test_a_name_in_unity_begins_with_its_catalog() -> None:
    unity = UnityCatalog(endpoint=NOWHERE, catalog="main")
    limits.check_new_table(unity, Identifier(("main", "s", "t")))
    with pytest.raises(InvalidInputError, match="the first name must be 'main'"):
        limits.check_new_table(unity, Identifier(("other", "s", "t")))
