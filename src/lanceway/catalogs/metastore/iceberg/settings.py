"""The settings of an Iceberg catalog, and the check that they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from lanceway.catalogs.metastore.credentials import ServiceSignIn, sign_in_settings
from lanceway.catalogs.metastore.http import HTTP_SETTINGS, absolute_path, client_settings
from lanceway.config import Setting
from lanceway.errors import InvalidInputError, UnauthenticatedError
from lanceway.tables.iceberg.storage import storage_properties
from lanceway.wire import http, iceberg

_MILLISECONDS = 1000

SETTINGS = (
    Setting("endpoint", "The catalog's address, up to and without /v1: http://localhost:8181.", required=True),
    Setting("warehouse", "The warehouse that the root lists. Others are reached by their names all the same."),
    Setting(
        "warehouse_id",
        "How the server is asked for that warehouse where its name here is another: gs://bucket, workspace/item.",
    ),
    *sign_in_settings(iceberg.DEFAULT_SCOPE),
    Setting("connect_timeout", "How many milliseconds to wait for a connection.", int, default=10_000),
    Setting("read_timeout", "Read timeout in milliseconds.", int, default=30_000),
    Setting("max_retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting(
        "root",
        "The folder or URI below which tables declared without a location are put; s3:// alone takes the warehouse "
        "for a bucket. The working folder if it is not set.",
    ),
    Setting("prefix", "What follows /v1 in paths, for a server that does not say so itself."),
    Setting("page_size", "How many names to ask a server for at once; as many as it likes if it is not set.", int),
    Setting("concurrency", "How many tables are looked at the same time while they are listed.", int, default=8),
    Setting(
        "vended_credentials", "Whether to ask the server for credentials to a table's storage.", bool, default=False
    ),
    *HTTP_SETTINGS,
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


@dataclass(frozen=True, slots=True)
class IcebergSettings:
    """The settings of one Iceberg catalog, as `SETTINGS` describes them."""

    endpoint: str
    warehouse: str | None
    warehouse_id: str | None
    sign_in: ServiceSignIn
    root: str  # a URI or an absolute path
    prefix: str | None
    page_size: int | None
    concurrency: int
    vended_credentials: bool
    storage: Mapping[str, str] = field(repr=False)
    client: Mapping[str, Any] = field(repr=False)  # for the HTTP client; headers may hold secrets

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError where they do not fit together."""
        endpoint = _checked_endpoint(settings["endpoint"])
        for name in ("connect_timeout", "read_timeout", "concurrency", "page_size"):
            if settings[name] is not None and settings[name] < 1:
                raise InvalidInputError(f"{owner}: {name} is {settings[name]}, but must be 1 or more.")
        return cls(
            endpoint=endpoint,
            sign_in=ServiceSignIn.read(owner, settings),
            root=absolute_path(settings["root"]),
            client=client_settings(
                settings,
                timeout=settings["read_timeout"] / _MILLISECONDS,
                connect_timeout=settings["connect_timeout"] / _MILLISECONDS,
                retries=settings["max_retries"],
            ),
            **{name: settings[name] for name in _AS_THEY_ARE},
        )

    def client_properties(self) -> dict[str, Any]:
        """Return the settings as pyiceberg's REST client takes them."""
        sign_in = self.sign_in
        try:
            token = Path(sign_in.token_file).read_text().strip() if sign_in.token_file else sign_in.auth_token
        except OSError as error:
            raise UnauthenticatedError(
                f"The token_file {sign_in.token_file} cannot be read: {error.strerror}."
            ) from error
        named = {
            "uri": self.endpoint,
            "warehouse": self.warehouse_id or self.warehouse,
            "prefix": self.prefix,
            "token": token,
            "credential": sign_in.credential,
            "oauth2-server-uri": sign_in.oauth2_server_uri,
            "scope": sign_in.scope if sign_in.credential else None,
        }
        headers = {**self.client["header"], **self.client["headers"]}
        pair = {"cert": self.client["tls.cert_file"], "key": self.client["tls.key_file"]}
        ssl = {"cabundle": self.client["tls.ssl_ca_cert"], "client": pair if all(pair.values()) else None}
        return {
            **{name: value for name, value in named.items() if value is not None},
            **{f"header.{name}": value for name, value in headers.items()},
            **({"ssl": {name: value for name, value in ssl.items() if value}} if any(ssl.values()) else {}),
            **storage_properties(self.storage),
        }


_AS_THEY_ARE = ("warehouse", "warehouse_id", "prefix", "page_size", "concurrency", "vended_credentials", "storage")


def _checked_endpoint(endpoint: str) -> str:
    if not endpoint.lower().startswith(("http://", "https://")):
        raise InvalidInputError(
            f"endpoint is {endpoint!r}, but must start with http:// or https://, such as http://localhost:8181."
        )
    return http.checked_uri(endpoint)
