"""`make run`: a server with sample tables, filled by a pipeline on Spark, and what it proposes to try."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import REPOSITORY
from tests.processes import lanceway

SAMPLE = REPOSITORY / "samples" / "serve.py"


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
    while "$ curl" not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    return process, shown


def blocks(shown: str) -> list[list[str]]:
    """The lines for Python, by what stands together."""
    return [lines for part in shown.split("\n\n") if (lines := re.findall(r"^>>> (.+)$", part, re.MULTILINE))]


@pytest.mark.timeout(900)  # Spark starts twice
def test_it_runs_twice_and_what_it_proposes_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for first in (True, False):
        process, shown = started(tmp_path)
        with process:
            assert ("600 rows in" if first else "nothing is new") in shown
            assert shown.index("Try next") < shown.index("The sample pipeline")
            [variable] = re.findall(r"^\$ export LANCEWAY_CONFIG=(\S+) ", shown, re.MULTILINE)
            monkeypatch.setenv("LANCEWAY_CONFIG", variable)
            commands = re.findall(r"^\$ lanceway (.+)$", shown, re.MULTILINE)
            done = [lanceway(*shlex.split(command)) for command in commands]
            assert [each.returncode for each in done] == [0, 0, 0, 0], done
            tree, words, near, sql = (each.stdout for each in done)
            assert "books" in tree
            assert "Moby-Dick" in words
            assert "Twenty Thousand Leagues" in near
            assert sql.count("ada ") == 2
            books, documents, lancedb, spark = blocks(shown)
            session: dict[str, object] = {}
            exec("\n".join(books[:2]), session)
            assert "documents" in str(eval(books[2], session))
            assert len(eval(books[3], session)) == 3
            assert len(eval(documents[0], session)) == 3
            exec("\n".join(lancedb[:2]), session)
            assert len(eval(lancedb[2], session)) == 3
            if first:
                assert "astronomy" in output([sys.executable, "-c", "\n".join(spark)])
            assert output(re.findall(r"^\$ (curl .+)$", shown, re.MULTILINE)[0]) == "594"
            process.send_signal(signal.SIGINT)
        assert process.returncode == 0
    assert os.stat(tmp_path / ".sample" / "home").st_mode & 0o777 == 0o700


def test_a_pipeline_that_cannot_start_is_said_in_a_line(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SAMPLE), "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "JAVA_HOME": str(tmp_path)},  # a folder without a Java
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        lines = []
        while not lines or "did not run" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
    assert "did not run: " in lines[-1]
    assert "Java" in lines[-1]
    assert "{" not in lines[-1]


def output(command: str | list[str]) -> str:
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
