"""Claiming versions of managed tables: one claimant each, one after the other, built on what the lake has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from lance_namespace import CreateTableVersionRequest, CreateTableVersionResponse
from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.lake.connection import LakeConnection
from lanceway.catalogs.lake.managed_table import Manifests, OvertakenError
from lanceway.catalogs.lake.removals import Removals
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.catalogs.lake.versions import branch_of
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.tree.lookups import TableRow
from lanceway.lake.versions import checks, refs, versions
from lanceway.lake.versions.versions import Version, VersionClaim
from lanceway.tables import bases
from lanceway.tables.versions import manifests
from lanceway.tables.versions import versions as stored

_ATTEMPTS = 10
_KNOWN_AT_MOST = 10_000


class UnpublishedError(ConcurrentModificationError):
    """The version before is claimed, and its manifest is not at its final path yet."""


@dataclass(frozen=True, slots=True)
class LakeClaims:
    """Claims of versions: the claim is the commit, and publishing the manifest follows.

    There are two ways to claim. The fast one is a single conditional INSERT, which succeeds only where nothing at all
    is in doubt. Where it does not, a transaction finds out why, and repairs what can be repaired.
    """

    lake: LakeConnection
    # Managed tables that were claimed from, with their rows as they were then. They may be out of date: the fast
    # claim compares them with the database in its one statement, and claims nothing if they are.
    known_tables: dict[Identifier, TableRow]

    # -- in one statement ------------------------------------------------------------------------

    def claim_fast(self, request: CreateTableVersionRequest) -> ClaimedVersion | None:
        """Claim a version in one statement; None if anything is in the way, which takes a transaction to find out."""
        name = table_id(request.id, "create_table_version")
        row = self.known_tables.get(name) or LakeTables(self.lake).row(name)
        # That no other lake manages the table is checked once for each process, by the claim in a transaction.
        claimed = self._claim_fast(row, request) if row.managed and row.id in self.lake.store.managing else None
        if claimed is None:
            # What is remembered may be the reason, and nothing here tells: the next claim reads the row.
            self.known_tables.pop(name, None)
        else:
            self._remember_table(name, row)
        return claimed

    def _claim_fast(self, row: TableRow, request: CreateTableVersionRequest) -> ClaimedVersion | None:
        table = self.lake.manifests(row)
        try:
            claim, manifest = requested_claim(table, request)
        except LanceNamespaceError:  # the row may be out of date: the claim in a transaction says what is wrong
            return None
        # Without its manifest the claim may have been made before, and its answer lost on the way to the writer.
        if manifest is None or _is_misnumbered(claim):
            return None
        # What this process has published counts as published, although the row may not be flagged yet: otherwise one
        # writer that commits again and again would wait for its own flags.
        base = self.lake.store.published.known(row.id, claim.branch)
        version = self.lake.store.execute_one(
            versions.claim_in_one_statement, self.lake.catalog.id, row, claim, by=self.lake.user, base=base
        )
        return None if version is None else ClaimedVersion(table, version, manifest)

    def _remember_table(self, name: Identifier, row: TableRow) -> None:
        if len(self.known_tables) >= _KNOWN_AT_MOST:
            self.known_tables.clear()
        self.known_tables[name] = row

    # -- in a transaction ------------------------------------------------------------------------

    def claim_in_transaction(
        self, table: Manifests, request: CreateTableVersionRequest, *, trusted: bool = False
    ) -> ClaimedVersion:
        """Claim a version; a `trusted` manifest is the lake's own, known to be built on the version before."""
        claim, manifest = requested_claim(table, request, trusted=trusted)
        try:
            return ClaimedVersion(table, self._claim_with_retries(table, claim, trusted=trusted), manifest)
        except (NamespaceNotFoundError, TableNotFoundError):
            # Dropped in between. `require_manager` may have marked its folder as managed since: that goes as well.
            Removals(self.lake).unmark(table.table.location)
            raise
        except ConcurrentModificationError:
            if not trusted:
                self.unblock_writer(table, claim.branch, claim.version)
            raise

    def _claim_with_retries(self, table: Manifests, claim: VersionClaim, *, trusted: bool) -> Version:
        for _ in range(_ATTEMPTS):
            with suppress(UnpublishedError):
                return self.lake.store.transact(self.claim_row, table, claim, trusted=trusted)
            # The claimant before may have crashed: any process can publish its manifest, outside of a transaction.
            table.publish_pending()
        # Once more, not suppressed: the writer is told that the version before is not there.
        return self.lake.store.transact(self.claim_row, table, claim, trusted=trusted)

    def claim_row(
        self, connection: Connection, table: Manifests, claim: VersionClaim, *, trusted: bool = False
    ) -> Version:
        """Claim a version in a transaction. Raises UnpublishedError as long as the one before is not published.

        A writer builds a manifest on what it finds in storage under the number before. If an orphan manifest was there
        once, there is no telling what this one was built on: it is refused, unless it is the lake's own.
        """
        if _is_misnumbered(claim):
            raise _misnumbered(table, claim)
        row = table.hold(connection)
        earlier = versions.made_before(connection, row, claim)
        if earlier is not None:
            return earlier  # the answer was lost on its way, and the writer asks again
        if claim.size is None:
            raise _unwritten(table, claim)
        version = versions.claim(connection, row, claim, by=self.lake.user)
        # Read after the claim: only now is it certain that the version before is there to be seen.
        base = checks.base(connection, row.id, claim.branch, claim.version)
        if base is None:
            refs.ensure_branch(connection, row.id, claim.branch, claim.version, claim.size, by=self.lake.user)
        if base is None or (base.copied and (trusted or not base.strayed)):
            return version
        if not base.copied:
            raise UnpublishedError(f"The latest version of {table.table.name} is still being written. Try again.")
        raise ConcurrentModificationError(
            f"Version {claim.version} of {table.table.name} cannot be claimed: it may have been built on what was "
            "written behind the lake. Load the latest version and commit again."
        )

    def unblock_writer(self, table: Manifests, branch: str, refused: int) -> None:
        """Make sure that a writer whose claim was refused succeeds when it tries again.

        pylance looks for the latest version in storage. Orphans that it followed too far are quarantined. A number
        that is in doubt is taken by the lake itself, with a version that changes nothing: the writer then finds a
        version that was certainly built on what the lake has, and does not conflict with it.
        """
        latest = self.lake.store.read(versions.latest, table.row.id, branch) or 0
        base = self.lake.store.read(checks.base, table.row.id, branch, refused)
        if refused > latest + 1:
            # It has counted orphans as versions: without them it finds the latest one, and claims the next.
            table.quarantine_orphans(branch, above=latest)
        elif refused == latest + 1 and base is not None and base.strayed:
            with suppress(LanceNamespaceError):  # another writer has taken the number, or the next one will
                stored.bar(replace(table.table, client=_TrustedClient(self, refused)), branch)

    def claim_trusted(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse | None:
        """Claim a version for the lake itself; None if the table is no longer managed."""
        table = LakeTables(self.lake).managed(request.id, "create_table_version")
        if table is None:
            return None
        claimed = self.claim_in_transaction(table, request, trusted=True)
        return CreateTableVersionResponse(version=claimed.publish())


class _TrustedClient(Wrapper):
    """The lake as its own client, for one version: the one that follows what the lake has just opened.

    Any other number would mean that pylance has found something in storage and built on that.
    """

    def __init__(self, claims: LakeClaims, version: int) -> None:
        super().__init__(claims.lake.client)
        self._claims = claims
        self._version = version

    def _forward(self, operation: str, request: Any, *data: Any) -> Any:
        if operation == "create_table_version" and request.version == self._version:
            response = self._claims.claim_trusted(request)
            if response is not None:
                return response
        return super()._forward(operation, request, *data)


@dataclass(frozen=True, slots=True)
class ClaimedVersion:
    """A version that was claimed, and its manifest if that was there to be read."""

    table: Manifests
    version: Version
    manifest: bytes | None = None

    def publish(self) -> TableVersion:
        """Return the version as the contract has it, its manifest published if storage allows.

        The claim stands if it does not: the next process that reads the row publishes the manifest.
        """
        try:
            self.table.published(self.version, self.manifest)
        except OvertakenError:  # the claim does not stand
            raise
        except LanceNamespaceError:
            pass
        return self.table.answer(self.version)


def requested_claim(
    table: Manifests, request: CreateTableVersionRequest, *, trusted: bool = False
) -> tuple[VersionClaim, bytes | None]:
    """Return what a writer claims, and its manifest: None if that is gone, as after the same claim made before.

    Raises InvalidInputError for one that leads outside of the table's location, where that is not allowed.
    """
    branch, scheme = branch_of(request.branch), manifests.scheme(request.naming_scheme)
    staging = manifests.staged(table.table, request.manifest_path, branch)
    manifest = table.table.store().read(staging)
    if manifest is not None and not trusted:
        bases.check_manifest(table.table, manifest)
    claim = VersionClaim(
        request.version,
        staging,
        manifests.key(request.version, branch, scheme=scheme),
        branch=branch,
        size=None if manifest is None else len(manifest),
        e_tag=request.e_tag,
        naming_scheme=scheme,
        metadata=request.metadata or {},
    )
    return claim, manifest


def _is_misnumbered(claim: VersionClaim) -> bool:
    """Return whether a manifest is for another version: it says inside which, and is useless under another number."""
    return manifests.staged_version(claim.staging_path) not in (None, claim.version)


def _misnumbered(table: Manifests, claim: VersionClaim) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"Version {claim.version} of {table.table.name} cannot be claimed with a manifest for version "
        f"{manifests.staged_version(claim.staging_path)}. Load the latest version and commit again."
    )


def _unwritten(table: Manifests, claim: VersionClaim) -> InvalidInputError:
    return InvalidInputError(
        f"create_table_version: there is no manifest at {manifests.path_of(table.table, claim.staging_path)!r}. "
        "Write it before its version is claimed."
    )
