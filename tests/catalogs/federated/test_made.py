"""Catalogs that are made while trees over one database are open: seen by all of them, closed when no one uses them."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lanceway import config
from lanceway.catalogs.federated import trials
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.made import MadeMount
from lanceway.catalogs.federated.mounts import CatalogDisabledError
from lanceway.config import CatalogSettings
from lanceway.errors import InvalidInputError, NamespaceAlreadyExistsError, NamespaceNotFoundError
from lanceway.server.home import Home
from tests.servers import dead

KEY = "0a" * 32


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[list[FederatedCatalog]]:
    """Two trees, each with connections of its own, as two processes have them."""
    settings = replace(config.server(None, {"home": tmp_path / "home"}), secret_key=KEY)
    homes = [Home.of(settings) for _ in range(2)]
    opened = [FederatedCatalog.from_settings(home.complete(settings), home.store) for home in homes]
    yield opened
    for tree in opened:
        tree.close()


def names(tree: FederatedCatalog) -> list[str]:
    return list(tree.list_namespaces({"id": []}).namespaces)  # type: ignore[arg-type]


def test_what_one_tree_mounts_the_other_has(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    one, other = trees
    assert names(one) == names(other) == ["lake"]
    one.made.create("there", "dir", {"path": str(tmp_path / "there")}, by="ada")
    assert names(one) == names(other) == ["lake", "there"]
    other.made.set_enabled("there", False, by="ada")
    with pytest.raises(CatalogDisabledError, match="'there' is disabled"):
        one.list_namespaces({"id": ["there"]})  # type: ignore[arg-type]
    other.made.set_enabled("there", True, by="ada")
    one.list_namespaces({"id": ["there"]})  # type: ignore[arg-type]
    other.made.drop("there", by="admin")
    assert names(one) == ["lake"]
    with pytest.raises(NamespaceNotFoundError):
        one.list_namespaces({"id": ["there"]})  # type: ignore[arg-type]


def test_a_pinned_tree_stays_as_it_is_until_it_is_refreshed(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    one, other = trees
    pinned = other.pinned()
    pinned.refresh()
    assert pinned.is_fresh()
    one.made.create("there", "dir", {"path": str(tmp_path)}, by="ada")
    assert not pinned.is_fresh()
    assert "there" not in pinned.mounts()
    pinned.refresh()
    assert pinned.is_fresh()
    assert "there" in pinned.mounts()


def test_a_catalog_is_closed_when_its_last_request_ends(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    one, other = trees
    one.made.create("there", "dir", {"path": str(tmp_path)}, by="ada")
    mount = one.mounts()["there"]
    assert isinstance(mount, MadeMount)
    with mount.in_use():
        catalog = mount.catalog
        other.made.alter("there", by="ada", changes={"path": str(tmp_path / "other")})
        assert one.mounts()["there"] is not mount
        assert mount._opened is catalog, "it is in use"
    assert mount._opened is None
    assert one.mounts()["there"].roots == (str(tmp_path / "other"),)


def test_what_is_the_same_stays_open(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    one, other = trees
    one.made.create("there", "dir", {"path": str(tmp_path)}, by="ada")
    mount = one.mounts()["there"]
    other.made.create("more", "dir", {"path": str(tmp_path)}, by="ada")
    assert one.mounts()["there"] is mount


def test_names_are_taken_whichever_kind_a_catalog_is(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    one, _ = trees
    settings = {"path": str(tmp_path)}
    one.made.create("there", "dir", settings, by="ada")
    for tree in trees:
        with pytest.raises(NamespaceAlreadyExistsError):
            tree.made.create("there", "dir", settings, by="ada")
        with pytest.raises(NamespaceAlreadyExistsError):
            tree.create_namespace({"id": ["there"]})  # type: ignore[arg-type]
        with pytest.raises(NamespaceAlreadyExistsError):
            tree.made.create("lake", "dir", settings, by="ada")
        with pytest.raises(NamespaceAlreadyExistsError):
            tree.made.rename("there", "lake", by="ada")


def test_a_file_that_hides_a_catalog_of_the_database_does_not_start(
    trees: list[FederatedCatalog], tmp_path: Path
) -> None:
    trees[0].made.create("there", "dir", {"path": str(tmp_path)}, by="ada")
    settings = config.server(None, {"home": tmp_path / "home"})
    home = Home.of(settings)
    hiding = replace(home.complete(settings), catalogs={"there": CatalogSettings("dir", {"path": str(tmp_path)})})
    with pytest.raises(InvalidInputError, match=r"\[catalogs.there\].*same name"):
        FederatedCatalog.from_settings(hiding, home.store)
    home.close()


def test_a_tree_with_made_catalogs_is_pickled(trees: list[FederatedCatalog], tmp_path: Path) -> None:
    trees[0].made.create("there", "dir", {"path": str(tmp_path), "storage.x_token": "sesame"}, by="ada")
    with pickle.loads(pickle.dumps(trees[0])) as copy:
        assert names(copy) == ["lake", "there"]
        assert copy.mounts()["there"].section().settings["storage.x_token"] == "sesame"
        assert "sesame" not in repr(copy) + repr(copy.mounts()["there"]) + repr(copy.mounts()["there"].row)


def test_a_service_that_is_down_fails_its_trial() -> None:
    """Of every type, also where the root is known from the settings."""
    for type_, settings in dead.settings().items():
        failed = next(check for check in trials.try_out(CatalogSettings(type_, dict(settings))) if not check.passed)
        assert failed.name in ("connect", "list"), type_
        assert dead.SECRET not in str(failed)


def test_a_service_that_never_answers_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}/lance"
        checks = trials.try_out(CatalogSettings("rest", {"uri": uri, "timeout": "5", "retries": "0"}, deadline=0.5))
    assert [(check.name, check.passed) for check in checks] == [("connect", True), ("list", False)]
    assert checks[-1].message == "It did not answer within 0.5 seconds."
