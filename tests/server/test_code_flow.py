"""The authorization code flow: what is configured, and what becomes of a code."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnauthenticatedError
from lanceway.server.code_flow import CodeFlow
from tests.access.issuer import Issuer
from tests.access.provider import CLIENT, Provider

VERIFIER = "v" * 43
BACK = "http://127.0.0.1:8400/"


@dataclass(frozen=True)
class Settings:
    oidc_issuer: str | None = "https://login.example.com/realm"
    oidc_alias: str | None = None
    oidc_client_id: str | None = "console"
    oidc_authorization_uri: str | None = "https://login.example.com/authorize"
    oidc_token_uri: str | None = "https://login.example.com/token"
    oidc_scopes: str = "openid"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Issuer() as issuer:
        provider = Provider(issuer)
        yield provider
        provider.close()


@pytest.fixture
def flow(provider: Provider) -> CodeFlow:
    return CodeFlow("acme", CLIENT, f"{provider.address}/authorize", f"{provider.address}/token", "openid")


def agreed(provider: Provider, code: str = "c") -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
    provider.codes[code] = {
        "client_id": CLIENT,
        "redirect_uri": BACK,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    return code


def test_nothing_is_configured_without_a_client() -> None:
    nothing = Settings(oidc_client_id=None, oidc_authorization_uri=None, oidc_token_uri=None)
    assert CodeFlow.from_settings(nothing) is None
    flow = CodeFlow.from_settings(Settings())
    assert flow is not None
    assert flow.facts["name"] == "login.example.com"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"oidc_issuer": None}, "oidc_issuer"),
        ({"oidc_client_id": None}, "oidc_client_id"),
        ({"oidc_token_uri": None}, "oidc_token_uri"),
        ({"oidc_token_uri": "http://login.example.com/token"}, "oidc_token_uri must"),
        ({"oidc_authorization_uri": "javascript:alert(1)"}, "oidc_authorization_uri must"),
    ],
)
def test_a_part_of_it_or_a_bad_address_is_refused(change: dict[str, str | None], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        CodeFlow.from_settings(replace(Settings(), **change))  # type: ignore[arg-type]


def test_a_code_is_exchanged_once(provider: Provider, flow: CodeFlow) -> None:
    code = agreed(provider)
    assert list(flow.redeem(code, VERIFIER, BACK)) == provider.handed_out
    with pytest.raises(UnauthenticatedError, match="the code is not valid"):
        flow.redeem(code, VERIFIER, BACK)


def test_a_code_without_its_secret_is_good_for_nothing(provider: Provider, flow: CodeFlow) -> None:
    with pytest.raises(UnauthenticatedError):
        flow.redeem(agreed(provider), "w" * 43, BACK)
    with pytest.raises(UnauthenticatedError):
        flow.redeem(agreed(provider), VERIFIER, "http://127.0.0.1:1/")
    assert provider.handed_out == []


def test_an_issuer_that_does_not_answer_is_not_the_visitors_mistake(provider: Provider, flow: CodeFlow) -> None:
    code = agreed(provider)
    provider.close()
    with pytest.raises(ServiceUnavailableError, match="acme") as caught:
        flow.redeem(code, VERIFIER, BACK)
    assert VERIFIER not in str(caught.value)
