"""Access control on and off, and who would lose what when it is switched on."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, exists, func, or_, select, update

from lanceway.access.lists import visible_catalogs
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder
from lanceway.access.rights.questions import is_enabled
from lanceway.errors import InvalidInputError
from lanceway.lake import users
from lanceway.lake.access.facts import Caller
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import (
    ALLOW,
    USER,
    foreign_objects,
    grants,
    group_roles,
    groups,
    jobs,
    members,
    objects,
    user_roles,
)
from lanceway.lake.store.schema import users as user_rows
from lanceway.lake.tree import catalogs, settings
from lanceway.lake.tree.settings import ACCESS_CONTROL, OFF, ON

MOST_SHOWN = 100
SEES_NOTHING = "would see nothing"
KEEPS_RIGHTS = "keeps what it is granted and owns there"
NEEDS_CATALOG = "owns objects, and needs USE_CATALOG to reach them"


class NoAdminError(InvalidInputError):
    """No admin is enabled, so that no one could grant anything."""

    status = 409


def status(store: LakeStore) -> dict[str, Any]:
    """Return whether access control is on."""
    return {"enabled": store.read(is_enabled)}


def enable(store: LakeStore, actor: Actor, places: PlaceFinder, *, confirm: bool) -> dict[str, Any]:
    """Switch access control on, as an admin; without `confirm`, only tell who would lose what. Raises NoAdminError."""

    def work(connection: Connection) -> dict[str, Any]:
        actor.require_admin(connection, "switch access control on")
        if not users.has_admin(connection):
            raise NoAdminError(
                "Access control cannot be switched on: no admin is enabled, and no one could grant anything. Make one: "
                "lanceway users create NAME --admin, or lanceway users promote NAME"
            )
        answer = {"was_enabled": is_enabled(connection), **losses(connection, places)}
        if confirm:
            settings.store(connection, {ACCESS_CONTROL: ON})
            # Jobs from before were asked for by users, too, whose rights count from now on.
            connection.execute(_CLAIM_JOBS)
        return {"enabled": confirm or answer["was_enabled"], **answer}

    return store.transact(work)


def disable(store: LakeStore, actor: Actor) -> dict[str, Any]:
    """Switch access control off, as an admin: all who are signed in may do everything then."""

    def work(connection: Connection) -> dict[str, Any]:
        actor.require_admin(connection, "switch access control off")
        before = is_enabled(connection)
        settings.store(connection, {ACCESS_CONTROL: OFF})
        return {"enabled": False, "was_enabled": before}

    return store.transact(work)


def _owned(table: Any) -> Any:
    """Count the rows of a table that a user owns, itself or by a group of the lake."""
    mine = (
        select(groups.c.name)
        .join_from(groups, members, members.c.group_id == groups.c.id)
        .where(members.c.user_id == user_rows.c.id)
        .correlate(user_rows)
    )
    by_user = (table.c.owner == user_rows.c.name) & (table.c.owner_kind == USER)
    by_group = (table.c.owner_kind != USER) & table.c.owner.in_(mine)
    counted = select(func.count()).select_from(table).where(or_(by_user, by_group))
    if table is objects:
        counted = counted.where(objects.c.parent_id.is_not(None))  # a root is a catalog
    return counted.correlate(user_rows).scalar_subquery()


_GRANTED = or_(
    exists()
    .where(user_roles.c.user_id == user_rows.c.id, grants.c.role_id == user_roles.c.role_id, grants.c.effect == ALLOW)
    .correlate(user_rows),
    exists()
    .where(
        members.c.user_id == user_rows.c.id,
        group_roles.c.group_id == members.c.group_id,
        grants.c.role_id == group_roles.c.role_id,
        grants.c.effect == ALLOW,
    )
    .correlate(user_rows),
)
_CLAIM_JOBS = (
    update(jobs).where(jobs.c.requested_groups.is_(None), jobs.c.ended_at.is_(None)).values(requested_groups=[])
)
_CONCERNED = (user_rows.c.admin.is_(False), user_rows.c.disabled_at.is_(None))
_LOSERS = (
    select(user_rows.c.name, (_owned(objects) + _owned(foreign_objects)).label("objects"))
    .where(*_CONCERNED)
    .order_by(_GRANTED, user_rows.c.name)  # false comes first
    .limit(MOST_SHOWN)
)


def losses(connection: Connection, places: PlaceFinder) -> dict[str, Any]:
    """Return what each non-admin keeps with access control on: how many of all catalogs it reaches, and how
    many objects it owns.

    At most the first hundred users are shown, those who are granted nothing before the others. Users of an issuer who
    have no row here are not known, and not among them, nor are groups that an issuer names.
    """
    mounted = places.mounts(connection)
    names = sorted({*catalogs.names(connection, places.metalake), *mounted})
    found = []
    for row in connection.execute(_LOSERS).all():
        reached = visible_catalogs(connection, Caller(row.name), places.metalake, names, mounted, as_enabled=True)
        effect = KEEPS_RIGHTS if reached else NEEDS_CATALOG if row.objects else SEES_NOTHING
        found.append({"user": row.name, "catalogs": len(reached), "objects": row.objects, "effect": effect})
    count = connection.execute(select(func.count()).select_from(user_rows).where(*_CONCERNED)).scalar_one()
    return {"losses": found, "losses_count": count, "catalogs_count": len(names)}
