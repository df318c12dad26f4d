"""`/lanceway/v1/storage/check`: whether a storage holds credentials to what they are made for.

    POST /lanceway/v1/storage/check    {catalog}: check the storage of a catalog, for who administers the metalake

The checks write to a new folder below the location, and remove it again.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from lanceway.access.credentials import checks
from lanceway.access.credentials.checks import CheckResult
from lanceway.catalogs.federated.catalog import canonical
from lanceway.config.settings import nearest
from lanceway.errors import namespace_not_found
from lanceway.server.api.endpoints import Call, derive, endpoint

Check = derive("StorageCheck", CheckResult, "What one check found: passed, failed or skipped, with the reason.")


class CheckBody(Struct):
    """The catalog whose storage is to be checked."""

    catalog: Annotated[str, Meta(description="A catalog. Those of the lake itself share the lake's warehouse.")] = (
        "lake"
    )

    @property
    def audited(self) -> list[dict[str, object]]:
        return [{"catalog": self.catalog}]


class CheckedStorage(Struct):
    """A storage, and what each check found."""

    storage: str
    location: str
    passed: Annotated[bool, Meta(description="Whether no check failed.")]
    checks: list[Check]  # type: ignore[valid-type]


@endpoint("POST", "/storage/check", CheckedStorage)
async def check_storage(call: Call, body: CheckBody) -> CheckedStorage:
    """Check the storage of a catalog: with the server's own keys, and with credentials made of them."""
    call.guard.require("administer")
    catalog, known = canonical(body.catalog), await call.run(partial(call.catalogs.names, call.principal))
    if catalog not in known:
        raise namespace_not_found(
            f"There is no catalog {catalog!r}.{nearest(catalog, known)} Those there are: {', '.join(known) or 'none'}."
        )
    site = call.guards.vending.site(catalog)
    results = await call.threads.run(catalog, checks.run, site)
    return CheckedStorage(site.name, site.location, not any(result.is_wrong for result in results), results)


ENDPOINTS = (check_storage,)
