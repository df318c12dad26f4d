"""Catalogs as one caller sees and changes them, through any interface: the API, a dialect, the command line.

Who may make a catalog makes the server reach the addresses and folders that its settings name, with the server's own
rights and from within its network. So an administrator may make any; who has CREATE_CATALOG makes catalogs of the lake
itself, and folders below the allowed locations that no other catalog has. The same holds for changes of settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from lanceway.access.credentials import checks as storage_checks
from lanceway.access.guard import Guard, Guards
from lanceway.access.principal import Principal
from lanceway.access.rights import owners
from lanceway.catalogs.federated import trials
from lanceway.catalogs.federated.catalog import FederatedCatalog
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.catalogs.federated.made import MadeMount, merged
from lanceway.catalogs.federated.mounts import TYPE, Mount, ServiceMount, canonical, check_name
from lanceway.catalogs.federated.root import read_only
from lanceway.catalogs.federated.trials import CatalogCheck
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
)
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.secrets import SecretsUnavailableError
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.rows import KEEP, Audit, Keep
from lanceway.lake.tree import catalogs, locations, mounts, nesting
from lanceway.lake.tree.catalogs import LAKE, CatalogRow
from lanceway.lake.tree.nesting import Scan

CONFIGURATION, DATABASE = "configuration", "database"
STORAGE = "storage: "  # before the names of checks of a storage
# What others than administrators may set, by type; of a folder, only below the allowed locations.
_OPEN_SETTINGS: Mapping[str, frozenset[str]] = {"dir": frozenset({"path", "root", "layout"})}

_MAKE, _CHANGE = "make", "change"
_DONE = {_MAKE: "made", _CHANGE: "changed"}


class CatalogTrialError(ServiceUnavailableError):
    """A catalog does not answer as it should. `checks` say where it failed.

    `verb` says what was not done for that reason, `make` or `change`; None where the trial was all that was asked for.
    """

    status = 502

    def __init__(self, name: str, checks: Sequence[CatalogCheck], verb: str | None = None) -> None:
        failed = next(check for check in checks if not check.passed)
        outcome = "did not pass its test" if verb is None else f"was not {_DONE[verb]}"
        remedy = "" if verb is None else f", or {verb} it without a test"
        super().__init__(
            f"The catalog {name!r} {outcome}: the check {failed.name!r} failed. {failed.message} Correct its "
            f"settings{remedy}."
        )
        self.checks = checks


@dataclass(frozen=True, slots=True)
class CatalogInfo:
    """A catalog. `settings` are public ones, and of those that are secret only the names are known.

    `source` is `configuration` for one that cannot be changed here. `unavailable` says why it cannot be opened.
    """

    name: str
    type: str
    source: str
    enabled: bool = True
    nested: bool | None = None
    comment: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    owner: str | None = None
    owner_kind: str | None = None
    unavailable: str | None = None
    created_by: str | None = None
    created_at: int | None = None
    changed_by: str | None = None
    changed_at: int | None = None


@dataclass(frozen=True, slots=True)
class NewCatalog:
    """A catalog to be made: of the lake itself for the type `lake` without `uri`, else mounted."""

    name: str
    type: str = LAKE
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    nested: bool = True

    @property
    def is_own(self) -> bool:
        return self.type == LAKE and "uri" not in self.settings


@dataclass(frozen=True, slots=True)
class CatalogChange:
    """Changes of a catalog; a setting or a property given as None is taken away."""

    settings: Mapping[str, str | None] = field(default_factory=dict, repr=False)  # may hold secrets
    properties: Mapping[str, str | None] = field(default_factory=dict)
    comment: str | Keep | None = KEEP
    name: str | None = None


class CatalogAdministration:
    """The catalogs of a server. Every method asks whether the principal may, before anything else is told or done."""

    def __init__(self, guards: Guards, store: LakeStore, allowed: AllowedLocations, metalake: str = "lanceway") -> None:
        self._guards, self._store, self._allowed, self._metalake = guards, store, allowed, metalake

    @property
    def _tree(self) -> FederatedCatalog:
        return self._guards.tree

    def names(self, principal: Principal) -> list[str]:
        """Return the names of the catalogs that the principal may use, in code point order."""
        return self._guards.of(principal).list_schemas()

    def page(self, principal: Principal, *, after: str | None = None, limit: int | None = None) -> list[CatalogInfo]:
        """Return the first `limit` catalogs after a name that the principal may use."""
        names = [name for name in self.names(principal) if name > (after or "")][:limit]
        found = []
        for name in names:
            try:
                found.append(self._info(name))
            except NamespaceNotFoundError:  # dropped in this moment
                continue
        return found

    def load(self, principal: Principal, name: str) -> CatalogInfo:
        """Return a catalog. Raises PermissionDeniedError, NamespaceNotFoundError."""
        self._guards.of(principal).require_on_catalog("use catalog", name)
        return self._info(canonical(name))

    def create(
        self, principal: Principal, new: NewCatalog, *, test: bool = True
    ) -> tuple[CatalogInfo, Sequence[CatalogCheck]]:
        """Make a catalog, which the principal owns, and return it with the checks that it passed.

        Raises PermissionDeniedError, NamespaceAlreadyExistsError, InvalidInputError, and CatalogTrialError if a check
        fails; without `test` it is only mounted.
        """
        guard, name = self._guards.of(principal), canonical(new.name)
        guard.require("create catalog")
        check_name(name)
        self._tree.refresh()
        if name in self._tree.configured:
            raise read_only(name)
        if new.is_own:
            return self._create_own(principal, name, new), ()
        self._require_open(principal, new.type, new.settings)
        section = self._tree.made.section(name, new.type, new.settings)
        checks = _tried(name, section, _MAKE) if test else ()
        texts: dict[str, Any] = {"comment": new.comment, "properties": new.properties}
        self._tree.made.create(name, new.type, new.settings, by=principal.name, **texts)
        return self._info(name), checks

    def _create_own(self, principal: Principal, name: str, new: NewCatalog) -> CatalogInfo:
        """Make a catalog of the lake itself: what CreateNamespace makes at the root of Lance REST."""
        if new.settings:
            raise InvalidInputError(
                f"A catalog of the lake itself takes no settings, but has {sorted(new.settings)!r}. Leave them out; "
                "with uri, the catalog of another lake is mounted."
            )
        if name in self._tree.mounts():
            raise mounts.taken(self._metalake, name)
        self._tree.lake.create(name, new.properties, by=principal.name, comment=new.comment, nested=new.nested)
        return self._info(name)

    def alter(
        self, principal: Principal, name: str, change: CatalogChange, *, test: bool = True
    ) -> tuple[CatalogInfo, Sequence[CatalogCheck]]:
        """Change a catalog, whose owner one must be. Settings are tried out first, as for a new one.

        Raises PermissionDeniedError, NamespaceNotFoundError, NamespaceAlreadyExistsError, InvalidInputError,
        CatalogTrialError.
        """
        name, mount = self._changing(principal, name)
        texts: dict[str, Any] = {"properties": change.properties, "comment": change.comment}
        checks: Sequence[CatalogCheck] = ()
        if mount is None:
            if change.settings:
                raise InvalidInputError(
                    f"The catalog {name!r} is one of the lake itself and has no settings, but properties. Set those."
                )
            self._store.transact(catalogs.alter, self._metalake, name, by=principal.name, **texts)
        else:
            if change.settings:
                entries = merged(mount.row.opened(self._tree.made.keys), change.settings)
                self._require_open(principal, mount.type, entries)
                section = self._tree.made.section(name, mount.type, entries)
                checks = _tried(name, section, _CHANGE) if test else ()
            self._tree.made.alter(name, by=principal.name, changes=change.settings, **texts)
        if change.name is not None and canonical(change.name) != name:
            name = self._rename(principal, name, canonical(change.name), mount)
        return self._info(name), checks

    def _rename(self, principal: Principal, name: str, new: str, mount: MadeMount | None) -> str:
        if not principal.admin:  # the new name is one of the metalake's, as if the catalog were made
            self._guards.of(principal).require("create catalog")
        check_name(new)
        if new in self._tree.configured:
            raise read_only(new)
        if mount is not None:
            self._tree.made.rename(name, new, by=principal.name)
        else:
            self._store.transact(catalogs.rename, self._metalake, name, new, by=principal.name)
            self._tree.refresh()
        return new

    def set_enabled(self, principal: Principal, name: str, enabled: bool) -> CatalogInfo:
        """Enable or disable a catalog, whose owner one must be: a disabled one refuses every request for its branch."""
        name, mount = self._changing(principal, name)
        if mount is not None:
            self._tree.made.set_enabled(name, enabled, by=principal.name)
        else:
            self._store.transact(catalogs.set_enabled, self._metalake, name, enabled, by=principal.name)
            self._tree.refresh()
        return self._info(name)

    def test(self, principal: Principal, name: str) -> Sequence[CatalogCheck]:
        """Try a catalog out as its owner, and return the result of each check; one of the lake itself has none."""
        self._guards.of(principal).require_on_catalog("own catalog", name)
        mount = self._mount(canonical(name))
        if not mount.foreign:
            self._info(canonical(name))
            return ()
        assert isinstance(mount, ServiceMount), "foreign ones are"
        try:
            section = mount.section()
        except SecretsUnavailableError as error:
            return (CatalogCheck("connect", False, str(error)),)
        return _try_out(mount.name, section)

    def test_new(self, principal: Principal, new: NewCatalog) -> Sequence[CatalogCheck]:
        """Try out a catalog that is not made. Needs what making it does."""
        self._guards.of(principal).require("create catalog")
        if new.is_own:
            return ()
        self._require_open(principal, new.type, new.settings)
        name = canonical(new.name)
        return _try_out(name, self._tree.made.section(name, new.type, new.settings))

    def drop(self, principal: Principal, name: str) -> CatalogInfo:
        """Drop a catalog, whose owner one must be, with what was granted in it.

        One of the lake itself must be empty (NamespaceNotEmptyError); a mounted one leaves its service as it is.
        """
        name, mount = self._changing(principal, name)
        info = self._info(name)
        if mount is not None:
            self._tree.made.drop(name, by=principal.name)
        else:
            self._tree.lake.drop(name, by=principal.name, cascade=False)
        return info

    def enable_nested(self, principal: Principal, name: str, *, dry_run: bool = False) -> Scan:
        """Enable nested mode of a flat catalog of the lake, if no name of its namespaces holds the separator.

        Raises InvalidInputError with the conflicts by name and the separators that would work; a dry run returns them.
        """
        name, mount = self._changing(principal, name)
        if mount is not None:
            raise InvalidInputError(
                f"The catalog {name!r} is mounted, and its service says how its namespaces nest. Nested mode is for "
                "catalogs of the lake itself."
            )

        def work(connection: Connection) -> Scan:
            row = catalogs.load(connection, self._metalake, name)
            return nesting.enable(connection, row.id, by=principal.name, dry_run=dry_run)

        scan = self._store.transact(work)
        self._tree.lake.forget_opened()
        return scan

    # -- what is there ---------------------------------------------------------------------------

    def _changing(self, principal: Principal, name: str) -> tuple[str, MadeMount | None]:
        """Return the name of a catalog that the principal may change, and its mount if it has one."""
        guard: Guard = self._guards.of(principal)
        guard.require_on_catalog("own catalog", name)
        key = canonical(name)
        if key in self._tree.configured:
            raise read_only(key)
        mount = self._mount(key)
        return key, mount if isinstance(mount, MadeMount) else None

    def _mount(self, name: str) -> Mount:
        return self._tree.mount(name)

    def _info(self, name: str) -> CatalogInfo:
        mount = self._mount(name)
        if isinstance(mount, MadeMount):
            return self._of_made(mount)
        if mount.foreign:
            assert isinstance(mount, ServiceMount), "foreign ones are"
            settings = {key: value for key, value in mount.properties.items() if key != TYPE}
            return CatalogInfo(name, mount.type, CONFIGURATION, settings=settings, **self._owner(name, mounted=True))
        row = self._store.read(catalogs.load, self._metalake, name)
        return self._of_own(row)

    def _of_made(self, mount: MadeMount) -> CatalogInfo:
        row = mount.row
        return CatalogInfo(
            row.name,
            row.type,
            DATABASE,
            enabled=not row.disabled,
            comment=row.comment,
            settings=row.settings,
            secrets=row.secret_names,
            properties=row.properties,
            unavailable=self._unavailable(mount),
            **self._owner(row.name, mounted=True),
            **_times(row.audit),
        )

    def _of_own(self, row: CatalogRow) -> CatalogInfo:
        return CatalogInfo(
            row.name,
            row.kind,
            DATABASE,
            enabled=not row.disabled,
            nested=row.nested,
            comment=row.comment,
            properties=row.properties,
            **self._owner(row.name, mounted=False),
            **_times(row.audit),
        )

    def _unavailable(self, mount: MadeMount) -> str | None:
        """Return why a catalog cannot be opened here, as far as that is known without asking its service."""
        try:
            mount.section()
        except (SecretsUnavailableError, InvalidInputError) as error:
            return str(error)
        return None

    def _owner(self, name: str, *, mounted: bool) -> dict[str, Any]:
        owner: Owner = self._store.read(owners.owner_of, Securable(self._metalake, name, mounted=mounted))
        return {"owner": owner.name, "owner_kind": owner.kind}

    # -- what may be reached ---------------------------------------------------------------------

    def _require_open(self, principal: Principal, type_: str, settings: Mapping[str, str]) -> None:
        """Refuse settings by which a user who is not an administrator would have the server reach what it may not."""
        if principal.admin:
            return
        open_settings = _OPEN_SETTINGS.get(type_)
        if open_settings is None or not open_settings.issuperset(settings):
            raise PermissionDeniedError(
                f"A catalog of type {type_!r} with these settings makes the server reach another service with its own "
                "rights, and only an administrator may make or change it. With CREATE_CATALOG, catalogs of the lake "
                "itself can be made, and those of type 'dir' with path and layout below the allowed locations."
            )
        for location in (settings[key] for key in ("path", "root") if settings.get(key)):
            self._allowed.check_root(location, self._roots())
            self._refuse_tables(locations.canonical(location))

    def _roots(self) -> Iterable[str]:
        return [root for mount in self._tree.mounts().values() for root in mount.roots]

    def _refuse_tables(self, location: str) -> None:
        """Refuse a folder with tables of the lake: who mounts it would have them, whatever is granted on them."""
        if self._store.read(locations.overlapping, location) is not None:
            raise PermissionDeniedError(
                f"The location {location!r} has tables of the lake in it or around it. Choose another one."
            )


def _tried(name: str, section: CatalogSettings, verb: str) -> Sequence[CatalogCheck]:
    checks = trials.try_out(section)
    if not all(check.passed for check in checks):
        raise CatalogTrialError(name, checks, verb)
    return [*checks, *_storage_checks(name, section)]


def _try_out(name: str, section: CatalogSettings) -> Sequence[CatalogCheck]:
    checks = trials.try_out(section)
    return [*checks, *_storage_checks(name, section)] if all(check.passed for check in checks) else checks


def _storage_checks(name: str, section: CatalogSettings) -> Sequence[CatalogCheck]:
    """Check the storage of a catalog whose settings name it. What is wrong is told, and keeps no catalog from being
    made: a bucket may be there to be read alone."""
    site = storage_checks.site_of(name, section)
    if site is None:
        return ()
    results = (result for result in storage_checks.run(site) if result.outcome != storage_checks.SKIPPED)
    return [CatalogCheck(f"{STORAGE}{each.name}", not each.is_wrong, each.reason) for each in results]


def _times(audit: Audit) -> dict[str, Any]:
    return {
        "created_by": audit.created_by,
        "created_at": audit.created_at,
        "changed_by": audit.changed_by,
        "changed_at": audit.changed_at,
    }
