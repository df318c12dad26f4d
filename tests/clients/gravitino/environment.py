"""The environment of the stock Gravitino client: it wants versions of pyarrow and others that the suite cannot have.

`python -m tests.clients.gravitino.environment` makes it ahead of the tests; the second time it does nothing.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

PINS = Path(__file__).with_name("requirements.txt")
# Kept with the environment that the tests run in, and so made again with it.
HOME = Path(sys.prefix) / "gravitino"


def python() -> str:
    """The interpreter that imports the client; the environment is made first if it is not there."""
    folder = HOME / hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    HOME.mkdir(exist_ok=True)
    with FileLock(HOME / f"{folder.name}.lock"):
        if not (folder / "ready").exists():
            shutil.rmtree(folder, ignore_errors=True)
            uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
            _run(uv, "venv", "--quiet", "--python", sys.executable, str(folder))
            _run(
                uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python"), "--requirement", str(PINS)
            )
            (folder / "ready").touch()  # last: it says that all is there
    return str(folder / "bin" / "python")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    python()
