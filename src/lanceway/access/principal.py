"""Who asks."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field

from lanceway.errors import UnauthenticatedError

ADMIN = "admin"


class ExpiredTokenError(UnauthenticatedError):
    """A token that was valid once: who has a secret can get another one."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A user with the groups that its issuer names. An `admin` looks after the server itself.

    With an `issuer`, an alias, the name is `name@alias`; a user of the lake itself has a bare one.
    `expires_at` is when a token of the lake that it came with ends, in milliseconds of the database's clock. With
    `token_seconds`, tokens that it makes live for at most so long, and at 0 it can make none: it came with credentials
    of an issuer, who may lock the user out.
    """

    name: str
    groups: tuple[str, ...] = ()
    admin: bool = False
    expires_at: int | None = field(default=None, compare=False)
    token_seconds: int | None = field(default=None, compare=False)
    issuer: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # As the lake has names: an issuer may write them otherwise, and what is denied to them must hold all the same.
        if not (self.name.isascii() and all(map(str.isascii, self.groups))):
            object.__setattr__(self, "name", unicodedata.normalize("NFC", self.name))
            object.__setattr__(self, "groups", tuple(unicodedata.normalize("NFC", group) for group in self.groups))


ANONYMOUS = Principal("anonymous")

# No other user may have these names: the first is made with the lake, the second stands for no user.
RESERVED = frozenset({ADMIN, ANONYMOUS.name})
