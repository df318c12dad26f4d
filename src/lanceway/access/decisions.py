"""Decisions: may a caller do something to an object, and why.

Gravitino's: a privilege holds where it is granted and below; a denial anywhere on the way wins; who owns an object owns
all inside, which no denial takes away. What one need not own, and what is not there, is never granted by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from sqlalchemy import Connection

from lanceway.access import privileges
from lanceway.access.rules import BY_NAME, MISSING, OWNER, UNDENIED, Need, Rule, Sufficient
from lanceway.errors import PermissionDeniedError
from lanceway.identifiers import HierarchicalName
from lanceway.lake.access import facts
from lanceway.lake.access.facts import AccessFacts, Caller, HeldGrant, PlaceOnWay
from lanceway.lake.access.holdings import Holdings
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, RecordedObject, Securable
from lanceway.lake.store.schema import ALLOW, DENY

# Why a decision is as it is.
OFF, ADMINISTRATOR, GRANTED, OWNED, DISABLED, DENIED, LACKING = (
    "access control is off",
    "administrator",
    "granted",
    "owned",
    "disabled",
    "denied",
    "lacking",
)


_NEAREST = 8  # places in a path that a reason names


class AccessDeniedError(PermissionDeniedError):
    """A right is missing or denied. The text says which, and where it could be granted."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One right, and where it comes from: a grant through a role, an owner, or a place that is missing as it must be.

    Without any of these it is lacking. `grantable_on` then says where a grant would help, the nearest first; of a deep
    path, the schemas in its middle are left out.
    """

    need: Need
    grant: HeldGrant | None = None
    owned: PlaceOnWay | None = None
    holds: bool = False
    grantable_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something is allowed, and the reason: of all sets of rights, the one that was enough or came nearest."""

    allowed: bool
    reason: str
    rule: Rule
    facts: AccessFacts
    needs: Sufficient = ()

    @property
    def place(self) -> Securable:
        return self.facts.place

    @property
    def caller(self) -> Caller:
        return self.facts.caller

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Each right of the set, and where it comes from. It is looked for when it is asked for: few want to know."""
        return Rights(self.facts).all_evidence(self.needs) if self.needs else ()

    def __bool__(self) -> bool:
        return self.allowed

    def explain(self) -> str:
        """Return the reason as a sentence, for those who may know it."""
        what = f"{self.caller.user} may {'' if self.allowed else 'not '}{self.rule.title} ({self.place})"
        if self.reason in (OFF, ADMINISTRATOR, DISABLED):
            causes = {OFF: OFF, ADMINISTRATOR: "an administrator may do everything", DISABLED: "the user is disabled"}
            return f"{what}: {causes[self.reason]}."
        if self.reason == DENIED:
            denials = (each.grant for each in self.evidence if each.grant is not None and each.grant.effect == DENY)
            return f"{what}: {' and '.join(map(_denial, denials))}."
        if self.allowed:
            return f"{what}: {' and '.join(_source(each) for each in self.evidence) or 'every user may'}."
        return f"{what}: {' and '.join(_lacks([each for each in self.evidence if not each.holds]))}."

    def require(self) -> None:
        """Raise AccessDeniedError unless it is allowed."""
        if not self.allowed:
            raise AccessDeniedError(self.explain())


def decide(connection: Connection, caller: Caller, rule: str | Rule, place: Securable) -> Verdict:
    """Return whether a caller may do what a rule is about, from one statement. Nothing need exist."""
    return judge(facts.load(connection, caller, place), BY_NAME[rule] if isinstance(rule, str) else rule)


def judge(found: AccessFacts, rule: Rule) -> Verdict:
    """Return the verdict that follows from the facts."""
    return judge_enabled(found, rule) if found.is_enabled else Verdict(True, OFF, rule, found)


def judge_enabled(found: AccessFacts, rule: Rule) -> Verdict:
    """Return the verdict as it is, or would be, with access control on."""
    if found.is_disabled:
        return Verdict(False, DISABLED, rule, found)
    if found.is_admin:
        return Verdict(True, ADMINISTRATOR, rule, found)
    needs = rule.met_by(Holdings.of(found))
    if needs is not None:
        return Verdict(True, OWNED if any(need.kind == OWNER for need in needs) else GRANTED, rule, found, needs)
    rights = Rights(found)
    # Not those for what is missing: the reason must not tell whether the object is there.
    candidates = (needs for needs in rule.sufficient if all(need.kind != MISSING for need in needs))
    nearest = min(map(rights.all_evidence, candidates), key=_distance)
    is_denied = any(each.grant is not None and each.grant.effect == DENY for each in nearest)
    return Verdict(False, DENIED if is_denied else LACKING, rule, found, tuple(each.need for each in nearest))


def grounds(found: AccessFacts, verdict: Verdict) -> Iterator[RecordedObject]:
    """Yield the recorded objects of mounted catalogs without which the verdict might be another.

    An allowance rests on its grants and owners, unless those above the objects are enough; a refusal on any denial, as
    each may stand in the way of another set.
    """
    if verdict.allowed:
        rights = [right for each in verdict.evidence for right in (each.grant, each.owned)]
        recorded = [right.recorded for right in rights if right is not None and right.recorded is not None]
        if recorded and not judge_enabled(_without_recorded(found), verdict.rule):
            yield from recorded
    elif verdict.reason != DISABLED:
        wanted = {need.name for needs in verdict.rule.sufficient for need in needs}
        for grant in found.grants:
            if grant.effect == DENY and grant.privilege in wanted and grant.recorded is not None:
                yield grant.recorded


def _without_recorded(found: AccessFacts) -> AccessFacts:
    """Return the facts without what objects of mounted catalogs allow; their denials stay."""
    return replace(
        found,
        places=tuple(way for way in found.places if way.recorded is None),
        grants=tuple(grant for grant in found.grants if grant.recorded is None or grant.effect == DENY),
    )


class Rights:
    """What a caller has on the way to a place."""

    def __init__(self, found: AccessFacts) -> None:
        self.facts = found
        self._allows: dict[str, HeldGrant] = {}
        self._denials: dict[str, HeldGrant] = {}
        for grant in found.grants:  # from the top down: the highest is the reason
            (self._allows if grant.effect == ALLOW else self._denials).setdefault(grant.privilege, grant)

    def has(self, privilege: str) -> bool:
        """Return whether a privilege is granted on the way, and denied nowhere on it."""
        return privilege in self._allows and privilege not in self._denials

    def owner_of(self, level: str) -> PlaceOnWay | None:
        """Return the highest place of a level that the caller owns, None if it owns none."""
        return next((way for way in self.facts.places if way.level == level and self.facts.owns(way)), None)

    def all_evidence(self, needs: Sufficient) -> tuple[Evidence, ...]:
        return tuple(map(self.evidence, needs))

    def evidence(self, need: Need) -> Evidence:
        if need.kind == OWNER:
            owned = self.owner_of(need.name)
            return Evidence(need, owned=owned, holds=owned is not None)
        if need.kind == MISSING:
            return Evidence(need, holds=not self.facts.found)
        denial = self._denials.get(need.name)
        if denial is not None:
            return Evidence(need, grant=denial)
        allow = self._allows.get(need.name)
        if need.kind == UNDENIED or allow is not None:
            return Evidence(need, grant=allow, holds=True)
        return Evidence(need, grantable_on=tuple(self._grantable_on(need.name)))

    def _grantable_on(self, privilege: str) -> Iterator[str]:
        # By the path that was asked for, not by what exists of it: hidden and missing must read alike.
        levels = privileges.BY_NAME[privilege].levels
        place, deepest = self.facts.place, len(self.facts.place.path)
        while True:
            if place.level in levels and (place.path.is_root or deepest - len(place.path) < _NEAREST):
                yield _place_name(place)
            if place.level == METALAKE:
                return
            place = place.parent


def _distance(evidence: tuple[Evidence, ...]) -> tuple[int, int, int]:
    """How far a set is from being enough. To be granted something is nearer than to become an owner."""
    missing = [each.need for each in evidence if not each.holds]
    unhelpful = sum(need.kind == OWNER for need in missing)
    # A right of the caller's that counts towards a set speaks for it.
    return unhelpful, len(missing), -sum(each.holds for each in evidence)


def _place_name(place: Securable) -> str:
    if place.level == METALAKE:
        return f"the metalake {place.metalake}"
    if place.level == CATALOG:
        return f"the catalog {place.catalog}"
    return f"the {place.level} {place.path if place.level == SCHEMA else place.path.name}"


def _via(grant: HeldGrant) -> str:
    return f"the role {grant.role}" + (f" of the group {grant.group}" if grant.group else "")


def _where(grant: HeldGrant) -> str:
    if grant.level in (METALAKE, CATALOG):
        return f"the {grant.level}"
    path = HierarchicalName.from_physical(grant.path) if grant.level == SCHEMA else grant.path
    return f"the {grant.level} {path}"


def _source(evidence: Evidence) -> str:
    if evidence.grant is not None:
        return f"{evidence.need.name} is granted on {_where(evidence.grant)} to {_via(evidence.grant)}"
    if evidence.owned is not None:
        way = evidence.owned
        path = f" {HierarchicalName.from_physical(way.path) if way.level == SCHEMA else way.path}" if way.path else ""
        by = f"the group {way.owner}" if way.owner_kind == "group" else way.owner
        return f"{by} owns the {way.level}{path}"
    return "no privilege is denied" if evidence.need.kind == UNDENIED else "it is new"


def _denial(grant: HeldGrant) -> str:
    return f"{grant.privilege} is denied on {_where(grant)} to {_via(grant)}"


def _lacks(missing: Sequence[Evidence]) -> Iterator[str]:
    """Say what is missing; privileges that can be granted in the same places together."""
    for places, group in groupby(missing, lambda each: each.grantable_on):
        lacking = list(group)
        if not places:
            yield from map(_lack, lacking)
            continue
        *others, last = (each.need.name for each in lacking)
        names = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        yield f"{names} missing; {'they' if others else 'it'} can be granted on {' or '.join(places)}"


def _lack(evidence: Evidence) -> str:
    if evidence.need.kind == OWNER:
        return f"only the owner of the {evidence.need.name} may"
    return f"{evidence.need.name} is missing"
