"""Environments beside the suite's own, for programs whose versions it cannot have: one for each file of pins."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock


def python(name: str, pins: Path) -> str:
    """The interpreter of an environment with what `pins` names; the environment is made first if it is not there."""
    home = Path(sys.prefix) / name  # kept with the environment that the tests run in, and so made again with it
    folder = home / hashlib.sha256(pins.read_bytes()).hexdigest()[:12]
    home.mkdir(exist_ok=True)
    with FileLock(home / f"{folder.name}.lock"):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
            interpreter = str(folder / "bin" / "python")
            _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
            _run(uv, "pip", "install", "--quiet", "--python", interpreter, "--requirement", str(pins))
            (folder / "ready").touch()  # last: it says that all is there
    return str(folder / "bin" / "python")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")
