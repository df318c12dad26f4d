"""`make run`: a server with sample tables, and what it proposes to try."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import lanceway

SAMPLE = Path(__file__).parents[2] / "samples" / "serve.py"


def started(folder: Path) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, str(SAMPLE), "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    shown = ""
    while "count_rows()" not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    return process, shown


def test_it_runs_twice_and_what_it_proposes_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        process, shown = started(tmp_path)
        with process:
            proposed = re.findall(r"^\$ \.venv/bin/lanceway (.+)$", shown, re.MULTILINE)
            lines = re.findall(r"^>>> (.+)$", shown, re.MULTILINE)
            assert (len(proposed), len(lines)) == (3, 4)
            for command in proposed:
                done = lanceway(*shlex.split(command))
                assert done.returncode == 0, done.stderr
            session: dict[str, object] = {}
            exec("\n".join(lines[:2]), session)
            assert eval(lines[2], session) == ["lake$library$books", "lake$library$loans"]
            assert eval(lines[3], session) == 8
            process.send_signal(signal.SIGINT)
        assert process.returncode == 0
    assert os.stat(tmp_path / ".sample" / "home").st_mode & 0o777 == 0o700
