"""Checks of a storage: can the server use it, and does it hold credentials to what they are made for?

`run` works in a new folder below the location, which is removed afterwards, and returns a result for each check: what a
policy says is worth nothing where a storage does not enforce it, and there is no other way to know.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from lance_namespace import DescribeTableRequest, DescribeTableResponse, LanceNamespace

from lanceway.access.credentials.signing import UNBOUND, RequestSigner
from lanceway.access.credentials.vendor import (
    Credential,
    CredentialVendor,
    SessionLabel,
    StorageAccess,
    TableScope,
    vendor_of,
)
from lanceway.config import CatalogSettings, CredentialSettings, ServerSettings
from lanceway.errors import InternalError, LanceNamespaceError, PermissionDeniedError, UnauthenticatedError
from lanceway.tables.errors import FOREIGN
from lanceway.tables.storage.store import EXPIRES, Store, local_path, open_store

if TYPE_CHECKING:
    import pyarrow as pa

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LAKE = "the lake's warehouse"
CHECKS = (
    "configured",
    "reachable",
    "Iceberg clients",
    "issued",
    "reads",
    "writes",
    "refused outside the table",
    "refused for a neighbour whose name begins alike",
    "read-only cannot write",
    "expired is refused",
    "renewal works during a read",
)
_TABLE, _NEIGHBOUR, _OUTSIDE, _FILE = "table", "table2", "outside", "data/file"
_CONTENT = b"lanceway"
# A storage that refuses says so at once: it need not be asked for minutes.
_QUICK = {"client_max_retries": "1", "client_retry_timeout": "10"}
_DUE, _EARLY = 1.5, 1.0  # seconds: what pylance is told, so that it renews half a second later
_FRAGMENTS, _ROWS = 4, 8
_LATER = 1.0  # seconds after the end of a credential: the clock of the storage may be a little behind
_BETWEEN = 60.0  # seconds between two words about a wait

# Makes of a credential one that has ended.
Expirer = Callable[[Credential], Credential]


@dataclass(frozen=True, slots=True)
class StorageSite:
    """A place where tables lie, the options by which the server reaches it, and how credentials are made for it."""

    name: str
    location: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may hold secrets
    credentials: CredentialSettings | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found, how long it took, and the reason if it did not pass, or what there is to know if it did."""

    name: str
    outcome: str
    seconds: float
    reason: str | None = None

    @property
    def is_wrong(self) -> bool:
        return self.outcome == FAILED

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome} ({self.seconds:.1f} s)" + (f": {self.reason}" if self.reason else "")


def sites_of(settings: ServerSettings) -> list[StorageSite]:
    """Return the storages of a server: that of its warehouse, and of each catalog it mounts that is a folder."""
    warehouse = settings.warehouse or str(settings.home / "warehouse")
    sites = [StorageSite(LAKE, warehouse, settings.storage, settings.credentials)]
    mounted = (site_of(name, section) for name, section in settings.catalogs.items())
    return [*sites, *(site for site in mounted if site is not None)]


def site_of(name: str, section: CatalogSettings) -> StorageSite | None:
    """Return the storage of a catalog that is a folder or a bucket; None for those whose services have it."""
    location = section.settings.get("path") or section.settings.get("root")
    if not location or (section.type != "dir" and section.credentials is None):
        return None
    return StorageSite(name, location, section.storage, section.credentials)


def run(
    site: StorageSite,
    *,
    expire: Expirer | None = None,
    watch: Callable[[CheckResult], None] = lambda result: None,
    stopped: threading.Event | None = None,
) -> list[CheckResult]:
    """Check a storage and return what was found, in the order of `CHECKS`; `watch` is called with each result.

    What can only be known after a check that did not pass is skipped. STS gives no credential that ends soon, so
    whether one that has ended is refused is looked at only with `expire`, such as an `EndWait`. Once `stopped` is
    set, no further check begins.
    """
    results: list[CheckResult] = []
    for result in _StorageChecks(site, expire, stopped or threading.Event()).results():
        results.append(result)
        watch(result)
    return results


def run_all(
    sites: Sequence[StorageSite],
    *,
    expire: Expirer | None = None,
    watch: Callable[[StorageSite, CheckResult], None] = lambda site, result: None,
    stopped: threading.Event | None = None,
) -> list[list[CheckResult]]:
    """Check several storages at once; `watch` is called from their threads.

    When it is left early, as by Ctrl-C, it sets `stopped`, and what was written for the checks is still removed.
    """
    over = stopped or threading.Event()

    def run_one(site: StorageSite) -> list[CheckResult]:
        return run(site, expire=expire, watch=partial(watch, site), stopped=over)

    with ThreadPoolExecutor(max_workers=8) as pool:
        try:
            return list(pool.map(run_one, sites))
        finally:
            over.set()


class EndWait:
    """Waits until a credential has ended, a quarter of an hour or longer, unless `stopped` is set.

    It calls `tell` with the seconds that are left, at once and every minute.
    """

    def __init__(self, stopped: threading.Event, tell: Callable[[float], None] = lambda seconds: None) -> None:
        self._stopped, self._tell = stopped, tell

    def __call__(self, credential: Credential) -> Credential:
        end = credential.ends_at + _LATER
        while (left := end - time.time()) > 0:
            self._tell(left)
            if self._stopped.wait(min(left, _BETWEEN)):
                raise _SkippedError("it was stopped before the credential had ended")
        return credential


class _SkippedError(Exception):
    """A check that cannot be made, with the reason."""


class _StorageChecks:
    """The checks of one storage, which build on each other."""

    def __init__(self, site: StorageSite, expire: Expirer | None, stopped: threading.Event) -> None:
        self._site, self._expire, self._stopped = site, expire, stopped
        self._scratch = f"{site.location.rstrip('/')}/lanceway-check-{uuid.uuid4().hex}"
        self._vendor: CredentialVendor | None = None
        self._made: dict[StorageAccess, Credential] = {}

    def results(self) -> Iterator[CheckResult]:
        checks = (
            self._configured,
            self._reachable,
            self._iceberg_clients,
            self._issued,
            self._reads,
            self._writes,
            self._refused_outside,
            self._refused_for_neighbour,
            self._cannot_write,
            self._refused_when_expired,
            self._renews,
        )
        wrong: str | None = None
        try:
            for name, check in zip(CHECKS, checks, strict=True):
                if self._stopped.is_set():
                    return
                if wrong is not None:
                    yield CheckResult(name, SKIPPED, 0.0, wrong)
                    continue
                result = _timed(name, check)
                yield result
                if result.is_wrong:
                    wrong = f"{name!r} failed"
                elif result.outcome == SKIPPED and name == "configured":
                    wrong = None if self._is_remote else result.reason
                elif self._vendor is None and name == "Iceberg clients":
                    wrong = "no credentials are made for this storage"
        finally:
            self._remove()

    @property
    def _is_remote(self) -> bool:
        return local_path(self._site.location) is None

    # -- the server itself -----------------------------------------------------------------------

    def _configured(self) -> None:
        if not self._is_remote:
            raise _SkippedError("it is a folder, whose own permissions say who opens it")
        self._vendor = vendor_of(self._site.credentials, self._site.options)
        if self._vendor is None:
            raise _SkippedError("credentials.role_arn is not set: clients read and write through the server")
        if not self._vendor.serves(self._site.location):
            self._vendor = None
            raise _SkippedError("credentials can be made for S3 alone")

    def _reachable(self) -> None:
        store = self._store(self._site.options)
        for place in (f"{_TABLE}/{_FILE}", f"{_NEIGHBOUR}/{_FILE}", _OUTSIDE):
            store.put(place, _CONTENT)
        if store.read(_OUTSIDE) != _CONTENT:
            raise InternalError("What was written is not what is read.")

    def _iceberg_clients(self) -> str:
        """Say how clients of Iceberg tables, which cannot work through the server, reach the files."""
        if self._vendor is not None:
            return "they get credentials"
        if self._site.name != LAKE:
            raise _SkippedError("Iceberg tables are in the lake alone")
        signer = RequestSigner.of(self._site.options, self._site.location)
        if signer is None:
            raise _SkippedError("they need keys of their own: requests to this storage cannot be signed")
        if not signer.is_bound():
            raise _SkippedError(f"they may read, and need keys of their own to write. {UNBOUND}")
        return "they have their requests signed, one by one"

    def _remove(self) -> None:
        if self._is_remote:
            with suppress(LanceNamespaceError):  # the check that it could not be written says so
                store = self._store(self._site.options)
                store.delete(*list(store.keys()))

    # -- credentials -----------------------------------------------------------------------------

    def _issued(self) -> None:
        for access in StorageAccess:
            self._made[access] = self._issue(access)

    def _issue(self, access: StorageAccess) -> Credential:
        assert self._vendor is not None
        scope = TableScope(f"{self._scratch}/{_TABLE}", access)
        return self._vendor.issue(scope, SessionLabel("lanceway", f"check/{_TABLE}"))

    def _reads(self) -> None:
        for access in StorageAccess:
            store = self._as(access, _TABLE)
            if store.read(_FILE) != _CONTENT or list(store.keys()) != [_FILE]:
                raise InternalError("What is read is not what was written.")

    def _writes(self) -> None:
        for access in (StorageAccess.WRITE, StorageAccess.OWN):
            store = self._as(access, _TABLE)
            store.put(f"data/{access}", _CONTENT)
            if not store.put_if_absent(f"data/{access}-once", _CONTENT) or store.put_if_absent(_FILE, _CONTENT):
                raise InternalError("The storage does not write an object only if it is not there, as Lance needs it.")
        owned = self._as(StorageAccess.OWN, _TABLE)
        owned.delete(*(key for key in list(owned.keys()) if key != _FILE))

    def _refused_outside(self) -> None:
        for access in StorageAccess:
            store = self._as(access)
            _refused(f"{access}: to read", store.read, _OUTSIDE)
            _refused(f"{access}: to write", store.put, _OUTSIDE, b"changed")
            _refused(f"{access}: to list", store.level)

    def _refused_for_neighbour(self) -> None:
        for access in StorageAccess:
            store = self._as(access, _NEIGHBOUR)
            _refused(f"{access}: to read", store.read, _FILE)
            _refused(f"{access}: to write", store.put, _FILE, b"changed")
            _refused(f"{access}: to list", store.level)

    def _cannot_write(self) -> None:
        store = self._as(StorageAccess.READ, _TABLE)
        _refused("to write", store.put, "data/new", _CONTENT)
        _refused("to overwrite", store.put, _FILE, b"changed")
        _refused("to delete", store.delete, _FILE)
        writer = self._as(StorageAccess.WRITE, _TABLE)
        _refused("to delete without owning", writer.delete, _FILE)

    def _refused_when_expired(self) -> None:
        if self._expire is None:
            raise _SkippedError("a credential lives for a quarter of an hour at least; doctor --storage --wait waits")
        expired = self._expire(self._made[StorageAccess.READ])
        store = self._store(expired.options, _TABLE)
        _refused("to read", store.read, _FILE)

    def _renews(self) -> None:
        location = f"{self._scratch}/{_TABLE}"
        with _foreign():
            import lance

            options = dict(self._issue(StorageAccess.OWN).options)
            lance.write_dataset(_rows(), location, storage_options=options, max_rows_per_file=_ROWS)
            namespace = _RenewingNamespace(location, lambda: self._issue(StorageAccess.READ))
            opened = lance.dataset(namespace_client=namespace, table_id=[_TABLE])
            batches = opened.to_batches(batch_size=_ROWS, batch_readahead=1, fragment_readahead=1)
            rows = next(batches).num_rows
            time.sleep(_DUE - _EARLY)
            rows += sum(batch.num_rows for batch in batches)
            rows += opened.count_rows("id >= 0") - _FRAGMENTS * _ROWS
        if rows != _FRAGMENTS * _ROWS or namespace.asked < 2:
            raise InternalError(f"The read had {rows} rows and renewed {namespace.asked - 1} times.")

    # -- storage ---------------------------------------------------------------------------------

    def _as(self, access: StorageAccess, inside: str = "") -> Store:
        return self._store(self._made[access].options, inside)

    def _store(self, options: Mapping[str, str], inside: str = "") -> Store:
        return open_store(f"{self._scratch}/{inside}" if inside else self._scratch, {**_QUICK, **options})


class _RenewingNamespace(LanceNamespace):
    """A namespace of one table, whose first credential is said to end soon. It counts how often it is asked."""

    def __init__(self, location: str, issue: Callable[[], Credential]) -> None:
        self._location, self._issue, self.asked = location, issue, 0

    def namespace_id(self) -> str:
        return self._location

    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        self.asked += 1
        credential = self._issue()
        if self.asked == 1:
            credential = replace(credential, expires_at=time.time() + _DUE)
        options = {
            **credential.options,
            EXPIRES: str(int(credential.expires_at * 1000)),
            "refresh_offset_millis": str(int(_EARLY * 1000)),
        }
        return DescribeTableResponse(location=self._location, storage_options=options)


def _rows() -> pa.Table:
    import pyarrow as pa

    return pa.table({"id": pa.array(range(_FRAGMENTS * _ROWS), pa.int64())})


def _timed(name: str, check: Callable[[], str | None]) -> CheckResult:
    began = time.perf_counter()
    outcome, reason = PASSED, None
    try:
        reason = check()
    except _SkippedError as skipped:
        outcome, reason = SKIPPED, str(skipped)
    except LanceNamespaceError as error:
        outcome, reason = FAILED, " ".join(str(error).split())
    return CheckResult(name, outcome, round(time.perf_counter() - began, 3), reason)


def _refused(what: str, attempt: Callable[..., object], *arguments: object) -> None:
    """Raise InternalError unless the storage refuses something."""
    with suppress(PermissionDeniedError, UnauthenticatedError):
        attempt(*arguments)
        raise InternalError(
            f"The storage lets the holder of a credential do what its policy does not allow ({what}). It does not "
            "enforce session policies: do not vend credentials for it."
        )


@contextmanager
def _foreign() -> Iterator[None]:
    """Say what pylance could not do. What it says of a request has no secret in it."""
    try:
        yield
    except FOREIGN as error:
        raise InternalError(f"pylance cannot read and renew: {type(error).__name__}: {str(error)[:300]}") from error
