"""What may be set for a Glue catalog, and what does not fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
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
        "What a namespace of one name is made as: a catalog in the account, or a database of the root.",
        default=CATALOGS,
        choices=(CATALOGS, DATABASES),
    ),
    Setting(
        "root",
        "Where new tables lie in a database that has no location of its own: a URI, below which each database has a "
        "folder.",
    ),
    Setting("storage.*", "Options of the storage, as pylance takes them: storage.region, storage.endpoint, …"),
)


def check(owner: str, given: Mapping[str, Any]) -> None:
    """Refuse settings that do not fit together, before anything is asked of AWS."""
    if bool(given["access_key_id"]) != bool(given["secret_access_key"]):
        raise InvalidInputError(
            f"{owner}: access_key_id and secret_access_key belong together. Set both, or neither for the default chain."
        )
    if given["session_token"] and not given["access_key_id"]:
        raise InvalidInputError(f"{owner}: session_token needs the access_key_id and secret_access_key it belongs to.")
    if not given["assume_role_arn"]:
        lonely = [name for name in ("assume_role_region", "assume_role_external_id") if given[name]]
        if lonely:
            raise InvalidInputError(f"{owner}: {lonely[0]} is set, but no role is to be assumed. Set assume_role_arn.")
    seconds = given["assume_role_timeout_sec"]
    if not _SHORTEST <= seconds <= _LONGEST:
        raise InvalidInputError(
            f"{owner}: assume_role_timeout_sec is {seconds}, but AWS allows {_SHORTEST} to {_LONGEST} seconds."
        )
    _check_endpoint(owner, given["endpoint"])


def _check_endpoint(owner: str, endpoint: str | None) -> None:
    parts = urlsplit(endpoint or "https://aws")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInputError(
            f"{owner}: endpoint is {endpoint!r}, but must be a URL such as https://glue.example.com."
        )
    if parts.username or parts.password:
        raise InvalidInputError(f"{owner}: endpoint holds a user or a password. Set access_key_id instead.")
