"""Every verb explains itself, quickly, and the reference says the same."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import lanceway
from lanceway.cli.app import app
from lanceway.cli.help import EXAMPLES, OTHERS, summary, without_examples
from lanceway.cli.reference import reference
from tests.cli.conftest import Run
from tests.paths import REPOSITORY

REFERENCE = REPOSITORY / "docs" / "reference" / "cli.md"


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        if not child.hidden:
            yield from commands(child, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))
GROUPS = [path for path, command in ALL.items() if hasattr(command, "commands")]
WITH_EXAMPLES = {
    " ".join(path): examples for path, command in ALL.items() if (examples := without_examples(command.help or "")[1])
}
VERBS = [path for path, command in ALL.items() if not hasattr(command, "commands")]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help(bare: Run, path: tuple[str, ...]) -> None:
    ended = bare(*path, "--help")
    assert ended.code == 0
    assert (ALL[path].help or "").strip().splitlines()[0].split()[0] in ended.out


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_argument_and_option_has_help(path: tuple[str, ...]) -> None:
    silent = [parameter.name for parameter in ALL[path].params if not parameter.help]
    assert silent == []


@pytest.mark.parametrize("path", VERBS, ids=" ".join)
def test_every_verb_takes_json(path: tuple[str, ...]) -> None:
    assert any("--json" in parameter.opts for parameter in ALL[path].params)


def test_the_verbs_are_all_there() -> None:
    families: dict[str, set[str]] = {}
    for *family, verb in VERBS:
        families.setdefault(" ".join(family), set()).add(verb)
    assert families == {
        "": {"check", "console", "doctor", "events", "sql", "up", "login", "logout", "use", "connections"},
        "jobs": {"list", "show", "cancel", "wait", "worker"},
        "views": {"create", "refresh", "list", "describe", "drop"},
        "pipeline": {"cancel", "check", "run", "status", "history", "graph", "lineage"},
        "namespaces": {"list", "tree", "describe", "exists", "create", "alter", "drop"},
        "tables": {
            *("list", "describe", "exists", "create", "declare", "register", "deregister", "drop", "rename"),
            *("insert", "merge", "update", "delete", "query", "count", "schema", "stats"),
            *("clone", "reconcile", "versioning", "import", "export"),
            *("compact", "clean", "index", "backfill", "dedupe"),
        },
        "tables versions": {"list", "describe", "restore", "delete"},
        "tables tags": {"list", "describe", "create", "update", "delete"},
        "tables branches": {"list", "create", "delete"},
        "tables indices": {"list", "create", "describe", "drop", "refresh"},
        "tables columns": {"add", "alter", "backfill", "drop"},
        "tables definitions": {"list", "adopt", "drop"},
        "tables metadata": {"show", "set"},
        "tables transactions": {"describe", "alter"},
        "lake": {
            *("create", "status", "upgrade", "enable-nested", "check", "tidy", "backup", "restore", "purge-events"),
            *("create", "status", "upgrade", "enable-nested", "check", "tidy", "backup", "restore", "rotate-key"),
        },
        "catalogs": {
            *("list", "describe", "create", "alter", "enable", "disable", "test", "drop", "enable-nested"),
            *("crawl", "sync", "migrate"),
        },
        "lake separator": {"show", "set", "fix"},
        "tokens": {"create", "list", "revoke"},
        "audit": {"list", "purge"},
        "groups": {"list", "create", "show", "delete", "add", "remove"},
        "roles": {"list", "create", "show", "delete", "give", "take"},
        "grants": {"list", "add", "deny", "revoke", "what-if", "why", "who", "user", "privileges", "purge-dangling"},
        "owners": {"show", "set"},
        "access": {"status", "enable", "disable"},
        "users": {
            "create",
            "delete",
            "demote",
            "disable",
            "enable",
            "issuer",
            "issuers",
            "list",
            "promote",
            "rename",
            "show",
        },
    }


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom lanceway.cli import main\nsys.argv = ['lanceway', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'lance', 'pyarrow', 'lance_namespace', 'pandas', 'boto3', 'sqlalchemy'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_version(bare: Run) -> None:
    assert bare("--version").out == f"lanceway {lanceway.__version__}\n"


def test_the_reference_is_fresh() -> None:
    assert REFERENCE.read_text() == reference(), "renew it: python -m lanceway.cli.reference > docs/reference/cli.md"


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_reference_has_every_command(path: tuple[str, ...]) -> None:
    assert f"`{' '.join(('lanceway', *path))}`\n" in reference()


# -- how it looks --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_summaries_are_whole(bare: Run, path: tuple[str, ...]) -> None:
    out = " ".join(bare(*path, "--help").out.split())
    for child in ALL[path].commands.values():
        if not child.hidden:
            assert summary(child.help) in out
    assert f"{OTHERS}:" not in out, "a section of the help lacks a verb"


@pytest.mark.parametrize("path", [(), ("tables",), ("tables", "query")], ids=" ".join)
@pytest.mark.parametrize("columns", [80, 140])
def test_help_is_as_wide_as_the_terminal(process: Run, path: tuple[str, ...], columns: int) -> None:
    text = process(*path, "--help", COLUMNS=str(columns)).out.partition(f"{EXAMPLES}:")[0]
    widest = max(map(len, text.splitlines()))
    assert widest <= columns
    assert columns == 80 or widest > 80


def test_arguments_and_values_are_in_plain_words(bare: Run) -> None:
    texts = {path: bare(*path, "--help").out for path in VERBS}
    for path, text in texts.items():
        assert not [mark for mark in ("{", "[[") if mark in text.partition("\n\n")[0]], path
        assert not [mark for mark in ("<str>", "<int", "x>=", "[required]") if mark in text], path
    assert "Usage: lanceway tables list [OPTIONS] [NAMESPACE]\n" in texts["tables", "list"]
    assert "--limit N " in texts["tables", "query"]


def test_people_are_shown_how() -> None:
    assert {"", "tables", "tables create", "tables query", "sql", "login"} <= WITH_EXAMPLES.keys()


@pytest.mark.parametrize("path", WITH_EXAMPLES)
def test_examples_are_commands(bare: Run, path: str) -> None:
    for example in WITH_EXAMPLES[path]:
        program, *words = shlex.split(example)
        ended = bare(*words, "--help")
        assert (program, ended.code) == ("lanceway", 0), ended
