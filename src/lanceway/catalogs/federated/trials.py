"""Try a catalog out before it is mounted: each check says whether it passed, and what is wrong if not.

A check may meet a service that never answers. Python cannot end a thread, so a trial that is late is left behind on a
daemon thread; a process has few of those at a time, and refuses more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lance_namespace as ln

from lanceway.catalogs.contract import capabilities
from lanceway.catalogs.federated.mounts import open_section, reason_of
from lanceway.errors import LanceNamespaceError, ServiceUnavailableError
from lanceway.tables.errors import FOREIGN

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

    from lanceway.config import CatalogSettings

LONGEST = 15.0  # seconds
_AT_ONCE = 8

_free = threading.BoundedSemaphore(_AT_ONCE)


@dataclass(frozen=True, slots=True)
class CatalogCheck:
    """One check of a catalog: `connect`, `list` and so on. `message` says what is wrong where it did not pass."""

    name: str
    passed: bool
    message: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {'passed' if self.passed else 'failed'}" + (f": {self.message}" if self.message else "")


def _list(catalog: LanceNamespace) -> None:
    """Ask for a namespace of the root: who may not even list, has the wrong address or credentials.

    Some catalogs know what their root holds without a request, and send one on top.
    """
    catalog.list_namespaces(ln.ListNamespacesRequest(id=[], limit=1))
    capabilities.ask_service(catalog)


# What is asked of an opened catalog, in order; the first that fails ends a trial. Checks of its storage come here.
CHECKS: tuple[tuple[str, Callable[[LanceNamespace], None]], ...] = (("list", _list),)


def try_out(section: CatalogSettings) -> Sequence[CatalogCheck]:
    """Connect to a catalog and ask it once, within its deadline, and return the result of each check.

    Raises ServiceUnavailableError if too many trials have not ended.
    """
    if not _free.acquire(blocking=False):
        raise ServiceUnavailableError(f"{_AT_ONCE} other catalogs are being tried out and do not answer. Try later.")
    checks: list[CatalogCheck] = []
    thread = threading.Thread(target=_run, args=(section, checks), name="lanceway-trial", daemon=True)
    thread.start()
    seconds = min(section.deadline, LONGEST)
    thread.join(seconds)
    ended = list(checks)
    if thread.is_alive():
        name = "connect" if not ended else CHECKS[len(ended) - 1][0]
        ended.append(CatalogCheck(name, False, f"It did not answer within {seconds:g} seconds."))
    return ended


def _run(section: CatalogSettings, checks: list[CatalogCheck]) -> None:
    catalog: LanceNamespace | None = None
    name = "connect"
    try:
        catalog = open_section(section)
        checks.append(CatalogCheck(name, True))
        for name, check in CHECKS:
            check(catalog)
            checks.append(CatalogCheck(name, True))
    except (LanceNamespaceError, ConnectionError, TimeoutError, *FOREIGN) as error:
        checks.append(CatalogCheck(name, False, reason_of(error)))
    finally:
        capabilities.close(catalog)
        _free.release()
