"""Vending: which credentials a client gets with a description of a table, and for how long one is kept.

A credential is kept for whom it was made, by table and access, until half of its life is over, and is given again as
often as it is asked for. Each answer names another end, a little before the real one, so that the workers of one user
do not all renew at once.

What is mounted while the server runs comes, changes and goes with the requests that notice it. A credential is given
again only while the vendor that made it is the catalog's own: not after a change of the catalog's settings.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

from lanceway.access.credentials.checks import LAKE, StorageSite, site_of, sites_of
from lanceway.access.credentials.options import VendedOptions
from lanceway.access.credentials.signing import RequestSigner
from lanceway.access.credentials.vendor import (
    Credential,
    CredentialVendor,
    SessionLabel,
    StorageAccess,
    TableScope,
    vendor_of,
)
from lanceway.catalogs.federated.catalog import FederatedCatalog, Mount, canonical
from lanceway.catalogs.federated.made import DIRECTORY, MadeMount, no_credentials
from lanceway.config import ServerSettings
from lanceway.errors import InvalidInputError
from lanceway.tables.storage.store import EXPIRES, local_path

REFRESH = "refresh_offset_millis"
# Of the life of a credential: how far before its end a client is told that it ends, at most; and how long before that
# it renews. A credential that is given again has half of its life left, which is more than both.
_JITTER, _EARLY = 0.1, 0.1
_KEPT = 0.5
_MOST_KEPT = 10_000
_LOCKS = 64

NO_VENDOR = (
    "This server makes no credentials for the storage of this table. Read and write it through the server: by "
    "/lance/v1/table/{id}/query and /insert, by lanceway.connect('rest', …), or by lancedb's remote tables; or bring "
    "credentials of your own."
)
NO_ACCESS = (
    "Credentials for the storage of this table are made for those who may read it (SELECT_TABLE). Work through the "
    "server, by /lance/v1/table/{id}/insert and the like."
)
NOT_NOW = "No credentials could be made now for the storage of this table. Work through the server, or ask again."


@dataclass(frozen=True, slots=True)
class CredentialHolder:
    """Who a credential is for, and for what. Two requests that agree in all of it get the same one."""

    user: str
    table: tuple[str, ...]  # the catalog's name first
    location: str
    access: StorageAccess


class Vending:
    """The credentials of one server: vendors by catalog, and what they have made. Safe to use from several threads."""

    def __init__(
        self,
        lake: CredentialVendor | None = None,
        mounted: Mapping[str, CredentialVendor | None] | None = None,
        sites: Sequence[StorageSite] = (),
        mounts: Callable[[], Mapping[str, Mount]] = dict,
    ) -> None:
        self._lake, self._mounted, self._mounts = lake, MappingProxyType(dict(mounted or {})), mounts
        self._sites = {canonical(site.name): site for site in sites}
        lakes = self._sites.get(LAKE)
        self._signer = None if lakes is None else RequestSigner.of(lakes.options, lakes.location)
        # Of catalogs that were mounted while the server runs. One that is altered is another mount.
        self._made: Mapping[str, tuple[Mount, CredentialVendor | None]] = {}
        self._kept: dict[CredentialHolder, tuple[CredentialVendor, Credential]] = {}
        self._locks = tuple(threading.Lock() for _ in range(_LOCKS))

    @classmethod
    def from_settings(cls, settings: ServerSettings, tree: FederatedCatalog) -> Self:
        """Return the vending of a server. Raises InvalidInputError for a storage that none can be made for."""
        mounted: dict[str, CredentialVendor | None] = {}
        mounts = tree.configured
        for name, section in settings.catalogs.items():
            if section.credentials is not None and mounts[canonical(name)].takes != DIRECTORY:
                raise no_credentials(f"[catalogs.{name}]", section.type)
            mounted[canonical(name)] = vendor_of(section.credentials, section.storage)
        vendor = vendor_of(settings.credentials, settings.storage)
        return cls(vendor, mounted, sites_of(settings), tree.pinned().mounts)

    @property
    def lake_life(self) -> int:
        """For how many seconds a key to a table of the lake lives; 0 where none are made."""
        return 0 if self._lake is None else self._lake.life

    def vendor(self, catalog: str) -> CredentialVendor | None:
        """Return what makes credentials for the tables of a catalog.

        The lake's keys are not for the storage of a mounted one. Raises SecretsUnavailableError where the keys of one
        that is in the database cannot be decrypted here.
        """
        if catalog in self._mounted:
            return self._mounted[catalog]
        mount = self._mounts().get(catalog)
        return self._lake if mount is None else self._vendor_of(mount)

    def _vendor_of(self, mount: Mount) -> CredentialVendor | None:
        known = self._made.get(mount.name)
        if known is None or known[0] is not mount:
            known = mount, _made_vendor(mount)
            mounts = self._mounts()
            kept = {name: row for name, row in self._made.items() if mounts.get(name) is row[0]}
            self._made = {**kept, mount.name: known}
        return known[1]

    def site(self, catalog: str) -> StorageSite:
        """Return where the tables of a catalog lie. Raises InvalidInputError where only its service knows."""
        mount = self._mounts().get(catalog)
        if isinstance(mount, MadeMount):
            site = site_of(catalog, mount.section())
        else:
            site = self._sites.get(LAKE if mount is None and catalog not in self._mounted else catalog)
        if site is None:
            raise InvalidInputError(
                f"The service of {catalog!r} chooses where its tables are stored: there is no folder to check."
            )
        return site

    def signer(self, catalog: str) -> RequestSigner | None:
        """Return what signs requests for the tables of a catalog: of the lake's own, which keep Iceberg tables."""
        return None if catalog in self._mounted or catalog in self._mounts() else self._signer

    def serves(self, catalog: str, location: str) -> bool:
        """Return whether credentials are made for a table."""
        vendor = self.vendor(catalog)
        return vendor is not None and vendor.serves(location)

    def at_hand(self, holder: CredentialHolder) -> VendedOptions | None:
        """Return a credential that was made before and has enough of its life left. It never waits."""
        kept = self._kept.get(holder)
        if kept is None or kept[0] is not self.vendor(holder.table[0]):
            return None
        credential = kept[1]
        return None if time.time() >= credential.issued_at + _KEPT * credential.life else _answer(credential)

    def vend(
        self,
        holder: CredentialHolder,
        request_id: str = "",
        base_paths: Callable[[str], tuple[str, ...]] = lambda location: (),
    ) -> VendedOptions:
        """Return a credential, made now unless there is one at hand. Of many who ask at once, one makes it.

        `base_paths` finds where else a table has files, by its location; it is asked only if one is made.

        Raises ServiceUnavailableError, and InvalidInputError for a location that none can be made for.
        """
        vendor = self.vendor(holder.table[0])
        if vendor is None:
            raise InvalidInputError(NO_VENDOR)
        with self._locks[hash(holder) % _LOCKS]:
            options = self.at_hand(holder)
            if options is not None:
                return options
            self.refuse_sites(holder.location)
            scope = TableScope(holder.location, holder.access, base_paths(holder.location))
            credential = vendor.issue(scope, SessionLabel(holder.user, "/".join(holder.table), request_id))
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[holder] = vendor, credential
        return _answer(credential)

    def refuse_sites(self, location: str) -> None:
        """Refuse a location at or below which the tables of a whole catalog lie. Raises InvalidInputError."""
        roots = [site.location for site in self._sites.values()]
        roots += [root for mount in self._mounts().values() for root in mount.roots]
        if any(f"{root.rstrip('/')}/".startswith(f"{location.rstrip('/')}/") for root in roots):
            raise InvalidInputError(
                f"No credentials can be made for {location}: the tables of a catalog are stored below it."
            )


def refusal(location: str | None, *, served: bool) -> str | None:
    """Return what a client is told that asked for credentials and gets none; None where it needs none to be told."""
    if not location or local_path(location) is not None:
        return None  # the permissions of a folder say who opens it
    return NO_ACCESS if served else NO_VENDOR


def _made_vendor(mount: Mount) -> CredentialVendor | None:
    """Return what makes credentials for a catalog that was mounted while the server runs; for a disabled one none."""
    if not isinstance(mount, MadeMount) or mount.row.disabled:
        return None
    section = mount.section()
    return vendor_of(section.credentials, section.storage)


def _answer(credential: Credential) -> VendedOptions:
    early = random.random() * _JITTER * credential.life
    return VendedOptions(
        {
            **credential.options,
            EXPIRES: str(int((credential.expires_at - early) * 1000)),
            REFRESH: str(max(1, int(credential.life * _EARLY * 1000))),
        }
    )
