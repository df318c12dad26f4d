"""Importing is cheap, and each room imports only what stands below it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import REPOSITORY

HEAVY = (
    "alembic",
    "boto3",
    "duckdb",
    "http.client",
    "lance",
    "lance_namespace",
    "numpy",
    "obstore",
    "pandas",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "sqlalchemy",
    "starlette",
    "tenacity",
    "typer",
    "urllib3",
)
# Thirty or so of the standard library, and a handful of our own. A hundred would be something new and large.
FEW = 60
LAYERS = "Each room imports only what stands below it"


def test_what_needs_a_fork_is_left_out_where_there_is_none() -> None:
    """As on Windows, which has neither function."""
    modules = ("tables.cache", "tables.storage.fork", "catalogs.directory.catalog", "catalogs.lake.catalog")
    imports = "\n".join(f"import lanceway.{module}" for module in modules)
    program = f"import os\ndel os.register_at_fork, os.fork\n{imports}"
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, check=True)


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter loads for a statement."""
    program = (
        f"import sys, json; before = set(sys.modules); {statement}; print(json.dumps([*set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import lanceway", "import lanceway; lanceway.parse('a.b').child('c').format('$')", "import lanceway.catalogs"],
)
def test_the_light_path_loads_nothing_heavy(statement: str) -> None:
    loaded = loaded_by(statement)
    assert loaded.isdisjoint(HEAVY)
    assert len(loaded) < FEW, sorted(loaded)


def test_the_count_would_notice_something_heavy() -> None:
    loaded = loaded_by("import lanceway.errors")
    assert "lance_namespace" in loaded
    assert len(loaded) > FEW


def test_connecting_loads_no_optional_package() -> None:
    loaded = loaded_by("import lanceway; lanceway.connect('dir', path='nowhere')")
    assert loaded.isdisjoint({"alembic", "boto3", "pandas", "pyspark", "sqlalchemy", "starlette", "tenacity"})


def test_a_command_loads_no_client_of_the_contracts_package(tmp_path: Path) -> None:
    """Whose import would take longer than all the rest of a command."""
    program = f"sys.argv = ['lanceway', '--path', {str(tmp_path)!r}, 'tables', 'list']"
    loaded = loaded_by(f"{program}; from lanceway.cli.app import app; app(standalone_mode=False)")
    assert "lance_namespace_urllib3_client.models" in loaded
    assert not {name for name in loaded if name.startswith("lance_namespace_urllib3_client.api.")}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    # Run in a folder, it reads the contract there and the package in its `src`.
    program = (
        "import sys; sys.path.insert(0, 'src'); from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    )
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contract, to be broken."""
    shutil.copytree(REPOSITORY / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_rooms_keep_their_contract(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout
    assert f"{LAYERS} KEPT" in done.stdout


@pytest.mark.parametrize(
    ("module", "wrong", "contract"),
    [
        ("errors.py", "import lanceway.catalogs.contract.base", LAYERS),
        ("tables/dataset.py", "from lanceway.catalogs.contract import requests", LAYERS),
        ("identifiers.py", "from lanceway import errors", LAYERS),
        # The layers allow these two.
        ("catalogs/glue/client.py", "from lanceway.catalogs.unity import names", "Catalogs do not know each other"),
        ("server/health.py", "import lanceway.jobs.state", "The server starts no work of its own"),
    ],
)
def test_an_import_against_the_arrows_breaks_it(copy: Path, module: str, wrong: str, contract: str) -> None:
    file = copy / "src" / "lanceway" / module
    file.write_text(f"{file.read_text()}\n{wrong}\n")
    done = lint(copy)
    assert done.returncode == 1
    name = module.removesuffix(".py").replace("/", ".")
    assert f"lanceway.{name} -> lanceway." in done.stdout
    assert [line for line in done.stdout.splitlines() if line.endswith("BROKEN")] == [f"{contract} BROKEN"]


def test_a_room_that_nobody_placed_breaks_it(copy: Path) -> None:
    (copy / "src" / "lanceway" / "attic.py").write_text("")
    done = lint(copy)
    assert done.returncode == 1
    assert "attic" in done.stdout
