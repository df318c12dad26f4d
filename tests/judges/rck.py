"""Iceberg's REST Compatibility Kit, with nested namespaces: the project's own tests of a REST catalog."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from tests.judges.judged import Judged
from tests.judges.outcomes import Outcome, from_junit
from tests.servers.jvm import OPTIONS, Program, program

KIT = Program("rck", "NestedNamespaces")
CLASSES = ("NestedNamespaces", "RESTCompatibilityKitViewCatalogTests")
PARTS = CLASSES  # each wants a server that has nothing yet
# The kit takes system properties for those of the catalog. Names with dots are what it would else leave out.
SETTINGS = ("-Drck.requires-namespace-create=true", "-Drck.supports-names-with-dot=true")


def prepare() -> None:
    KIT.classpath()


def judge(judged: Judged, part: str) -> Iterator[Outcome]:
    reports = judged.folder / "reports"
    environment = {"CATALOG_URI": judged.uri, "CATALOG_WAREHOUSE": judged.warehouse}
    if judged.token:
        environment["CATALOG_TOKEN"] = judged.token
    command = [program("java"), *OPTIONS, *SETTINGS, f"-Djava.io.tmpdir={judged.folder}"]
    command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", KIT.classpath()]
    command += ["org.junit.platform.console.ConsoleLauncher", "execute", "--config", "rck.local=false"]
    command += ["--select-class", f"org.apache.iceberg.rest.{part}", "--reports-dir", str(reports)]
    command += ["--details", "none", "--disable-banner"]
    done = subprocess.run(
        command, env={**os.environ, **environment}, cwd=judged.folder, capture_output=True, text=True, check=False
    )
    report = reports / "TEST-junit-jupiter.xml"
    if not report.exists():
        raise RuntimeError(f"The kit did not run:\n{(done.stdout + done.stderr)[-4000:]}")
    yield from from_junit(report)
