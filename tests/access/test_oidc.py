"""Tokens of an issuer: what is accepted, and everything that is not."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from lanceway.access.oidc import Oidc, SigningKeys
from lanceway.access.principal import Principal
from lanceway.errors import InvalidInputError, UnauthenticatedError
from tests.access.issuer import AUDIENCE, CURVE, EDWARDS, FIRST, STRANGER, Issuer, public, rsa_key

PEM = FIRST.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@dataclass(frozen=True)
class Settings:
    oidc_issuer: str | None = None
    oidc_audience: str | None = None
    oidc_jwks_uri: str | None = None
    oidc_leeway: float = 60.0
    oidc_user_claim: str = "sub"
    oidc_groups_claim: str = "groups"
    oidc_token_lifetime: int = 0
    oidc_alias: str | None = "acme"


def settings(issuer: Issuer, **changes: Any) -> Settings:
    return replace(Settings(issuer.name, AUDIENCE, issuer.jwks_uri), **changes)


@pytest.fixture
def oidc(issuer: Issuer) -> Oidc:
    oidc = Oidc.from_settings(settings(issuer))
    assert oidc is not None
    return oidc


def refused(oidc: Oidc, token: str) -> str:
    """Why a token is refused. The answer does not repeat it."""
    with pytest.raises(UnauthenticatedError) as error:
        oidc.verify(token)
    assert token not in str(error.value)
    return str(error.value)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_good_token(issuer: Issuer, oidc: Oidc) -> None:
    vouched = oidc.verify(issuer.sign(groups=["writers", "readers", "writers"]))
    assert vouched.principal == Principal("alice@acme", ("readers@acme", "writers@acme"), admin=False)
    assert 300 < vouched.seconds <= 360


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(FIRST, "RS256"), (FIRST, "RS512"), (FIRST, "PS256"), (CURVE, "ES256"), (EDWARDS, "EdDSA")],
)
def test_every_kind_of_signature(issuer: Issuer, oidc: Oidc, key: Any, algorithm: str) -> None:
    issuer.keys = [public(key, "k")]
    assert oidc.verify(issuer.sign(key, kid="k", algorithm=algorithm)).principal.name == "alice@acme"


def test_an_audience_among_others(issuer: Issuer, oidc: Oidc) -> None:
    assert oidc.verify(issuer.sign(aud=["other", AUDIENCE])).principal.name == "alice@acme"


def test_expired(issuer: Issuer, oidc: Oidc) -> None:
    assert "has expired" in refused(oidc, issuer.sign(exp=int(time.time()) - 120))


def test_clocks_may_differ_by_the_leeway_and_no_more(issuer: Issuer, oidc: Oidc) -> None:
    now = int(time.time())
    late = oidc.verify(issuer.sign(exp=now - 20))
    assert 0 < late.seconds <= 40
    assert oidc.verify(issuer.sign(nbf=now + 20, iat=now + 20)).principal.name == "alice@acme"
    assert "not valid yet" in refused(oidc, issuer.sign(nbf=now + 600))
    assert "not valid yet" in refused(oidc, issuer.sign(iat=now + 600))
    strict = Oidc.from_settings(settings(issuer, oidc_leeway=0.0))
    assert strict is not None
    assert "has expired" in refused(strict, issuer.sign(exp=now - 20))


def test_another_issuer(issuer: Issuer, oidc: Oidc) -> None:
    for name in ("https://evil.example.com", f"{issuer.name}/", ""):
        assert "another issuer" in refused(oidc, issuer.sign(iss=name))


def test_another_audience(issuer: Issuer, oidc: Oidc) -> None:
    assert "another service" in refused(oidc, issuer.sign(aud="other"))
    assert "another service" in refused(oidc, issuer.sign(aud=["x", f"{AUDIENCE}2"]))


@pytest.mark.parametrize("claim", ["exp", "iss", "aud"])
def test_a_claim_that_is_missing(issuer: Issuer, oidc: Oidc, claim: str) -> None:
    assert "it lacks one of the claims" in refused(oidc, issuer.sign(**{claim: None}))


def test_another_key(issuer: Issuer, oidc: Oidc) -> None:
    assert "its signature is wrong" in refused(oidc, issuer.sign(STRANGER))
    assert "key that its issuer does not have" in refused(oidc, issuer.sign(STRANGER, kid="stranger"))


def test_a_changed_claim(issuer: Issuer, oidc: Oidc) -> None:
    header, _, signature = issuer.sign().split(".")
    forged = f"{header}.{encoded(issuer.claims(sub='bob'))}.{signature}"
    assert "its signature is wrong" in refused(oidc, forged)


@pytest.mark.parametrize("name", ["none", "None", "NONE", "", "HS256", "RS257"])
def test_no_signature_at_all(issuer: Issuer, oidc: Oidc, name: str) -> None:
    bare = f"{encoded({'alg': name, 'kid': 'first', 'typ': 'JWT'})}.{encoded(issuer.claims())}."
    assert "in a way that this server does not accept" in refused(oidc, bare)


def test_the_public_key_as_a_shared_secret(issuer: Issuer, oidc: Oidc) -> None:
    """The old trick: the public key, which everybody has, signs by HS256."""
    import hashlib
    import hmac

    signed = f"{encoded({'alg': 'HS256', 'kid': 'first', 'typ': 'JWT'})}.{encoded(issuer.claims())}"
    signature = base64.urlsafe_b64encode(hmac.digest(PEM, signed.encode(), hashlib.sha256)).decode().rstrip("=")
    assert "in a way that this server does not accept" in refused(oidc, f"{signed}.{signature}")


def test_a_shared_secret_among_the_keys_is_not_used(issuer: Issuer, oidc: Oidc) -> None:
    secret = b"s" * 64
    issuer.keys.append({"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(secret).decode().rstrip("=")})
    token = issuer.sign(secret, kid="shared", algorithm="HS256")
    assert "in a way that this server does not accept" in refused(oidc, token)


def test_a_key_is_for_the_algorithm_that_it_names(issuer: Issuer, oidc: Oidc) -> None:
    issuer.keys = [public(FIRST, "first", alg="RS256")]
    assert oidc.verify(issuer.sign()).principal.name == "alice@acme"
    assert "in a way that this server does not accept" in refused(oidc, issuer.sign(algorithm="RS512"))


def test_a_key_of_another_kind(issuer: Issuer, oidc: Oidc) -> None:
    issuer.keys = [public(CURVE, "first")]
    assert "does not fit" in refused(oidc, issuer.sign(FIRST))


def test_a_key_for_encryption_signs_nothing(issuer: Issuer, oidc: Oidc) -> None:
    issuer.keys = [public(FIRST, "first"), public(STRANGER, "other", use="enc")]
    assert "key that its issuer does not have" in refused(oidc, issuer.sign(STRANGER, kid="other"))


def test_a_weak_key(issuer: Issuer, oidc: Oidc) -> None:
    weak = rsa_key(1024)
    issuer.keys = [public(weak, "weak")]
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        token = issuer.sign(weak, kid="weak")
    assert "not accepted" in refused(oidc, token)


def test_a_token_that_names_no_key_means_the_only_one(issuer: Issuer, oidc: Oidc) -> None:
    assert oidc.verify(issuer.sign(kid=None)).principal.name == "alice@acme"
    issuer.keys.append(public(STRANGER, "second"))
    fresh = Oidc.from_settings(settings(issuer))
    assert fresh is not None
    assert "key that its issuer does not have" in refused(fresh, issuer.sign(kid=None))


@pytest.mark.parametrize(
    "token", ["", "a.b.c", "..", "x", "eyJhbGciOiJSUzI1NiJ9..", "\udcff.\udcff.\udcff", "a" * 20_000, "é.é.é"]
)
def test_what_is_no_token(oidc: Oidc, token: str) -> None:
    with pytest.raises(UnauthenticatedError):
        oidc.verify(token)


@pytest.mark.parametrize("kid", [1, ["first"], {"a": "b"}])
def test_a_key_named_by_no_text(issuer: Issuer, oidc: Oidc, kid: Any) -> None:
    _, claims, signature = issuer.sign().split(".")
    forged = f"{encoded({'alg': 'RS256', 'kid': kid})}.{claims}.{signature}"
    refused(oidc, forged)


@pytest.mark.parametrize("exp", ["soon", 1e400, {"a": 1}, -1])
def test_an_end_that_is_no_time(issuer: Issuer, oidc: Oidc, exp: Any) -> None:
    body = json.dumps(issuer.claims(exp=exp)).encode()
    token = jwt.api_jws.encode(body, FIRST, algorithm="RS256", headers={"kid": "first"})
    refused(oidc, token)


# -- who it is -----------------------------------------------------------------------------------


def test_the_claims_that_name_user_and_groups_are_settings(issuer: Issuer) -> None:
    chosen = Oidc.from_settings(settings(issuer, oidc_user_claim="email", oidc_groups_claim="roles"))
    assert chosen is not None
    token = issuer.sign(email="a@example.com", roles="ops", groups=["x"])
    assert chosen.verify(token).principal == Principal("a@example.com@acme", ("ops@acme",))


@pytest.mark.parametrize("name", [None, "", 7, ["alice"], "a\nb", "x" * 300, "admin", "anonymous"])
def test_a_name_that_no_user_can_have(issuer: Issuer, name: Any) -> None:
    chosen = Oidc.from_settings(settings(issuer, oidc_user_claim="name"))
    assert chosen is not None
    assert "names no user that this server can take" in refused(chosen, issuer.sign(name=name))


@pytest.mark.parametrize("groups", [None, 7, {"a": "b"}, [1, None, ""]])
def test_groups_that_are_none(issuer: Issuer, oidc: Oidc, groups: Any) -> None:
    assert oidc.verify(issuer.sign(groups=groups)).principal.groups == ()


# -- settings ------------------------------------------------------------------------------------


def test_nothing_is_configured() -> None:
    assert Oidc.from_settings(Settings(oidc_alias=None)) is None


@pytest.mark.parametrize(
    "name", ["https://login.example.com/realms/data", "https://LOGIN.example.com:8443", "login.example.com"]
)
def test_the_alias_is_the_issuers_host_unless_one_is_set(issuer: Issuer, name: str) -> None:
    oidc = Oidc.from_settings(settings(issuer, oidc_issuer=name, oidc_alias=None))
    assert oidc is not None
    assert oidc.alias == "login.example.com"
    named = Oidc.from_settings(settings(issuer, oidc_issuer=name, oidc_alias="acme"))
    assert named is not None
    assert named.alias == "acme"


@pytest.mark.parametrize("name", ["https://[::1]/realm", "http://[", "the issuer", "a@b"])
def test_an_issuer_without_a_host_needs_an_alias(issuer: Issuer, name: str) -> None:
    with pytest.raises(InvalidInputError, match="Set oidc_alias"):
        Oidc.from_settings(settings(issuer, oidc_issuer=name, oidc_alias=None))


@pytest.mark.parametrize("alias", ["a@b", "Acme", "a b", "-a", "a.", "é", "x" * 101, "a\n"])
def test_an_alias_that_names_cannot_end_with(issuer: Issuer, alias: str) -> None:
    with pytest.raises(InvalidInputError, match=r"oidc_alias is .* lower-case letters"):
        Oidc.from_settings(settings(issuer, oidc_alias=alias))


def test_an_alias_alone_is_a_part_only() -> None:
    with pytest.raises(InvalidInputError, match="need all of"):
        Oidc.from_settings(Settings(oidc_alias="acme"))


@pytest.mark.parametrize("missing", ["oidc_issuer", "oidc_audience", "oidc_jwks_uri"])
def test_a_part_is_missing(issuer: Issuer, missing: str) -> None:
    with pytest.raises(InvalidInputError, match="need all of oidc_issuer, oidc_audience and oidc_jwks_uri"):
        Oidc.from_settings(settings(issuer, **{missing: None}))


@pytest.mark.parametrize(
    "uri", ["http://issuer.example.com/keys", "ftp://x/keys", "file:///etc/passwd", "x", "http://[/"]
)
def test_keys_do_not_travel_in_the_clear(issuer: Issuer, uri: str) -> None:
    with pytest.raises(InvalidInputError, match="begins with https://"):
        Oidc.from_settings(settings(issuer, oidc_jwks_uri=uri))


def test_keys_may_come_by_https(issuer: Issuer) -> None:
    assert Oidc.from_settings(settings(issuer, oidc_jwks_uri="https://issuer.example.com/keys")) is not None


def test_the_keys_are_asked_for_once(issuer: Issuer) -> None:
    oidc = Oidc(issuer.name, AUDIENCE, SigningKeys(issuer.jwks_uri))
    for _ in range(5):
        oidc.verify(issuer.sign())
    assert issuer.asked == 1
