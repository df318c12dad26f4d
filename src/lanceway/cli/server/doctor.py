"""`lanceway doctor` looks for what is wrong with a set-up; `lanceway check` runs the conformance suite on a server."""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.output.renderers import printable
from lanceway.cli.session import Session, pairs

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.access.credentials.checks import CheckResult, StorageSite

check_app = group("Conformance")


@command(check_app, "check")
def check(
    session: Session,
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="[URL]",
            help="The server's address, such as http://localhost:8400/lance; the chosen root namespace if left out.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            metavar="TOKEN",
            envvar="LANCEWAY_TOKEN",
            help="The bearer token. Others on this machine can read a command line: --token-file and the variable "
            "are safer.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", exists=True, dir_okay=False, help="A file that holds the token."),
    ] = None,
    inside: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="NAMESPACE", help="Where the scratch namespace is made, such as lake; the root if left out."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="TEXT", help="Only tests whose names hold this, such as 'branch'.")
    ] = None,
    storage: Annotated[
        bool, typer.Option("--storage", help="Also look into the tables' storage, which must be reachable from here.")
    ] = False,
    options: Annotated[
        list[str] | None,
        typer.Option("--storage-option", metavar="KEY=VALUE", help="How to reach the storage; may be repeated."),
    ] = None,
    strange_paths: Annotated[
        bool,
        typer.Option(
            "--strange-paths",
            help="Also try names such as ../up and empty locations. A careless server may delete all it has: only "
            "where no data is kept.",
        ),
    ] = False,
) -> None:
    """Run the conformance suite against a Lance Namespace server, and show each behaviour in which it differs.

    Works in one scratch namespace, which is removed afterwards with all that is in it. Exit code 1 if any
    test failed, or if the server could not remove what it had made; an operation that the server says it
    does not support is not a failure.
    """
    catalog = session.catalog if url is None else _connected(session, url, token, token_file)
    reach = pairs(options, "--storage-option")
    report = _inspect(catalog, session.id(inside), reach if storage or reach else None, only, strange_paths)
    session.output.inspection({"server": url or str(catalog), **report})
    if report["totals"]["failed"] or report["left_behind"]:
        raise typer.Exit(FAILED)


def _connected(session: Session, url: str, token: str | None, token_file: Path | None) -> LanceNamespace:
    from lanceway import config

    config.quiet_lance()
    from lanceway.catalogs.connect import connect

    secret = token_file.read_text().strip() if token_file else token
    return connect("rest", settings={"uri": url, **({"token": secret} if secret else {}), **session.settings})


def _inspect(
    catalog: LanceNamespace, inside: list[str], storage: dict[str, str] | None, only: str | None, strange_paths: bool
) -> dict[str, Any]:
    try:
        from lanceway.testing import inspection
        from lanceway.testing.sandbox import make_scratch
    except ModuleNotFoundError as error:
        raise typer.BadParameter(f"{error}: install it with pip install 'lanceway[testing]'.") from error
    scratch = make_scratch(catalog, inside)
    left_behind = list[str]()
    try:
        with _watching() as watch:
            subject = inspection.Subject(catalog, scratch, storage, strange_paths)
            report = inspection.inspect(subject, only=only, watch=watch)
    finally:
        left_behind += inspection.clear(catalog, scratch)
    return {**report.as_dict(), "left_behind": left_behind}


@contextmanager
def _watching() -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("Checking", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


Record = dict[str, Any]


class Package(NamedTuple):
    distribution: str
    module: str
    extra: str | None  # of lanceway, that installs it; None: Lanceway always needs it


PACKAGES = (
    Package("pylance", "lance", None),
    Package("lance-namespace", "lance_namespace", None),
    Package("pyarrow", "pyarrow", None),
    Package("obstore", "obstore", None),
    Package("typer", "typer", None),
    Package("rich", "rich", None),
    Package("sqlalchemy", "sqlalchemy", "lake"),
    Package("alembic", "alembic", "lake"),
    Package("psycopg", "psycopg", "lake"),
    Package("starlette", "starlette", "server"),
    Package("uvicorn", "uvicorn", "server"),
    Package("boto3", "boto3", "glue"),
    Package("thrift", "thrift", "hive"),
    Package("pyspark", "pyspark", "spark"),
    Package("pytest", "pytest", "testing"),
)


def check_packages() -> list[Record]:
    """Check Python, Lanceway and its packages: versions, and how to get what is missing."""
    from lanceway import __version__

    return [
        {"name": "python", "version": platform.python_version(), "needed": "always", "ok": True},
        {"name": "lanceway", "version": __version__, "needed": "always", "ok": True},
        *(_required(package) if package.extra is None else _optional(package) for package in PACKAGES),
        _java(),
    ]


def _required(package: Package) -> Record:
    """Check that a package can be imported, not only that it is installed: a wheel may be broken."""
    row = {"name": package.distribution, "version": _version(package), "needed": "always"}
    try:
        importlib.import_module(package.module)
    except ImportError as error:
        fix = f"pip install --force-reinstall '{_requirement(package.distribution)}'"
        return {**row, "ok": False, "reason": str(error), "fix": fix}
    return {**row, "ok": True}


def _optional(package: Package) -> Record:
    version = _version(package)
    row = {
        "name": package.distribution,
        "version": version,
        "needed": f"for [{package.extra}]",
        "ok": version is not None,
    }
    return row if version else {**row, "fix": f"pip install 'lanceway[{package.extra}]'"}


def _version(package: Package) -> str | None:
    try:
        return metadata.version(package.distribution)
    except metadata.PackageNotFoundError:
        return None


def _requirement(distribution: str) -> str:
    """Return the distribution with the versions that Lanceway's metadata requires."""
    try:
        requirements = metadata.requires("lanceway") or []
    except metadata.PackageNotFoundError:
        requirements = []
    return next((text for text in requirements if text.startswith(distribution) and ";" not in text), distribution)


def _java() -> Record:
    path = shutil.which("java")
    row = {"name": "java", "version": path, "needed": "for [spark]", "ok": path is not None}
    return row if path else {**row, "fix": "install a Java 17 runtime (openjdk-17-jre-headless) and put it on the PATH"}


def no_configuration() -> Record:
    """Return the report on a configuration that cannot be read."""
    return {"configuration": None, "namespaces": [], "problems": []}


def check_configuration(file: Path | None, seconds: float) -> Record:
    """Report which configuration file is read, and whether each namespace in it answers."""
    from lanceway import config
    from lanceway.errors import LanceNamespaceError

    config.quiet_lance()
    try:
        path = file or config.config_file()
        roots = config.namespaces(file)
    except LanceNamespaceError as error:
        return {**no_configuration(), "problems": [str(error)]}
    rows = [{"name": name, "type": entry.type, **_reach(name, file, seconds)} for name, entry in sorted(roots.items())]
    return {"configuration": None if path is None else str(path), "namespaces": rows, "problems": []}


def _reach(name: str, file: Path | None, seconds: float) -> Record:
    """Ask a namespace for one page of its tables, and its service, and wait so many seconds for the answer."""
    answers: list[Record] = []
    # A daemon: a service that never answers must not keep the process from ending.
    asking = Thread(target=lambda: answers.append(_answer(name, file)), daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else {"state": "no answer", "reason": f"nothing came within {seconds:g} seconds"}


def _answer(name: str, file: Path | None) -> Record:
    import lanceway
    from lanceway.catalogs.contract import capabilities
    from lanceway.errors import LanceNamespaceError

    try:
        catalog = lanceway.connect(name=name, config=file)
        catalog.list_tables(_one_page())
        capabilities.ask_service(catalog)
    except LanceNamespaceError as error:
        return {"state": "failed", "reason": " ".join(str(error).split()), "code": int(error.code)}
    return {"state": "reached"}


def _one_page() -> Any:
    from lance_namespace import ListTablesRequest

    return ListTablesRequest(id=[], limit=1)


app = group("Doctor")


@command(app, "doctor")
def doctor(
    session: Session,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="Wait this long for each namespace's answer.")
    ] = 10.0,
    storage: Annotated[
        bool,
        typer.Option(
            "--storage",
            help="Check the storages of the server that is configured here instead: whether they can be used, and hold "
            "credentials to what they are made for. It writes to a new folder, and removes it.",
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="With --storage: wait until a credential has ended, a quarter of an hour or longer, and see that it "
            "is refused.",
        ),
    ] = False,
) -> None:
    """Say what is installed, what is missing and how to get it, and whether the namespaces answer.

    Exit code 0 if all that Lanceway needs is there, 1 if not; with --storage, 1 if a check failed.
    """
    if wait and not storage:
        raise typer.BadParameter("it waits for the check of a storage. Add --storage.", param_hint="'--wait'")
    if storage:
        _check_storages(session, wait)
        return
    packages = check_packages()
    healthy = all(row["ok"] for row in packages if row["needed"] == "always")
    # Without its base Lanceway cannot even read its configuration.
    report = check_configuration(session.config, seconds) if healthy else no_configuration()
    healthy = healthy and not report["problems"]
    session.output.health({"healthy": healthy, "packages": packages, **report})
    if not healthy:
        raise typer.Exit(FAILED)


def _check_storages(session: Session, wait: bool) -> None:
    from lanceway import config

    config.quiet_lance()
    from lanceway.access.credentials import checks

    def show(site: StorageSite, result: CheckResult) -> None:
        # One write: several storages are checked at once. To programs the whole is written, at the end.
        text = f"{printable(f'{site.name}: {result}')}\n"
        typer.secho(text, nl=False, err=session.json, fg="red" if result.is_wrong else None)

    stopped = threading.Event()
    sites = checks.sites_of(config.server(session.config))
    expire = checks.EndWait(stopped, _tell_wait) if wait else None
    found = checks.run_all(sites, expire=expire, watch=show, stopped=stopped)
    named = [(site.name, result) for site, results in zip(sites, found, strict=True) for result in results]
    if session.json:
        session.output.records({}, [{"storage": name, **asdict(result)} for name, result in named])
    if any(result.is_wrong for _, result in named):
        raise typer.Exit(FAILED)


def _tell_wait(seconds: float) -> None:
    minutes, rest = divmod(round(seconds), 60)
    typer.echo(f"lanceway: waiting until a credential has ended: {minutes} min {rest:02d} s more\n", nl=False, err=True)
