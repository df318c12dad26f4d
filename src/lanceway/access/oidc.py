"""Check JSON web tokens of OpenID Connect issuers against the keys that the issuers publish."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt

from lanceway.access.exposure import is_loopback
from lanceway.access.principal import RESERVED, ExpiredTokenError, Principal
from lanceway.config import read_settings
from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnauthenticatedError
from lanceway.lake.issuers import MARK, checked_alias, default_alias
from lanceway.lake.tree.names import new_name
from lanceway.wire.errors import TransportError
from lanceway.wire.settings import SETTINGS, read_address
from lanceway.wire.transport import Transport

FRESH = 300.0  # seconds for which keys are used without another look
KEPT = 3600.0  # seconds for which they are used while the issuer does not answer
PAUSE = 10.0  # seconds at least between two looks, whatever keys are asked for
PATIENCE = 5.0  # seconds for one look
_LARGEST_KEY_SET = 1_000_000  # bytes
# A key of any other kind is shared with the issuer, so that who can check could also sign.
_KINDS = frozenset({"RSA", "EC", "OKP"})

_LOG = logging.getLogger(__name__)

Key = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of one answer, and when it came."""

    keys: tuple[Key, ...]
    at: float

    def find(self, name: str | None) -> Key | None:
        """Return the key of a name. A token that names none means the only one."""
        if name is None:
            return self.keys[0] if len(self.keys) == 1 else None
        return next((key for key in self.keys if key.get("kid") == name), None)


class SigningKeys:
    """An issuer's keys, for any number of threads; one at a time fetches."""

    def __init__(self, uri: str, *, patience: float = PATIENCE, clock: Callable[[], float] = time.monotonic) -> None:
        self._uri, self._patience, self._clock = uri, patience, clock
        self._keys = _Keys((), float("-inf"))
        self._looked = float("-inf")
        self._failed = False
        self._lock = threading.Lock()

    def find(self, name: str | None) -> Key:
        """Return the key that a token names.

        Raises UnauthenticatedError if the issuer has none, ServiceUnavailableError if it cannot be asked.
        """
        before = self._keys
        key = before.find(name)
        if key is not None and self._clock() - before.at < FRESH:
            return key
        self._look_again(wait=key is None or self._is_old(before), before=before)
        now = self._keys
        key = now.find(name)
        if key is not None and not self._is_old(now):
            return key
        if self._failed:
            raise ServiceUnavailableError("The keys of the tokens' issuer cannot be had at present. Try again later.")
        raise UnauthenticatedError("The token is signed with a key that its issuer does not have. Get a new one.")

    def _is_old(self, keys: _Keys) -> bool:
        return self._clock() - keys.at >= KEPT

    def _look_again(self, *, wait: bool, before: _Keys) -> None:
        """Fetch the keys, unless another thread just did. A caller that has a usable key does not wait."""
        if not self._lock.acquire(blocking=wait):
            return
        try:
            if self._keys is before and self._clock() - self._looked >= PAUSE:
                self._look()
        finally:
            self._lock.release()

    def _look(self) -> None:
        try:
            self._keys = _Keys(_read(self._fetch()), self._clock())
            self._failed = False
        except (TransportError, InvalidInputError, ValueError) as error:
            self._failed = True
            _LOG.warning("The keys at %s cannot be had: %s", self._uri, str(error) or type(error).__name__)
        finally:
            self._looked = self._clock()

    def _fetch(self) -> bytes:
        deadline = time.monotonic() + self._patience
        patience = {"timeout": self._patience, "connect_timeout": self._patience}
        address, body = read_address(self._uri), bytearray()
        with (
            # Looks lie so far apart that no connection would still be there for the next.
            closing(Transport(read_settings("The issuer's keys", SETTINGS, patience))) as http,
            closing(http.open("GET", address, address.target, {"accept": "application/json"})) as response,
        ):
            if response.status != HTTPStatus.OK:
                raise ValueError(f"the answer has status {response.status}")
            for part in response:
                body += part
                if len(body) > _LARGEST_KEY_SET or time.monotonic() > deadline:
                    raise ValueError("the answer is too large or too slow")
        return bytes(body)


def _read(body: bytes) -> tuple[Key, ...]:
    """Return the keys that signatures can be checked with. Raises ValueError if there are none."""
    try:
        document = json.loads(body)
    except RecursionError as error:
        raise ValueError("the answer is nested too deeply") from error
    listed = document.get("keys") if isinstance(document, dict) else None
    keys = [key for key in listed if isinstance(key, dict)] if isinstance(listed, list) else []
    usable = tuple(key for key in keys if key.get("kty") in _KINDS and key.get("use", "sig") == "sig")
    if not usable:
        raise ValueError("the answer holds no keys for signatures")
    return usable


# Signatures by a key that the issuer alone has. Never `none`, nor those that a shared secret makes (HS256).
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_NEEDED = ["exp", "iss", "aud"]
_LARGEST = 16_384  # characters

_REASONS: tuple[tuple[type[jwt.InvalidTokenError], str], ...] = (
    (jwt.ExpiredSignatureError, "it has expired; get a new one"),
    (jwt.ImmatureSignatureError, "it is not valid yet; check the clocks of its issuer and of this server"),
    (jwt.InvalidIssuerError, "it comes from another issuer than this server trusts"),
    (jwt.InvalidAudienceError, "it is meant for another service; ask its issuer for one with this server's audience"),
    (jwt.MissingRequiredClaimError, f"it lacks one of the claims {', '.join(_NEEDED)}"),
    (jwt.InvalidAlgorithmError, "it is signed in a way that this server does not accept"),
    (jwt.InvalidSignatureError, "its signature is wrong"),
)


class OidcSettings(Protocol):
    """The settings of a server that matter here."""

    @property
    def oidc_issuer(self) -> str | None: ...
    @property
    def oidc_alias(self) -> str | None: ...
    @property
    def oidc_audience(self) -> str | None: ...
    @property
    def oidc_jwks_uri(self) -> str | None: ...
    @property
    def oidc_leeway(self) -> float: ...
    @property
    def oidc_user_claim(self) -> str: ...
    @property
    def oidc_groups_claim(self) -> str: ...
    @property
    def oidc_token_lifetime(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Vouched:
    """Who a token stands for, and for how many seconds it still does."""

    principal: Principal
    seconds: float


class Oidc:
    """One issuer, whose tokens for one audience are accepted. Its users are called `name@alias`."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        keys: SigningKeys,
        *,
        alias: str | None = None,
        leeway: float = 60.0,
        user_claim: str = "sub",
        groups_claim: str = "groups",
        token_lifetime: int = 0,
    ) -> None:
        self.issuer, self._audience, self._keys = issuer, audience, keys
        self.alias = default_alias(issuer) if alias is None else checked_alias(alias)
        self._leeway, self._user_claim, self._groups_claim = leeway, user_claim, groups_claim
        self._token_lifetime = token_lifetime

    @classmethod
    def from_settings(cls, settings: OidcSettings) -> Oidc | None:
        """Return the issuer that is configured, if one is.

        Raises InvalidInputError if only a part of it is, or a bad one.
        """
        issuer, audience, uri = settings.oidc_issuer, settings.oidc_audience, settings.oidc_jwks_uri
        if not (issuer or audience or uri or settings.oidc_alias):
            return None
        if not (issuer and audience and uri):
            raise InvalidInputError(
                "Tokens of an OpenID Connect issuer need all of oidc_issuer, oidc_audience and oidc_jwks_uri. Set what "
                "is missing, or none of them."
            )
        if settings.oidc_leeway < 0:
            raise InvalidInputError(f"oidc_leeway is {settings.oidc_leeway}, but must not be negative.")
        return cls(
            issuer,
            audience,
            SigningKeys(_checked(uri)),
            alias=settings.oidc_alias or None,
            leeway=settings.oidc_leeway,
            user_claim=settings.oidc_user_claim,
            groups_claim=settings.oidc_groups_claim,
            token_lifetime=settings.oidc_token_lifetime,
        )

    def verify(self, text: str) -> Vouched:
        """Return the user and groups that a token stands for.

        Raises UnauthenticatedError, ServiceUnavailableError if its key cannot be had.
        """
        if len(text) > _LARGEST or not text.isascii():
            raise UnauthenticatedError(
                f"The token is not accepted: it has more than {_LARGEST:,} characters, or strange ones."
            )
        try:
            header = jwt.get_unverified_header(text)
            if header.get("alg") not in ALGORITHMS:
                raise jwt.InvalidAlgorithmError
            claims = self._claims(text, _bound(self._keys.find(header.get("kid")), header["alg"]))
        except jwt.InvalidTokenError as error:
            reason = next((words for kind, words in _REASONS if isinstance(error, kind)), "it cannot be read")
            refusal = ExpiredTokenError if isinstance(error, jwt.ExpiredSignatureError) else UnauthenticatedError
            raise refusal(f"The token is not accepted: {reason}.") from error
        except jwt.PyJWTError as error:  # the key itself, or the two do not fit
            raise UnauthenticatedError(
                "The token is not accepted: its issuer's key does not fit its signature."
            ) from error
        principal = Principal(
            self._user(claims), self._groups(claims), token_seconds=self._token_lifetime, issuer=self.alias
        )
        return Vouched(principal, float(claims["exp"]) + self._leeway - time.time())

    def _claims(self, text: str, key: jwt.PyJWK) -> Mapping[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            text,
            key,
            algorithms=list(ALGORITHMS),
            issuer=self.issuer,
            audience=self._audience,
            leeway=self._leeway,
            options={"require": _NEEDED, "enforce_minimum_key_length": True},
        )
        return claims

    def _user(self, claims: Mapping[str, Any]) -> str:
        claim = claims.get(self._user_claim)
        try:
            own = new_name("user", claim) if isinstance(claim, str) else ""
            name = new_name("user", f"{own}{MARK}{self.alias}")
        except InvalidInputError:
            own = name = ""
        if not own or own in RESERVED:
            raise UnauthenticatedError(
                f"The token's claim {self._user_claim!r} names no user that this server can take. It must be a text, "
                f"and none of {', '.join(sorted(RESERVED))}."
            )
        return name

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        claim = claims.get(self._groups_claim, ())
        listed = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
        # Like its users, an issuer's groups are `name@alias`: its group `ops` is not the lake's.
        return tuple(sorted({f"{name}{MARK}{self.alias}" for name in listed if isinstance(name, str) and name}))


def _bound(key: Key, algorithm: str) -> jwt.PyJWK:
    """Return the key, for one algorithm alone: its own if it names one, else the token's, if it is of that kind."""
    return jwt.PyJWK(dict(key), key.get("alg") or algorithm)


def _checked(uri: str) -> str:
    """Refuse an address of keys in the clear: an answer changed on its way could sign for any user."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname
    except ValueError:
        parts, host = urlsplit(""), None
    if host and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        return uri
    raise InvalidInputError(
        "oidc_jwks_uri must be an address that begins with https:// (http:// on this machine only)."
    )
