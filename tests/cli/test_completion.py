"""Completion as a shell asks for it: names of the catalog that the line chooses so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run

Complete = Callable[..., list[str]]


@pytest.fixture
def complete(process: Run, warehouse: Path, table: str) -> Complete:
    """What bash is offered for the last word of a line, in the folder with the table `team.people`."""

    def ask(*words: str) -> list[str]:
        line = ["lanceway", *words]
        environment = {"_LANCEWAY_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(line)}
        return process(COMP_CWORD=str(len(line) - 1), **environment).out.split()

    return ask


def test_names_are_completed(complete: Complete, warehouse: Path) -> None:
    where = ("--type", "dir", "--set", f"path={warehouse}", "--set", "layout=manifest")
    assert complete(*where, "tables", "describe", "team.p") == ["team.people"]
    assert complete("tables", "describe", *where, "te") == ["team.people"], "options may stand behind the verb"
    assert complete(*where, "namespaces", "drop", "t") == ["team"]
    assert complete(*where, "tables", "describe", "nothing") == []


def test_without_a_catalog_there_is_nothing_to_complete(complete: Complete) -> None:
    assert complete("--path", "nowhere", "tables", "describe", "t") == []


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (("indices", "create", "team.people", "na"), ["name"]),
        (("columns", "drop", "team.people", ""), ["id", "name", "age", "vector"]),
        (("columns", "drop", "team.people", "id", "a"), ["age"]),
        (("columns", "alter", "team.people", "v"), ["vector"]),
        (("query", "team.people", "--columns", "n"), ["name"]),
        (("query", "team.people", "--columns", "id,a"), ["id,age"]),
        (("query", "team.people", "--vector-column", "v"), ["vector"]),
        (("query", "team.people", "--columns", "zz"), []),
        (("query", "nothing", "--columns", "n"), []),
        (("query", "--columns", "n"), []),
    ],
    ids=" ".join,
)
def test_columns_are_completed(
    complete: Complete, warehouse: Path, words: tuple[str, ...], completed: list[str]
) -> None:
    where = ("--type", "dir", "--set", f"path={warehouse}", "--set", "layout=manifest")
    assert complete("tables", *words[:1], *where, *words[1:]) == completed


def test_the_source_of_a_view_is_completed_with_its_columns(complete: Complete, warehouse: Path) -> None:
    where = ("--type", "dir", "--set", f"path={warehouse}", "--set", "layout=manifest")
    assert complete(*where, "views", "create", "grown", "--source", "te") == ["team.people"]
    assert complete(*where, "views", "create", "grown", "--source", "team.people", "--column", "a") == ["age"]


def test_catalogs_are_completed(complete: Complete, tmp_path: Path) -> None:
    sections = "".join(f'[namespaces.{name}]\ntype = "dir"\npath = "."\n' for name in ("prod", "private", "test"))
    (tmp_path / "lanceway.toml").write_text(sections)
    (tmp_path / "other.toml").write_text(sections.replace("private", "proof"))
    connections = tmp_path / "no-configuration" / "lanceway" / "connections.json"
    connections.parent.mkdir(parents=True)
    connections.write_text('{"connections": {"proxy": {"uri": "http://127.0.0.1:1/lance"}}}')
    assert complete("--in", "pr") == ["private", "prod", "proxy"]
    assert complete("tables", "list", "--in", "t") == ["test"]
    assert complete("use", "p") == complete("logout", "p") == ["proxy"]
    assert complete("--config", "other.toml", "--in", "pro") == ["prod", "proof", "proxy"]


def test_types_of_catalogs_are_completed(complete: Complete) -> None:
    assert complete("--type", "g") == ["glue", "gravitino"]
    assert complete("tables", "list", "--type", "la") == ["lake"]


def test_types_of_indices_are_completed(complete: Complete) -> None:
    assert complete("tables", "indices", "create", "t", "c", "--type", "B") == ["BTREE", "BITMAP"]
