"""The settings of a Unity catalog, and the check that each can be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lanceway.catalogs.metastore.http import HTTP_SETTINGS, client_settings
from lanceway.catalogs.unity.names import absolute
from lanceway.config import Setting
from lanceway.errors import InvalidInputError
from lanceway.wire import unity

SETTINGS = (
    Setting("endpoint", "The server's address, without the path of its API: http://localhost:8080.", required=True),
    Setting("catalog", "The catalog in Unity: the first name of every identifier.", required=True),
    Setting("api_path", "The path of the API below the address.", default=unity.API_PATH),
    Setting("auth_token", "The bearer token that says who asks.", secret=True),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("read_timeout", "How many seconds to wait for the server's next word.", float, default=60.0),
    Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting(
        "root",
        "Below this folder or URI tables lie that are declared without a location. The working folder if it is "
        "not set.",
    ),
    Setting(
        "vended_credentials", "Whether to ask the server for credentials to a table's storage.", bool, default=False
    ),
    *HTTP_SETTINGS,
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


@dataclass(frozen=True, slots=True)
class UnitySettings:
    """The settings of one Unity catalog, as `SETTINGS` describes them."""

    uri: str  # of the API
    catalog: str
    auth_token: str | None = field(repr=False)
    root: str  # a URI
    vended_credentials: bool
    storage: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)  # for the HTTP client; headers may hold secrets

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError for one that cannot be used."""
        if not settings["catalog"] or "." in settings["catalog"]:
            raise InvalidInputError(f"{owner}: catalog is {settings['catalog']!r}, which is no name in Unity.")
        for name in ("connect_timeout", "read_timeout"):
            if not 0 < settings[name] < float("inf"):
                raise InvalidInputError(f"{owner}: {name} is {settings[name]}, but must be seconds above 0.")
        if settings["max_retries"] < 0:
            raise InvalidInputError(f"{owner}: max_retries is {settings['max_retries']}, but must be 0 or more.")
        endpoint = settings["endpoint"].rstrip("/")
        if not endpoint.lower().startswith(("http://", "https://")):
            raise InvalidInputError(
                f"{owner}: endpoint must start with http:// or https://, such as http://localhost:8080."
            )
        return cls(
            uri="/".join(filter(None, (endpoint, settings["api_path"].strip("/")))),
            catalog=settings["catalog"],
            auth_token=settings["auth_token"],
            root=absolute(settings["root"]),
            vended_credentials=settings["vended_credentials"],
            storage=settings["storage"],
            client=client_settings(
                settings,
                timeout=settings["read_timeout"],
                connect_timeout=settings["connect_timeout"],
                retries=settings["max_retries"],
            ),
        )
