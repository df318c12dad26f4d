"""Identities that an OpenID Connect issuer vouches for, by signed tokens (JWT)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt

from lanceway.access.exposure import is_loopback
from lanceway.access.jwks import Key, SigningKeys
from lanceway.access.principal import RESERVED, Principal
from lanceway.errors import InvalidInputError, UnauthenticatedError
from lanceway.lake.tree.names import checked_name

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
    def oidc_audience(self) -> str | None: ...
    @property
    def oidc_jwks_uri(self) -> str | None: ...
    @property
    def oidc_leeway(self) -> float: ...
    @property
    def oidc_user_claim(self) -> str: ...
    @property
    def oidc_groups_claim(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Vouched:
    """Who a token stands for, and for how many seconds it still does."""

    principal: Principal
    seconds: float


class Oidc:
    """One issuer, whose tokens for one audience are accepted."""

    def __init__(
        self,
        issuer: str,
        audience: str,
        keys: SigningKeys,
        *,
        leeway: float = 60.0,
        user_claim: str = "sub",
        groups_claim: str = "groups",
    ) -> None:
        self._issuer, self._audience, self._keys = issuer, audience, keys
        self._leeway, self._user_claim, self._groups_claim = leeway, user_claim, groups_claim

    @classmethod
    def from_settings(cls, settings: OidcSettings) -> Oidc | None:
        """Return the issuer that is configured, if one is.

        Raises InvalidInputError if only a part of it is, or a bad one.
        """
        issuer, audience, uri = settings.oidc_issuer, settings.oidc_audience, settings.oidc_jwks_uri
        if not (issuer or audience or uri):
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
            leeway=settings.oidc_leeway,
            user_claim=settings.oidc_user_claim,
            groups_claim=settings.oidc_groups_claim,
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
            raise UnauthenticatedError(f"The token is not accepted: {reason}.") from error
        except jwt.PyJWTError as error:  # the key itself, or the two do not fit
            raise UnauthenticatedError(
                "The token is not accepted: its issuer's key does not fit its signature."
            ) from error
        return Vouched(
            Principal(self._user(claims), self._groups(claims)), float(claims["exp"]) + self._leeway - time.time()
        )

    def _claims(self, text: str, key: jwt.PyJWK) -> Mapping[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            text,
            key,
            algorithms=list(ALGORITHMS),
            issuer=self._issuer,
            audience=self._audience,
            leeway=self._leeway,
            options={"require": _NEEDED, "enforce_minimum_key_length": True},
        )
        return claims

    def _user(self, claims: Mapping[str, Any]) -> str:
        claim = claims.get(self._user_claim)
        try:
            name = checked_name("user", claim) if isinstance(claim, str) else ""
        except InvalidInputError:
            name = ""
        if not name or name in RESERVED:
            raise UnauthenticatedError(
                f"The token's claim {self._user_claim!r} names no user that this server can take. It must be a text, "
                f"and none of {', '.join(sorted(RESERVED))}."
            )
        return name

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        claim = claims.get(self._groups_claim, ())
        listed = [claim] if isinstance(claim, str) else claim if isinstance(claim, list) else []
        return tuple(sorted({name for name in listed if isinstance(name, str) and name}))


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
