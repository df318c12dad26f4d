"""What can be told of a catalog without asking anybody: where it is, how deep tables lie, which names they may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs import DirectoryCatalog, IcebergCatalog, LakeCatalog, RestCatalog, UnityCatalog, shapes
from lanceway.catalogs.subtree import Subtree
from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier

NOWHERE = "http://127.0.0.1:9"


def test_a_place_is_the_same_for_everybody_and_holds_no_secret(tmp_path: Path) -> None:
    lake = LakeCatalog(uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path))
    assert shapes.place(lake) == f"lake uri=sqlite+pysqlite:///{tmp_path}/lake.db metalake=lanceway catalog=lake"
    one, other = (RestCatalog(uri=f"{NOWHERE}/lance", token=token) for token in ("hush", "hush-hush"))
    assert shapes.place(one) == shapes.place(other) == f"rest uri={NOWHERE}/lance"
    assert shapes.place(Subtree(one, Identifier(("a", "b")))) == f"rest uri={NOWHERE}/lance at=['a', 'b']"


@pytest.mark.parametrize("address", ["postgresql://me:hush@db/lake", "postgresql://db/lake?password=hush"])
def test_an_address_is_bare_of_who_asks(address: str) -> None:
    assert shapes._bare(address) == "postgresql://db/lake"


def test_depths_are_told_from_the_root_that_is_meant(tmp_path: Path) -> None:
    unity = UnityCatalog(endpoint=NOWHERE, catalog="main")
    assert shapes.shape(unity)[:2] == (3, 3)
    assert shapes.shape(Subtree(unity, Identifier(("main",))))[:2] == (2, 2)
    assert shapes.shape(IcebergCatalog(endpoint=NOWHERE, warehouse="wh"))[:2] == (3, None)
    assert shapes.shape(DirectoryCatalog(path=str(tmp_path)))[:2] == (1, 1)
    assert shapes.shape(DirectoryCatalog(path=str(tmp_path), layout="manifest"))[:2] == (1, None)
    assert shapes.shape(RestCatalog(uri=NOWHERE))[:2] == (1, None)
    with pytest.raises(InvalidInputError, match="holds none so deep"):
        shapes.shape(Subtree(unity, Identifier(("main", "a", "b"))))


def test_a_name_in_unity_begins_with_its_catalog() -> None:
    unity = UnityCatalog(endpoint=NOWHERE, catalog="main")
    shapes.check(unity, Identifier(("main", "s", "t")))
    with pytest.raises(InvalidInputError, match="the first name must be 'main'"):
        shapes.check(unity, Identifier(("other", "s", "t")))
