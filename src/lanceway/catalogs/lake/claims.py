"""Claiming versions of managed tables: one claimant each, one after the other, built on what the lake has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from lance_namespace import CreateTableVersionRequest, CreateTableVersionResponse
from lance_namespace_urllib3_client.models.table_version import TableVersion
from sqlalchemy import Connection

from lanceway.catalogs.contract.requests import accept, table_id
from lanceway.catalogs.lake.managed_table import Manifests, OvertakenError
from lanceway.catalogs.lake.tables import LakeTables
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.tree.lookups import TableRow as Row
from lanceway.lake.versions import orphans, versions
from lanceway.lake.versions.versions import MAIN, Version, VersionClaim
from lanceway.tables.dataset import is_main
from lanceway.tables.versions import manifests
from lanceway.tables.versions import versions as stored

_ATTEMPTS = 10
_MET_AT_MOST = 10_000


class UnsettledError(ConcurrentModificationError):
    """The version before is claimed, and its manifest is not in its place yet."""


class LakeClaims(LakeTables):
    """The claim is the commit; copying the manifest follows."""

    def __init__(self, **properties: object) -> None:
        super().__init__(**properties)
        # Managed tables that were claimed from, as they were then. Whoever uses one makes sure of it.
        self._met: dict[Identifier, Row] = {}

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        return self.claim_table_version(request)

    def claim_table_version(
        self, request: CreateTableVersionRequest, *, trusted: bool = False
    ) -> CreateTableVersionResponse:
        """Carry out `create_table_version`; a `trusted` manifest is the lake's own, built on the version before."""
        request = accept(CreateTableVersionRequest, request)
        made = None if trusted else self._claimed_at_once(request)
        if made is None:
            table = self._managed(request.id, "create_table_version")
            if table is None:
                return super().create_table_version(request)
            made = self._claimed_with_care(table, request, trusted=trusted)
        return CreateTableVersionResponse(version=made.published())

    # -- at once ---------------------------------------------------------------------------------

    def _claimed_at_once(self, request: CreateTableVersionRequest) -> ClaimedVersion | None:
        """The version, unless anything at all is in the way: to find out what it is takes a transaction."""
        name = table_id(request.id, "create_table_version")
        row = self._met.get(name) or self._row(name)
        # That no other lake manages the table is asked once, with care.
        made = self._taken(row, request) if row.managed and row.id in self._lake.managing else None
        if made is None:
            self._met.pop(name, None)
        else:
            self._meet(name, row)
        return made

    def _taken(self, row: Row, request: CreateTableVersionRequest) -> ClaimedVersion | None:
        table = self._manifests(row)
        try:
            asked, manifest = asked_for(table, request)
        except LanceNamespaceError:  # of what the table was, perhaps, and is not any more
            return None
        if manifest is None or _is_misnumbered(asked):
            return None
        base = self._lake.published.known(row.id, asked.branch)
        made = self._lake.execute_one(
            versions.claim_in_one_statement, self._catalog.id, row, asked, by=self._user, base=base
        )
        return None if made is None else ClaimedVersion(table, made, manifest)

    def _meet(self, name: Identifier, row: Row) -> None:
        if len(self._met) >= _MET_AT_MOST:
            self._met.clear()
        self._met[name] = row

    # -- with care -------------------------------------------------------------------------------

    def _claimed_with_care(
        self, table: Manifests, request: CreateTableVersionRequest, *, trusted: bool
    ) -> ClaimedVersion:
        asked, manifest = asked_for(table, request)
        try:
            return ClaimedVersion(table, self._claimed_version(table, asked, trusted=trusted), manifest)
        except (NamespaceNotFoundError, TableNotFoundError):
            self._leave(table.table.location)  # dropped meanwhile: what was said of it in storage goes as well
            raise
        except ConcurrentModificationError:
            if not trusted:
                self._make_way(table, asked.branch, asked.version)
            raise

    def _claimed_version(self, table: Manifests, asked: VersionClaim, *, trusted: bool) -> Version:
        def claimed(connection: Connection) -> Version:
            return self._claim_version(connection, table, asked, trusted=trusted)

        for _ in range(_ATTEMPTS):
            with suppress(UnsettledError):
                return self._lake.transact(claimed)
            table.settle()
        return self._lake.transact(claimed)

    def _claim_version(
        self, connection: Connection, table: Manifests, asked: VersionClaim, *, trusted: bool = False
    ) -> Version:
        """Claim a version in a transaction. Raises UnsettledError as long as the one before it is not copied.

        A writer builds a manifest on what it finds in storage under the number before. If a stray was there once,
        nobody can tell what this one was built on: it is refused, whoever it is, unless it is the lake itself.
        """
        if _is_misnumbered(asked):
            raise _misnumbered(table, asked)
        row = table.held(connection)
        before = versions.made_before(connection, row, asked)
        if before is not None:
            return before
        if asked.size is None:
            raise _unwritten(table, asked)
        claimed = versions.claim(connection, row, asked, by=self._user)
        # Looked at after the claim: only now is it certain that the version before is there to be seen.
        base = orphans.base(connection, row.id, asked.branch, asked.version)
        if base is None or (base.copied and (trusted or not base.strayed)):
            return claimed
        if not base.copied:
            raise UnsettledError(f"The latest version of {table.table.name} is still being written. Try again.")
        raise ConcurrentModificationError(
            f"Version {asked.version} of {table.table.name} cannot be claimed: it may have been built on what was "
            "written behind the lake. Load the latest version and commit again."
        )

    def _make_way(self, table: Manifests, branch: str, refused: int) -> None:
        """After a refused claim: see to it that the writer succeeds when it tries again.

        A stray that it followed too far is moved aside. A number that is in doubt is taken by the lake, and the
        writer finds a version that it gets along with, built on what the lake has.
        """
        latest = self._lake.read(versions.latest, table.row.id, branch) or 0
        base = self._lake.read(orphans.base, table.row.id, branch, refused)
        if refused > latest + 1:
            table.sweep(branch, above=latest)
        elif refused == latest + 1 and base is not None and base.strayed:
            with suppress(LanceNamespaceError):  # somebody else has taken it, or whoever comes next will
                stored.bar(replace(table.table, client=_Trusted(self, refused)), branch)


class _Trusted(Wrapper):
    """The lake as its own client, for one version: the one that follows what the lake has just opened.

    Any other number would mean that pylance has met something in storage and built on that.
    """

    def __init__(self, lake: LakeClaims, version: int) -> None:
        super().__init__(lake)
        self._lake, self._version = lake, version

    def _forward(self, operation: str, request: Any, *data: Any) -> Any:
        if operation == "create_table_version" and request.version == self._version:
            return self._lake.claim_table_version(request, trusted=True)
        return super()._forward(operation, request, *data)


def branch_of(given: str | None) -> str:
    """The branch that a request means. Raises InvalidInputError for what can be none."""
    if given is None or is_main(given):
        return MAIN
    manifests.check_branch(given)
    return given


@dataclass(frozen=True, slots=True)
class ClaimedVersion:
    """A version that is a table's, and the manifest that was claimed if it was there to be read."""

    table: Manifests
    version: Version
    manifest: bytes | None = None

    def published(self) -> TableVersion:
        """As the contract has it, copied if storage allows. The claim stands in any case; who meets it copies it."""
        try:
            self.table.settled(self.version, self.manifest)
        except OvertakenError:  # the claim does not stand
            raise
        except LanceNamespaceError:
            pass
        return self.table.answer(self.version)


def asked_for(table: Manifests, request: CreateTableVersionRequest) -> tuple[VersionClaim, bytes | None]:
    """What a writer claims, and the manifest, which may be there no more if the claim was made before."""
    branch, scheme = branch_of(request.branch), manifests.scheme(request.naming_scheme)
    staging = manifests.staged(table.table, request.manifest_path, branch)
    manifest = table.table.store().read(staging)
    asked = VersionClaim(
        request.version,
        staging,
        manifests.key(request.version, branch, scheme=scheme),
        branch=branch,
        size=None if manifest is None else len(manifest),
        e_tag=request.e_tag,
        naming_scheme=scheme,
        metadata=request.metadata or {},
    )
    return asked, manifest


def _is_misnumbered(asked: VersionClaim) -> bool:
    """A manifest says inside which version it is: under another number it would be none."""
    return manifests.staged_version(asked.staging_path) not in (None, asked.version)


def _misnumbered(table: Manifests, asked: VersionClaim) -> ConcurrentModificationError:
    return ConcurrentModificationError(
        f"Version {asked.version} of {table.table.name} cannot be claimed with a manifest for version "
        f"{manifests.staged_version(asked.staging_path)}. Load the latest version and commit again."
    )


def _unwritten(table: Manifests, asked: VersionClaim) -> InvalidInputError:
    return InvalidInputError(
        f"create_table_version: there is no manifest at {manifests.path_of(table.table, asked.staging_path)!r}. "
        "Write it before its version is claimed."
    )
