"""Who asks."""

from __future__ import annotations

from dataclasses import dataclass

ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """A user with the groups that whoever vouches for it has named. An `admin` looks after the server itself."""

    name: str
    groups: tuple[str, ...] = ()
    admin: bool = False


ANONYMOUS = Principal("anonymous")

# Nobody else may be called so: the first is made with the lake, the second is nobody.
RESERVED = frozenset({ADMIN, ANONYMOUS.name})
