"""Spark SQL with Iceberg's own runtime: `program.py`, in an environment with the Spark that the runtime is made for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests import environments
from tests.judges.judged import Judged
from tests.judges.outcomes import FAILED, PASSED, Outcome
from tests.servers.jvm import Program

PINS = Path(__file__).with_name("requirements.txt")
PROGRAM = Path(__file__).with_name("program.py")
RUNTIME = Program("spark")
PARTS = ("sql",)


def prepare() -> None:
    RUNTIME.classpath()
    environments.python("spark", PINS)


def judge(judged: Judged, part: str) -> Iterator[Outcome]:
    jars = [jar for jar in RUNTIME.classpath().split(":") if jar.endswith(".jar")]
    settings = {"uri": judged.uri, "warehouse": judged.warehouse, "token": judged.token, "jars": jars}
    command = [environments.python("spark", PINS), str(PROGRAM)]
    done = subprocess.run(
        command, input=json.dumps(settings), cwd=judged.folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"Spark did not run:\n{done.stderr[-4000:]}")
    for name, reason in json.loads(done.stdout.splitlines()[-1]).items():
        yield Outcome(name, FAILED if reason else PASSED, reason or "")
