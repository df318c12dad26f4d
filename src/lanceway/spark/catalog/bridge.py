"""The jar between Spark SQL's catalogs and this process: found or built, and put into the JVM that runs.

A wheel carries the jar. A checkout has its sources alone: it is built from them once, with the `javac` of this
machine, and kept in the user's cache folder under a name that changes with them.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceway import config
from lanceway.errors import UnsupportedOperationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = Path(__file__).parents[1] / "jvm"
# The oldest Java that Spark 4 runs on: what it compiles runs on every newer one.
RELEASE = "17"
_PACKAGE = "io.lanceway.spark"
CATALOG_CLASS = f"{_PACKAGE}.LancewayCatalog"


def jar() -> Path:
    """Return the jar of the bridge, built if need be. Raises UnsupportedOperationError where it cannot be built."""
    name = jar_name()
    packaged = SOURCES / name
    if packaged.is_file():
        return packaged
    cached = config.user_cache_folder() / "jars" / name
    if not cached.is_file():
        build(cached)
    return cached


def jar_name() -> str:
    """Return the jar's name, which changes with the sources."""
    digest = hashlib.sha256()
    for source in _sources():
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return f"lanceway-spark-{digest.hexdigest()[:16]}.jar"


def build(target: Path) -> None:
    """Compile the bridge against the jars of the installed PySpark. Two processes that build at once both succeed."""
    compiler = shutil.which("javac")
    if compiler is None:
        raise UnsupportedOperationError(
            "Lanceway's SQL catalog for Spark needs a small jar, which is not here and cannot be built, since there "
            f"is no javac. Install a JDK of version {RELEASE} or later, or a wheel of lanceway, which carries the jar. "
            'format("lance") works without it.'
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        classes = Path(folder, "classes")
        archive = Path(folder, target.name)
        command = [compiler, "--release", RELEASE, "-nowarn", "-d", str(classes), "-cp", str(_spark_jars() / "*")]
        done = subprocess.run(
            [*command, *map(str, _sources())], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise UnsupportedOperationError(
                f"Lanceway's SQL catalog for Spark could not be built by {compiler}: {done.stderr.strip()[-1000:]}"
            )
        _pack(classes, archive)
        archive.replace(target)


def _pack(classes: Path, target: Path) -> None:
    """Write a jar of the compiled classes. Times in it are fixed, so that the same sources make the same file."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(path.relative_to(classes).as_posix())
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def _sources() -> list[Path]:
    return sorted(SOURCES.rglob("*.java"))


def _spark_jars() -> Path:
    import pyspark

    return Path(pyspark.__file__).with_name("jars")


def attach(spark: SparkSession) -> Any:
    """Return the bridge in the JVM of a session; add the jar there, unless it is on the class path already."""
    from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]

    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedOperationError(
            "A session of Spark Connect has no JVM of its own, so it cannot have catalogs from this process. "
            'Use format("lance"), or a classic session.'
        )
    jvm = spark._jvm
    bridge = getattr(jvm, f"{_PACKAGE}.Bridge")
    if not isinstance(bridge, JavaClass):
        spark._jsparkSession.sessionState().resourceLoader().addJar(jar().as_uri())
        bridge = getattr(jvm, f"{_PACKAGE}.Bridge")
    return bridge
