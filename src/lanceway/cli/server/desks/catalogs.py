"""The catalogs of a server's tree: of a server elsewhere over HTTP, or of a server's database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lanceway.cli.server.desks.desk import Record
from lanceway.cli.server.homes import PAGE, all_pages, chosen_server, server_place
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.access.mounted.catalogs import CatalogAdministration, CatalogInfo
    from lanceway.access.principal import Principal
    from lanceway.catalogs.federated.trials import CatalogCheck
    from lanceway.cli.server.desks.requests import ServerRequests

# A catalog, and the result of each check of it.
Tried = tuple[Record, list[Record]]


@dataclass(frozen=True, slots=True)
class CatalogWish:
    """A catalog that is to be created."""

    name: str
    type: str
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    comment: str | None
    properties: Mapping[str, str]
    nested: bool
    test: bool


@dataclass(frozen=True, slots=True)
class CatalogEdit:
    """What changes of a catalog. An empty comment takes it away, None keeps it."""

    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    unset: Sequence[str]
    properties: Mapping[str, str]
    unset_properties: Sequence[str]
    comment: str | None
    rename: str | None
    test: bool


class CatalogDesk(Protocol):
    """A server's catalogs."""

    @property
    def is_here(self) -> bool:
        """Return whether the server's folders are those of this machine."""
        ...

    def list_catalogs(self) -> Iterator[Record]: ...
    def get_catalog(self, name: str) -> Record: ...
    def create_catalog(self, wish: CatalogWish) -> Tried: ...
    def alter_catalog(self, name: str, edit: CatalogEdit) -> Tried: ...
    def set_enabled(self, name: str, enabled: bool) -> Record: ...
    def test_catalog(self, name: str) -> list[Record]: ...
    def drop_catalog(self, name: str) -> Record: ...
    def enable_nested(self, name: str, *, dry_run: bool) -> Record: ...


@contextmanager
def opened(session: Session, home: Path | None, uri: str | None) -> Iterator[CatalogDesk]:
    """Connect to the server that is chosen, with the user's own token; else open a server's database."""
    settings = chosen_server(session, home, uri)
    if settings is None:
        with _opened_database(session, home, uri) as desk:
            yield desk
        return
    from lanceway.cli.server.desks.requests import connected

    with connected(settings) as server:
        yield ServerCatalogs(server)


class ServerCatalogs:
    """The catalogs of a server over HTTP, as the user whose token is sent may see and change them."""

    def __init__(self, server: ServerRequests) -> None:
        self._server = server

    @property
    def is_here(self) -> bool:
        return self._server.is_on_this_machine

    def list_catalogs(self) -> Iterator[Record]:
        return all_pages(lambda page_token: self._server.page("/catalogs", "catalogs", PAGE, page_token))

    def get_catalog(self, name: str) -> Record:
        return self._server.get(_path(name))

    def create_catalog(self, wish: CatalogWish) -> Tried:
        return _tried(self._server.post("/catalogs", asdict(wish)))

    def alter_catalog(self, name: str, edit: CatalogEdit) -> Tried:
        changes: Record = {"set": edit.settings, "unset": edit.unset, "test": edit.test, "name": edit.rename}
        changes |= {"set_properties": edit.properties, "unset_properties": edit.unset_properties}
        if edit.comment is not None:
            changes["comment"] = edit.comment or None
        return _tried(self._server.post(_path(name, "alter"), changes))

    def set_enabled(self, name: str, enabled: bool) -> Record:
        return self._server.post(_path(name, "enable" if enabled else "disable"))

    def test_catalog(self, name: str) -> list[Record]:
        return [_check(check) for check in self._server.post(_path(name, "test"))["checks"]]

    def drop_catalog(self, name: str) -> Record:
        return self._server.delete(_path(name))

    def enable_nested(self, name: str, *, dry_run: bool) -> Record:
        scan = self._server.post(_path(name, "nested"), {"dry_run": dry_run})
        return {key: scan[key] for key in ("separator", "conflicts", "alternatives")}


class DatabaseCatalogs:
    """The catalogs of a server's database, whose credentials allow everything."""

    is_here = True

    def __init__(self, catalogs: CatalogAdministration, principal: Principal) -> None:
        self._catalogs, self._principal = catalogs, principal

    def list_catalogs(self) -> Iterator[Record]:
        return map(_described, self._catalogs.page(self._principal))

    def get_catalog(self, name: str) -> Record:
        return _described(self._catalogs.load(self._principal, name))

    def create_catalog(self, wish: CatalogWish) -> Tried:
        from lanceway.access.mounted.catalogs import NewCatalog

        new = NewCatalog(wish.name, wish.type, wish.settings, wish.comment, wish.properties, wish.nested)
        info, checks = self._catalogs.create(self._principal, new, test=wish.test)
        return _described(info), _checks(checks)

    def alter_catalog(self, name: str, edit: CatalogEdit) -> Tried:
        from lanceway.access.mounted.catalogs import CatalogChange
        from lanceway.lake.store.rows import KEEP

        settings = {**dict.fromkeys(edit.unset), **edit.settings}
        properties = {**dict.fromkeys(edit.unset_properties), **edit.properties}
        comment = KEEP if edit.comment is None else edit.comment or None
        change = CatalogChange(settings, properties, comment, edit.rename)
        info, checks = self._catalogs.alter(self._principal, name, change, test=edit.test)
        return _described(info), _checks(checks)

    def set_enabled(self, name: str, enabled: bool) -> Record:
        return _described(self._catalogs.set_enabled(self._principal, name, enabled))

    def test_catalog(self, name: str) -> list[Record]:
        return _checks(self._catalogs.test(self._principal, name))

    def drop_catalog(self, name: str) -> Record:
        return _described(self._catalogs.drop(self._principal, name))

    def enable_nested(self, name: str, *, dry_run: bool) -> Record:
        from lanceway.cli.lake.lake import scan_facts

        return scan_facts(self._catalogs.enable_nested(self._principal, name, dry_run=dry_run))


@contextmanager
def _opened_database(session: Session, home: Path | None, uri: str | None) -> Iterator[DatabaseCatalogs]:
    where = server_place(session, home, uri)
    from lanceway import config

    config.quiet_lance()
    from lanceway.access.guard import Guards
    from lanceway.access.mounted.catalogs import CatalogAdministration
    from lanceway.access.principal import Principal
    from lanceway.catalogs.federated.catalog import FederatedCatalog
    from lanceway.catalogs.federated.locations import AllowedLocations

    settings = config.server(session.config, {"home": home})
    warehouse = settings.warehouse or str(settings.home.absolute() / "warehouse")
    settings = replace(settings, home=settings.home.absolute(), database=where.uri, warehouse=warehouse)
    with where.opened() as store:
        tree = FederatedCatalog.from_settings(settings, store, metalake=where.metalake)
        allowed = AllowedLocations.from_settings(settings)
        try:
            guards = Guards(tree, store, allowed, where.metalake)
            catalogs = CatalogAdministration(guards, store, allowed, where.metalake)
            yield DatabaseCatalogs(catalogs, Principal(where.user, admin=True))
        finally:
            tree.close()


def _path(name: str, verb: str | None = None) -> str:
    from lanceway.cli.server.desks.requests import path_of

    return path_of("/catalogs", name, verb)


def _tried(answer: Record) -> Tried:
    checks = answer.pop("checks")
    return answer, [_check(check) for check in checks]


def _check(check: Mapping[str, Any]) -> Record:
    return {"message": None, **check}


def _described(info: CatalogInfo) -> Record:
    return {key: value for key, value in asdict(info).items() if value is not None}


def _checks(checks: Sequence[CatalogCheck]) -> list[Record]:
    return [asdict(check) for check in checks]
