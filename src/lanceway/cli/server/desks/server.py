"""The desk of a server elsewhere, over HTTP: `/lanceway/v1`, with the rights of the user whose token is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

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
from lanceway.cli.server.desks.requests import ServerRequests, only_there, path_of
from lanceway.errors import InvalidInputError, LanceNamespaceError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.wire.lance import DELIMITER

_PREFIX = re.compile(r"(?:lw_)?[0-9a-f]{12}")


class ServerDesk:
    """A server's users and rights, as its public interface has them."""

    def __init__(self, server: ServerRequests) -> None:
        self._server = server

    # -- users -----------------------------------------------------------------------------------

    def list_users(self, disabled: bool | None, *, limit: int | None, page_token: str | None) -> Page:
        return self._server.page("/users", "users", limit, page_token, disabled=disabled)

    def get_user(self, name: str) -> Record:
        return self._server.get(path_of("/users", name))

    def create_user(self, name: str, *, admin: bool) -> Record:
        return self._server.post("/users", {"name": name, "admin": admin})

    def change_user(self, name: str, change: UserChange) -> Record:
        return self._server.post(path_of("/users", name, change))

    def delete_user(self, name: str) -> Record:
        return self._server.delete(path_of("/users", name))

    def rename_user(self, name: str, new_name: str) -> Record:
        return self._server.post(path_of("/users", name, "rename"), {"name": new_name})

    def known_issuers(self) -> Mapping[str, str]:
        raise only_there("users issuers")

    def move_issuer(self, alias: str, issuer: str) -> None:
        raise only_there("users issuer")

    # -- groups and roles ------------------------------------------------------------------------

    def list_groups(self, *, limit: int | None, page_token: str | None) -> Page:
        return self._server.page("/groups", "groups", limit, page_token)

    def get_group(self, name: str, *, limit: int, page_token: str | None) -> Record:
        return self._server.get(path_of("/groups", name), limit=limit, page_token=page_token)

    def create_group(self, name: str) -> Record:
        return self._server.post("/groups", {"name": name})

    def delete_group(self, name: str) -> Record:
        return self._server.delete(path_of("/groups", name))

    def add_members(self, group: str, users: Sequence[str]) -> dict[str, bool]:
        return self._change_members(group, users, "add", "remove")

    def remove_members(self, group: str, users: Sequence[str]) -> dict[str, bool]:
        return self._change_members(group, users, "remove", "add")

    def _change_members(self, group: str, users: Sequence[str], change: str, undo: str) -> dict[str, bool]:
        """Change all members or none: the server takes one at a time, and what was done is undone after a refusal."""
        changed: dict[str, bool] = {}
        try:
            for user in dict.fromkeys(users):
                changed[user] = self._server.post(path_of("/groups", group, change), {"user": user})["changed"]
        except LanceNamespaceError:
            with suppress(LanceNamespaceError):  # the first refusal says more
                for user in (user for user, is_new in changed.items() if is_new):
                    self._server.post(path_of("/groups", group, undo), {"user": user})
            raise
        return changed

    def list_roles(self, *, limit: int | None, page_token: str | None) -> Page:
        return self._server.page("/roles", "roles", limit, page_token)

    def get_role(self, name: str) -> Record:
        return self._server.get(path_of("/roles", name))

    def create_role(self, name: str, comment: str | None) -> Record:
        return self._server.post("/roles", {"name": name, "comment": comment})

    def delete_role(self, name: str) -> Record:
        return self._server.delete(path_of("/roles", name))

    def give_role(self, role: str, name: str, kind: str) -> bool:
        return bool(self._server.post(path_of("/roles", role, "give"), {kind: name})["changed"])

    def take_role(self, role: str, name: str, kind: str) -> bool:
        return bool(self._server.post(path_of("/roles", role, "take"), {kind: name})["changed"])

    # -- grants and questions --------------------------------------------------------------------

    def list_grants(self, choice: GrantChoice, *, limit: int | None, page_token: str | None) -> Page:
        filters: Record = {"role": choice.role, "dangling": choice.dangling or None, "delimiter": choice.delimiter}
        filters |= {} if choice.object is None else _fields(choice.object)
        return self._server.page("/grants", "grants", limit, page_token, **filters)

    def change_grants(self, changes: Sequence[PrivilegeChange]) -> list[bool]:
        answer = self._server.post("/grants", {"changes": [_change(change) for change in changes]})
        return [bool(is_new) for is_new in answer["changed"]]

    def purge_dangling(self) -> int:
        return int(self._server.delete("/grants/dangling")["deleted"])

    def what_if(self, change: PrivilegeChange) -> Record:
        return self._server.post("/grants/what-if", _change(change))

    def why(self, user: str, action: str, object_: NamedObject) -> Record:
        return self._server.get("/access/why", user=user, action=action, **_fields(object_))

    def who(self, object_: NamedObject) -> Record:
        return self._server.get("/access/who", **_fields(object_))

    def rights_of(self, user: str, delimiter: str) -> Record:
        return self._server.get("/access/user", name=user, delimiter=delimiter)

    # -- owners and access control ---------------------------------------------------------------

    def get_owner(self, object_: NamedObject) -> Record:
        return self._server.get("/owners", **_fields(object_))

    def set_owner(self, object_: NamedObject, name: str, kind: str) -> Record:
        return self._server.put("/owners", {**_fields(object_), kind: name})

    def access_status(self) -> Record:
        return self._server.get("/access")

    def enable_access(self, *, confirm: bool) -> Record:
        return self._server.post("/access/enable", {"confirm": confirm})

    def disable_access(self) -> Record:
        return self._server.post("/access/disable")

    # -- tokens and the audit trail --------------------------------------------------------------

    def list_tokens(self, user: str | None, *, dead: bool, limit: int | None, page_token: str | None) -> Page:
        return self._server.page("/tokens", "tokens", limit, page_token, user=user, all=dead or None)

    def create_token(self, wish: TokenWish) -> Record:
        if wish.admin:
            raise UnsupportedOperationError(
                f"A server creates no admin with a token. First: lanceway users promote {wish.user}, or on the "
                "server's machine: lanceway tokens create --admin --home DIR"
            )
        seconds = None if wish.lifetime is None else int(wish.lifetime.total_seconds())
        return self._server.post("/tokens", {"user": wish.user, "label": wish.label, "expires_in": seconds})

    def revoke_token(self, prefix: str) -> Record:
        if not _PREFIX.fullmatch(prefix):
            raise _not_a_prefix(prefix)
        return self._server.delete(path_of("/tokens", prefix))

    def revoke_tokens(self, user: str) -> int:
        raise only_there("tokens revoke --user")

    def list_audit(self, choice: AuditChoice, *, limit: int | None, page_token: str | None) -> Page:
        object_ = Identifier(choice.object).format(DELIMITER) if choice.object else None
        filters: Record = {
            "user": choice.user,
            "object": object_,
            "operation": choice.operation,
            "outcome": choice.outcome,
        }
        filters |= {"request_id": choice.request, "since": choice.since, "until": choice.until}
        return self._server.page("/audit", "events", limit, page_token, **filters)

    def purge_audit(self, age: timedelta) -> int:
        raise only_there("audit purge")


def _fields(object_: NamedObject) -> dict[str, str | None]:
    return {"object": object_.text, "kind": object_.kind, "delimiter": object_.delimiter}


def _change(change: PrivilegeChange) -> Record:
    flags = {"deny": change.deny, "revoke": change.revoke}
    return {"role": change.role, "privilege": change.privilege, **_fields(change.object), **flags}


def _not_a_prefix(text: str) -> InvalidInputError:
    """Refuse what may be a secret, here: the path of a request is in the logs of servers and proxies."""
    begins = _PREFIX.match(text)
    if begins and text[begins.end()] == "_":
        return InvalidInputError(f"That is a whole token, which is a secret. Give its prefix alone: {begins[0]}")
    return InvalidInputError("That is not a prefix of a token. List the prefixes: lanceway tokens list")
