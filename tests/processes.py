"""Processes that start in no time: forked from one that has imported what is heavy, and has done nothing with it.

The imports are most of what a short-lived process costs. What they start alone cannot be forked away: pylance and
the database drivers begin their threads and connections when they are used, which the process in the middle never does.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.paths import REPOSITORY

WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(
    [
        *("lance", "psycopg", "alembic.command", "typer", "rich.console", "lanceway.catalogs.lake"),
        *("pyiceberg.table.update", "pyiceberg.view.metadata"),
    ]
)


def lanceway(
    *arguments: str, stdin: str | None = None, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, in this one's folder and environment."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder, name) for name in ("in", "out", "err"))
        given.write_text(stdin or "")
        variables = {**os.environ, **environment}
        process = WARM.Process(target=_run, args=(arguments, os.getcwd(), variables, [given, out, err]))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["lanceway", *arguments], timeout)
        return subprocess.CompletedProcess(arguments, process.exitcode, out.read_text(), err.read_text())


def build_documentation(folder: Path) -> subprocess.CompletedProcess[str]:
    """As `make docs` does, into the folder html of this one."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    return subprocess.run(
        [*command, "-d", str(folder / "trees"), str(REPOSITORY / "docs"), str(folder / "html")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )


def _run(arguments: tuple[str, ...], folder: str, environment: Mapping[str, str], files: Sequence[Path]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    for number, (file, mode) in enumerate(zip(files, ("rb", "wb", "wb"), strict=True)):
        with open(file, mode) as opened:
            os.dup2(opened.fileno(), number)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", 1, "utf-8", closefd=False) for number in (1, 2))
    sys.argv = ["lanceway", *arguments]
    from lanceway.cli import main

    main()
