"""The wheel that is published: installed alone in an empty environment, it serves with its console."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest

from tests.paths import REPOSITORY

pytestmark = pytest.mark.slow

UV = str(Path(sys.executable).parent / "uv")
SECONDS = 180


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(
        UV,
        "build",
        "--quiet",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        str(folder),
        str(REPOSITORY),
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def empty_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment that holds `lanceway[server]` from the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    _run(UV, "venv", "--quiet", "--python", sys.executable, str(folder))
    interpreter = str(folder / "bin" / "python")
    pins = str(REPOSITORY / "constraints.txt")
    _run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        interpreter,
        "--constraint",
        pins,
        f"lanceway[server] @ {wheel.as_uri()}",
    )
    return folder / "bin"


def test_the_wheel_holds_the_package_and_no_part_of_the_checkout(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"lanceway", "pyspark_lanceway.py"}
    assert {"lanceway/py.typed", "lanceway/console/static/index.html", "lanceway/console/static/app.js"} <= set(names)
    assert not [name for name in names if "__pycache__" in name]


@pytest.mark.timeout(600)
def test_what_pip_installs_serves_with_its_console(empty_environment: Path, tmp_path: Path) -> None:
    with _server(empty_environment, tmp_path) as address:
        document = _read(address + "/")
        assert "<title>Lanceway</title>" in document
        (module,) = re.findall(r'<script type="module" src="([^"]+)"', document)
        assert "import" in _read(urljoin(address, module))
        assert "ok" in _read(address + "/health")


def _read(address: str) -> str:
    with urlopen(address, timeout=30) as answer:
        return str(answer.read().decode())


@contextmanager
def _server(programs: Path, folder: Path) -> Iterator[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LANCEWAY_", "PYTHON"))}
    process = subprocess.Popen(
        [str(programs / "lanceway"), "up", "--port", "0", "--home", str(folder / "home")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**environment, "HOME": str(folder)},
    )
    assert process.stdout is not None
    try:
        yield _until(process.stdout.fileno(), r"http://127\.0\.0\.1:\d+")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)


def _until(output: int, pattern: str) -> str:
    text, deadline = "", time.monotonic() + SECONDS
    while (match := re.search(rf"({pattern})\b.*\n", text)) is None:
        assert time.monotonic() < deadline, text
        if select.select([output], [], [], 1)[0]:
            text += (read := os.read(output, 65536)).decode()
            assert read, text
    return str(match[1])


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
