"""Nested mode of a catalog and the separator of the lake: the names that conflict with them, and renaming those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, case, func, select, update

from lanceway.errors import InvalidInputError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.store.clock import now
from lanceway.lake.store.schema import NAMESPACE, catalogs, objects
from lanceway.lake.tree import settings, subtrees
from lanceway.lake.tree.separators import ALLOWED, Separator, alternatives

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Conflict:
    """A namespace whose own name holds the separator as plain text."""

    catalog: int
    namespace: Identifier


@dataclass(frozen=True, slots=True)
class Scan:
    """The conflicts of a separator with names that are there, and the separators that have none."""

    separator: str
    conflicts: Sequence[Conflict]
    alternatives: Sequence[str]


def enable(connection: Connection, catalog: int, *, by: str, dry_run: bool = False) -> Scan:
    """Enable nested mode, if no name of the catalog holds the separator; a dry run only looks.

    Raises InvalidInputError with the conflicts and the separators that would work.
    """
    _lock(connection, catalogs.c.id == catalog)
    scan = _scan(connection, settings.separator(connection).character, objects.c.catalog_id == catalog)
    if not dry_run:
        _refuse(scan, "Nested mode cannot be enabled")
        changed = {"nested": True, "changed_by": by, "changed_at": now(), "revision": catalogs.c.revision + 1}
        connection.execute(update(catalogs).where(catalogs.c.id == catalog, ~catalogs.c.nested).values(changed))
    return scan


def change_separator(
    connection: Connection, character: str, *, policy: str | None = None, dry_run: bool = False
) -> Scan:
    """Change the separator for the whole lake, unless a namespace of a nested catalog holds the new one.

    What is stored stays as it is: only the logical paths are written differently. Raises InvalidInputError.
    """
    _lock(connection, catalogs.c.id == catalogs.c.id)
    separator = Separator(character, policy or settings.separator(connection).policy)
    nested = select(catalogs.c.id).where(catalogs.c.nested)
    scan = _scan(connection, separator.character, objects.c.catalog_id.in_(nested))
    if not dry_run:
        _refuse(scan, f"The separator cannot be changed to {character!r}")
        settings.store(connection, {settings.SEPARATOR: separator.character, settings.POLICY: separator.policy})
    return scan


def mend(
    connection: Connection, catalog: int, separator: str, replacement: str, *, by: str
) -> Sequence[tuple[Identifier, Identifier]]:
    """Rename every namespace of a catalog whose name holds `separator`, with `replacement` in its place.

    The old and the new name of each. Raises NamespaceAlreadyExistsError if a new name is taken.
    """
    if separator in replacement:
        raise InvalidInputError(f"{replacement!r} holds {separator!r}, which it is to replace. Use '_', for example.")
    _lock(connection, catalogs.c.id == catalog)
    conflicts = _scan(connection, separator, objects.c.catalog_id == catalog).conflicts
    # From the deepest up: the names above are still the old ones when a namespace is renamed.
    ordered = sorted(conflicts, key=lambda conflict: -conflict.namespace.depth)
    return [_renamed(connection, conflict, separator, replacement, by) for conflict in ordered]


def _renamed(
    connection: Connection, conflict: Conflict, separator: str, replacement: str, by: str
) -> tuple[Identifier, Identifier]:
    name = conflict.namespace.name.replace(separator, replacement)
    new = subtrees.rename(connection, conflict.catalog, conflict.namespace, name, by=by)
    return conflict.namespace, new.identifier


def _lock(connection: Connection, which: ColumnElement[bool]) -> None:
    """Lock out the creation of namespaces. Catalogs are locked in one order, so that two callers never deadlock."""
    connection.execute(select(catalogs.c.id).where(which).order_by(catalogs.c.id).with_for_update()).all()


def _scan(connection: Connection, separator: str, where: ColumnElement[bool]) -> Scan:
    spaces = (objects.c.kind == NAMESPACE) & where
    statement = select(objects.c.catalog_id, objects.c.physical).where(spaces, _holds(separator))
    rows = connection.execute(statement.order_by(objects.c.catalog_id, objects.c.physical)).all()
    conflicts = [Conflict(row.catalog_id, HierarchicalName.from_physical(row.physical)) for row in rows]
    flags = select(*(func.max(case((_holds(character), 1), else_=0)) for character in ALLOWED)).where(spaces)
    in_use = [character for character, flag in zip(ALLOWED, connection.execute(flags).one(), strict=True) if flag]
    return Scan(separator, conflicts, alternatives([*in_use, separator]))


def _holds(character: str) -> ColumnElement[bool]:
    return objects.c.name.contains(character, autoescape=True)


def _refuse(scan: Scan, what: str) -> None:
    if not scan.conflicts:
        return
    some = ", ".join(repr(list(conflict.namespace)) for conflict in scan.conflicts[:_SHOWN])
    more = f" and {len(scan.conflicts) - _SHOWN} more" if len(scan.conflicts) > _SHOWN else ""
    free = ", ".join(repr(character) for character in scan.alternatives)
    instead = f" or choose a separator that no name holds: {free}" if free else ""
    raise InvalidInputError(
        f"{what}: the names of {len(scan.conflicts)} namespaces hold {scan.separator!r}, which would separate names: "
        f"{some}{more}. Rename them{instead}."
    )
