"""`lanceway lake …`: the lake as a whole, with its database. Its tables are `lanceway tables …` with `--in`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Catalog, LakePlace, Metalake, Root, Uri, place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lanceway.lake.tree.catalogs import CatalogRow

app = group("The lake: Lanceway's own catalog, its database, its nested names, its backups.")

_File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the backup.", dir_okay=False)]


@command(app, "create")
def create(
    session: Session,
    uri: Uri = None,
    root: Root = None,
    metalake: Metalake = None,
    catalog: Catalog = None,
    separator: Annotated[
        str | None, typer.Option("--separator", help="What separates the names of a path in a new lake, instead of :")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Which separators a new lake may have: restricted (default) or unrestricted."),
    ] = None,
    flat: Annotated[
        bool, typer.Option("--flat", help="Its namespaces have one name; enable-nested changes it.")
    ] = False,
    versioning: Annotated[
        str,
        typer.Option("--versioning", help="Who keeps the versions of new tables: managed (the lake) or storage."),
    ] = "managed",
) -> None:
    """Make a catalog, and its metalake and the tables of the database if they are missing."""
    if versioning not in ("managed", "storage"):
        raise typer.BadParameter(f"{versioning!r} is neither managed nor storage.", param_hint="'--versioning'")
    where = place(session, uri=uri, root=root, metalake=metalake, catalog=catalog, separator=separator, policy=policy)
    from lanceway.lake.summary import described
    from lanceway.lake.tree.locations import canonical

    location, managed = canonical(where.root), versioning == "managed"
    with where.opened(upgrade=True) as store:
        created = store.transact(_create, where, location, not flat, managed)
    facts = {"metalake": where.metalake, "catalog": created.name, **described(created)}
    session.output.done(
        f"Made the catalog {created.name} in the metalake {where.metalake}, under {created.location}.", facts
    )


def _create(connection: Connection, where: LakePlace, location: str, nested: bool, managed: bool) -> CatalogRow:
    from lanceway.errors import NamespaceAlreadyExistsError
    from lanceway.lake.tree import catalogs, metalakes

    with suppress(NamespaceAlreadyExistsError):
        metalakes.create(connection, where.metalake, by=where.user)
    return catalogs.create(
        connection,
        where.metalake,
        where.catalog,
        by=where.user,
        nested=nested,
        managed=managed,
        location=location,
    )


@command(app, "status")
def status(session: Session, uri: Uri = None) -> None:
    """Show what a database holds: its version, its separator, its catalogs, and what is still to be done."""
    where = place(session, uri=uri)
    from lanceway.lake import summary

    with where.bare() as store:
        store.refuse_missing()
        session.output.lake(store.snapshot(summary.summary))


@command(app, "upgrade")
def upgrade(session: Session, uri: Uri = None) -> None:
    """Bring a database to the version of this program, in one step; every row is kept."""
    where = place(session, uri=uri)
    from lanceway.lake.store import database, upgrades

    with where.bare() as store:
        store.refuse_missing()
        before = store.read(upgrades.state).version
        database.prepare(store, where.settings.get("separator"), where.settings.get("policy"), upgrade=True)
        after = store.read(upgrades.state).version
    said = f"is at version {after} already" if before >= after else f"was upgraded from version {before} to {after}"
    session.output.done(f"The database {said}.", {"from_version": before, "version": after})


@command(app, "backup")
def backup(
    session: Session,
    file: _File,
    uri: Uri = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
) -> None:
    """Write all that the database holds to a file, as it is at one moment; others may go on writing.

    The data of the tables is in storage and not part of it.
    """
    where = place(session, uri=uri)
    from lanceway.lake.store import backups

    with where.opened() as store:
        counts = backups.backup(store, file, overwrite=overwrite)
    session.output.done(f"Wrote {sum(counts.values()):,} rows to {file}.", {"file": str(file), "rows": counts})


@command(app, "restore")
def restore(session: Session, file: _File, uri: Uri = None) -> None:
    """Fill an empty database from a backup, of SQLite or PostgreSQL whichever it was made of."""
    where = place(session, uri=uri)
    from lanceway.lake.store import backups

    with where.bare() as store:
        counts = backups.restore(store, file)
    session.output.done(f"Restored {sum(counts.values()):,} rows from {file}.", {"file": str(file), "rows": counts})
