"""The program as a user meets it: in a process of its own, or called in this one for breadth."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lanceway.cli.app import app
from tests.processes import lanceway

Run = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    folder = tmp_path / "warehouse"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration but a test's own is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))
    # Nor a server of the one who runs the tests.
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    for name in ("LANCEWAY_URI", "LANCEWAY_TOKEN", "LANCEWAY_SERVER__HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bare() -> Run:
    """The program called in this process, exactly as given."""

    def run(*arguments: str, stdin: str | None = None) -> Ended:
        result = CliRunner().invoke(app, list(arguments), input=stdin, prog_name="lanceway", catch_exceptions=False)
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def cli(bare: Run, warehouse: Path) -> Run:
    """The program in the test's own folder of tables, which can have child namespaces."""

    def run(*arguments: str, stdin: str | None = None) -> Ended:
        where = ("--type", "dir", "--set", f"path={warehouse}", "--set", "layout=manifest")
        return bare(*where, *arguments, stdin=stdin)

    return run


@pytest.fixture
def done(cli: Run) -> Run:
    """Run the program, and require success."""

    def run(*arguments: str, stdin: str | None = None) -> Ended:
        ended = cli(*arguments, stdin=stdin)
        assert ended.code == 0, ended
        return ended

    return run


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """The program in a process of its own."""

    def run(*arguments: str, stdin: str | None = None, **environment: str) -> Ended:
        ended = lanceway(*arguments, stdin=stdin, **environment)
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return run


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "lanceway", *arguments]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file of three rows: an id, a name, an age that may be null, a vector."""
    rows = [
        {"id": 1, "name": "Ada", "age": 36, "vector": [1.0, 0.0]},
        {"id": 2, "name": "Grace", "age": 85, "vector": [0.0, 1.0]},
        {"id": 3, "name": "Edsger", "age": None, "vector": [1.0, 1.0]},
    ]
    file = tmp_path / "people.ndjson"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


@pytest.fixture
def table(done: Run, people: Path) -> str:
    """The table of these rows, in a namespace."""
    done("namespaces", "create", "team")
    done("tables", "create", "team.people", str(people), "--vector-column", "vector")
    return "team.people"
