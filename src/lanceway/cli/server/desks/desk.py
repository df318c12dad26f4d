"""The desk: what the verbs about users, groups, roles, rights, tokens and the audit trail ask for.

A desk is a server's database (`database`) or a server over HTTP (`server`). Both return the same records, those of
`/lanceway/v1`, and raise the same errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol

Record = dict[str, Any]
Page = tuple[list[Record], str | None]
UserChange = Literal["disable", "enable", "promote", "demote"]


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object as it is written on the command line."""

    text: str
    kind: str | None
    delimiter: str


@dataclass(frozen=True, slots=True)
class PrivilegeChange:
    """A grant or a denial on an object, or that it is taken back."""

    role: str
    object: NamedObject
    privilege: str
    deny: bool = False
    revoke: bool = False


@dataclass(frozen=True, slots=True)
class GrantChoice:
    """Which grants are listed: those of a role, those on an object, or those that dangle."""

    role: str | None
    object: NamedObject | None
    dangling: bool
    delimiter: str


@dataclass(frozen=True, slots=True)
class AuditChoice:
    """Which rows of the audit trail are listed. Times are milliseconds since 1970."""

    user: str | None
    object: Sequence[str] | None
    operation: str | None
    outcome: str | None
    request: str | None
    since: int | None
    until: int | None


@dataclass(frozen=True, slots=True)
class TokenWish:
    """A token for a user."""

    user: str
    label: str | None
    lifetime: timedelta | None
    admin: bool


class Desk(Protocol):
    """A server's users and rights. Lists are read in pages."""

    # -- users -----------------------------------------------------------------------------------

    def list_users(self, disabled: bool | None, *, limit: int | None, page_token: str | None) -> Page: ...
    def get_user(self, name: str) -> Record: ...
    def create_user(self, name: str, *, admin: bool) -> Record: ...
    def change_user(self, name: str, change: UserChange) -> Record: ...
    def delete_user(self, name: str) -> Record: ...
    def rename_user(self, name: str, new_name: str) -> Record: ...
    def known_issuers(self) -> Mapping[str, str]: ...
    def move_issuer(self, alias: str, issuer: str) -> None: ...

    # -- groups and roles ------------------------------------------------------------------------

    def list_groups(self, *, limit: int | None, page_token: str | None) -> Page: ...
    def get_group(self, name: str, *, limit: int, page_token: str | None) -> Record: ...
    def create_group(self, name: str) -> Record: ...
    def delete_group(self, name: str) -> Record: ...
    def add_members(self, group: str, users: Sequence[str]) -> dict[str, bool]: ...
    def remove_members(self, group: str, users: Sequence[str]) -> dict[str, bool]: ...

    def list_roles(self, *, limit: int | None, page_token: str | None) -> Page: ...
    def get_role(self, name: str) -> Record: ...
    def create_role(self, name: str, comment: str | None) -> Record: ...
    def delete_role(self, name: str) -> Record: ...
    def give_role(self, role: str, name: str, kind: str) -> bool: ...
    def take_role(self, role: str, name: str, kind: str) -> bool: ...

    # -- grants and questions --------------------------------------------------------------------

    def list_grants(self, choice: GrantChoice, *, limit: int | None, page_token: str | None) -> Page: ...
    def change_grants(self, changes: Sequence[PrivilegeChange]) -> list[bool]: ...
    def purge_dangling(self) -> int: ...
    def what_if(self, change: PrivilegeChange) -> Record: ...
    def why(self, user: str, action: str, object_: NamedObject) -> Record: ...
    def who(self, object_: NamedObject) -> Record: ...
    def rights_of(self, user: str, delimiter: str) -> Record: ...

    # -- owners and access control ---------------------------------------------------------------

    def get_owner(self, object_: NamedObject) -> Record: ...
    def set_owner(self, object_: NamedObject, name: str, kind: str) -> Record: ...

    def access_status(self) -> Record: ...
    def enable_access(self, *, confirm: bool) -> Record: ...
    def disable_access(self) -> Record: ...

    # -- tokens and the audit trail --------------------------------------------------------------

    def list_tokens(self, user: str | None, *, dead: bool, limit: int | None, page_token: str | None) -> Page: ...
    def create_token(self, wish: TokenWish) -> Record: ...
    def revoke_token(self, prefix: str) -> Record: ...
    def revoke_tokens(self, user: str) -> int: ...

    def list_audit(self, choice: AuditChoice, *, limit: int | None, page_token: str | None) -> Page: ...
    def purge_audit(self, age: timedelta) -> int: ...
