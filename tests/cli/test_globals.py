"""The options of every command: before the verb, after it, or between; a verb's own option wins over one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from lanceway.cli.app import app
from tests.cli.conftest import Run
from tests.cli.test_help import commands

GROUPS_AND_VERBS = dict(commands(typer.main.get_command(app)))
# Verbs whose own options these are.
OWN = {
    "--in": {"check"},
    "--config": {"up"},
    "--type": {
        *("tables indices create", "tables index", "tables backfill", "tables columns alter"),
        *("views create", "catalogs create", "events"),
    },
    "--set": {
        *("tables update", "tables transactions alter", "namespaces alter", "catalogs create", "catalogs alter"),
    },
}


@pytest.fixture
def folder(tmp_path: Path, bare: Run) -> str:
    (tmp_path / "wh").mkdir()
    (tmp_path / "rows.csv").write_text("n\n1\n")
    assert bare("--path", str(tmp_path / "wh"), "tables", "create", "people", str(tmp_path / "rows.csv")).code == 0
    return str(tmp_path / "wh")


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_options_stand_anywhere(bare: Run, folder: str, place: int) -> None:
    arguments = ["tables", "versions", "list", "people"]
    arguments[place:place] = ["--path", folder, "--json"]
    ended = bare(*arguments)
    assert ended.code == 0
    assert [version["version"] for version in ended.json] == [1]


def test_options_are_added_up(bare: Run, folder: str) -> None:
    ended = bare("--type", "dir", "tables", "--json", "list", "--set", f"path={folder}")
    assert (ended.code, ended.json) == (0, ["people"])


def test_the_last_one_of_a_kind_counts(bare: Run, folder: str) -> None:
    assert bare("--path", "elsewhere", "tables", "list", "--path", folder).out == "people\n"


def test_two_choices_are_one_too_many_wherever_they_stand(bare: Run, folder: str) -> None:
    ended = bare("--in", "one", "tables", "list", "--path", folder)
    assert (ended.code, ended.out) == (2, "")
    assert "give only one of --in and --path" in ended.err


def test_a_file_and_a_delimiter_after_the_verb(bare: Run, folder: str, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(f'[namespaces.one]\ntype = "dir"\npath = "{folder}"\n')
    ended = bare("tables", "count", "people", "--config", str(tmp_path / "other.toml"), "--delimiter", "$")
    assert (ended.code, ended.out) == (0, "1\n")
    assert bare("tables", "list", "--config", "no-such-file").code == 2


def test_the_option_of_a_verb_wins(bare: Run, folder: str) -> None:
    ended = bare("tables", "update", "people", "--set", "n=n+1", "--path", folder)
    assert ended.code == 0
    assert "1" in ended.out


@pytest.mark.parametrize("option", ["--in", "--url", "--path", "--config", "--type", "--set", "--delimiter", "--json"])
def test_every_command_takes_them(option: str) -> None:
    takes = {path: [p for p in command.params if option in p.opts] for path, command in GROUPS_AND_VERBS.items()}
    assert {" ".join(path) for path, options in takes.items() if len(options) != 1} == set()
    shown = {" ".join(path) for path, options in takes.items() if path and not any(p.hidden for p in options)}
    if option != "--json":
        assert shown <= OWN.get(option, set())
