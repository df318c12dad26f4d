"""What makes credentials for one table, of whatever cloud, and what they are made for.

`CredentialVendor` is all that a cloud has to answer. STS is built (`sts.py`). Google would answer with an access token
under a credential access boundary, and Azure with a SAS of a directory: both take a prefix, an access and a duration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from lanceway.config import CredentialSettings


class StorageAccess(StrEnum):
    """What the holder of a credential may do to the files of a table. Each may do what those before it may."""

    READ = "read"
    WRITE = "write"
    OWN = "own"  # which deletes files too

    @property
    def writes(self) -> bool:
        return self is not StorageAccess.READ

    def covers(self, other: StorageAccess) -> bool:
        """Return whether its holder may do what another's may."""
        ranks = list(StorageAccess)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class TableScope:
    """What a credential opens: the location of a table, and the files that it shares with others.

    `base_paths` are the locations of the tables that a clone was made from. Of them the files that a manifest can name
    are opened, for reading, and nothing that lists them: who may read a clone need not be able to read its source.
    """

    location: str
    access: StorageAccess
    base_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """For whom a credential is made, as the logs of the storage have it: user, table, and the request's id."""

    user: str
    table: str
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Credential:
    """Storage options that end. Times are in seconds since 1970.

    Clients are told `expires_at`; the key in the options opens the storage until `ends_at`, which may be later.
    """

    options: Mapping[str, str] = field(repr=False)  # secrets
    issued_at: float
    expires_at: float
    ends_at: float

    @property
    def life(self) -> float:
        return self.expires_at - self.issued_at


class CredentialVendor(Protocol):
    """Makes credentials for the tables of one storage. Safe to use from several threads."""

    @property
    def life(self) -> int:
        """For how many seconds a key opens the storage at most."""

    @property
    def storage(self) -> Mapping[str, str]:
        """The server's own options of that storage, with its secrets."""

    def serves(self, location: str) -> bool:
        """Return whether credentials can be made for a location: it is of the vendor's kind of storage."""

    def issue(self, scope: TableScope, label: SessionLabel) -> Credential:
        """Make a credential. Raises ServiceUnavailableError, and InvalidInputError for a scope that cannot be made."""


def vendor_of(settings: CredentialSettings | None, storage: Mapping[str, str]) -> CredentialVendor | None:
    """Return the vendor that some settings ask for, None where they ask for none. Nothing is sent yet."""
    if settings is None:
        return None
    from lanceway.access.credentials.sts import StsVendor

    return StsVendor(settings, storage)
