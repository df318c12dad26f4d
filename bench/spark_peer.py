"""The JVM connector for Lance, on the same rows: in a process of its own, with the Spark that it is made for.

The newest that its Maven repository has is for Spark 3.5 and Scala 2.12, and cannot run on Spark 4. So an environment
with PySpark 3.5 is made beside the tables, and the same queries are asked there of the connector and of Parquet: it is
the ratios that are comparable, more than the seconds. The connector reads an older version of Lance's file format.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lance
from rich.console import Console

from spark_reading import QUERIES
from spark_report import Measured, show

if TYPE_CHECKING:
    from spark_tables import Pair

ARTIFACT = ("com.lancedb", "lance-spark-bundle-3.5_2.12", "0.0.14")
SPARK = "3.5.*"
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def peer(pair: Pair, console: Console) -> None:
    pair.fill()
    try:
        python, jar = _environment(pair.home), _jar(pair.home)
    except (OSError, subprocess.CalledProcessError) as error:
        console.print(f"The JVM connector {':'.join(ARTIFACT)} cannot be had here: {error}")
        return
    older = pair.home / "older" / f"{pair.name}.lance"
    if not older.is_dir():
        lance.write_dataset(lance.dataset(str(pair.lance)).scanner().to_reader(), older, data_storage_version="2.0")
    queries = {"full scan": None, **{what: query for what, (query, _) in QUERIES.items()}}
    queries["look-up without an index"] = f"SELECT word FROM {{}} WHERE id = {pair.rows // 3}"
    asked = {"root": str(older.parent), "table": pair.name, "parquet": str(pair.parquet), "queries": queries}
    command = [str(python), str(Path(__file__).with_name("spark_peer_job.py")), str(jar), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        console.print(f"The JVM connector failed: {done.stderr.strip()[-1500:]}")
        return
    told = json.loads(done.stdout.splitlines()[-1])
    lines = [Measured(what, None, ours, theirs) for what, (ours, theirs) in told["seconds"].items()]
    show(console, f"The JVM connector {ARTIFACT[2]} on Spark {told['spark']} (not 4), {pair.title}", lines)


def _environment(home: Path) -> Path:
    folder = home / "spark-3.5"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
        packages = [f"pyspark=={SPARK}", "setuptools<81"]
        subprocess.run([uv, "pip", "install", "--quiet", "--python", str(python), *packages], check=True)
        (folder / "ready").touch()
    return python


def _jar(home: Path) -> Path:
    group, name, version = ARTIFACT
    found = home / f"{name}-{version}.jar"
    if not found.exists():
        told = [f"-Dartifact={group}:{name}:{version}", f"-DoutputDirectory={home}", "-Dmdep.stripVersion=false"]
        for goal, more in (("get", ["-Dtransitive=false"]), ("copy", [])):
            command = ["mvn", "-B", "-ntp", "-q", f"{_GOAL}:{goal}", *told, *more]
            subprocess.run(command, check=True, cwd=home, capture_output=True, stdin=subprocess.DEVNULL)
    return found
