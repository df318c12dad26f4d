"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """A user with the groups that its issuer names. An `admin` looks after the server itself."""

    name: str
    groups: tuple[str, ...] = ()
    admin: bool = False


ANONYMOUS = Principal("anonymous")

# No other user may have these names: the first is made with the lake, the second stands for no user.
RESERVED = frozenset({ADMIN, ANONYMOUS.name})
