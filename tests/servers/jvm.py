"""Java programs of the suite: what Maven must fetch for each, compiled and ready to start.

`python -m tests.servers.jvm` fetches and compiles all of it ahead of the tests; the second time it does nothing.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

SOURCES = Path(__file__).with_name("jvm")
# Kept with the environment that the tests run in: whoever makes that anew has these made anew.
BUILT = Path(sys.prefix) / "jvm"
# A small machine runs several servers at once, and none of them for long.
OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class Program:
    """What a pom names, with properties of its own, and one class of ours, if there is one, that starts it."""

    pom: str
    main: str = ""
    properties: tuple[tuple[str, str], ...] = ()

    def command(self, *arguments: str) -> list[str]:
        """How the program is started; it is fetched and compiled first if nobody has."""
        return [program("java"), *OPTIONS, "-cp", self.classpath(), f"org.apache.iceberg.rest.{self.main}", *arguments]

    def classpath(self) -> str:
        home = BUILT / self._key()
        BUILT.mkdir(exist_ok=True)
        with FileLock(BUILT / f"{home.name}.lock"):
            if not (home / "classpath").exists():
                self._build(home)
        return f"{home}:{(home / 'classpath').read_text()}"

    def _key(self) -> str:
        """Changes with all that goes into it."""
        parts = [source.read_bytes() for source in (SOURCES / f"{self.pom}.xml", *self._classes())]
        digest = hashlib.sha256(b"\0".join((*parts, repr(self.properties).encode()))).hexdigest()
        return f"{self.pom}-{digest[:12]}"

    def _classes(self) -> list[Path]:
        return [SOURCES / f"{self.main}.java"] if self.main else []

    def _build(self, home: Path) -> None:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        found = home / "resolved"
        given = [f"-D{name}={value}" for name, value in self.properties]
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={found}"]
        run(program("mvn"), "-B", "-ntp", "-q", "-f", str(SOURCES / f"{self.pom}.xml"), *given, *goal)
        for source in self._classes():
            run(program("javac"), "-d", str(home), "-cp", found.read_text(), str(source))
        found.rename(home / "classpath")  # last: it says that all is there


ICEBERG = {
    version: Program("iceberg", "LoopbackMain", (("iceberg.version", version),)) for version in ("1.10.1", "1.11.0")
}


def _hive(version: str, artifact: str, main: str = "") -> Program:
    """Hive's own metastore. The scope leaves out what it is itself tested with."""
    properties = (("hive.version", version), ("hive.artifact", artifact), ("mdep.includeScope", "runtime"))
    return Program("hive", main, properties)


HIVE = {
    "4.0.1": _hive("4.0.1", "hive-standalone-metastore-server"),
    "3.1.3": _hive("3.1.3", "hive-standalone-metastore", "LoopbackHive3"),
    "2.3.9": _hive("2.3.9", "hive-metastore", "LoopbackHive2"),
}

# Iceberg's own client, from the same jars.
CLIENT = Program("iceberg", "CatalogSteps", (("iceberg.version", "1.11.0"),))
# The same with its files in S3.
STORAGE_CLIENT = Program("s3", "StorageSteps")


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"The program {name!r} is missing. Debian: apt-get install openjdk-17-jdk-headless maven")
    return found


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    for made in (*ICEBERG.values(), *HIVE.values(), CLIENT, STORAGE_CLIENT):
        made.classpath()
