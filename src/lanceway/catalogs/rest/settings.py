"""The settings of a Lance REST server: its address, who asks, and where data is worked on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urljoin

from lanceway.catalogs.rest.storage import SERVER, STORAGE
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.wire import http, lance
from lanceway.wire.authentication import (
    API_KEY,
    AUTHORIZATION,
    ClientCredentials,
    Credentials,
    Fixed,
    TokenFile,
    WithHeaders,
    bearer,
)

_TOKEN_PATH = "/oauth/token"  # the specification's

SETTINGS = (
    Setting("uri", "The server's address: http://host:port/lance.", required=True),
    Setting("token", "A bearer token.", secret=True),
    Setting("api_key", "An API key, sent as x-api-key.", secret=True),
    Setting("token_file", "A file with a bearer token, read again when it changes."),
    Setting("credential", "An OAuth2 client as id:secret, for which tokens are fetched and renewed.", secret=True),
    Setting("token_uri", f"Where tokens are fetched: {_TOKEN_PATH} of the server unless it is set."),
    Setting("scope", "The scope of the tokens that are fetched."),
    Setting("delimiter", "What joins the names of an identifier on the wire.", default=lance.DELIMITER),
    *http.SETTINGS,
    Setting(
        "data",
        "Who works on the data of tables: the server, or this process on their storage, for a server that keeps "
        "names alone.",
        choices=(SERVER, STORAGE),
        default=SERVER,
    ),
    Setting("storage.*", "Options of the storage, beside those that the server gives: storage.region, …"),
)


@dataclass(frozen=True, slots=True)
class RestSettings:
    """The settings of one Lance REST server, as `SETTINGS` describes them."""

    uri: str
    token: str | None = field(repr=False)
    api_key: str | None = field(repr=False)
    token_file: str | None
    credential: str | None = field(repr=False)
    token_uri: str  # complete
    scope: str | None
    delimiter: str
    data: str
    storage: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)  # for the HTTP client; headers may hold secrets

    @classmethod
    def read(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError where they do not fit together; the server is not asked."""
        uri = http.checked_uri(settings["uri"])
        _check_credentials(settings)
        typed = cls(
            uri,
            token=settings["token"],
            api_key=settings["api_key"],
            # A relative path means the same file wherever the catalog is pickled to.
            token_file=settings["token_file"] and os.path.abspath(settings["token_file"]),
            credential=settings["credential"],
            token_uri=http.checked_uri(urljoin(f"{uri}/", settings["token_uri"] or _TOKEN_PATH)),
            scope=settings["scope"],
            delimiter=settings["delimiter"],
            data=settings["data"],
            storage=settings["storage"],
            client=settings,
        )
        http.check_headers(typed._fixed_headers())
        if typed.delimiter in ("", "."):
            raise InvalidInputError(
                f"delimiter is {typed.delimiter!r}, with which the root has no name in a path. Use another, such as "
                "'$'."
            )
        return typed

    @property
    def works_on_storage(self) -> bool:
        return self.data == STORAGE

    @property
    def has_credentials(self) -> bool:
        has_own = any((self.token, self.api_key, self.token_file, self.credential))
        return has_own or not _header_names(self.client).isdisjoint({AUTHORIZATION, API_KEY})

    def credentials(self) -> Credentials:
        """Return what says who asks, for the connections of one process."""
        headers = self._fixed_headers()
        if self.token_file:
            return WithHeaders(headers, TokenFile(self.token_file))
        if self.credential:
            client, _, secret = self.credential.partition(":")
            return WithHeaders(headers, ClientCredentials(self.token_uri, client, secret, self.scope))
        return Fixed(headers)

    def _fixed_headers(self) -> dict[str, str]:
        key = {API_KEY: self.api_key} if self.api_key else {}
        return {**key, **(bearer(self.token) if self.token else {})}


def _check_credentials(settings: Mapping[str, Any]) -> None:
    tokens = [name for name in ("token", "token_file", "credential") if settings[name]]
    if AUTHORIZATION in _header_names(settings):
        tokens.append("header.Authorization")
    if len(tokens) > 1:
        raise InvalidInputError(f"{' and '.join(tokens)} are set, but only one of them may be.")
    if settings["credential"] and not all(settings["credential"].partition(":")):
        raise InvalidInputError("credential is not of the form id:secret.")
    for name in ("token_uri", "scope"):
        if settings[name] and not settings["credential"]:
            raise InvalidInputError(f"{name} is set without credential, the client that tokens are fetched for.")


def _header_names(settings: Mapping[str, Any]) -> set[str]:
    return {name.lower() for name in (*settings["header"], *settings["headers"])}
