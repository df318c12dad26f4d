"""`lanceway catalogs …`: the catalogs of a server's tree. They work on its database, so the server need not run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.lake.lake import report_scan
from lanceway.cli.lake.options import Uri
from lanceway.cli.output.renderers import printable
from lanceway.cli.server.tokens import Home, server_place
from lanceway.cli.session import Properties, Session, Yes, agreed, pairs

if TYPE_CHECKING:
    from lanceway.access.mounted.catalogs import CatalogAdministration, CatalogInfo
    from lanceway.access.principal import Principal
    from lanceway.catalogs.federated.trials import CatalogCheck

app = group("Catalogs of a server: list, make, alter, enable, disable, test and drop them.")

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


class Office:
    """A server's catalogs, and the one who works on them: who has the database's credentials may do everything."""

    def __init__(self, catalogs: CatalogAdministration, principal: Principal) -> None:
        self.catalogs, self.principal = catalogs, principal


@contextmanager
def opened(session: Session, home: Path | None, uri: str | None) -> Iterator[Office]:
    """Open the catalogs of a server."""
    where = server_place(session, home, uri)
    from lanceway import config

    config.quiet_lance()
    from lanceway.access.guard import Guards
    from lanceway.access.mounted.catalogs import CatalogAdministration
    from lanceway.access.principal import Principal
    from lanceway.catalogs.federated.catalog import FederatedCatalog
    from lanceway.catalogs.federated.locations import AllowedLocations

    settings = config.server(session.config, {"home": home})
    warehouse = settings.warehouse or str(settings.home.absolute() / "warehouse")
    settings = replace(settings, home=settings.home.absolute(), database=where.uri, warehouse=warehouse)
    with where.opened() as store:
        tree = FederatedCatalog.from_settings(settings, store, metalake=where.metalake)
        allowed = AllowedLocations.from_settings(settings)
        try:
            guards = Guards(tree, store, allowed, where.metalake)
            catalogs = CatalogAdministration(guards, store, allowed, where.metalake)
            yield Office(catalogs, Principal(where.user, admin=True))
        finally:
            tree.close()


@command(app, "list")
def list_(session: Session, home: Home = None, uri: Uri = None) -> None:
    """List the catalogs, those of the configuration file too."""
    with opened(session, home, uri) as office:
        found = office.catalogs.page(office.principal)
    session.output.records(_COLUMNS, [_info(info) for info in found])


@command(app, "describe")
def describe(session: Session, name: Name, home: Home = None, uri: Uri = None) -> None:
    """Show a catalog. Of its secrets only the names are known."""
    with opened(session, home, uri) as office:
        info = office.catalogs.load(office.principal, name)
    session.output.record(_info(info))


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
    """Make a catalog, which servers that are running serve from their next request on.

    Example: lanceway catalogs create archive --type rest --set uri=https://lance.example.com/lance --secret token
    """
    given = _settings(type_, settings, secrets)
    with opened(session, home, uri) as office:
        from lanceway.access.mounted.catalogs import NewCatalog

        new = NewCatalog(name, type_, given, comment, pairs(properties, "--property"), not flat)
        info, checks = office.catalogs.create(office.principal, new, test=test)
    _report(session, f"The catalog {info.name} is made.", info, checks)


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
    with opened(session, home, uri) as office:
        from lanceway.access.mounted.catalogs import CatalogChange
        from lanceway.lake.store.rows import KEEP

        type_ = office.catalogs.load(office.principal, name).type
        change = CatalogChange(
            {**dict.fromkeys(unset or ()), **_settings(type_, settings, secrets)},
            {**dict.fromkeys(unset_properties or ()), **pairs(properties, "--property")},
            KEEP if comment is None else comment or None,
            rename,
        )
        info, checks = office.catalogs.alter(office.principal, name, change, test=test)
    _report(session, f"The catalog {info.name} is changed.", info, checks)


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
    with opened(session, home, uri) as office:
        checks = office.catalogs.test(office.principal, name)
    session.output.records({"name": "check", "passed": "passed", "message": "what is wrong"}, _checks(checks))
    if not all(check.passed for check in checks):
        raise typer.Exit(FAILED)


@command(app, "drop")
def drop(session: Session, name: Name, yes: Yes = False, home: Home = None, uri: Uri = None) -> None:
    """Drop a catalog, with all that was granted in it.

    One of the lake must be empty. One of another service is taken out of the tree; the service keeps what it has.
    """
    agreed(f"Drop the catalog {name}, with all that was granted in it?", yes)
    with opened(session, home, uri) as office:
        info = office.catalogs.drop(office.principal, name)
    session.output.done(f"The catalog {info.name} is dropped.", _info(info))


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
    with opened(session, home, uri) as office:
        scan = office.catalogs.enable_nested(office.principal, name, dry_run=dry_run)
    report_scan(session, scan, f"Namespaces of {name} can be nested now.", dry_run)


def _switch(session: Session, name: str, enabled: bool, home: Path | None, uri: str | None) -> None:
    with opened(session, home, uri) as office:
        info = office.catalogs.set_enabled(office.principal, name, enabled)
    session.output.done(f"The catalog {info.name} is {'enabled' if enabled else 'disabled'}.", _info(info))


def _settings(type_: str, settings: Sequence[str] | None, secrets: Sequence[str] | None) -> dict[str, str]:
    """Return the settings of the options. A secret is never an argument: others on this machine can read those."""
    from lanceway.catalogs.contract.hooks import CatalogHooks
    from lanceway.catalogs.registry import catalog_class
    from lanceway.config import CREDENTIALS, is_secret

    given = pairs(settings, "--set")
    cls = catalog_class(type_)
    rows = (*(cls.SETTINGS if issubclass(cls, CatalogHooks) else ()), *CREDENTIALS)
    for key in given:
        if is_secret(rows, key):
            raise typer.BadParameter(
                f"{key} is a secret, and others on this machine can read what a command is given. Use --secret {key}.",
                param_hint="'--set'",
            )
    here = {key: _absolute(value) if key in ("path", "root") else value for key, value in given.items()}
    return here | {key: _asked(key) for key in secrets or ()}


def _absolute(path: str) -> str:
    """Return a folder as servers find it too, whose working folders are others."""
    return path if "://" in path or path.startswith("file:") else str(Path(path).absolute())


def _asked(key: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(key, hide_input=True, err=True))
    value = sys.stdin.readline().rstrip("\n")
    if not value:
        raise typer.BadParameter(f"standard input has no line for {key}.", param_hint="'--secret'")
    return value


def _info(info: CatalogInfo) -> dict[str, Any]:
    return {key: value for key, value in asdict(info).items() if value is not None}


def _report(session: Session, sentence: str, info: CatalogInfo, checks: Sequence[CatalogCheck]) -> None:
    """Show a catalog that was made or changed, and what each check of its storage found: the others have passed.

    What is wrong with a storage is told alone, since the catalog is made all the same.
    """
    from lanceway.access.mounted.catalogs import STORAGE

    if not session.json:
        for check in (check for check in checks if check.name.startswith(STORAGE)):
            typer.secho(printable(str(check)), fg=None if check.passed else "red")
    session.output.done(sentence, {**_info(info), "checks": _checks(checks)})
    wrong = sum(not check.passed for check in checks)
    if wrong:
        noun = "check" if wrong == 1 else "checks"
        typer.secho(f"lanceway: {wrong} {noun} failed, and the catalog is there all the same.", err=True, fg="red")


def _checks(checks: Sequence[CatalogCheck]) -> list[dict[str, Any]]:
    return [asdict(check) for check in checks]
