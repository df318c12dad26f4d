"""`lanceway catalogs …`: the catalogs of a server's tree."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.lake.lake import report_scan
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.renderers import printable
from lanceway.cli.output.words import counted
from lanceway.cli.server.desks.catalogs import CatalogEdit, CatalogWish, opened
from lanceway.cli.server.desks.desk import Record
from lanceway.cli.server.homes import Home
from lanceway.cli.session import Properties, Session, Yes, agreed, pairs

app = group("Catalogs of a server: list, create, alter, enable, disable, test and drop them.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The catalog's name.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting that is not a secret, as a section [catalogs.NAME] has it; may be repeated.",
    ),
]
Secrets = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        metavar="KEY",
        help="A setting that is a secret, such as token: it is asked for, or read from standard input, one line each.",
    ),
]
Comment = Annotated[str | None, typer.Option("--comment", help="What the catalog is for.")]
Test = Annotated[
    bool, typer.Option("--test/--no-test", help="Whether the catalog is connected to and asked before it is changed.")
]
_COLUMNS = {"name": "catalog", "type": "type", "source": "from", "enabled": "enabled", "owner": "owner"}
# Before the names of checks of a storage.
_STORAGE = "storage: "


@command(app, "list")
def list_(session: Session, home: Home = None, uri: Uri = None) -> None:
    """List the catalogs, those of the configuration file too."""
    with opened(session, home, uri) as desk:
        session.output.records(_COLUMNS, list(desk.list_catalogs()))


@command(app, "describe")
def describe(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Show a catalog. Of its secrets only the names are known."""
    with opened(session, home, uri) as desk:
        catalog = desk.get_catalog(name)
    session.output.record(catalog)


@command(app, "create")
def create(
    session: Session,
    name: Name,
    type_: Annotated[
        str,
        typer.Option(
            "--type",
            help="dir, glue, gravitino, hive, iceberg, polaris, rest, unity, or lake: one of the server's own lake.",
        ),
    ] = "lake",
    settings: Settings = None,
    secrets: Secrets = None,
    comment: Comment = None,
    properties: Properties = None,
    flat: Annotated[
        bool, typer.Option("--flat", help="Namespaces of one of the lake have one name; enable-nested changes it.")
    ] = False,
    test: Test = True,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Create a catalog, which servers that are running serve from their next request on.

    Example: lanceway catalogs create archive --type rest --set uri=https://lance.example.com/lance --secret token
    """
    given = _settings(type_, settings, secrets)
    with opened(session, home, uri) as desk:
        given = _absolute(given) if desk.is_here else given
        wish = CatalogWish(name, type_, given, comment, pairs(properties, "--property"), not flat, test)
        catalog, checks = desk.create_catalog(wish)
    _report(session, f"Created catalog {catalog['name']}.", catalog, checks)


@command(app, "alter")
def alter(
    session: Session,
    name: Name,
    settings: Settings = None,
    secrets: Secrets = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="A setting to take away; may be repeated.")
    ] = None,
    properties: Properties = None,
    unset_properties: Annotated[
        list[str] | None,
        typer.Option("--unset-property", metavar="KEY", help="A property to take away; may be repeated."),
    ] = None,
    comment: Comment = None,
    rename: Annotated[str | None, typer.Option("--rename", metavar="NEW-NAME", help="The name from now on.")] = None,
    test: Test = True,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Change settings, properties, the comment or the name of a catalog. What was granted in it stays."""
    with opened(session, home, uri) as desk:
        given = _settings(desk.get_catalog(name)["type"], settings, secrets) if settings or secrets else {}
        given = _absolute(given) if desk.is_here else given
        added = pairs(properties, "--property")
        edit = CatalogEdit(given, unset or [], added, unset_properties or [], comment, rename, test)
        catalog, checks = desk.alter_catalog(name, edit)
    _report(session, f"Changed catalog {catalog['name']}.", catalog, checks)


@command(app, "enable")
def enable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Enable a catalog that is disabled."""
    _switch(session, name, True, home, uri)


@command(app, "disable")
def disable(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Disable a catalog: servers refuse every request for its branch, from the next one on. Nothing is lost."""
    _switch(session, name, False, home, uri)


@command(app, "test")
def try_out(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Connect to a catalog and ask it once. Exit code 1 if a check fails."""
    with opened(session, home, uri) as desk:
        checks = desk.test_catalog(name)
    session.output.records({"name": "check", "passed": "passed", "message": "what is wrong"}, checks)
    if not all(check["passed"] for check in checks):
        raise typer.Exit(FAILED)


@command(app, "drop")
def drop(session: Session, name: Name, yes: Yes = False, home: Home = None, uri: Uri = None) -> None:
    """Drop a catalog, with all that was granted in it.

    One of the lake must be empty. One of another service is taken out of the tree; the service keeps what it has.
    """
    agreed(f"Drop the catalog {name}, with all that was granted in it?", yes)
    with opened(session, home, uri) as desk:
        catalog = desk.drop_catalog(name)
    session.output.done(f"Dropped catalog {catalog['name']}.", catalog)


@command(app, "enable-nested")
def enable_nested(
    session: Session,
    name: Name,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what stands in the way; exit code 1 if anything.")
    ] = False,
    home: Home = None,
    uri: Uri = None,
) -> None:
    """Allow nested namespaces in a flat catalog, unless a name holds the lake's separator.

    The refusal, and --dry-run, show the names that do, and the separators that no name holds.
    """
    with opened(session, home, uri) as desk:
        scan = desk.enable_nested(name, dry_run=dry_run)
    report_scan(session, scan, f"Enabled nested namespaces in catalog {name}.", dry_run)


def _switch(session: Session, name: str, enabled: bool, home: Path | None, uri: str | None) -> None:
    with opened(session, home, uri) as desk:
        catalog = desk.set_enabled(name, enabled)
    session.output.done(f"{'Enabled' if enabled else 'Disabled'} catalog {catalog['name']}.", catalog)


def _settings(type_: str, settings: Sequence[str] | None, secrets: Sequence[str] | None) -> dict[str, str]:
    """Return the settings of the options. A secret is never an argument: others on this machine can read those."""
    given = pairs(settings, "--set")
    if given:
        _refuse_secrets(type_, given)
    return given | {key: _asked(key) for key in secrets or ()}


def _refuse_secrets(type_: str, given: dict[str, str]) -> None:
    from lanceway.catalogs.contract.hooks import CatalogHooks
    from lanceway.catalogs.registry import catalog_class
    from lanceway.config import CREDENTIALS, is_secret

    cls = catalog_class(type_)
    rows = (*(cls.SETTINGS if issubclass(cls, CatalogHooks) else ()), *CREDENTIALS)
    for key in given:
        if is_secret(rows, key):
            raise typer.BadParameter(
                f"{key} is a secret, and others on this machine can read what a command is given. Use --secret {key}.",
                param_hint="'--set'",
            )


def _absolute(settings: dict[str, str]) -> dict[str, str]:
    """Return settings whose folders servers find too, whose working folders are others."""
    return {key: _absolute_path(value) if key in ("path", "root") else value for key, value in settings.items()}


def _absolute_path(path: str) -> str:
    return path if "://" in path or path.startswith("file:") else str(Path(path).absolute())


def _asked(key: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(key, hide_input=True, err=True))
    value = sys.stdin.readline().rstrip("\n")
    if not value:
        raise typer.BadParameter(f"standard input has no line for {key}.", param_hint="'--secret'")
    return value


def _report(session: Session, sentence: str, catalog: Record, checks: Sequence[Record]) -> None:
    """Show a catalog that was created or changed, and what each check of its storage found: the others have passed.

    What is wrong with a storage is shown alone, since the catalog is created all the same.
    """
    if not session.json:
        for check in (check for check in checks if check["name"].startswith(_STORAGE)):
            typer.secho(printable(_line(check)), fg=None if check["passed"] else "red")
    session.output.done(sentence, {**catalog, "checks": list(checks)})
    wrong = sum(not check["passed"] for check in checks)
    if wrong:
        text = f"lanceway: {counted(wrong, 'check')} failed, and the catalog is there all the same."
        typer.secho(text, err=True, fg="red")


def _line(check: Record) -> str:
    found = f"{check['name']}: {'passed' if check['passed'] else 'failed'}"
    return f"{found}: {check['message']}" if check["message"] else found
