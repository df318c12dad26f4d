"""`lanceway tables reconcile` and `lanceway tables versioning`: who keeps a table's versions, and whether all agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from lanceway.cli.command import command, group
from lanceway.cli.options import Table
from lanceway.cli.session import Session

app = group("Managed tables")

_COLUMNS = {"kind": "what", "branch": "branch", "version": "version", "mended": "mended", "path": "path"}


@command(app, "reconcile")
def reconcile(
    session: Session,
    table: Table,
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="Make strays that continue the latest version versions; forget vanished ones."),
    ] = False,
) -> None:
    """Show where a lake and the storage of a managed table disagree: strays, uncopied and vanished versions.

    What was claimed is copied to its place, and strays are moved aside, as the lake does whenever it meets them.
    """
    found = _of_a_lake(session, "reconcile")(session.id(table), adopt=adopt)
    session.output.records(_COLUMNS, [asdict(difference) for difference in found])


@command(app, "versioning")
def versioning(
    session: Session,
    table: Table,
    who: Annotated[
        str, typer.Argument(metavar="managed|storage", help="Who keeps its versions: the lake, or storage alone.")
    ],
) -> None:
    """Have a lake keep a table's versions, or leave them to storage; data and history stay as they are."""
    if who not in ("managed", "storage"):
        raise typer.BadParameter(f"{who!r} is neither managed nor storage.", param_hint="'managed|storage'")
    _of_a_lake(session, "set_versioning")(session.id(table), managed=who == "managed")
    keeper = "the lake" if who == "managed" else "storage alone"
    session.output.done(f"The versions of {table} are kept by {keeper}.", {"versioning": who})


def _of_a_lake(session: Session, method: str) -> Callable[..., Any]:
    """A method that only a lake has, not the contract."""
    from lanceway.errors import UnsupportedOperationError

    found: Callable[..., Any] | None = getattr(session.catalog, method, None)
    if found is None:
        raise UnsupportedOperationError(
            "Only a lake keeps versions of tables. Choose one with --in NAME or --type lake."
        )
    return found
