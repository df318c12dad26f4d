"""`/lanceway/v1/catalogs`: the catalogs of the tree, of every type, as the caller may see and change them.

    GET    /lanceway/v1/catalogs                    those that one may use
    POST   /lanceway/v1/catalogs                    {name, type, settings, comment, properties, nested, test}
    POST   /lanceway/v1/catalogs/test               the same, tried out and not made
    GET    /lanceway/v1/catalogs/{name}             also its separator, the policy, whether its namespaces nest
    DELETE /lanceway/v1/catalogs/{name}             one of the lake must be empty; a service stays as it is
    POST   /lanceway/v1/catalogs/{name}/alter       {set, unset, set_properties, unset_properties, comment, name, test}
    POST   /lanceway/v1/catalogs/{name}/enable
    POST   /lanceway/v1/catalogs/{name}/disable     every request for its branch is refused until it is enabled
    POST   /lanceway/v1/catalogs/{name}/test        the result of each check
    POST   /lanceway/v1/catalogs/{name}/nested      {dry_run}: nested mode of a flat catalog of the lake

Secrets are sent and never returned: an answer has the names of those that are set. Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from lanceway.access.mounted.catalogs import CatalogChange, CatalogInfo, NewCatalog
from lanceway.catalogs.contract.requests import page_of, page_start
from lanceway.catalogs.contract.schemas import PathNaming
from lanceway.catalogs.federated.mounts import CatalogDisabledError
from lanceway.catalogs.federated.trials import CatalogCheck
from lanceway.errors import ServiceUnavailableError
from lanceway.lake.store.rows import KEEP
from lanceway.lake.tree.nesting import Scan
from lanceway.server.api.endpoints import Call, PageQuery, PathPart, derive, endpoint, page_type

_LIST = "catalogs of the API"
_Texts = dict[str, str]

CheckAnswer = derive(
    "CatalogCheck", CatalogCheck, "One check of a catalog, and what is wrong if it failed.", sparse=True
)
CatalogAnswer = derive(
    "Catalog",
    CatalogInfo,
    "A catalog. `source` is `configuration` for one that is read-only here. Of secrets only the names are returned.",
    sparse=True,
)
DescribedCatalog = derive(
    "DescribedCatalog",
    CatalogInfo,
    "A catalog, and how names are written in it, where it says so.",
    sparse=True,
    catalog=str,
    metalake=str | None,
    separator=str | None,
    policy=str | None,
)
ChangedCatalog = derive(
    "ChangedCatalog",
    CatalogInfo,
    "A catalog that was made or changed, and the checks that it passed.",
    sparse=True,
    checks=list[CheckAnswer],  # type: ignore[valid-type]
)


class CatalogTrial(Struct):
    """The result of each check of a catalog; one of the lake itself needs none."""

    passed: bool
    checks: list[CheckAnswer]  # type: ignore[valid-type]


class NestedScan(Struct):
    """The names of namespaces that hold the separator, and the separators that no name holds."""

    nested: bool
    separator: str
    conflicts: list[list[str]]
    alternatives: list[str]


class CatalogRequest(Struct):
    """A new catalog: of the lake itself for the type `lake` without the setting `uri`, else mounted."""

    name: Annotated[str, Meta(min_length=1)]
    type: str = "lake"
    settings: Annotated[_Texts, Meta(description="As the section of a configuration file has them.")] = {}
    comment: str | None = None
    properties: _Texts = {}
    nested: Annotated[bool, Meta(description="Whether its namespaces nest: of one of the lake itself.")] = True
    test: Annotated[bool, Meta(description="Whether it is connected to and asked before it is made.")] = True

    @property
    def audited(self) -> list[dict[str, object]]:
        return [{"name": self.name, "type": self.type}]

    @property
    def new(self) -> NewCatalog:
        return NewCatalog(self.name, self.type, self.settings, self.comment, self.properties, self.nested)


class CatalogChanges(Struct):
    """What is to be changed; everything else stays as it is."""

    set: _Texts = {}
    unset: list[str] = []
    set_properties: _Texts = {}
    unset_properties: list[str] = []
    comment: str | UnsetType | None = UNSET
    name: str | None = None
    test: Annotated[bool, Meta(description="Whether new settings are tried out first.")] = True

    @property
    def audited(self) -> list[dict[str, object]]:
        names = ",".join(sorted({*self.set, *self.unset, *self.set_properties, *self.unset_properties}))
        return [{"changes": names or None, "name": self.name}]

    @property
    def change(self) -> CatalogChange:
        return CatalogChange(
            {**dict.fromkeys(self.unset), **self.set},
            {**dict.fromkeys(self.unset_properties), **self.set_properties},
            KEEP if self.comment is UNSET else self.comment,
            self.name,
        )


class NestedRequest(Struct):
    """Whether to look only."""

    dry_run: bool = False


def _info(info: CatalogInfo) -> dict[str, Any]:
    return {key: value for key, value in asdict(info).items() if value is not None}


def _checks(checks: Sequence[CatalogCheck]) -> list[dict[str, Any]]:
    return [{key: value for key, value in asdict(check).items() if value is not None} for check in checks]


@endpoint("GET", "/catalogs", page_type("Catalogs", "catalogs", CatalogAnswer))
async def list_catalogs(call: Call, query: PageQuery) -> object:
    """List the catalogs that one may use, in order of their names."""
    after = page_start(_LIST, query.page_token)
    list_page = partial(call.catalogs.page, call.principal, after=after, limit=query.size + 1)
    items, token = page_of(await call.run(list_page), query.size, _LIST, lambda info: info.name)
    return {"catalogs": [_info(info) for info in items], "page_token": token}


@endpoint("POST", "/catalogs", ChangedCatalog, status=201)
async def create_catalog(call: Call, body: CatalogRequest) -> object:
    """Make a catalog, which is a branch of the tree at once."""
    info, checks = await call.run(partial(call.catalogs.create, call.principal, body.new, test=body.test))
    return {**_info(info), "checks": _checks(checks)}


@endpoint("POST", "/catalogs/test", CatalogTrial)
async def test_new_catalog(call: Call, body: CatalogRequest) -> object:
    """Try a catalog out without making it."""
    return _trial(await call.run(call.catalogs.test_new, call.principal, body.new))


@endpoint("POST", "/catalogs/{name}/enable", CatalogAnswer)
async def enable_catalog(call: Call, name: PathPart) -> object:
    """Enable a catalog."""
    return _info(await call.run(call.catalogs.set_enabled, call.principal, name, True))


@endpoint("POST", "/catalogs/{name}/disable", CatalogAnswer)
async def disable_catalog(call: Call, name: PathPart) -> object:
    """Disable a catalog: every request for its branch is refused."""
    return _info(await call.run(call.catalogs.set_enabled, call.principal, name, False))


@endpoint("POST", "/catalogs/{name}/test", CatalogTrial)
async def test_catalog(call: Call, name: PathPart) -> object:
    """Try a catalog out."""
    return _trial(await call.run(call.catalogs.test, call.principal, name))


@endpoint("POST", "/catalogs/{name}/nested", NestedScan)
async def enable_nested(call: Call, name: PathPart, body: NestedRequest | None) -> object:
    """Enable nested mode of a flat catalog, unless names conflict with the separator."""
    dry_run = body is not None and body.dry_run
    scan = await call.run(partial(call.catalogs.enable_nested, call.principal, name, dry_run=dry_run))
    return described_scan(scan, nested=not dry_run)


@endpoint("GET", "/catalogs/{name}", DescribedCatalog)
async def get_catalog(call: Call, name: PathPart) -> object:
    """Return a catalog, and how names are written in it."""
    info = await call.run(call.catalogs.load, call.principal, name)
    naming: PathNaming | None = None
    with suppress(ServiceUnavailableError, CatalogDisabledError):  # it is described all the same
        naming = await call.threads.run(info.name, call.guard.naming, [info.name])
    if naming is None:
        return {**_info(info), "catalog": info.name}
    written = {"separator": naming.separator, "policy": naming.policy, "nested": naming.nested}
    return {**_info(info), "catalog": info.name, "metalake": naming.metalake, **written}


@endpoint("POST", "/catalogs/{name}/alter", ChangedCatalog)
async def alter_catalog(call: Call, name: PathPart, body: CatalogChanges) -> object:
    """Change settings, properties, the comment or the name of a catalog."""
    info, checks = await call.run(partial(call.catalogs.alter, call.principal, name, body.change, test=body.test))
    return {**_info(info), "checks": _checks(checks)}


@endpoint("DELETE", "/catalogs/{name}", CatalogAnswer)
async def drop_catalog(call: Call, name: PathPart) -> object:
    """Drop a catalog, with all that was granted in it."""
    return _info(await call.run(call.catalogs.drop, call.principal, name))


def _trial(checks: Sequence[CatalogCheck]) -> dict[str, Any]:
    return {"passed": all(check.passed for check in checks), "checks": _checks(checks)}


def described_scan(scan: Scan, *, nested: bool) -> dict[str, Any]:
    """Describe a scan for names that hold the separator."""
    return {
        "nested": nested,
        "separator": scan.separator,
        "conflicts": [list(conflict.namespace) for conflict in scan.conflicts],
        "alternatives": list(scan.alternatives),
    }


ENDPOINTS = (
    list_catalogs,
    create_catalog,
    test_new_catalog,
    enable_catalog,
    disable_catalog,
    test_catalog,
    enable_nested,
    get_catalog,
    alter_catalog,
    drop_catalog,
)
