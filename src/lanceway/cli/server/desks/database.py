"""The desk on a server's database. Users with its credentials may do everything, and no rights are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path

from lanceway import config
from lanceway.access import privileges, tokens, users
from lanceway.access.records import audit
from lanceway.access.rights import grants, groups, owners, questions, roles, switch
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.grants import GrantList, WantedChange
from lanceway.access.rights.places import PlaceFinder, WrittenPlace
from lanceway.cli.lake.options import LakePlace
from lanceway.cli.server.desks.desk import (
    AuditChoice,
    GrantChoice,
    NamedObject,
    Page,
    PrivilegeChange,
    Record,
    TokenWish,
    UserChange,
)
from lanceway.cli.session import Session
from lanceway.errors import InvalidInputError
from lanceway.lake.access.audit import AuditFilter
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.owners import Owner
from lanceway.lake.store.database import LakeStore


class DatabaseDesk:
    """An opened database, with the one who works on it."""

    def __init__(self, store: LakeStore, where: LakePlace, session: Session, home: Path | None) -> None:
        self._store, self._where, self._session, self._home = store, where, session, home

    @cached_property
    def _user(self) -> str:
        return self._where.user

    @cached_property
    def _actor(self) -> Actor:
        return Actor(Caller(self._user), self._where.metalake, trusted=True)

    @cached_property
    def _places(self) -> PlaceFinder:
        """Return the objects there are, with the catalogs that the server's configuration mounts."""
        from lanceway.catalogs.federated.mounts import canonical

        settings = config.server(self._session.config, {"home": self._home})
        return PlaceFinder(self._where.metalake, frozenset(canonical(name) for name in settings.catalogs))

    # -- users -----------------------------------------------------------------------------------

    def list_users(self, disabled: bool | None, *, limit: int | None, page_token: str | None) -> Page:
        return users.described_page(self._store, disabled=disabled, limit=limit, page_token=page_token)

    def get_user(self, name: str) -> Record:
        return users.described(users.find(self._store, name))

    def create_user(self, name: str, *, admin: bool) -> Record:
        return users.described(users.create(self._store, name, by=self._user, admin=admin))

    def change_user(self, name: str, change: UserChange) -> Record:
        if change == "disable":
            user = users.disable(self._store, name, by=self._user)
        elif change == "enable":
            user = users.enable(self._store, name)
        elif change == "promote":
            user = users.promote(self._store, name, by=self._user)
        else:
            user = users.demote(self._store, name)
        return users.described(user)

    def delete_user(self, name: str) -> Record:
        return users.described(users.delete(self._store, name))

    def rename_user(self, name: str, new_name: str) -> Record:
        new, moved = users.rename(self._store, name, new_name)
        return {"name": new, "moved": moved}

    def known_issuers(self) -> Mapping[str, str]:
        return users.known_issuers(self._store)

    def move_issuer(self, alias: str, issuer: str) -> None:
        users.move_issuer(self._store, alias, issuer)

    # -- groups and roles ------------------------------------------------------------------------

    def list_groups(self, *, limit: int | None, page_token: str | None) -> Page:
        return groups.described_page(self._store, self._actor, limit=limit, page_token=page_token)

    def get_group(self, name: str, *, limit: int, page_token: str | None) -> Record:
        return groups.show(self._store, self._actor, name, limit=limit, page_token=page_token)

    def create_group(self, name: str) -> Record:
        return groups.create(self._store, self._actor, name)

    def delete_group(self, name: str) -> Record:
        return groups.delete(self._store, self._actor, name)

    def add_members(self, group: str, users: Sequence[str]) -> dict[str, bool]:
        return groups.add(self._store, self._actor, group, users)

    def remove_members(self, group: str, users: Sequence[str]) -> dict[str, bool]:
        return groups.remove(self._store, self._actor, group, users)

    def list_roles(self, *, limit: int | None, page_token: str | None) -> Page:
        return roles.described_page(self._store, self._actor, limit=limit, page_token=page_token)

    def get_role(self, name: str) -> Record:
        return roles.show(self._store, self._actor, name)

    def create_role(self, name: str, comment: str | None) -> Record:
        return roles.create(self._store, self._actor, name, comment=comment)

    def delete_role(self, name: str) -> Record:
        return roles.delete(self._store, self._actor, name)

    def give_role(self, role: str, name: str, kind: str) -> bool:
        return roles.give(self._store, self._actor, role, name, kind)

    def take_role(self, role: str, name: str, kind: str) -> bool:
        return roles.take(self._store, self._actor, role, name, kind)

    # -- grants and questions --------------------------------------------------------------------

    def list_grants(self, choice: GrantChoice, *, limit: int | None, page_token: str | None) -> Page:
        wanted = GrantList(choice.role, None if choice.object is None else _written(choice.object), choice.dangling)
        list_ = (self._store, self._actor, self._places, wanted)
        return grants.described_page(*list_, delimiter=choice.delimiter, limit=limit, page_token=page_token)

    def change_grants(self, changes: Sequence[PrivilegeChange]) -> list[bool]:
        return grants.apply(self._store, self._actor, self._places, [_wanted(change) for change in changes])

    def purge_dangling(self) -> int:
        return grants.purge_dangling(self._store, self._actor)

    def what_if(self, change: PrivilegeChange) -> Record:
        return grants.what_if(self._store, self._actor, self._places, _wanted(change))

    def why(self, user: str, action: str, object_: NamedObject) -> Record:
        return questions.why(self._store, self._actor, self._places, action, _written(object_), user)

    def who(self, object_: NamedObject) -> Record:
        return questions.who(self._store, self._actor, self._places, _written(object_))

    def rights_of(self, user: str, delimiter: str) -> Record:
        return questions.user(self._store, self._actor, self._places, user, delimiter=delimiter)

    # -- owners and access control ---------------------------------------------------------------

    def get_owner(self, object_: NamedObject) -> Record:
        return owners.show(self._store, self._actor, self._places, _written(object_))

    def set_owner(self, object_: NamedObject, name: str, kind: str) -> Record:
        return owners.change(self._store, self._actor, self._places, _written(object_), Owner(name, kind))

    def access_status(self) -> Record:
        return {**switch.status(self._store), **self._store.read(switch.losses, self._places)}

    def enable_access(self, *, confirm: bool) -> Record:
        return switch.enable(self._store, self._actor, self._places, confirm=confirm)

    def disable_access(self) -> Record:
        return switch.disable(self._store, self._actor)

    # -- tokens and the audit trail --------------------------------------------------------------

    def list_tokens(self, user: str | None, *, dead: bool, limit: int | None, page_token: str | None) -> Page:
        return tokens.described_page(self._store, user=user, dead=dead, limit=limit, page_token=page_token)

    def create_token(self, wish: TokenWish) -> Record:
        create = partial(tokens.create, self._store, wish.user, by=self._user, admin=wish.admin)
        created = create(label=wish.label, lifetime=wish.lifetime)
        return {"token": created.secret, **tokens.described(created.token)}

    def revoke_token(self, prefix: str) -> Record:
        revoked = tokens.revoke(self._store, prefix, by=self._user)
        if revoked is None:
            raise InvalidInputError(f"There is no token {prefix}. Those there are: lanceway tokens list")
        return tokens.described(revoked)

    def revoke_tokens(self, user: str) -> int:
        return tokens.revoke_all(self._store, user, by=self._user)

    def list_audit(self, choice: AuditChoice, *, limit: int | None, page_token: str | None) -> Page:
        path = None if choice.object is None else audit.object_path(choice.object)
        names = (choice.user, path, choice.operation, choice.outcome, choice.request)
        wanted = AuditFilter(*names, choice.since, choice.until)
        return audit.described_page(self._store, wanted, limit=limit, page_token=page_token)

    def purge_audit(self, age: timedelta) -> int:
        return audit.purge(self._store, age)


def _written(object_: NamedObject) -> WrittenPlace:
    return WrittenPlace(object_.text, object_.kind, object_.delimiter)


def _wanted(change: PrivilegeChange) -> WantedChange:
    privilege = privileges.find(change.privilege).name
    return WantedChange(change.role, _written(change.object), privilege, change.deny, change.revoke)
