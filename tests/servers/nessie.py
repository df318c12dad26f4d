"""A real Nessie, which is an Iceberg REST catalog too, on loopback, with its tables in the run's S3.

It needs a JDK of version 21 or later: `JAVA_HOME`, `java` on the path, or one below /usr/lib/jvm.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.jvm import OPTIONS, program
from tests.servers.jvm import run as run_program
from tests.servers.run import Run, free_ports, wait_until
from tests.servers.seaweedfs import BUCKET, KEY, REGION, S3, SECRET

VERSION = "0.99.0"
OLDEST_JAVA = 21
READY_SECONDS = 240.0
ATTEMPTS = 3
WAREHOUSE = "nessie"


@dataclass(frozen=True)
class Nessie:
    """A server with one warehouse, on one branch."""

    endpoint: str
    warehouse: str = WAREHOUSE

    def is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.endpoint}/v1/config", timeout=10).status_code == 200
        except httpx.RequestError:
            return False


def start(run: Run, s3: S3) -> Nessie:
    """The run's server, started if it is not there yet."""
    return Nessie(**run.once("nessie", lambda home: {"endpoint": _start(run, s3).endpoint}))


def _start(run: Run, s3: S3) -> Nessie:
    for _ in range(ATTEMPTS):  # another process may take a port between the look and the start
        port, management = free_ports(2)
        environment = {
            "QUARKUS_HTTP_HOST": "127.0.0.1",
            "QUARKUS_HTTP_PORT": str(port),
            "QUARKUS_MANAGEMENT_HOST": "127.0.0.1",
            "QUARKUS_MANAGEMENT_PORT": str(management),
        }
        process = run.spawn("nessie", [java(), *OPTIONS, *_settings(s3), "-jar", str(jar())], environment)
        server = Nessie(f"http://127.0.0.1:{port}/iceberg")
        if wait_until(server.is_ready, process, READY_SECONDS):
            return server
    raise RuntimeError(f"Nessie does not start:\n{(run.folder / 'nessie.log').read_text()[-2000:]}")


def _settings(s3: S3) -> list[str]:
    options = "nessie.catalog.service.s3.default-options"
    settings = {
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": f"s3://{BUCKET}/nessie/",
        f"{options}.endpoint": s3.endpoint,
        f"{options}.path-style-access": "true",
        f"{options}.region": REGION,
        f"{options}.access-key": "urn:nessie-secret:quarkus:storage",
        "storage.name": KEY,
        "storage.secret": SECRET,
    }
    return [f"-D{name}={value}" for name, value in settings.items()]


def jar() -> Path:
    """The server, fetched once per machine."""
    found = Path.home() / f".m2/repository/org/projectnessie/nessie/nessie-quarkus/{VERSION}"
    archive = found / f"nessie-quarkus-{VERSION}-runner.jar"
    if not archive.exists():
        artefact = f"org.projectnessie.nessie:nessie-quarkus:{VERSION}:jar:runner"
        run_program(
            program("mvn"), "-B", "-ntp", "-q", "dependency:get", "-Dtransitive=false", f"-Dartifact={artefact}"
        )
    return archive


def java() -> str:
    """A Java that is new enough."""
    homes = [os.environ.get("JAVA_HOME", ""), *sorted(glob.glob("/usr/lib/jvm/*"), reverse=True)]
    candidates = [*(f"{home}/bin/java" for home in homes if home), shutil.which("java") or ""]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and _version(candidate) >= OLDEST_JAVA:
            return candidate
    raise RuntimeError(f"Nessie needs a JDK of version {OLDEST_JAVA} or later, and none was found. Set JAVA_HOME.")


def _version(candidate: str) -> int:
    shown = subprocess.run([candidate, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', shown)
    return int(found[1]) if found else 0
