"""The servers that `bench/catalogs.py` asks, each in a process of its own, and how both libraries reach it."""

from __future__ import annotations

import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

import httpx
from lance_namespace import CreateNamespaceRequest, DeclareTableRequest, LanceNamespace
from lance_namespace_impls import GlueNamespace, Hive3Namespace, IcebergNamespace, PolarisNamespace, UnityNamespace
from tests.servers import hive, iceberg, moto, polaris, seaweedfs, unity
from tests.servers.proxy import Proxy
from tests.servers.run import Run

from lanceway.catalogs import GlueCatalog, HiveCatalog, IcebergCatalog, PolarisCatalog, UnityCatalog
from thrift_proxy import ThriftProxy

FULL, WORK = "full", "work"
BUCKET = "s3://bucket"
AT_ONCE = 8
DISTANCE = 0.005  # seconds
Settings = dict[str, str]


class CountingProxy(Protocol):
    """Stands before a server, and has a list of what it was asked."""

    @property
    def endpoint(self) -> str: ...

    @property
    def requests(self) -> Sequence[object]: ...


@dataclass(frozen=True)
class Place:
    """A server with two namespaces. Both libraries connect by its address, or by that of a proxy before it."""

    name: str
    endpoint: str
    full: list[str]  # a namespace whose tables are read
    work: list[str]  # one in which tables come and go
    base: str  # where new tables lie
    ours: Callable[[str], LanceNamespace]
    peer: Callable[[str], LanceNamespace]
    proxy: Callable[[str], AbstractContextManager[CountingProxy]] = Proxy

    def table(self, space: list[str], name: str) -> DeclareTableRequest:
        return DeclareTableRequest(id=[*space, name], location=f"{self.base}/{space[-1]}/{name}")

    def fill(self, space: list[str], names: list[str]) -> None:
        catalog = self.ours(self.endpoint)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(catalog.declare_table, (self.table(space, name) for name in names)))


@contextmanager
def places() -> Iterator[list[Place]]:
    """Every server."""
    run = Run.begin()
    try:
        with ExitStack() as closing:
            s3 = seaweedfs.start(run)
            yield [
                _glue(closing.enter_context(_elsewhere(moto.serve))),
                _unity("Unity (fake of 0.6.0)", closing.enter_context(_elsewhere(_serve_unity, unity.NEW))),
                _unity("Unity (fake of 0.4.0)", closing.enter_context(_elsewhere(_serve_unity, unity.OLD))),
                _seaweedfs("Iceberg (SeaweedFS)", s3, s3.iceberg, FULL, WORK),
                _seaweedfs(
                    f"Iceberg (the same, {DISTANCE * 1000:.0f} ms away)",
                    s3,
                    closing.enter_context(_elsewhere(_Distant, s3.iceberg)),
                    f"far_{FULL}",
                    f"far_{WORK}",
                ),
                _reference(run, iceberg.start(run, "1.11.0")),
                _hive(run),
                _polaris(closing.enter_context(_elsewhere(_serve_polaris)), str(run.folder / "lance")),
            ]
    finally:
        run.end()


# -- the servers -----------------------------------------------------------------------------------


def _glue(endpoint: str) -> Place:
    known = {"region": moto.REGION, "access_key_id": moto.KEY, "secret_access_key": moto.SECRET}
    _create(GlueCatalog(endpoint=endpoint, hierarchy="databases", **known), [FULL], [WORK])
    return Place(
        "Glue (moto)",
        endpoint,
        [FULL],
        [WORK],
        BUCKET,
        lambda address: GlueCatalog(endpoint=address, **known),
        lambda address: GlueNamespace(endpoint=address, **known),
    )


def _unity(name: str, endpoint: str) -> Place:
    httpx.post(f"{endpoint}{unity.API}/catalogs", json={"name": "main"}).raise_for_status()
    _create(UnityCatalog(endpoint=endpoint, catalog="main"), ["main", FULL], ["main", WORK])
    return Place(
        name,
        endpoint,
        ["main", FULL],
        ["main", WORK],
        BUCKET,
        lambda address: UnityCatalog(endpoint=address, catalog="main"),
        lambda address: UnityNamespace(**{"unity.endpoint": address}),
    )


def _seaweedfs(name: str, server: seaweedfs.S3, address: str, *spaces: str) -> Place:
    who = {"grant_type": "client_credentials", "client_id": seaweedfs.KEY, "client_secret": seaweedfs.SECRET}
    token = httpx.post(f"{server.iceberg}/v1/oauth/tokens", data=who).json()["access_token"]
    storage = {f"storage.{key}": value for key, value in server.storage_options.items()}
    return _iceberg(name, address, seaweedfs.TABLE_BUCKET, "s3:/", spaces, {"auth_token": token}, storage)


def _reference(run: Run, server: iceberg.Iceberg) -> Place:
    root = str(run.folder / "lance")
    return _iceberg("Iceberg (reference)", server.endpoint, server.warehouse, root, (FULL, WORK), {}, {})


def _iceberg(
    name: str, endpoint: str, warehouse: str, root: str, spaces: tuple[str, ...], who: Settings, storage: Settings
) -> Place:
    def ours(address: str) -> IcebergCatalog:
        return IcebergCatalog(endpoint=address, **who, **storage)

    full, work = ([warehouse, space] for space in spaces)
    _create(ours(endpoint), full, work)
    return Place(
        name,
        endpoint,
        full,
        work,
        f"{root}/{warehouse}",
        ours,
        lambda address: IcebergNamespace(endpoint=address, **who),
    )


def _hive(run: Run) -> Place:
    """The newest metastore that the other library works with: on version 4 its lists are empty."""
    uri, root = hive.start(run, "3.1.3").uri, str(run.folder / "lance")
    _create(HiveCatalog(uri=uri), ["hive", FULL], ["hive", WORK])
    return Place(
        "Hive (3.1.3)",
        uri,
        ["hive", FULL],
        ["hive", WORK],
        root,
        lambda address: HiveCatalog(uri=address),
        lambda address: Hive3Namespace(uri=address, root=root),
        ThriftProxy,
    )


def _polaris(endpoint: str, root: str) -> Place:
    _create(PolarisCatalog(endpoint=endpoint), [polaris.WAREHOUSE, FULL], [polaris.WAREHOUSE, WORK])
    return Place(
        "Polaris (fake)",
        endpoint,
        [polaris.WAREHOUSE, FULL],
        [polaris.WAREHOUSE, WORK],
        root,
        lambda address: PolarisCatalog(endpoint=address),
        lambda address: PolarisNamespace(**{"polaris.endpoint": address}),
    )


def _create(catalog: LanceNamespace, *namespaces: list[str]) -> None:
    for namespace in namespaces:
        catalog.create_namespace(CreateNamespaceRequest(id=namespace))


# -- what stands in a process of its own -----------------------------------------------------------


@contextmanager
def _serve_unity(dialect: str) -> Iterator[unity.Unity]:
    with unity.serve() as server:
        server.dialect = dialect
        yield server


@contextmanager
def _serve_polaris() -> Iterator[polaris.Polaris]:
    """The fake with paths and pages such as Polaris has them: the other library looks for a catalog by its name."""
    with polaris.serve() as server:
        server.prefix, server.page = polaris.WAREHOUSE, 1_000
        yield server


class _Distant(Proxy):
    """A server that is not next door: each request takes its way first."""

    def forward(self, *request: Any) -> Any:
        time.sleep(DISTANCE)
        return super().forward(*request)


@contextmanager
def _elsewhere(serve: Callable[..., AbstractContextManager[Any]], *arguments: str) -> Iterator[str]:
    """A server's address; in this process it would share the interpreter's lock with who asks."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(there, serve, *arguments), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def _serve(parent: Connection, serve: Callable[..., AbstractContextManager[Any]], *arguments: str) -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # moto's, which writes a line for each request
    with serve(*arguments) as server:
        parent.send(server.endpoint)
        parent.recv()
