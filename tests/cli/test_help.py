"""Every verb explains itself, quickly, and the reference says the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import lanceway
from lanceway.cli.app import app
from lanceway.cli.reference import reference
from tests.cli.conftest import Run
from tests.paths import REPOSITORY

REFERENCE = REPOSITORY / "docs" / "reference" / "cli.md"


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


ALL = dict(commands(typer.main.get_command(app)))
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
        "": {"check", "doctor", "events", "up"},
        "jobs": {
            *("crawl", "sync", "migrate"),
            *("compact", "clean", "index", "refresh-index", "backfill", "dedupe", "export", "import"),
            *("list", "show", "cancel", "wait", "worker"),
        },
        "views": {"create", "refresh"},
        "pipeline": {"check", "run", "status", "history", "graph", "lineage"},
        "namespaces": {"list", "tree", "describe", "exists", "create", "alter", "drop"},
        "tables": {
            *("list", "describe", "exists", "create", "declare", "register", "deregister", "drop", "rename"),
            *("insert", "merge", "update", "delete", "query", "count", "schema", "stats"),
            *("clone", "reconcile", "versioning", "import", "export"),
        },
        "tables versions": {"list", "describe", "restore", "delete"},
        "tables tags": {"list", "describe", "create", "update", "delete"},
        "tables branches": {"list", "create", "delete"},
        "tables indices": {"list", "create", "describe", "drop"},
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
        },
        "lake separator": {"show", "set", "mend"},
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
