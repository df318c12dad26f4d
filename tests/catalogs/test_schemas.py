"""Namespaces by logical path: listed, made in chains, altered and dropped, whichever way leads there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lanceway
from lanceway.catalogs import FederatedCatalog, LakeCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.catalogs.wrappers.subtree import Subtree
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


@pytest.fixture(scope="module")
def server(whole_run: Run) -> Iterator[Lanceway]:
    started = lanceway_server.start(whole_run)
    yield started
    assert started.stop() == 0


@pytest.fixture(
    params=[
        "lake",
        "tree",
        "subtree",
        pytest.param("server", marks=pytest.mark.slow),
        pytest.param("mounted server", marks=pytest.mark.slow),
    ]
)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, str]]:
    """A way to a lake, and what its paths begin with there."""
    below = Identifier(("lake",))
    if request.param.endswith("server"):
        server = request.getfixturevalue("server")
        with lanceway.connect("rest", uri=server.uri, token=server.token) as client:
            yield (client, "lake.") if request.param == "server" else (Subtree(client, below), "")
            client.drop_namespace({"id": ["lake", "A"], "behavior": "cascade", "mode": "skip"})
        return
    with LakeCatalog(uri=f"sqlite:///{tmp_path}/lake.db", root=str(tmp_path / "warehouse")) as lake:
        tree = FederatedCatalog({}, OwnLake(lake._lake, warehouse=str(tmp_path / "warehouse")))
        yield {"lake": (lake, ""), "tree": (tree, "lake."), "subtree": (Subtree(tree, below), "")}[request.param]


def test_a_chain_is_made_listed_altered_and_dropped_by_its_path(way: tuple[Any, str]) -> None:
    catalog, start = way
    created = catalog.create_namespaces(f"{start}A:B:C", {"owner": "ada"})
    assert tuple(created)[-3:] == ("A", "B", "C")
    assert catalog.list_schemas(f"{start}A") == [f"{start}A:B"]
    assert catalog.list_schemas(f"{start}A:B") == [f"{start}A:B:C"]
    assert catalog.alter_namespace(f"{start}A:B:C", {"k": "v"}, unset=["owner"]) == {"k": "v"}
    assert catalog.describe_namespace({"id": list(created)}).properties == {"k": "v"}
    assert not catalog.describe_namespace({"id": list(created)[:-1]}).properties
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_schema(f"{start}A:B")
    for path in ("A:B:C", "A:B", "A"):
        catalog.drop_schema(f"{start}{path}")
    with pytest.raises(NamespaceNotFoundError):
        catalog.alter_namespace(f"{start}A", {"k": "v"})


def test_reserved_keys_and_empty_changes_are_refused(way: tuple[Any, str]) -> None:
    catalog, start = way
    catalog.create_namespaces(f"{start}A")
    with pytest.raises(InvalidInputError, match="reserved"):
        catalog.alter_namespace(f"{start}A", {"lanceway.type": "x"})
    with pytest.raises(InvalidInputError, match="reserved"):
        catalog.alter_namespace(f"{start}A", unset=["lanceway.versioning"])
    with pytest.raises(InvalidInputError, match="no property"):
        catalog.alter_namespace(f"{start}A")
    with pytest.raises(InvalidInputError, match="set and unset"):
        catalog.alter_namespace(f"{start}A", {"k": "v"}, unset=["k"])


def test_a_catalog_says_how_names_are_written(way: tuple[Any, str]) -> None:
    catalog, start = way
    naming = catalog.naming(["lake"] if start else [])
    assert (naming.separator, naming.policy, naming.nested) == (":", "restricted", True)
    names = ["lake", "A", "B", "t"] if start else ["A", "B", "t"]
    assert naming.full_name(naming.inside(names)[:-1], "t") == "lanceway.lake.A:B.t"
    assert naming.outside(["A", "B", "t"]) == names


def test_describing_a_catalog_shows_separator_and_nested(server: Lanceway) -> None:
    with lanceway.connect("rest", uri=server.uri, token=server.token) as client:
        properties = client.describe_namespace({"id": ["lake"]}).properties
        assert properties is not None
        assert (properties["lanceway.separator"], properties["lanceway.nested"]) == (":", "true")
        altered = client.alter_namespace(["lake"], {"team": "x"})  # type: ignore[attr-defined]
        assert altered["team"] == "x"


def test_a_catalog_without_them_says_so(tmp_path: Path) -> None:
    tree = Subtree(lanceway.connect("dir", path=str(tmp_path)), Identifier(("a",)))
    with pytest.raises(UnsupportedOperationError, match="Only a lake"):
        tree.alter_namespace(["b"], {"k": "v"})
