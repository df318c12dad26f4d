"""The settings of a Gravitino catalog, and the check that they fit together."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lanceway.catalogs.metastore.credentials import ServiceSignIn, sign_in_settings
from lanceway.catalogs.metastore.http import HTTP_SETTINGS, absolute_path, client_settings
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.tables import dataset
from lanceway.wire import http
from lanceway.wire.authentication import AUTHORIZATION, Credentials, Fixed

SETTINGS = (
    Setting("endpoint", "The server's address, without /api: http://localhost:8090.", required=True),
    Setting("metalake", "The metalake whose catalogs the root lists.", required=True),
    *sign_in_settings(None),
    Setting("user", "The user of a server that believes names, as Gravitino's authentication simple does."),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("read_timeout", "Read timeout in seconds.", float, default=60.0),
    Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting(
        "root",
        "The folder or URI below which tables declared without a location are put. Gravitino chooses if it is not set: "
        "below the location of the schema or the catalog.",
    ),
    Setting("concurrency", "How many tables are looked at the same time while they are listed.", int, default=8),
    Setting(
        "vended_credentials",
        "Whether to use the storage options that Gravitino keeps with the catalog of a table (lance.storage.*).",
        bool,
        default=False,
    ),
    *HTTP_SETTINGS,
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)
# What Gravitino's own clients send as the password of a name that is believed.
_NO_PASSWORD = "dummy"
# Where a token is fetched if the settings do not say it.
_TOKEN_PATH = "/oauth2/token"


@dataclass(frozen=True, slots=True)
class GravitinoSettings:
    """The settings of one Gravitino catalog, as `SETTINGS` describes them."""

    endpoint: str
    metalake: str
    sign_in: ServiceSignIn
    user: str | None
    root: str | None  # a URI
    concurrency: int
    vended_credentials: bool
    storage: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)  # for the HTTP client; headers may hold secrets

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError where they do not fit together."""
        endpoint = http.checked_uri(settings["endpoint"])
        if endpoint.endswith("/api"):
            raise InvalidInputError(f"{owner}: endpoint ends with /api. Give the server's address without it.")
        if settings["concurrency"] < 1:
            raise InvalidInputError(f"{owner}: concurrency is {settings['concurrency']}, but must be 1 or more.")
        if not settings["metalake"]:
            raise InvalidInputError(f"{owner}: metalake is empty. Give the name of one.")
        if settings["user"] and ":" in settings["user"]:
            raise InvalidInputError(f"{owner}: user holds ':', which ends the name in a request. Give the name alone.")
        return cls(
            endpoint=endpoint,
            metalake=settings["metalake"],
            sign_in=ServiceSignIn.read(owner, settings, "user"),
            user=settings["user"],
            root=None if settings["root"] is None else dataset.uri(absolute_path(settings["root"])),
            concurrency=settings["concurrency"],
            vended_credentials=settings["vended_credentials"],
            storage=settings["storage"],
            client=client_settings(
                settings,
                timeout=settings["read_timeout"],
                connect_timeout=settings["connect_timeout"],
                retries=settings["max_retries"],
            ),
        )

    def credentials(self) -> Credentials:
        """Return the credentials of requests."""
        if self.user:
            text = base64.b64encode(f"{self.user}:{_NO_PASSWORD}".encode()).decode()
            return Fixed({AUTHORIZATION: f"Basic {text}"})
        return self.sign_in.credentials(f"{self.endpoint}{_TOKEN_PATH}")
