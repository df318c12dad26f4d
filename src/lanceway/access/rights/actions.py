"""Actions: what people ask about when they ask why. A rule, an operation or a privilege, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.access import privileges
from lanceway.access.operations import JOBS, OPERATIONS, OWN, RUNS, TARGET, Demand, Operation
from lanceway.access.rules import BY_NAME, PRIVILEGE, Need, Rule
from lanceway.errors import InvalidInputError
from lanceway.lake.access.near import nearest

OPERATION, RULE = "operation", "rule"

_OPERATIONS: Mapping[str, Operation] = MappingProxyType({**RUNS, **JOBS, **OWN, **OPERATIONS})


@dataclass(frozen=True, slots=True)
class Action:
    """Something that one may do, with the rules that it asks, and of what."""

    name: str
    kind: str
    demands: tuple[Demand, ...]


def _privilege_rule(privilege: privileges.Privilege) -> Rule:
    return Rule(privilege.name, privilege.title.lower(), ((Need(PRIVILEGE, privilege.name),),))


ACTIONS: tuple[Action, ...] = (
    *(Action(rule.name, RULE, (Demand(TARGET, rule),)) for rule in BY_NAME.values()),
    *(Action(operation.name, OPERATION, operation.demands) for operation in _OPERATIONS.values()),
    *(
        Action(privilege.name, PRIVILEGE, (Demand(TARGET, _privilege_rule(privilege)),))
        for privilege in privileges.PRIVILEGES
    ),
)
_EXACT: Mapping[str, Action] = MappingProxyType({action.name: action for action in ACTIONS})


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", " ").replace("-", " ")


# A rule comes before an operation, and that before a privilege, where a name is written in another way.
_LOOSE: Mapping[str, Action] = MappingProxyType({_plain(action.name): action for action in reversed(ACTIONS)})


def find(name: str) -> Action:
    """Return an action by its name. Raises InvalidInputError, with the nearest one that there is."""
    action = _EXACT.get(name) or _LOOSE.get(_plain(name))
    if action is not None:
        return action
    near = nearest(_plain(name), _LOOSE)
    hint = f"Did you mean {_LOOSE[near].name!r}?" if near else "Those there are: lanceway grants privileges --actions"
    raise InvalidInputError(f"There is no action {name!r}. {hint}")


def described() -> list[dict[str, Any]]:
    """Return all actions as data: what each demands of which object, and every set of rights that is enough."""
    return [
        {
            "name": action.name,
            "kind": action.kind,
            "demands": [
                {
                    "of": demand.of,
                    "rule": demand.rule.name,
                    "title": demand.rule.title,
                    "sufficient": [[str(need) for need in needs] for needs in demand.rule.sufficient],
                }
                for demand in action.demands
            ],
        }
        for action in ACTIONS
    ]


def described_privileges() -> list[dict[str, Any]]:
    """Return all privileges as data."""
    return [
        {
            "name": privilege.name,
            "title": privilege.title,
            "description": privilege.description,
            "category": privilege.category,
            "allows": dict(privilege.allows),
        }
        for privilege in privileges.PRIVILEGES
    ]
