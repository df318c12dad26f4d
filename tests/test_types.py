"""What a type checker says to users: the documentation's examples pass `mypy --strict`, and mistakes do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import REPOSITORY
from tests.test_docs import Block, blocks, name, of

# Packages without types, or with types of their own that take long to read: what comes from them is Any.
FOREIGN = ("daft", "duckdb", "lance", "lance_ray", "lancedb", "pandas", "pyarrow", "pyspark", "ray", "yaml")
CONFIGURATION = """\
[mypy]
strict = True
# Each example is a program of its own, and a page uses a name again.
allow_redefinition = True
# Of packages without types, and of what a page shows before it is written.
disallow_untyped_calls = False
disallow_untyped_decorators = False
disallow_any_unimported = False
disallow_subclassing_any = False
mypy_path = {source}
files = {pages}
cache_dir = {cache}

[mypy-lance_namespace_urllib3_client.*]
follow_untyped_imports = True
"""
SKIPPED = """
[mypy-{package},{package}.*]
follow_imports = skip
ignore_missing_imports = True
"""
# A program that a user might write, in which a comment marks each line that must not pass.
PROGRAM = """\
from typing import assert_type

import lance_namespace as ln
import lanceway

lake = lanceway.connect("./warehouse")
assert_type(lake, lanceway.Catalog)
assert_type(lake.table("fruit"), lanceway.Table)
assert_type(lake.list_tables(), ln.ListTablesResponse)
assert_type(lake.list_tables({"id": "team"}).tables, list[str])
assert_type(lake.list_tables(ln.ListTablesRequest(id=["team"])).page_token, str | None)
assert_type(lake.count_table_rows({"id": "fruit", "predicate": "id > 1"}).count, int | None)
assert_type(lake.create_table_stream({"id": "fruit"}, [{"id": 1}]), ln.CreateTableResponse)
lake.query_table_stream({"id": "fruit", "k": 3}).read_all()
lake.create("fruit", [{"id": 1}]).search([0.5, 0.9]).where("id > 1").limit(3).to_pandas()
try:
    lake.table("fruit")
except lanceway.TableNotFoundError as error:
    assert_type(error.code, lanceway.ErrorCode)
except (lanceway.NamespaceNotFoundError, lanceway.LanceNamespaceError):
    pass

lake.list_tables(7)  # type: ignore[arg-type]
lake.count_table_rows("fruit")  # type: ignore[arg-type]
lake.count_table_rows()  # type: ignore[call-arg]
lake.count_rows("fruit")  # type: ignore[attr-defined]
lake.table("fruit").search([0.5], limit=3)  # type: ignore[call-arg]
lake.table("fruit").index("v", num_partition=3)  # type: ignore[call-arg]
lanceway.TableNotFound  # type: ignore[attr-defined]
"""


@pytest.mark.slow
def test_the_examples_and_a_users_program_are_typed(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "program.py").write_text(PROGRAM)
    names = {"program.py": "the program above"}
    for page in of("python"):
        module = f"{name(page).removesuffix('.md')}.py".replace("/", "_").replace("-", "_").lower()
        names[module] = name(page)
        (pages / module).write_text(_module(list(blocks(page))))
    assert len(names) > 20
    settings = tmp_path / "mypy.ini"
    settings.write_text(
        CONFIGURATION.format(source=REPOSITORY / "src", pages=pages, cache=REPOSITORY / ".mypy_cache" / "examples")
        + "".join(SKIPPED.format(package=package) for package in FOREIGN)
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    for module, page_name in names.items():
        said = said.replace(f"pages/{module}", page_name)
    assert done.returncode == 0, said


def test_no_example_needs_to_silence_a_type_checker() -> None:
    silenced = [
        f"{name(page)}:{block.line}"
        for page in of("python")
        for block in blocks(page)
        if block.language == "python" and "type: ignore" in block.text
    ]
    assert silenced == []


def _module(page: list[Block]) -> str:
    """Return the Python of a page, each line with the number that it has there."""
    lines: list[str] = []
    for block in page:
        if block.language == "python":
            lines += [""] * (block.line - 1 - len(lines))
            lines += block.text.splitlines()
    return "\n".join([*lines, ""])
