"""`lanceway lake`: create, upgrade, back up and check a lake, and change its separator."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.lake.options import Catalog, LakePlace, Metalake, Root, Uri, place
from lanceway.cli.server.homes import Home, read_duration, server_place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lanceway.lake.tree.catalogs import CatalogRow
    from lanceway.lake.tree.nesting import Scan

check_app = group("Soundness")


@command(check_app, "check")
def check(
    session: Session,
    uri: Uri = None,
    root: Annotated[
        str | None,
        typer.Option("--root", help="The folder or URI to look at; the roots of all catalogs if left out."),
    ] = None,
    storage: Annotated[
        bool,
        typer.Option("--storage/--no-storage", help="Also look whether the files of tables and versions are there."),
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 also for what is only a note.")] = False,
) -> None:
    """Check the lake for inconsistencies: orphans, gaps, overlaps, lost manifests. Nothing is changed.

    Exit code 1 if anything is wrong. What a crash left, and the lake finishes by itself, is only a note.
    """
    where = place(session, uri=uri)
    from lanceway.catalogs.lake import repair
    from lanceway.catalogs.lake.iceberg import orphans
    from lanceway.lake.versions import checks

    with where.opened() as store:
        findings = list(store.snapshot(checks.check))
        if storage:
            findings += repair.check(store, where.storage_options, root)
            findings += orphans.check(store, where.storage_options, root)
    ordered = sorted(findings, key=lambda finding: not finding.wrong)
    session.output.findings([asdict(finding) for finding in ordered])
    if any(finding.wrong or strict for finding in findings):
        raise typer.Exit(FAILED)


@command(check_app, "tidy")
def tidy(
    session: Session,
    uri: Uri = None,
    metalake: Metalake = None,
    catalog: Catalog = None,
    orphans_older_than: Annotated[
        str,
        typer.Option(
            "--orphans-older-than",
            metavar="TIME",
            help="Delete metadata files of Iceberg commits that never ended if they are older than this: 12h, 7d. "
            "A commit that is under way has such a file too.",
        ),
    ] = "1d",
) -> None:
    """Delete what a crash, or storage that could not be reached, has left.

    That is the data of dropped tables, and metadata files that Iceberg commits wrote and no table has.
    """
    age = read_duration(orphans_older_than, "--orphans-older-than")
    where = place(session, uri=uri, metalake=metalake, catalog=catalog)
    from lanceway.catalogs.lake.catalog import LakeCatalog

    # Where new tables are is the catalog's affair; nothing is made here.
    settings = {key: value for key, value in where.settings.items() if key != "root"}
    lake = LakeCatalog(**settings, create=False)
    try:
        removed = list[str]()
        while some := lake.finish_removals():
            removed += some
        orphans = lake.clean_iceberg(older_than=age.total_seconds())
    finally:
        lake.close()
    more = f" Deleted {len(orphans):,} orphaned metadata files." if orphans else ""
    facts = {"removed": removed, "orphans": orphans}
    session.output.done(f"Deleted the data of {len(removed):,} dropped tables.{more}", facts)


nested = group("Nested mode")
separators_app = group("The separator: the character between the names of a path, the same for the whole lake.")

_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what stands in the way; exit code 1 if anything.")]
_Character = Annotated[str, typer.Argument(metavar="CHARACTER", help="One character, such as : or ~.")]


@command(nested, "enable-nested")
def enable_nested(
    session: Session, uri: Uri = None, metalake: Metalake = None, catalog: Catalog = None, dry_run: _DryRun = False
) -> None:
    """Let namespaces of a catalog be inside namespaces, unless a name holds the lake's separator.

    The refusal, and --dry-run, show the names that do, and the separators that no name holds.
    """
    where = place(session, uri=uri, metalake=metalake, catalog=catalog)
    from lanceway.lake.tree import catalogs, nesting

    with where.opened() as store:
        row = store.read(catalogs.load, where.metalake, where.catalog)
        scan = store.transact(nesting.enable, row.id, by=where.user, dry_run=dry_run)
    report_scan(session, scan_facts(scan), f"Namespaces of {where.catalog} can be inside namespaces now.", dry_run)


@command(separators_app, "show")
def show(session: Session, uri: Uri = None) -> None:
    """Show the separator and its policy."""
    where = place(session, uri=uri)
    from lanceway.lake.tree import settings

    with where.opened() as store:
        stored = store.read(settings.separator)
    session.output.record({"separator": stored.character, "policy": stored.policy})


@command(separators_app, "set")
def set_(
    session: Session,
    character: _Character,
    uri: Uri = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="The new policy, restricted or unrestricted; as it is if left out.")
    ] = None,
    dry_run: _DryRun = False,
) -> None:
    """Change the separator of the whole lake, unless a nested namespace's name holds the new one.

    Nothing that is stored changes. Processes that are configured with another separator refuse to start afterwards.
    """
    # What the environment says of the separator is about to be out of date.
    where = place(session, uri=uri).agreeing_with_any_separator()
    from lanceway.lake.tree import nesting

    with where.opened() as store:
        scan = store.transact(nesting.change_separator, character, policy=policy, dry_run=dry_run)
    report_scan(session, scan_facts(scan), f"The separator is {character} now.", dry_run)


@command(separators_app, "fix")
def fix(
    session: Session,
    character: _Character,
    replacement: Annotated[
        str, typer.Argument(metavar="REPLACEMENT", help="What to write in its place, such as _ or -.")
    ],
    uri: Uri = None,
    metalake: Metalake = None,
    catalog: Catalog = None,
) -> None:
    """Rename every namespace of a catalog whose name holds a character, so that it can separate names."""
    where = place(session, uri=uri, metalake=metalake, catalog=catalog)
    from lanceway.lake.tree import catalogs, nesting

    with where.opened() as store:
        row = store.read(catalogs.load, where.metalake, where.catalog)
        renamed = store.transact(nesting.fix, row.id, character, replacement, by=where.user)
    records = [{"from": list(old), "to": list(new)} for old, new in renamed]
    session.output.records({"from": "from", "to": "to"}, records)


def scan_facts(scan: Scan) -> dict[str, Any]:
    """Return what a scan has found, as data."""
    return {
        "separator": scan.separator,
        "conflicts": [list(conflict.namespace) for conflict in scan.conflicts],
        "alternatives": list(scan.alternatives),
    }


def report_scan(session: Session, facts: Mapping[str, Any], sentence: str, dry_run: bool) -> None:
    """Say that a change is made, or show what a dry run has found; exit code 1 if anything stands in the way."""
    if not dry_run:
        session.output.done(sentence, facts)
        return
    session.output.scan(facts)
    if facts["conflicts"]:
        raise typer.Exit(FAILED)


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
    """Write all that the database holds to a file, as it is at one moment; others may keep writing.

    The data of the tables is in storage and not part of it.
    """
    where = place(session, uri=uri)
    from lanceway.lake.store import backups

    with where.opened() as store:
        counts = backups.backup(store, file, overwrite=overwrite)
    session.output.done(f"Wrote {sum(counts.values()):,} rows to {file}.", {"file": str(file), "rows": counts})


@command(app, "restore")
def restore(
    session: Session,
    file: _File,
    uri: Uri = None,
    revoke_tokens: Annotated[
        bool,
        typer.Option("--revoke-tokens", help="Revoke all tokens: one that was revoked since the backup would be back."),
    ] = False,
) -> None:
    """Fill an empty database from a backup, of SQLite or PostgreSQL whichever it was made of.

    Tokens are as they were when the backup was made.
    """
    where = place(session, uri=uri)
    from lanceway.lake import tokens
    from lanceway.lake.store import backups

    revoke = partial(tokens.revoke_all, user=None, by=where.user)
    with where.bare() as store:
        counts = backups.restore(store, file, finish=revoke if revoke_tokens else None)
    ended = " All tokens are revoked; make new ones with lanceway tokens create." if revoke_tokens else ""
    facts = {"file": str(file), "rows": counts, "revoked_tokens": revoke_tokens}
    session.output.done(f"Restored {sum(counts.values()):,} rows from {file}.{ended}", facts)


@command(app, "rotate-key")
def rotate_key(session: Session, home: Home = None, uri: Uri = None) -> None:
    """Encrypt the secrets of catalogs with a new key.

    The key in the home is replaced. Where keys are configured, put the new one first in secret_key, restart the
    servers, run this, and take the old one out. Running servers are not affected.
    """
    where = server_place(session, home, uri)
    from lanceway import config
    from lanceway.catalogs.federated.catalog import secret_keys
    from lanceway.lake.tree import mounts

    settings = config.server(session.config, {"home": home})

    def replace_key(connection: Connection) -> int:
        keys.begin_rotation()
        return mounts.reseal(connection, keys)

    with where.opened() as store:
        keys = secret_keys(settings, store)
        count = store.transact(replace_key)
        store.transact(lambda connection: keys.end_rotation(mounts.key_ids(connection)))
    what = "1 catalog" if count == 1 else f"{count:,} catalogs"
    session.output.done(f"The secrets of {what} are encrypted with the new key.", {"catalogs": count})
