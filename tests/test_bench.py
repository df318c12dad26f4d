"""Benchmarks that say something of the library must at least run; here with next to nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

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


@pytest.mark.slow
def test_the_console_is_timed_in_a_browser() -> None:
    command = [sys.executable, str(BENCH / "console.py")]
    command += ["--namespaces", "120", "--columns", "130", "--rows", "1000", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    rows = [line.strip("│ ").split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    assert [row[0].strip() for row in rows] == [
        "home",
        "a namespace with all of them",
        "one of them, by its address",
        "a table with many columns",
        "its schema",
        "a table with many rows",
        "what is typed, among all of them",
    ]
    assert all(0 < float(row[1]) < 60 for row in rows)


@pytest.mark.slow
def test_lancedbs_remote_client_is_measured_beside_the_embedded_one() -> None:
    command = [sys.executable, str(BENCH / "lancedb_remote.py")]
    command += ["--rows", "1000", "--rounds", "1", "--seconds", "0.1", "--clients", "1", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    rows = [line.strip("│ ").split("│") for line in done.stdout.splitlines() if line.startswith("│")]
    operations = ("nearest 10", "nearest 100", "full text, 10", "filter, 10", "add 1 row", "add 10,000 rows")
    assert [(row[0].strip(), row[1].strip()) for row in rows] == [(name, n) for n in "12" for name in operations]
    assert all(float(row[2]) > 0 and float(row[3]) > 0 for row in rows)
    assert "the aim of 3 ms is" in done.stdout


@pytest.mark.slow
def test_a_page_of_numbers_has_what_a_benchmark_printed(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "summary.py"), "--smallest", "--only", "folders", "--to", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "reference" / "numbers.md").read_text()
    printed = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if "│" in line]
    assert len(printed) == 12
    assert all(f"| {' | '.join(row)} |" in page for row in printed)
    labels = [f"{row[2]}, {row[0]}, {row[1]} tables" for row in printed]
    ratios = [float(row[-1]) for row in printed]
    # A page rounds the ratios to two digits: what is that near to the limit may be on either side.
    slower = {label for label, ratio in zip(labels, ratios, strict=True) if ratio > 1.1}
    perhaps = {label for label, ratio in zip(labels, ratios, strict=True) if ratio == 1.1}
    shown = set(re.findall(r"^\| Folders \| (.*) \| [\d.,]+× \|$", page, re.MULTILINE))
    assert slower <= shown <= slower | perhaps
    [counts] = re.findall(r"^\| \[Folders\]\(#folders\) \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert sum(map(int, counts)) == len(printed)
    assert int(counts[2]) == len(shown)
    chart = ET.parse(tmp_path / "images" / "numbers-folders.svg")
    texts = [element.text for element in chart.iter("{http://www.w3.org/2000/svg}text")]
    assert set(labels) <= set(texts)
