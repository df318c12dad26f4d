"""`lanceway lake separator …` and `lanceway lake enable-nested`: nested names, and the names that prevent them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.lake.options import Catalog, Metalake, Uri, place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.lake.tree.nesting import Scan

nested = group("Nested mode")
app = group("The separator: the character between the names of a path, the same for the whole lake.")

_DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what stands in the way; exit code 1 if anything.")]
_Character = Annotated[str, typer.Argument(metavar="CHARACTER", help="One character, such as : or ~.")]


@command(nested, "enable-nested")
def enable_nested(
    session: Session, uri: Uri = None, metalake: Metalake = None, catalog: Catalog = None, dry_run: _DryRun = False
) -> None:
    """Let namespaces of a catalog lie in namespaces, unless a name holds the lake's separator.

    The refusal, and --dry-run, show the names that do, and the separators that no name holds.
    """
    where = place(session, uri=uri, metalake=metalake, catalog=catalog)
    from lanceway.lake.tree import catalogs, nesting

    with where.opened() as store:
        row = store.read(catalogs.load, where.metalake, where.catalog)
        scan = store.transact(nesting.enable, row.id, by=where.user, dry_run=dry_run)
    _report(session, scan, f"Namespaces of {where.catalog} can lie in namespaces now.", dry_run)


@command(app, "show")
def show(session: Session, uri: Uri = None) -> None:
    """Show the separator and its policy."""
    where = place(session, uri=uri)
    from lanceway.lake.tree import settings

    with where.opened() as store:
        stored = store.read(settings.separator)
    session.output.record({"separator": stored.character, "policy": stored.policy})


@command(app, "set")
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
    _report(session, scan, f"The separator is {character} now.", dry_run)


@command(app, "mend")
def mend(
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
        renamed = store.transact(nesting.mend, row.id, character, replacement, by=where.user)
    records = [{"from": list(old), "to": list(new)} for old, new in renamed]
    session.output.records({"from": "from", "to": "to"}, records)


def _report(session: Session, scan: Scan, sentence: str, dry_run: bool) -> None:
    facts = {
        "separator": scan.separator,
        "conflicts": [list(conflict.namespace) for conflict in scan.conflicts],
        "alternatives": list(scan.alternatives),
    }
    if not dry_run:
        session.output.done(sentence, facts)
        return
    session.output.scan(facts)
    if scan.conflicts:
        raise typer.Exit(FAILED)
