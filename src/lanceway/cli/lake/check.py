"""`lanceway lake check`: whether the rows agree with each other, and the storage with the rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.lake.options import Catalog, Metalake, Uri, place
from lanceway.cli.session import Session

app = group("Soundness")


@command(app, "check")
def check(
    session: Session,
    uri: Uri = None,
    root: Annotated[
        str | None,
        typer.Option("--root", help="The folder or URI to look at; the roots of all catalogs if left out."),
    ] = None,
    storage: Annotated[
        bool, typer.Option("--storage/--no-storage", help="Also look whether the manifest of every version is there.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 also for what is only a note.")] = False,
) -> None:
    """Look for what should not be: orphans, half chains, gaps, overlaps, lost manifests. Nothing is changed.

    Exit code 1 if anything is wrong. What a crash left, and the lake finishes by itself, is only a note.
    """
    where = place(session, uri=uri)
    from lanceway.catalogs.lake import storage_check
    from lanceway.lake.versions import checks

    with where.opened() as store:
        findings = list(store.snapshot(checks.check))
        if storage:
            findings += storage_check.check(store, where.storage_options, root)
    ordered = sorted(findings, key=lambda finding: not finding.wrong)
    session.output.findings([asdict(finding) for finding in ordered])
    if any(finding.wrong or strict for finding in findings):
        raise typer.Exit(FAILED)


@command(app, "tidy")
def tidy(session: Session, uri: Uri = None, metalake: Metalake = None, catalog: Catalog = None) -> None:
    """Delete the data of dropped tables that a crash, or storage that could not be reached, has left."""
    where = place(session, uri=uri, metalake=metalake, catalog=catalog)
    from lanceway.catalogs.lake.catalog import LakeCatalog

    # Where new tables lie is the catalog's affair; nothing is made here.
    settings = {key: value for key, value in where.settings.items() if key != "root"}
    lake = LakeCatalog(**settings, create=False)
    try:
        removed = list[str]()
        while some := lake.finish_removals():
            removed += some
    finally:
        lake.close()
    session.output.done(f"Deleted the data of {len(removed):,} dropped tables.", {"removed": removed})
