"""The settings of credentials that end: how a server has a storage make them for readers and writers of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lanceway.config.settings import Setting
from lanceway.errors import InvalidInputError

STS = "sts"
PREFIX = "credentials."
# What STS takes at least and at most, in seconds.
SHORTEST, LONGEST = 900, 43_200
_LIFE = 900
# What the interface has room for, and no vendor is built for.
_NOT_BUILT = {
    "google": "Google Cloud Storage",
    "gcs": "Google Cloud Storage",
    "gs": "Google Cloud Storage",
    "azure": "Azure Blob Storage",
    "adls": "Azure Blob Storage",
}

CREDENTIALS = (
    Setting(
        "credentials.type",
        "Who makes credentials that end for those who read and write tables: sts. Without it and role_arn the server "
        "vends none.",
    ),
    Setting("credentials.role_arn", "The role whose rights are narrowed down to one table: arn:aws:iam::…:role/…"),
    Setting("credentials.external_id", "The external id that the role's trust policy asks for.", secret=True),
    Setting(
        "credentials.sts_endpoint",
        "Where STS is; the storage's own endpoint if that is set, else AWS's of the region.",
    ),
    Setting("credentials.region", "The region of STS; the storage's if it is not set."),
    Setting(
        "credentials.duration",
        f"For how many seconds a credential is good, at most {LONGEST}. Of less than {SHORTEST}, clients renew sooner, "
        f"but the key itself lives for {SHORTEST}: STS gives none shorter.",
        int,
        default=_LIFE,
    ),
    Setting(
        "credentials.session_tags",
        "Whether sessions carry user, table and request as tags; the role's trust policy must allow sts:TagSession.",
        bool,
        default=False,
    ),
)


@dataclass(frozen=True, slots=True)
class CredentialSettings:
    """How credentials are made for the tables of one storage."""

    role_arn: str
    type: str = STS
    external_id: str | None = field(default=None, repr=False)
    sts_endpoint: str | None = None
    region: str | None = None
    duration: int = _LIFE
    session_tags: bool = False

    @property
    def life(self) -> int:
        """Return for how many seconds a key opens the storage, whatever its client is told."""
        return max(self.duration, SHORTEST)


def credentials_of(owner: str, values: Mapping[str, Any]) -> CredentialSettings | None:
    """Return the settings of credentials among those of a server or a catalog; None where none are to be vended.

    Raises InvalidInputError for a kind that is not built, and for settings that make no sense together.
    """
    chosen = {key.removeprefix(PREFIX): value for key, value in values.items() if key.startswith(PREFIX)}
    type_, role = (chosen.get("type") or "").lower(), chosen.get("role_arn") or ""
    defaults = {row.name.removeprefix(PREFIX): row.default for row in CREDENTIALS}
    if not type_ and not role:
        beside = sorted(name for name, value in chosen.items() if value != defaults[name] and value is not None)
        if beside:
            raise InvalidInputError(
                f"{owner} has {PREFIX}{beside[0]} but no {PREFIX}role_arn: without a role no credentials are made."
            )
        return None
    if type_ in _NOT_BUILT:
        raise InvalidInputError(
            f"{owner}: {PREFIX}type is {type_!r}, but no credentials can be vended for {_NOT_BUILT[type_]} yet: only "
            f"{STS!r}, for S3 and what speaks its protocol. Without it, clients work through the server."
        )
    if type_ not in ("", STS):
        raise InvalidInputError(f"{owner}: {PREFIX}type is {type_!r}, but must be {STS!r}.")
    if not role:
        raise InvalidInputError(f"{owner}: credentials of {STS} need a role to take. Set {PREFIX}role_arn.")
    if not 0 < chosen["duration"] <= LONGEST:
        raise InvalidInputError(
            f"{owner}: {PREFIX}duration is {chosen['duration']}, but must be between 1 and {LONGEST} seconds."
        )
    return CredentialSettings(**{**chosen, "type": STS, "role_arn": role})
