"""Questions about rights: why may this user do that, who can do what here, what can this user do."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from lanceway.access import operations
from lanceway.access.decisions import LACKING, Verdict, judge, judge_enabled
from lanceway.access.operations import Demand
from lanceway.access.rights import actions, grants, reviews
from lanceway.access.rights.actions import Action
from lanceway.access.rights.actor import REVIEW, Actor
from lanceway.access.rights.people import check_user
from lanceway.access.rights.places import PlaceFinder, PlaceNotFoundError, WrittenPlace
from lanceway.access.rights.reviews import grant_rule
from lanceway.access.rules import BY_NAME
from lanceway.lake.access import facts
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.securables import CATALOG, METALAKE, Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.lake.tree import settings

# What the rules about schemas are, asked of a catalog.
_OF_CATALOG = {"load schema": "use catalog", "own schema": "own catalog"}
_UNKNOWN = {
    operations.SOURCES: f"every table that it reads; where that is SQL, {operations.SQL_SOURCES.rule.name}",
    operations.NEW_PARENT: "the schema that it moves to",
    operations.EACH: "every table that it names",
}


def is_enabled(connection: Connection) -> bool:
    """Return whether access control is on."""
    return settings.load(connection).get(settings.ACCESS_CONTROL) == settings.ON


# -- why -----------------------------------------------------------------------------------------


def why(
    store: LakeStore, actor: Actor, places: PlaceFinder, action: str, written: WrittenPlace, user: str | None = None
) -> dict[str, Any]:
    """Return whether a user may do something to an object, and the reason; without `user`, the actor itself.

    Only those who may manage roles ask about others. What an actor may not see is answered like what is missing.
    """
    return store.read(_why, actor, places, actions.find(action), written, user)


def _why(
    connection: Connection, actor: Actor, places: PlaceFinder, action: Action, written: WrittenPlace, user: str | None
) -> dict[str, Any]:
    caller = _subject(connection, actor, user)
    head = {"user": caller.user, "action": action.name, "object": written.text, "enabled": is_enabled(connection)}
    try:
        targets = _Targets(connection, actor, places, action, written)
        asked = [(demand, targets.of(demand)) for demand in targets.demands if demand.of not in _UNKNOWN]
    except PlaceNotFoundError:
        if actor.sees_all(connection):
            raise
        return {**head, **_hidden(caller, action, written)}
    judged = [(demand, facts.load(connection, caller, place)) for demand, place in asked]
    now = [judge(found, demand.rule) for demand, found in judged]
    lacking = next((verdict for verdict in now if not verdict), None)
    if lacking is not None and not actor.sees_all(connection) and not actor.sees(connection, lacking.place):
        return {**head, **_hidden(caller, action, written)}
    unknown = [f"{demand.rule.name}: {_UNKNOWN[demand.of]}" for demand in action.demands if demand.of in _UNKNOWN]
    answer = {
        **head,
        **_summary(caller, action, now),
        "demands": [_described(verdict, places, written.delimiter) for verdict in now],
        "not_asked": unknown,
    }
    if not head["enabled"]:
        answer["if_enabled"] = _summary(caller, action, [judge_enabled(found, demand.rule) for demand, found in judged])
    return answer


def _subject(connection: Connection, actor: Actor, user: str | None) -> Caller:
    """Return about whom is asked. Of others, the groups that an issuer names are not known."""
    if user is None or (user == actor.name and not actor.trusted):
        return actor.caller
    actor.require(connection, REVIEW)
    return Caller(check_user(connection, user))


class _Targets:
    """The objects that an action asks its rules of, seen from the one that is written."""

    def __init__(
        self, connection: Connection, actor: Actor, places: PlaceFinder, action: Action, written: WrittenPlace
    ) -> None:
        self._places, self._action, self._written = places, action, written
        # What is to be made need not be there, and what a rule about its parent says can be asked of it.
        if any(demand.of == operations.TARGET for demand in action.demands):
            self._target = places.find(connection, actor, written)
        else:
            kind = NAMESPACE if action.name == "create_namespace" else TABLE
            self._target = places.imagine(connection, written, kind)

    @property
    def demands(self) -> tuple[Demand, ...]:
        if self._action.name == "create_namespace" and self._target.level == CATALOG:
            return (Demand(operations.METALAKE, BY_NAME["create catalog"]),)
        return tuple(self._fitting(demand) for demand in self._action.demands)

    def _fitting(self, demand: Demand) -> Demand:
        is_operation = self._action.kind == actions.OPERATION and demand.of == operations.TARGET
        if is_operation and self._target.level == CATALOG and demand.rule.name in _OF_CATALOG:
            return Demand(demand.of, BY_NAME[_OF_CATALOG[demand.rule.name]])
        return demand

    def of(self, demand: Demand) -> Securable:
        target = self._target
        if demand.of == operations.METALAKE or target.level == METALAKE:
            return self._places.top
        if demand.of == operations.CATALOG:
            return Securable(target.metalake, target.catalog, mounted=target.mounted)
        if demand.of == operations.PARENT:
            return target.parent
        return target


def _hidden(caller: Caller, action: Action, written: WrittenPlace) -> dict[str, Any]:
    text = (
        f"{caller.user} may not do {action.name!r} to {written}: there is no such object, or {caller.user} may not see "
        "it."
    )
    return {"allowed": False, "reason": LACKING, "text": text, "demands": [], "not_asked": []}


def _summary(caller: Caller, action: Action, verdicts: list[Verdict]) -> dict[str, Any]:
    """Return the verdict on an action: the first refusal, or all that allows it."""
    if not verdicts:
        text = f"{caller.user} may do {action.name!r}; what it shows is what {caller.user} may see."
        return {"allowed": True, "reason": "filtered", "text": text}
    told = next((verdict for verdict in verdicts if not verdict), verdicts[0])
    text = told.explain() if not told else " ".join(verdict.explain() for verdict in verdicts)
    return {"allowed": told.allowed, "reason": told.reason, "text": text}


def _described(verdict: Verdict, places: PlaceFinder, delimiter: str) -> dict[str, Any]:
    return {
        "rule": verdict.rule.name,
        **places.write(verdict.place, delimiter),
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "text": verdict.explain(),
    }


# -- who and what --------------------------------------------------------------------------------


def who(store: LakeStore, actor: Actor, places: PlaceFinder, written: WrittenPlace) -> dict[str, Any]:
    """Return who can do what to an object: owners, grants and denials on it and above, and who has their roles.

    It is answered to those who may change the grants on the object.
    """

    def work(connection: Connection) -> dict[str, Any]:
        place = places.find(connection, actor, written)
        actor.require(connection, grant_rule(place), place)
        return review_of(connection, places, place, written.delimiter)

    return store.read(work)


def review_of(connection: Connection, places: PlaceFinder, place: Securable, delimiter: str = "$") -> dict[str, Any]:
    """Return who can do what to an object, without asking who wants to know."""
    review = reviews.review_place(connection, place)
    return {
        **places.write(place, delimiter),
        "owners": [
            {**places.write(each, delimiter), "owner": owner.name, "owner_kind": owner.kind}
            for each, owner in review.owners
        ],
        "grants": [grants.described(grant, places, delimiter) for grant in review.grants],
        "holders": [asdict(holder) for holder in review.holders],
        "truncated": review.truncated,
    }


def user(
    store: LakeStore, actor: Actor, places: PlaceFinder, name: str | None = None, *, delimiter: str = "$"
) -> dict[str, Any]:
    """Return what a user has: groups, roles, and all that these are granted and denied. Without a name, the actor.

    Only those who may manage roles ask about others.
    """

    def work(connection: Connection) -> dict[str, Any]:
        caller = _subject(connection, actor, name)
        review = reviews.review_user(connection, caller, places.metalake)
        return {
            "user": review.user,
            "is_admin": review.is_admin,
            "enabled": is_enabled(connection),
            "groups": list(review.groups),
            "roles": [asdict(holder) for holder in review.roles],
            "grants": [grants.described(grant, places, delimiter) for grant in review.grants],
            "truncated": review.truncated,
        }

    return store.read(work)
