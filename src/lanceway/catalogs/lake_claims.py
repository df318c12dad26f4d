"""Claiming versions of managed tables: one claimant each, one after the other, built on what the lake has."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from lance_namespace import CreateTableVersionRequest, CreateTableVersionResponse
from sqlalchemy import Connection

from lanceway.catalogs.lake_manifests import Manifests
from lanceway.catalogs.lake_tables import LakeTables
from lanceway.catalogs.requests import accept
from lanceway.catalogs.wrapper import Wrapper
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableBranchNotFoundError,
    TableVersionNotFoundError,
)
from lanceway.lake import strays, versions
from lanceway.lake.versions import MAIN, Claim, Version
from lanceway.tables import manifests
from lanceway.tables import versions as stored
from lanceway.tables.dataset import is_main

_ATTEMPTS = 10


class UnsettledError(ConcurrentModificationError):
    """The version before is claimed, and its manifest is not in its place yet."""


class LakeClaims(LakeTables):
    """The claim is the commit; copying the manifest follows."""

    def create_table_version(self, request: CreateTableVersionRequest) -> CreateTableVersionResponse:
        return self.claim_table_version(request)

    def claim_table_version(
        self, request: CreateTableVersionRequest, *, trusted: bool = False
    ) -> CreateTableVersionResponse:
        """Carry out `create_table_version`; a `trusted` manifest is the lake's own, built on the version before."""
        request = accept(CreateTableVersionRequest, request)
        table = self._managed(request.id, "create_table_version")
        if table is None:
            return super().create_table_version(request)
        asked = asked_for(table, request)
        try:
            claimed = self._claimed_version(table, asked, trusted=trusted)
        except ConcurrentModificationError:
            if not trusted:
                self._make_way(table, asked.branch, asked.version)
            raise
        return CreateTableVersionResponse(version=table.answer(published(table, claimed)))

    def _claimed_version(self, table: Manifests, asked: Claim, *, trusted: bool) -> Version:
        def claimed(connection: Connection) -> Version:
            return self._claim_version(connection, table, asked, trusted=trusted)

        for _ in range(_ATTEMPTS):
            with suppress(UnsettledError):
                return self._lake.run(claimed)
            table.settle()
        return self._lake.run(claimed)

    def _claim_version(
        self, connection: Connection, table: Manifests, asked: Claim, *, trusted: bool = False
    ) -> Version:
        """Claim a version in a transaction. Raises UnsettledError as long as the one before it is not copied.

        A writer builds a manifest on what it finds in storage under the number before. If a stray was there once,
        nobody can tell what this one was built on: it is refused, whoever it is, unless it is the lake itself.
        """
        _refuse_other_number(table, asked)
        row = table.held(connection)
        claimed = versions.claim(connection, row, asked, by=self._user)
        # Looked at after the claim: only now is it certain that the version before is there to be seen.
        base = strays.base(connection, row.id, asked.branch, asked.version)
        if base is None or (base.copied and (trusted or not base.strayed)) or _is_claimed(table, asked):
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
        latest = self._lake.read(lambda connection: versions.latest(connection, table.row.id, branch)) or 0
        base = self._lake.read(lambda connection: strays.base(connection, table.row.id, branch, refused))
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
    return MAIN if is_main(given) else str(given)


def asked_for(table: Manifests, request: CreateTableVersionRequest) -> Claim:
    """What a writer claims. Refuses a manifest that is not there, unless it is there no more."""
    branch, scheme = branch_of(request.branch), manifests.scheme(request.naming_scheme)
    staging = manifests.staged(table.table, request.manifest_path, branch)
    staged = table.table.store().head(staging)
    asked = Claim(
        request.version,
        staging,
        manifests.key(request.version, branch, scheme=scheme),
        branch=branch,
        size=staged.size if staged else None,
        e_tag=request.e_tag,
        naming_scheme=scheme,
        metadata=request.metadata or {},
    )
    if staged is None and not _is_claimed(table, asked):
        raise InvalidInputError(
            f"create_table_version: there is no manifest at {request.manifest_path!r}. Write it before its version "
            "is claimed."
        )
    return asked


def _refuse_other_number(table: Manifests, asked: Claim) -> None:
    """A manifest says inside which version it is: under another number it would be none."""
    meant = manifests.staged_version(asked.staging_path)
    if meant is not None and meant != asked.version:
        raise ConcurrentModificationError(
            f"Version {asked.version} of {table.table.name} cannot be claimed with a manifest for version {meant}. "
            "Load the latest version and commit again."
        )


def _is_claimed(table: Manifests, asked: Claim) -> bool:
    """Whether the same claim was made before, and acknowledged, as far as others can see."""
    try:
        found = table.lake.read(
            lambda connection: versions.describe(connection, table.row, asked.version, branch=asked.branch)
        )
    except (TableBranchNotFoundError, TableVersionNotFoundError):
        return False
    return found.staging_path == asked.staging_path


def published(table: Manifests, claimed: Version) -> Version:
    """A claimed version, copied if storage allows. The claim stands in any case; whoever meets it copies it."""
    with suppress(LanceNamespaceError):
        table.settled(claimed)
    return claimed
