"""Who asks, by the headers of a request.

For some seconds it is remembered whose token a text is, so that it need not be hashed, compared or verified again. What
may change meanwhile is read for each request, in one statement: whether the token is revoked or has expired, whether
its user is disabled or an admin.
"""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from lanceway.access import tokens, users
from lanceway.access.oidc import Oidc, OidcSettings
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.access.tokens import Usage
from lanceway.errors import UnauthenticatedError
from lanceway.lake import issuers
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.fast_reads import FastUserRow
from lanceway.lake.users import User

Value = TypeVar("Value")


class TtlCache(Generic[Value]):
    """A bounded memory. The keys are hashes: what was asked with is not kept."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = size, clock
        self._entries: dict[bytes, tuple[float, Value]] = {}
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Value | None:
        """Return what is remembered, None once its time is over. It never waits."""
        entry = self._entries.get(key)
        return entry[1] if entry is not None and self._clock() < entry[0] else None

    def keep(self, key: bytes, value: Value, seconds: float) -> None:
        until = self._clock() + seconds
        with self._lock:
            self._entries.pop(key, None)  # what is kept again comes last
            self._entries[key] = (until, value)
            if len(self._entries) > self._size:
                del self._entries[next(iter(self._entries))]


AUTHORIZATION, API_KEY = "authorization", "x-api-key"
REMEMBERED = 5.0  # seconds
_MOST = 10_000  # tokens


class AccessSettings(OidcSettings, Protocol):
    """The settings of a server that matter here."""

    @property
    def anonymous(self) -> bool: ...
    @property
    def simple_auth(self) -> bool: ...


class Authenticator:
    """Reads who asks out of headers, whose names are in lower case. Any number of threads may share it.

    Whose a token is it remembers for a few seconds; refusals it never remembers.
    """

    def __init__(
        self,
        store: LakeStore,
        *,
        anonymous: bool = False,
        simple: bool = False,
        oidc: Oidc | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._anonymous, self._simple, self._oidc = store, anonymous, simple, oidc
        # The id of a token of the lake's own, or the user that an issuer vouches for, without what the lake says of it.
        self._identities = TtlCache[int | Principal](_MOST, clock)
        self._usage = Usage(store)

    @classmethod
    def from_settings(cls, store: LakeStore, settings: AccessSettings) -> Authenticator:
        """Build it for a server. Raises InvalidInputError if the alias of its issuer stands for another one."""
        oidc = Oidc.from_settings(settings)
        if oidc is not None:
            store.transact(issuers.register, oidc.alias, oidc.issuer)
        return cls(store, anonymous=settings.anonymous, simple=settings.simple_auth, oidc=oidc)

    def try_fast(self, headers: Mapping[str, str]) -> Principal | None:
        """Return the principal of a request if that needs no waiting, so that an event loop may ask; else None."""
        token = _token(headers)
        if token is None:
            return ANONYMOUS if self._anonymous and not _has_any(headers) else None
        identity, reads = self._identities.get(_key(token)), self._store.fast_reads
        if identity is None or reads is None:
            return None
        if isinstance(identity, Principal):
            rows = reads.users(identity.name)
            return None if rows is None else _with_row(identity, rows[0] if rows else None)
        standing = reads.token(identity)
        return Principal(standing[0], admin=standing[1], expires_at=standing[2]) if standing is not None else None

    def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return the principal of a request. It asks the database, and may ask an issuer for its keys.

        Raises UnauthenticatedError, or ServiceUnavailableError where neither can be reached. Credentials that are
        given but wrong are refused even where none are needed.
        """
        token = _token(headers)
        if token is None:
            return self._without(headers)
        identity = self._identities.get(_key(token))
        if isinstance(identity, int):
            standing = tokens.read_standing(self._store, identity)
            if standing is not None:
                return Principal(standing.user, admin=standing.admin, expires_at=standing.expires_at)
        if tokens.is_token(token):
            return self._local(token)  # it is new here, or says why it is no longer accepted
        return self._issued(identity if isinstance(identity, Principal) else self._vouched(token))

    def is_foreign(self, headers: Mapping[str, str]) -> bool:
        """Return whether an issuer may have to be asked, which may take long."""
        token = _token(headers)
        return token is not None and not tokens.is_token(token) and self._identities.get(_key(token)) is None

    def close(self) -> None:
        self._usage.close()

    def _without(self, headers: Mapping[str, str]) -> Principal:
        name = _claimed(headers) if self._simple else None
        if name is not None:
            return self._believed(name)
        if _has_any(headers):
            raise UnauthenticatedError("The header Authorization is malformed: it must be `Bearer <token>`.")
        if self._anonymous:
            return ANONYMOUS
        raise UnauthenticatedError(
            "Authentication required. Send a token in the header `Authorization: Bearer …` or `x-api-key`."
        )

    def _believed(self, name: str) -> Principal:
        """Return the user that a request claims to be of. Only where the settings say so, and on loopback."""
        user = users.look_up(self._store, name)
        if user is None and name == ANONYMOUS.name and self._anonymous:
            return ANONYMOUS
        if user is None or user.is_disabled or user.issuer is not None:
            raise UnauthenticatedError("No user of this server has that name and is enabled. Make it first.")
        return Principal(user.name, admin=user.admin)

    def _local(self, text: str) -> Principal:
        stored = tokens.verify(self._store, text)
        self._usage.note(stored)
        self._identities.keep(_key(text), stored.token.id, REMEMBERED)
        return Principal(stored.token.user, admin=stored.token.admin, expires_at=stored.token.expires_at)

    def _vouched(self, text: str) -> Principal:
        if self._oidc is None:
            raise UnauthenticatedError("This server does not know the token. Check it, or ask for another one.")
        vouched = self._oidc.verify(text)
        self._identities.keep(_key(text), vouched.principal, min(vouched.seconds, REMEMBERED))
        return vouched.principal

    def _issued(self, vouched: Principal) -> Principal:
        """Return a user that an issuer vouches for, as the lake sees it."""
        user = users.look_up(self._store, vouched.name)
        principal = _with_row(vouched, None if user is None else FastUserRow(user.admin, user.issuer, user.is_disabled))
        if principal is None:
            raise UnauthenticatedError(_why_refused(vouched, user))
        return principal


def _with_row(vouched: Principal, row: FastUserRow | None) -> Principal | None:
    """Return a user that an issuer vouches for with what its row says; None if it is refused."""
    if row is None:
        return vouched
    if row.disabled or row.issuer != vouched.issuer:
        return None
    return replace(vouched, admin=True) if row.admin else vouched


def _why_refused(vouched: Principal, user: User | None) -> str:
    if user is not None and user.issuer == vouched.issuer:
        return users.disabled_text(vouched.name)
    return (
        f"The token is not accepted: a user of the lake itself is called {vouched.name!r}, as its issuer's user would "
        "be. Have an admin give that one another name: lanceway users rename"
    )


def _token(headers: Mapping[str, str]) -> str | None:
    """Return the token of a request.

    Where Authorization is not a bearer token, such as a proxy's own, `x-api-key` counts.
    """
    scheme, _, token = headers.get(AUTHORIZATION, "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return tokens.bare(token.strip())
    return headers.get(API_KEY, "").strip() or None


def _claimed(headers: Mapping[str, str]) -> str | None:
    """Return the user's name in a header `Authorization: Basic`; its password is not looked at."""
    scheme, _, value = headers.get(AUTHORIZATION, "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(value.strip(), validate=True).decode().partition(":")[0] or None
    except ValueError:
        return None


def _has_any(headers: Mapping[str, str]) -> bool:
    return AUTHORIZATION in headers or API_KEY in headers


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()
