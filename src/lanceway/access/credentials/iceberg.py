"""How Iceberg clients reach the files of a table: by credentials that were made for them, or by signed requests.

Both are given for the location that the lake has recorded, never for one that metadata names: who may write a table
may write its metadata too. A table that is staged has no record yet. Its maker gets credentials if the lake chose the
location, and signatures as long as nothing else is there, by a note that only this caller can use for this name.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from sqlalchemy import Connection

from lanceway.access.credentials.entitlement import StorageEntitlement
from lanceway.access.credentials.options import VendedOptions, find_option
from lanceway.access.credentials.s3_requests import UnsignedRequest
from lanceway.access.credentials.signing import RequestSigner, SignedRequest
from lanceway.access.credentials.vending import Vending
from lanceway.access.credentials.vendor import StorageAccess
from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import ICEBERG_TABLE
from lanceway.lake.tree import catalogs, locations, lookups
from lanceway.tables.storage.store import EXPIRES
from lanceway.wire import iceberg

STAGED = "staged"  # the parameter of a request to sign that has the note
_NOTE_SECONDS = 24 * 60 * 60
_LONGEST_NOTE = 16_384
_NO_SIGNER = (
    "This server signs no requests to the storage of this table: it signs those to S3, for Iceberg tables of the lake. "
    "Use vended credentials, or credentials of your own."
)
_NAMES: Mapping[str, tuple[str, ...]] = {
    "aws_access_key_id": ("s3.access-key-id",),
    "aws_secret_access_key": ("s3.secret-access-key",),
    "aws_session_token": ("s3.session-token",),
    EXPIRES: ("s3.session-token-expires-at-ms",),
}


@dataclass(frozen=True, slots=True)
class IcebergStorage:
    """What a client is told of the storage of a table: the configuration, and credentials by the prefix they are for.

    Both are empty for one who asked for nothing, or may have nothing.
    """

    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    credentials: Sequence[tuple[str, Mapping[str, str]]] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class IcebergAccess:
    """The access of one caller to the storage of Iceberg tables. `require` asks for a right, by rule and names."""

    entitlement: StorageEntitlement
    vending: Vending
    store: LakeStore = field(repr=False)
    metalake: str
    user: str
    require: Callable[[str, Sequence[str]], None]

    def storage(
        self,
        id_: Sequence[str],
        loaded: LoadedIceberg,
        delegation: frozenset[str],
        request_id: str = "",
        *,
        optional: bool = False,
    ) -> IcebergStorage:
        """Return what a client is told that has just loaded or made a table, and supports these ways of access.

        Raises ServiceUnavailableError if credentials cannot be made now, and what is so if the table or the right to it
        has gone since, unless they are `optional`: what was done before must not look as if it had failed.
        """
        try:
            return self._storage(id_, loaded, delegation, request_id)
        except (
            InvalidInputError,
            NamespaceNotFoundError,
            PermissionDeniedError,
            ServiceUnavailableError,
            TableNotFoundError,
        ):
            if not optional:
                raise
            return IcebergStorage()

    def _storage(
        self, id_: Sequence[str], loaded: LoadedIceberg, delegation: frozenset[str], request_id: str
    ) -> IcebergStorage:
        location, is_staged = self._placed(id_, loaded)
        if is_staged:
            self.require("create table", id_[:-1])  # an answer may be given again, later
        if iceberg.VENDED in delegation and self.entitlement.is_vended(id_, location):
            options = (
                self._staged_credentials(id_, location, request_id)
                if is_staged
                else self.entitlement.credentials(id_, location, request_id)
            )
            if options is None:
                return IcebergStorage()
            config = _vended_config(options) | ({} if is_staged else _renewal(id_))
            return IcebergStorage(config, [(location, config)])
        signer = self._signer(id_, location, delegation)
        if signer is not None and not loaded.is_companion:
            if not is_staged and self.entitlement.access(id_) is None:
                return IcebergStorage()
            note = self._note(id_, location) if is_staged else None
            return IcebergStorage(_signing_config(signer, id_, note))
        return IcebergStorage()

    def is_told(self, id_: Sequence[str], location: str, delegation: frozenset[str]) -> bool:
        """Return whether a client with these ways of access may be told something of the storage at a location."""
        if iceberg.VENDED in delegation and self.entitlement.is_vended(id_, location):
            return True
        return self._signer(id_, location, delegation) is not None

    def _signer(self, id_: Sequence[str], location: str, delegation: frozenset[str]) -> RequestSigner | None:
        """Return what signs requests to a location for a client that can use it."""
        signer = self.vending.signer(canonical(id_[0])) if iceberg.SIGNING in delegation else None
        return signer if signer is not None and signer.serves(location) else None

    def sign(self, id_: Sequence[str], request: UnsignedRequest, note: str | None = None) -> SignedRequest:
        """Sign a request to the storage of a table, if the caller may do now what it does.

        Raises PermissionDeniedError if not, and TableNotFoundError. With the note of a staged table that is not there
        yet, its maker may do everything at its location.
        """
        staged = None if note is None else self._staged_location(id_, note)
        location = self._recorded(id_)
        if location is None and staged is not None:
            self.require("create table", id_[:-1])
            self._refuse_taken(staged)
            location = staged
            access: StorageAccess | None = StorageAccess.OWN
        else:
            self.require("read table", id_)
            if location is None:
                raise _missing(id_)
            access = self.entitlement.access(id_)
        signer = self.vending.signer(canonical(id_[0]))
        if signer is None or not signer.serves(location):
            raise UnsupportedOperationError(_NO_SIGNER)
        self.entitlement.refuse_shared(location)
        action = signer.read(request, location)
        if access is None or not access.covers(action.access):
            raise PermissionDeniedError(
                f"This request to the storage is not signed: it needs the right to {action.access} this table, which "
                "you do not have. Reading takes SELECT_TABLE, writing MODIFY_TABLE too, and deleting its ownership."
            )
        return signer.sign(action, request)

    # -- where a table is ------------------------------------------------------------------------

    def _placed(self, id_: Sequence[str], loaded: LoadedIceberg) -> tuple[str, bool]:
        """Return the location that is recorded of a table, and whether it is only staged."""
        if loaded.is_companion:
            return loaded.location, False
        location = self._recorded(id_)
        if location is not None:
            return location, False
        if loaded.metadata_location is not None:
            raise _missing(id_)  # it was dropped or renamed since
        return loaded.location, True

    def _recorded(self, id_: Sequence[str]) -> str | None:
        return self.store.read(_location, self.metalake, canonical(id_[0]), Identifier(id_[1:]))

    # -- staged tables ---------------------------------------------------------------------------

    def _staged_credentials(self, id_: Sequence[str], location: str, request_id: str) -> VendedOptions | None:
        """Return credentials for the location of a staged table, if the lake chose it.

        They live on when the table is never made, and another user could choose the same location then.
        """
        if not self.store.read(_is_lakes_choice, location):
            return None
        self._refuse_taken(location)
        return self.entitlement.owner_credentials(id_, location, request_id)

    def _refuse_taken(self, location: str) -> None:
        self.store.transact(locations.claim, location)  # which reserves nothing beyond its own end

    def _note(self, id_: Sequence[str], location: str) -> str:
        """Return a note that a caller may write to the location of a table that is not there yet."""
        self._refuse_taken(location)
        text = json.dumps([location, int(time.time()) + _NOTE_SECONDS])
        sealed = self._cipher().encrypt(text.encode(), self._bound_to(id_))
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def _staged_location(self, id_: Sequence[str], note: str) -> str | None:
        """Return the location that a note is for, None if its time is over. What there is makes no difference."""
        try:
            if len(note) > _LONGEST_NOTE:
                raise ValueError("too long")
            sealed = base64.b64decode(note + "=" * (-len(note) % 4), altchars=b"-_", validate=True)
            location, end = json.loads(self._cipher().decrypt(sealed, self._bound_to(id_)))
        except (binascii.Error, ValueError, InvalidTag) as error:
            raise PermissionDeniedError(
                f"The parameter {STAGED} is not what this server gave to you for this table. Stage the table again."
            ) from error
        return str(location) if time.time() < end else None

    def _cipher(self) -> AESSIV:
        return AESSIV(self.store.page_key)

    def _bound_to(self, id_: Sequence[str]) -> list[bytes]:
        parts = ("staged table", self.user, canonical(id_[0]), *id_[1:])
        return [part.encode(errors="surrogatepass") for part in parts]


def _missing(id_: Sequence[str]) -> TableNotFoundError:
    return lookups.not_found(Identifier(id_), None)


def _location(connection: Connection, metalake: str, catalog: str, table: Identifier) -> str | None:
    try:
        row = lookups.find(connection, catalogs.load(connection, metalake, catalog).id, table, kind=ICEBERG_TABLE)
    except (NamespaceNotFoundError, TableNotFoundError):
        return None
    return row.location


def _is_lakes_choice(connection: Connection, location: str) -> bool:
    return locations.is_chosen(location, locations.roots(connection))


# -- what clients are told -----------------------------------------------------------------------


def _vended_config(options: VendedOptions) -> dict[str, str]:
    config = {name: options[key] for key, names in _NAMES.items() if key in options for name in names}
    return config | _place(find_option(options, "endpoint", "endpoint_url"), find_option(options, "region"))


def _signing_config(signer: RequestSigner, id_: Sequence[str], note: str | None) -> dict[str, str]:
    address = signer.address
    endpoint = None if address.virtual else f"{address.scheme}://{address.hosts[0]}"
    path = _path("sign_request", id_) + (f"?{STAGED}={note}" if note else "")
    return {
        "s3.remote-signing-enabled": "true",
        "s3.signer": "S3V4RestSigner",  # as pyiceberg calls it
        # Below the address that the client has of the catalog. Java reads the second name from 1.11 on.
        "s3.signer.endpoint": path,
        "signer.endpoint": path,
        **_place(endpoint, address.region),
    }


def _place(endpoint: str | None, region: str | None) -> dict[str, str]:
    place = {} if region is None else {"client.region": region, "s3.region": region}
    return place if endpoint is None else {**place, "s3.endpoint": endpoint, "s3.path-style-access": "true"}


def _renewal(id_: Sequence[str]) -> dict[str, str]:
    """Return where Java's clients get credentials again, before theirs end."""
    return {"client.refresh-credentials-endpoint": _path("load_credentials", id_)}


def _path(operation: str, id_: Sequence[str]) -> str:
    prefix = quote(canonical(id_[0]), safe="")
    return iceberg.path(iceberg.BY_OPERATION[operation], prefix, id_[1:-1], id_[-1]).lstrip("/")
