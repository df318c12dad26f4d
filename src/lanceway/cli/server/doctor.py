"""`lanceway doctor`: checks packages, programs, the configuration, and every namespace in it."""

from __future__ import annotations

import importlib
import platform
import shutil
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, NamedTuple

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import Session

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
    """Ask a namespace for one page of its tables, and wait so many seconds for the answer."""
    answers: list[Record] = []
    # A daemon: a service that never answers must not keep the process from ending.
    asking = Thread(target=lambda: answers.append(_answer(name, file)), daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else {"state": "no answer", "reason": f"nothing came within {seconds:g} seconds"}


def _answer(name: str, file: Path | None) -> Record:
    import lanceway
    from lanceway.errors import LanceNamespaceError

    try:
        lanceway.connect(name=name, config=file).list_tables(_one_page())
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
) -> None:
    """Say what is installed, what is missing and how to get it, and whether the namespaces answer.

    Exit code 0 if all that Lanceway needs is there, 1 if not.
    """
    packages = check_packages()
    healthy = all(row["ok"] for row in packages if row["needed"] == "always")
    # Without its base Lanceway cannot even read its configuration.
    report = check_configuration(session.config, seconds) if healthy else no_configuration()
    healthy = healthy and not report["problems"]
    session.output.health({"healthy": healthy, "packages": packages, **report})
    if not healthy:
        raise typer.Exit(FAILED)
