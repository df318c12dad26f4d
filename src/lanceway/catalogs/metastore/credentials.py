"""How the catalogs of external HTTP services sign in: a token, a file that holds one, or OAuth2 client credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.wire import http
from lanceway.wire.authentication import ClientCredentials, Credentials, Fixed, TokenFile, bearer

_WAYS = ("auth_token", "credential", "token_file")


def sign_in_settings(scope: str | None) -> tuple[Setting, ...]:
    """Return the rows of `SETTINGS` for these ways, with a service's own scope by default."""
    return (
        Setting("auth_token", "The bearer token to send.", secret=True),
        Setting("credential", "client_id:client_secret, for which a token is fetched and renewed.", secret=True),
        Setting(
            "oauth2_server_uri",
            "Where that token is fetched: the identity provider's token endpoint, else the catalog's own.",
            aliases=("oauth2-server-uri",),
        ),
        Setting("scope", "The scope that is asked for with credential.", default=scope),
        Setting("token_file", "A file that holds the bearer token and that another program renews."),
    )


@dataclass(frozen=True, slots=True)
class ServiceSignIn:
    """The values of these settings."""

    auth_token: str | None = field(default=None, repr=False)
    credential: str | None = field(default=None, repr=False)
    oauth2_server_uri: str | None = None
    scope: str | None = None
    token_file: str | None = None

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any], *others: str) -> Self:
        """Return the values. Raises InvalidInputError where more than one way is set, a service's `others` included."""
        ways = [name for name in (*_WAYS, *others) if settings[name]]
        if len(ways) > 1:
            raise InvalidInputError(f"{owner}: {' and '.join(ways)} are set, but only one may be. Leave one.")
        client, colon, secret = (settings["credential"] or "x:x").partition(":")
        if not (client and colon and secret):
            raise InvalidInputError(f"{owner}: credential must be client_id:client_secret.")
        if settings["oauth2_server_uri"]:
            http.checked_uri(settings["oauth2_server_uri"])
        return cls(**{name: settings[name] for name in (*_WAYS, "oauth2_server_uri", "scope")})

    def credentials(self, token_uri: str) -> Credentials:
        """Return the credentials of requests. A token is fetched at `token_uri` unless the settings say where."""
        if self.credential:
            client, _, secret = self.credential.partition(":")
            return ClientCredentials(self.oauth2_server_uri or token_uri, client, secret, self.scope, in_form=True)
        if self.token_file:
            return TokenFile(self.token_file)
        return Fixed(bearer(self.auth_token) if self.auth_token else {})
