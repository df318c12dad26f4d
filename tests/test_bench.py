"""Benchmarks that say something of the library must at least run; here with next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import REPOSITORY

BENCH = REPOSITORY / "bench"
OPERATIONS = ("load table", "list a page of 100", "commit")


@pytest.mark.slow
def test_the_memory_of_rows_is_measured() -> None:
    done = subprocess.run([sys.executable, BENCH / "memory.py", "1000"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    steps = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert steps == ["nothing", "create", "insert", "query", "send"]


@pytest.mark.slow
def test_one_job_between_catalogs_is_measured_with_all_tables() -> None:
    command = [sys.executable, str(BENCH / "jobs.py"), "--only", "migrate", "--tables", "30"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    head, (job, tables, _, _, peak, tenth) = (line.split() for line in done.stdout.splitlines())
    assert head == ["job", "tables", "seconds", "tables/s", "peak", "MB", "at", "a", "tenth"]
    assert (job, tables) == ("migrate", "30")
    assert min(float(peak), float(tenth)) > 10, "megabytes"


@pytest.mark.slow
def test_iceberg_rest_is_asked_beside_the_reference_server() -> None:
    command = [sys.executable, str(BENCH / "iceberg.py"), "100", "300", "--once"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    ours = ("lanceway, 1 proc.", "lanceway, 2 proc.")
    rows = [(100, name, server) for name in OPERATIONS for server in ("reference", *ours)]
    rows += [(300, name, server) for name in OPERATIONS for server in ours]
    lines = [f"{count} tables: {server} answers: {operation}" for count, operation, server in rows]
    assert done.stdout.splitlines()[1:] == lines
