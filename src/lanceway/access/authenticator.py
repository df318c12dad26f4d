"""Answers that are remembered for some seconds, so that a busy client costs no query for each request."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from lanceway.access import tokens
from lanceway.access.oidc import Oidc, OidcSettings
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.access.tokens import Usage
from lanceway.errors import UnauthenticatedError
from lanceway.lake.store.database import LakeStore

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
REMEMBERED = 5.0  # seconds, after which a token that was revoked is known to be
_MOST = 10_000  # tokens


class AccessSettings(OidcSettings, Protocol):
    """The settings of a server that matter here."""

    @property
    def anonymous(self) -> bool: ...


class Authenticator:
    """Reads who asks out of headers, whose names are in lower case. Any number of threads may share it.

    What it has found out it remembers for a few seconds; refusals it never remembers.
    """

    def __init__(
        self,
        store: LakeStore,
        *,
        anonymous: bool = False,
        oidc: Oidc | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._anonymous, self._oidc = store, anonymous, oidc
        self._principals = TtlCache[Principal](_MOST, clock)
        self._usage = Usage(store)

    @classmethod
    def from_settings(cls, store: LakeStore, settings: AccessSettings) -> Authenticator:
        return cls(store, anonymous=settings.anonymous, oidc=Oidc.from_settings(settings))

    def cached(self, headers: Mapping[str, str]) -> Principal | None:
        """Return the principal of a request if it is remembered. It never waits, and fits an event loop."""
        token = _token(headers)
        if token is None:
            return ANONYMOUS if self._anonymous and not _has_any(headers) else None
        return self._principals.get(_key(token))

    def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return the principal of a request. It may ask the database, or an issuer for its keys.

        Raises UnauthenticatedError, or ServiceUnavailableError where neither can be reached. Credentials that are
        given but wrong are refused even where none are needed.
        """
        token = _token(headers)
        if token is None:
            return self._without(headers)
        key = _key(token)
        cached = self._principals.get(key)
        if cached is not None:
            return cached
        principal, seconds = self._local(token) if tokens.is_token(token) else self._vouched(token)
        self._principals.keep(key, principal, min(seconds, REMEMBERED))
        return principal

    def is_foreign(self, headers: Mapping[str, str]) -> bool:
        """Return whether an issuer may have to be asked, which may take long."""
        token = _token(headers)
        return token is not None and not tokens.is_token(token)

    def close(self) -> None:
        self._usage.close()

    def _without(self, headers: Mapping[str, str]) -> Principal:
        if _has_any(headers):
            raise UnauthenticatedError("The header Authorization must be `Bearer` and a token. Correct it.")
        if self._anonymous:
            return ANONYMOUS
        raise UnauthenticatedError(
            "This server must know who asks. Send a token in the header `Authorization: Bearer …` or `x-api-key`."
        )

    def _local(self, text: str) -> tuple[Principal, float]:
        stored = tokens.verify(self._store, text)
        self._usage.note(stored)
        ends = stored.token.expires_at
        seconds = REMEMBERED if ends is None else (ends - stored.now) / 1000
        return Principal(stored.token.user, admin=stored.token.admin, expires_at=ends), seconds

    def _vouched(self, text: str) -> tuple[Principal, float]:
        if self._oidc is None:
            raise UnauthenticatedError("The token is none of this server's. Check it, or ask for another one.")
        vouched = self._oidc.verify(text)
        return vouched.principal, vouched.seconds


def _token(headers: Mapping[str, str]) -> str | None:
    """Return the token of a request.

    Where Authorization is not a bearer token, such as a proxy's own, `x-api-key` counts.
    """
    scheme, _, token = headers.get(AUTHORIZATION, "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get(API_KEY, "").strip() or None


def _has_any(headers: Mapping[str, str]) -> bool:
    return AUTHORIZATION in headers or API_KEY in headers


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()
