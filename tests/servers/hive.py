"""Real Hive Metastores on loopback, with a database of their own in memory, or in a folder that outlives a restart."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape

from lanceway.errors import ServiceUnavailableError
from tests.servers.jvm import HIVE, OPTIONS, program
from tests.servers.run import Run, free_ports, wait_until

READY_SECONDS = 180.0
ATTEMPTS = 3
PACKAGE = "org.apache.hadoop.hive.metastore"
_OPENED = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "net", "util"))
_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "metastore.schema.verification": "false",
    "metastore.thrift.bind.host": "127.0.0.1",
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
    "metastore.housekeeping.threads.on": "false",
    # What fails in its database is tried again ten times, with two seconds in between, unless it is told otherwise.
    "metastore.hmshandler.retry.attempts": "3",
    "metastore.hmshandler.retry.interval": "100ms",
}
# Version 2 has other names for them, and lacks what some of them ask for.
_SETTINGS_2 = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.metastore.expression.proxy": "org.apache.hadoop.hive.metastore.LoopbackHive2$NoExpressions",
    "hive.hmshandler.retry.attempts": "3",
    "hive.hmshandler.retry.interval": "100ms",
    "hive.async.log.enabled": "false",
}
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Hive:
    """A metastore, and the folder that it takes for its warehouse."""

    uri: str
    warehouse: str

    def is_ready(self) -> bool:
        from lanceway.catalogs import HiveCatalog  # here, since every run imports this module

        try:
            with HiveCatalog(uri=self.uri, max_retries=0) as catalog:
                return bool(catalog.list_namespaces({"id": []}).namespaces)
        except ServiceUnavailableError:
            return False


def start(run: Run, version: str) -> Hive:
    """The run's metastore of this version, started if it is not there yet."""
    name = f"hive-{version}"

    def begun(home: Path) -> dict[str, str]:
        return vars(_start(run, name, home, version, "memory:metastore")[0])

    return Hive(**run.once(name, begun))


def begin(
    run: Run, home: Path, version: str, port: int | None = None, **settings: str
) -> tuple[Hive, subprocess.Popen[bytes]]:
    """A metastore of one's own that keeps all in a folder, and its process. It ends with the run, or with that."""
    name = f"hive-{version}-{os.getpid()}-{next(_NUMBERS)}"
    return _start(run, name, home, version, str(home / "metastore"), port, settings)


def _start(
    run: Run,
    name: str,
    home: Path,
    version: str,
    database: str,
    port: int | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Hive, subprocess.Popen[bytes]]:
    warehouse, is_2 = home / "warehouse", version.startswith("2.")
    for _ in range(ATTEMPTS):  # another process may take the port between the look and the start
        chosen = port or free_ports(1)[0]
        settings = {
            **(_SETTINGS_2 if is_2 else _SETTINGS),
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{database};create=true",
            f"{'hive.' if is_2 else ''}metastore.warehouse.dir": warehouse.as_uri(),
            **more,
        }
        _write(home / f"{'hive' if is_2 else 'metastore'}-site.xml", settings)
        log = f"-Dderby.stream.error.file={home / 'derby.log'}"
        command = [program("java"), *OPTIONS, *_OPENED, log, "-cp", f"{home}:{HIVE[version].classpath()}"]
        main = HIVE[version].main or "HiveMetaStore"
        arguments = [f"{PACKAGE}.{main}", *(() if HIVE[version].main else ("-p",)), str(chosen)]
        process = run.spawn(name, [*command, *arguments], {})
        server = Hive(f"thrift://127.0.0.1:{chosen}", str(warehouse))
        if wait_until(server.is_ready, process, READY_SECONDS):
            return server, process
    raise RuntimeError(f"Hive {version} does not start:\n{(run.folder / f'{name}.log').read_text()[-2000:]}")


def _write(file: Path, settings: dict[str, str]) -> None:
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n" for name, value in settings.items()
    )
    file.write_text(f"<configuration>\n{rows}</configuration>\n")
