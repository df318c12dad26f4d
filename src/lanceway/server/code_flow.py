"""Sign people in at an OpenID Connect issuer, by the authorization code flow with PKCE.

A browser goes to the issuer with the hash of a secret that it keeps, and comes back with a code. This server exchanges
code and secret for a token, as a public client: it has no secret of its own, and the browser asks no other host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from lanceway.access.exposure import is_loopback
from lanceway.config import read_settings
from lanceway.errors import InvalidInputError, ServiceUnavailableError, UnauthenticatedError
from lanceway.lake.issuers import default_alias
from lanceway.wire.errors import TransportError
from lanceway.wire.settings import SETTINGS, read_address
from lanceway.wire.transport import Transport

PATIENCE = 10.0  # seconds for one exchange
_LARGEST = 100_000  # bytes of an answer
_FORM = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
# Which of them a server accepts depends on the audience that the issuer writes into each.
_TOKENS = ("access_token", "id_token")


class CodeFlowSettings(Protocol):
    """The settings of a server that matter here."""

    @property
    def oidc_issuer(self) -> str | None: ...
    @property
    def oidc_alias(self) -> str | None: ...
    @property
    def oidc_client_id(self) -> str | None: ...
    @property
    def oidc_authorization_uri(self) -> str | None: ...
    @property
    def oidc_token_uri(self) -> str | None: ...
    @property
    def oidc_scopes(self) -> str: ...


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """Where people sign in, and where their codes are exchanged."""

    alias: str
    client: str
    authorization_uri: str
    token_uri: str
    scopes: str

    @classmethod
    def from_settings(cls, settings: CodeFlowSettings) -> CodeFlow | None:
        """Return what is configured, if anything is. Raises InvalidInputError if only a part of it is, or a bad one."""
        client, begin, exchange = settings.oidc_client_id, settings.oidc_authorization_uri, settings.oidc_token_uri
        if not (client or begin or exchange):
            return None
        if not (client and begin and exchange and settings.oidc_issuer):
            raise InvalidInputError(
                "To sign in at an OpenID Connect issuer with a browser needs all of oidc_issuer, oidc_client_id, "
                "oidc_authorization_uri and oidc_token_uri. Set what is missing, or none of the last three."
            )
        alias = settings.oidc_alias or default_alias(settings.oidc_issuer)
        _check("oidc_authorization_uri", begin)
        _check("oidc_token_uri", exchange)
        return cls(alias, client, begin, exchange, settings.oidc_scopes)

    @property
    def facts(self) -> Mapping[str, str]:
        """Return what a page needs to send its visitor there. None of it is secret."""
        return {"name": self.alias, "client": self.client, "address": self.authorization_uri, "scopes": self.scopes}

    def redeem(self, code: str, verifier: str, redirect_uri: str) -> Sequence[str]:
        """Return the tokens that the issuer gives for a code, the one for its resources first.

        Raises UnauthenticatedError if it gives none, ServiceUnavailableError if it cannot be asked.
        """
        form = {
            "grant_type": "authorization_code",
            "client_id": self.client,
            "code": code,
            "code_verifier": verifier,
            "redirect_uri": redirect_uri,
        }
        try:
            status, answer = self._ask(urlencode(form).encode())
        except (TransportError, ValueError) as error:
            raise ServiceUnavailableError(
                f"The issuer {self.alias} cannot be asked for a token at present. Sign in again later."
            ) from error
        if status != HTTPStatus.OK:
            reason = answer.get("error_description") or answer.get("error") or f"status {status}"
            raise UnauthenticatedError(f"The issuer {self.alias} gives no token: {reason!s:.200}. Sign in again.")
        tokens = [answer[name] for name in _TOKENS if isinstance(answer.get(name), str)]
        if not tokens:
            raise UnauthenticatedError(f"The issuer {self.alias} gives no token that a server could check.")
        return tokens

    def _ask(self, form: bytes) -> tuple[int, Mapping[str, Any]]:
        """Return status and content of the answer. Raises TransportError, or ValueError for what is none."""
        deadline = time.monotonic() + PATIENCE
        patience = {"timeout": PATIENCE, "connect_timeout": PATIENCE}
        address, body = read_address(self.token_uri), bytearray()
        with (
            closing(Transport(read_settings("The issuer's tokens", SETTINGS, patience))) as http,
            closing(http.open("POST", address, address.target, _FORM, form)) as response,
        ):
            for part in response:
                body += part
                if len(body) > _LARGEST or time.monotonic() > deadline:
                    raise ValueError("the answer is too large or too slow")
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ValueError(f"the answer has status {response.status}")
        answer = json.loads(body)
        if not isinstance(answer, dict):
            raise ValueError("the answer is not an object")
        return response.status, answer


def _check(setting: str, uri: str) -> None:
    """Refuse an address in the clear, where codes and tokens could be read on their way."""
    parts = urlsplit(uri)
    if parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))):
        return
    raise InvalidInputError(f"{setting} must be an address that begins with https:// (http:// on this machine only).")
