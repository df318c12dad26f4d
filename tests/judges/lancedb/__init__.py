"""LanceDB's clients that the suite does not have: the two minor versions before its own, and the one for JavaScript.

Each runs its program, `program.py` or `javascript/program.mjs`, in an environment of its own on `db://` of a server.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from filelock import FileLock

from tests import environments
from tests.judges.judged import Judged
from tests.judges.outcomes import FAILED, PASSED, Outcome

HERE = Path(__file__).parent
PROGRAM, JAVASCRIPT = HERE / "program.py", HERE / "javascript"
# Each with a server of its own: what one creates, the next does not see.
PINS: Mapping[str, Path] = {
    "python-0.39": HERE / "requirements-0.39.txt",
    "python-0.38": HERE / "requirements-0.38.txt",
}
PARTS = (*PINS, "javascript")
NAME = "lancedb"


def prepare() -> None:
    for pins in PINS.values():
        environments.python(NAME, pins)
    _javascript()


def judge(judged: Judged, part: str) -> Iterator[Outcome]:
    command = [environments.python(NAME, PINS[part]), str(PROGRAM)] if part in PINS else _node()
    settings = {"uri": judged.lance, "database": judged.warehouse, "token": judged.token}
    done = subprocess.run(
        command, input=json.dumps(settings), cwd=judged.folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{part} did not run:\n{done.stderr[-4000:]}")
    for name, reason in json.loads(done.stdout.splitlines()[-1]).items():
        yield Outcome(f"{part}.{name}", FAILED if reason else PASSED, reason or "")


def _node() -> list[str]:
    return [_required("node"), str(_javascript() / "program.mjs")]


def _javascript() -> Path:
    """Where the client for JavaScript is installed, and the program beside it; fetched if it is not there."""
    home = Path(sys.prefix) / NAME
    folder = home / hashlib.sha256((JAVASCRIPT / "package.json").read_bytes()).hexdigest()[:12]
    home.mkdir(exist_ok=True)
    with FileLock(home / f"{folder.name}.lock"):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            shutil.copy(JAVASCRIPT / "package.json", folder)
            npm = [_required("npm"), "install", "--silent", "--no-package-lock", "--no-audit", "--ignore-scripts"]
            installed = subprocess.run(npm, cwd=folder, capture_output=True, text=True, check=False)
            if installed.returncode:
                raise RuntimeError(f"npm failed:\n{(installed.stdout + installed.stderr)[-2000:]}")
            (folder / "ready").touch()  # last: it says that all is there
        shutil.copy(JAVASCRIPT / "program.mjs", folder)
    return folder


def _required(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise RuntimeError(f"{program} is missing: LanceDB's client for JavaScript needs Node.js 20 or later, and npm.")
    return found
