"""Who administers rights: a user of the server, or one who has the database's own credentials."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from lanceway.access.decisions import Verdict, judge, judge_enabled
from lanceway.access.rights.reviews import grant_rule
from lanceway.access.rules import BY_NAME, LOAD, OWN
from lanceway.errors import PermissionDeniedError
from lanceway.lake.access import facts
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import Securable

REVIEW = "manage roles"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks, in one metalake. A `trusted` one has the credentials of the database, and so may do everything.

    Rights to administer are asked for whether access control is on or off. Each method reads them with the connection
    of the change that they are for.
    """

    caller: Caller
    metalake: str
    trusted: bool = False

    @property
    def name(self) -> str:
        return self.caller.user

    def verdict(self, connection: Connection, rule: str, place: Securable | None = None) -> Verdict:
        """Return whether the actor may do what a rule is about; without a place, to the metalake."""
        found = facts.load(connection, self.caller, place or Securable(self.metalake))
        return judge_enabled(found, BY_NAME[rule])

    def may(self, connection: Connection, *rules: str, place: Securable | None = None) -> bool:
        """Return whether one of some rules allows it."""
        return self.trusted or any(self.verdict(connection, rule, place) for rule in rules)

    def require(self, connection: Connection, rule: str, place: Securable | None = None) -> None:
        """Raise PermissionDeniedError, with the reason, unless a rule allows it."""
        if not self.trusted:
            self.verdict(connection, rule, place).require()

    def is_admin(self, connection: Connection) -> bool:
        found = facts.load(connection, self.caller, Securable(self.metalake))
        return self.trusted or (found.is_admin and not found.is_disabled)

    def require_admin(self, connection: Connection, what: str) -> None:
        """Raise PermissionDeniedError for others than administrators."""
        if not self.is_admin(connection):
            raise PermissionDeniedError(f"Only an admin may {what}. Ask one.")

    def sees_all(self, connection: Connection) -> bool:
        """Return whether no name and no grant is hidden from the actor: it could grant itself everything anyway."""
        return self.may(connection, REVIEW)

    def sees(self, connection: Connection, place: Securable) -> bool:
        """Return whether the actor may know that an object is there: it may load it, own it, or change its grants."""
        if self.trusted:
            return True
        found = facts.load(connection, self.caller, place)
        if judge(found, BY_NAME[LOAD[place.level]]):
            return True
        return any(judge_enabled(found, BY_NAME[rule]) for rule in (OWN[place.level], grant_rule(place)))
