"""The settings of a Glue catalog, and the check that they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self
from urllib.parse import urlsplit

from lanceway.config import Setting
from lanceway.errors import InvalidInputError

CATALOGS, DATABASES = "catalogs", "databases"
# What STS allows for a role's session, in seconds.
_SHORTEST, _LONGEST = 900, 43_200

SETTINGS = (
    Setting("catalog_id", "The Glue catalog that is the root. The account of the caller if it is not set."),
    Setting("region", "The AWS region. As the environment has it if it is not set."),
    Setting("endpoint", "The address of a service that is compatible with Glue, rather than Glue's own."),
    Setting(
        "access_key_id", "The key of static credentials. The default chain of AWS is asked if none is set.", secret=True
    ),
    Setting("secret_access_key", "The secret that belongs to the key.", secret=True),
    Setting("session_token", "The token that belongs to temporary credentials.", secret=True),
    Setting("assume_role_arn", "The role to assume for every call to Glue."),
    Setting("assume_role_region", "The region in which the role is assumed; `region` if it is not set."),
    Setting("assume_role_external_id", "The external id that the role's trust policy asks for.", secret=True),
    Setting("assume_role_session_name", "The name of the role's session, as logs show it.", default="lanceway"),
    Setting(
        "assume_role_timeout_sec",
        f"How long a session of the role lasts, in seconds, {_SHORTEST} to {_LONGEST}. It is renewed before it ends.",
        int,
        default=3600,
    ),
    Setting(
        "hierarchy",
        "What a namespace of one name is: a catalog in the account, else a database of the root; or always a "
        "database, and then Glue is never asked for catalogs.",
        default=CATALOGS,
        choices=(CATALOGS, DATABASES),
    ),
    Setting(
        "root",
        "Where new tables are put in a database without a location of its own: a URI, below which each database has a "
        "folder.",
    ),
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


@dataclass(frozen=True, slots=True)
class GlueSettings:
    """The settings of one Glue catalog, as `SETTINGS` describes them."""

    catalog_id: str | None
    region: str | None
    endpoint: str | None
    access_key_id: str | None = field(repr=False)
    secret_access_key: str | None = field(repr=False)
    session_token: str | None = field(repr=False)
    assume_role_arn: str | None
    assume_role_region: str | None
    assume_role_external_id: str | None = field(repr=False)
    assume_role_session_name: str
    assume_role_timeout_sec: int
    hierarchy: str
    root: str | None
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def read(cls, owner: str, settings: Mapping[str, Any]) -> Self:
        """Return the settings. Raises InvalidInputError where they do not fit together; AWS is not asked."""
        typed = cls(**{row.name: settings[row.name] for row in fields(cls)})
        typed._check_credentials(owner)
        typed._check_role(owner)
        _check_endpoint(owner, typed.endpoint)
        return typed

    @property
    def makes_databases(self) -> bool:
        return self.hierarchy == DATABASES

    def _check_credentials(self, owner: str) -> None:
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise InvalidInputError(
                f"{owner}: access_key_id and secret_access_key belong together. Set both, or neither for the default "
                "chain."
            )
        if self.session_token and not self.access_key_id:
            raise InvalidInputError(
                f"{owner}: session_token needs the access_key_id and secret_access_key it belongs to."
            )

    def _check_role(self, owner: str) -> None:
        if not self.assume_role_arn and (self.assume_role_region or self.assume_role_external_id):
            name = "assume_role_region" if self.assume_role_region else "assume_role_external_id"
            raise InvalidInputError(f"{owner}: {name} is set, but assume_role_arn is not. Set assume_role_arn.")
        seconds = self.assume_role_timeout_sec
        if not _SHORTEST <= seconds <= _LONGEST:
            raise InvalidInputError(
                f"{owner}: assume_role_timeout_sec is {seconds}, but AWS allows {_SHORTEST} to {_LONGEST} seconds."
            )


def _check_endpoint(owner: str, endpoint: str | None) -> None:
    parts = urlsplit(endpoint or "https://aws")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(
            f"{owner}: endpoint is {endpoint!r}, but must be a URL such as https://glue.example.com."
        )
    if parts.username or parts.password:
        raise InvalidInputError(f"{owner}: endpoint holds a user or a password. Set access_key_id instead.")
