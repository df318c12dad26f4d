"""Catalogs that are dead: their own branches say so, and nobody else notices."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from lance_namespace import LanceNamespace, ListTablesRequest

from lanceway.catalogs import FederatedCatalog, LakeCatalog
from lanceway.config import CatalogSettings
from lanceway.errors import ServiceUnavailableError
from lanceway.server.threads import CatalogThreads, ThreadLimits
from tests.catalogs.federated.tree_helpers import SECRET, create, folder_of, names, tree, uri_in
from tests.servers.restadapter import adapters
from tests.servers.silent import silence

pytestmark = pytest.mark.slow

_TRIES = 200


@pytest.fixture
def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def silent_port() -> Iterator[int]:
    with silence() as server:
        yield server.port


def bucket(port: int, **storage: str) -> CatalogSettings:
    options = {
        "endpoint": f"http://127.0.0.1:{port}",
        "allow_http": "true",
        "region": "us-east-1",
        "access_key_id": "somebody",
        "secret_access_key": SECRET,
        **storage,
    }
    return CatalogSettings(
        "dir", {"path": "s3://bucket/w", **{f"storage.{key}": value for key, value in options.items()}}, deadline=1.0
    )


def assert_only_its_branch_is_dead(made: Any, dead: str) -> None:
    for ask in (made.list_tables, made.list_namespaces, made.list_all_tables):
        with pytest.raises(ServiceUnavailableError) as refused:
            ask({"id": [dead]})
        assert SECRET not in str(refused.value)
    assert names(made) == sorted({dead, "archive", "lake"})
    assert made.describe_namespace({"id": [dead]}).properties["lanceway.type"]
    assert made.list_tables({"id": ["archive"]}).tables == ["a"]
    assert made.list_tables({"id": ["lake"]}).tables == ["b"]
    with pytest.raises(ServiceUnavailableError):  # never a short list
        made.list_all_tables({"id": []})


def with_dead(folder: Path, name: str, dead: CatalogSettings) -> Any:
    root = tree(folder, {"archive": folder_of(folder / "archive"), name: dead})
    create(root, "archive", "a")
    create(root, "lake", "b")
    return root


def test_a_database_that_refuses(tmp_path: Path, closed_port: int) -> None:
    uri = f"postgresql://me:{SECRET}@127.0.0.1:{closed_port}/lake"
    with with_dead(tmp_path, "away", CatalogSettings("lake", {"uri": uri, "root": str(tmp_path / "w")})) as root:
        assert_only_its_branch_is_dead(root, "away")


def test_a_server_that_is_gone(tmp_path: Path) -> None:
    with adapters() as running:
        uri = running.serve(tmp_path / "served")
        root = with_dead(tmp_path, "theirs", CatalogSettings("rest", {"uri": uri, "retries": "0"}))
        create(root, "theirs", "t")
        assert root.list_all_tables({"id": []}).tables == ["archive$a", "lake$b", "theirs$t"]
    with root:
        assert_only_its_branch_is_dead(root, "theirs")


def test_a_bucket_that_never_answers_and_is_told_how_long_to_wait(tmp_path: Path, silent_port: int) -> None:
    impatient = bucket(silent_port, timeout="1s", client_max_retries="0", retry_timeout="1s")
    with with_dead(tmp_path, "away", impatient) as root, pytest.raises(ServiceUnavailableError):
        root.list_tables({"id": ["away"]})


def test_a_server_answers_within_the_deadline_of_a_bucket_that_never_does(tmp_path: Path, silent_port: int) -> None:
    made = with_dead(tmp_path, "away", bucket(silent_port))

    async def ask() -> None:
        lanes = {name: ThreadLimits(name, mount.threads, mount.deadline) for name, mount in made.mounts().items()}
        work = CatalogThreads(ThreadLimits("lake", 4, 60), lanes)
        dead = [asyncio.ensure_future(work.run("away", made.list_tables, {"id": ["away"]})) for _ in range(40)]
        alive = await work.run("archive", made.list_tables, {"id": ["archive"]})
        assert alive.tables == ["a"]
        assert (await work.run(None, made.list_namespaces, {"id": []})).namespaces == ["archive", "away", "lake"]
        for outcome in await asyncio.gather(*dead, return_exceptions=True):
            assert isinstance(outcome, ServiceUnavailableError)
        with pytest.raises(ServiceUnavailableError, match="away"):
            await listed(work, made)
        assert (await work.run(None, made.list_tables, {"id": ["lake"]})).tables == ["b"]

    async def listed(work: CatalogThreads, made: FederatedCatalog) -> Any:
        """ListAllTables as a server has it: each step on the threads of its catalog."""
        steps, result = made.listing(ListTablesRequest(id=[])), None
        while True:
            try:
                step = steps.send(result)
            except StopIteration as done:
                return done.value
            result = await work.run(step.mount, step.call)

    asyncio.run(ask())


# -- opening -------------------------------------------------------------------------------------


def eventually(ask: Callable[[], Any]) -> Any:
    """What is answered once the catalog is tried again."""
    for _ in range(_TRIES):
        try:
            return ask()
        except ServiceUnavailableError:
            time.sleep(0.05)
    return ask()


def test_a_catalog_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    away = CatalogSettings("lake", {"uri": uri_in(folder), "root": str(tmp_path / "w"), "create": "false"})
    root: Any = FederatedCatalog({"away": away})
    with pytest.raises(ServiceUnavailableError, match=r"'away' cannot be opened.*there is no folder"):
        root.list_tables({"id": ["away"]})
    folder.mkdir()
    with LakeCatalog(uri=uri_in(folder), root=str(tmp_path / "w")) as lake:
        create(lake, "t")
    assert eventually(lambda: root.list_tables({"id": ["away"]}).tables) == ["t"]
    root.close()


class Broken(LanceNamespace):
    """A fake: it shows how often it is opened, which no server can."""

    opened: ClassVar[list[float]] = []

    def __init__(self, **properties: str) -> None:
        self.opened.append(time.monotonic())
        raise ConnectionError(f"password {SECRET}")

    def namespace_id(self) -> str:
        return "broken"


def test_one_that_cannot_be_opened_is_not_tried_by_everybody_at_once() -> None:
    from tests.catalogs.federated.test_dead import Broken as Mounted  # as the tree imports it

    root: Any = FederatedCatalog({"broken": CatalogSettings("tests.catalogs.federated.test_dead.Broken")})
    began = time.monotonic()
    for _ in range(50):
        with pytest.raises(ServiceUnavailableError, match="it fails with ConnectionError") as refused:
            root.list_tables({"id": ["broken"]})
        assert SECRET not in str(refused.value)
    assert 1 <= len(Mounted.opened) <= 1 + (time.monotonic() - began)
