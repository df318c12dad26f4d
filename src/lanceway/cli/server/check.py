"""`lanceway check`: the conformance suite against any Lance Namespace server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.options import pairs
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

app = group("Conformance")


@command(app, "check")
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
    """Hold a Lance Namespace server to the contract, and say behaviour by behaviour what it does otherwise.

    Works in one scratch namespace, which is removed afterwards with all that is in it. Exit code 1 if any
    test failed, or if the server could not remove what it had made; an operation that the server says it
    does not support is no failure.
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
        from lanceway.testing.inspection import inspection
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
