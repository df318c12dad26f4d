"""A plugin of moto that stands for what it lacks of AWS Glue: child catalogs, pages, folded names, versions, faults.

moto answers Glue's databases and tables, but has no catalogs, takes every CatalogId for the same, gives any list in
one page and ignores the version that an update names. This adds them as botocore's model of Glue describes them;
what moto has is left to moto. It also refuses what AWS would refuse on some days: a caller that is denied or
throttled, a session that has expired. Like moto itself it proves nothing about AWS beyond what its model says.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.glue.exceptions import EntityNotFoundException
from moto.glue.models import FakeDatabase, FakeTable, GlueBackend
from moto.glue.responses import GlueResponse
from moto.sts.models import AssumedRole, sts_backends

PAGES = {"GetCatalogs": 1000, "GetDatabases": 100, "GetTables": 100}


class GlueError(JsonRESTError):
    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(code, message)
        self.code = status


@dataclass
class Fault:
    """The next `times` requests of an operation that fit are answered with an error, or lost after they were done."""

    operation: str
    code: str
    status: int = 400
    times: int = 1
    message: str = "so it was told to say"
    fits: Callable[[dict[str, Any]], bool] = lambda _: True
    after: bool = False


@dataclass
class Catalog:
    id: str
    input: dict[str, Any]
    backend: GlueBackend

    @property
    def name(self) -> str:
        return self.id.replace(":", "/").split("/")[-1]

    def as_dict(self) -> dict[str, Any]:
        return {"CatalogId": self.id, "Name": self.name, **self.input}


@dataclass
class State:
    """What the plugin adds to one server."""

    catalogs: dict[str, Catalog] = field(default_factory=dict)
    roots: dict[str, GlueBackend] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    session_seconds: float | None = None
    strict: bool = False
    page: int = 1000
    hidden: frozenset[str] = frozenset()
    lock: threading.RLock = field(default_factory=threading.RLock)

    def clear(self) -> None:
        with self.lock:
            fresh = State(lock=self.lock)
            self.__dict__.update(fresh.__dict__)

    def root(self, account: str, region: str = "us-east-1") -> GlueBackend:
        return self.roots.setdefault(account, GlueBackend(region, account))

    def add(self, account: str, *names: str, **input_: Any) -> Catalog:
        """A catalog as it appears by itself below a federated one: Glue has no request that makes it."""
        made = Catalog(f"{account}:{'/'.join(names)}", input_, GlueBackend("us-east-1", account))
        self.catalogs[made.id] = made
        return made

    @contextmanager
    def counted(self) -> Iterator[list[str]]:
        """The operations that are asked for meanwhile."""
        before, found = len(self.requests), list[str]()
        yield found
        found += [operation for operation, _ in self.requests[before:]]


STATE = State()


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


class CatalogGlueResponse(GlueResponse):
    """moto's Glue with the plugin's additions; its methods are put into moto's own class by `install`."""

    def call_action(self) -> Any:
        operation = self._get_action()
        with STATE.lock:
            asked = json.loads(self.body)
            STATE.requests.append((operation, asked))
            STATE.keys.append(self.get_access_key())
            fault = next((f for f in STATE.faults if f.operation == operation and f.times and f.fits(asked)), None)
            if fault is not None:
                fault.times -= 1
                if fault.after:
                    _plain_call_action(self)
                return _refused(GlueError(fault.code, fault.message, fault.status))
            if _is_expired(self.current_account, self.get_access_key()):
                return _refused(GlueError("ExpiredTokenException", "The security token included is expired"))
            return _plain_call_action(self)

    @property
    def parameters(self) -> dict[str, Any]:
        asked: dict[str, Any] = json.loads(self.body)
        for holder, key in (
            (asked, "DatabaseName"),
            (asked.get("DatabaseInput"), "Name"),
            (asked.get("TableInput"), "Name"),
        ):
            if holder and key in holder:
                holder[key] = _folded(holder[key])
        if "Catalog" not in self._get_action():
            asked |= {"Name": _folded(asked["Name"])} if "Name" in asked else {}
        return asked

    @property
    def glue_backend(self) -> GlueBackend:
        given = self.parameters.get("CatalogId")
        if not given or given == self.current_account:
            return STATE.root(self.current_account, self.region)
        return self._known(given).backend

    def _known(self, id_: str) -> Catalog:
        whole = id_ if ":" in id_ else f"{self.current_account}:{id_}"
        if whole not in STATE.catalogs:
            raise EntityNotFoundException(f"Catalog {id_} not found.")
        return STATE.catalogs[whole]

    # -- catalogs --------------------------------------------------------------------------------

    def create_catalog(self) -> ActionResult:
        name, input_ = self.parameters["Name"].lower(), self.parameters["CatalogInput"]
        if any(character in name for character in "./\\") or len(name) > 64:
            raise GlueError("InvalidInputException", f"Catalog name {name} is invalid.")
        if STATE.strict and not {"FederatedCatalog", "TargetRedshiftCatalog", "CatalogProperties"} & set(input_):
            raise GlueError("InvalidInputException", "A catalog needs a source.")
        if f"{self.current_account}:{name}" in STATE.catalogs:
            raise GlueError("AlreadyExistsException", "Catalog already exists.")
        STATE.add(self.current_account, name, **input_)
        return EmptyResult()

    def get_catalog(self) -> ActionResult:
        given = self.parameters["CatalogId"]
        if given == self.current_account:
            return ActionResult({"Catalog": {"CatalogId": given, "Name": given}})
        return ActionResult({"Catalog": self._known(given).as_dict()})

    def get_catalogs(self) -> ActionResult:
        asked = self.parameters
        parent, account = asked.get("ParentCatalogId"), self.current_account
        if parent and "IncludeRoot" in asked:
            raise GlueError("InvalidInputException", "IncludeRoot cannot be given with ParentCatalogId.")
        above = f"{account}:" if not parent or parent == account else f"{self._known(parent).id}/"
        rows = [{"CatalogId": account, "Name": account}] if asked.get("IncludeRoot") else []
        for catalog in STATE.catalogs.values():
            rest = catalog.id.removeprefix(above) if catalog.id.startswith(above) else ""
            if rest and (asked.get("Recursive") or "/" not in rest):
                rows.append(catalog.as_dict())
        return self._page("CatalogList", rows, dict)

    def update_catalog(self) -> ActionResult:
        self._known(self.parameters["CatalogId"]).input = self.parameters["CatalogInput"]
        return EmptyResult()

    def delete_catalog(self) -> ActionResult:
        """With all that is inside, as AWS does."""
        gone = self._known(self.parameters["CatalogId"])
        for id_ in [id_ for id_ in STATE.catalogs if id_ == gone.id or id_.startswith(f"{gone.id}/")]:
            del STATE.catalogs[id_]
        return EmptyResult()

    # -- pages and versions ----------------------------------------------------------------------

    def _page(self, key: str, rows: list[Any], shown: Callable[[Any], dict[str, Any]]) -> ActionResult:
        asked, most = self.parameters, PAGES[self._get_action()]
        size = asked.get("MaxResults", most)
        if not 1 <= size <= most:
            raise GlueError("InvalidInputException", f"MaxResults must be from 1 to {most}.")
        start, size = _start(asked.get("NextToken")), min(size, STATE.page)
        more = {"NextToken": f"page-{start + size}"} if start + size < len(rows) else {}
        # As Lake Formation does it: what may not be seen is taken out of the page, which may be empty then.
        page = [shown(row) for row in rows[start : start + size]]
        return ActionResult({key: [row for row in page if row["Name"] not in STATE.hidden], **more})

    def get_databases(self) -> ActionResult:
        return self._page("DatabaseList", self.glue_backend.get_databases(), FakeDatabase.as_dict)

    def get_tables(self) -> ActionResult:
        tables = self.glue_backend.get_tables(self.parameters["DatabaseName"], self.parameters.get("Expression"))
        return self._page("TableList", tables, FakeTable.as_dict)

    def update_table(self) -> ActionResult:
        asked = self.parameters
        found = self.glue_backend.get_table(asked["DatabaseName"], asked["TableInput"]["Name"])
        if asked.get("VersionId", found.as_dict()["VersionId"]) != found.as_dict()["VersionId"]:
            raise GlueError("ConcurrentModificationException", "Update table failed due to concurrent modifications.")
        return _plain_update_table(self)


def _start(token: str | None) -> int:
    if token is None:
        return 0
    if not token.startswith("page-"):
        raise GlueError("InvalidInputException", "The token is invalid.")
    return int(token.removeprefix("page-"))


def _refused(error: GlueError) -> tuple[int, dict[str, str], str]:
    return (
        error.code,
        {"X-Amzn-ErrorType": error.error_type, "Content-Type": "application/x-amz-json-1.1"},
        error.description,
    )


def _is_expired(account: str, key: str) -> bool:
    role = sts_backends[account]["aws"].get_assumed_role_from_access_key(key)
    return role is not None and role.expiration < utcnow()


class ShortRole(AssumedRole):
    """A session that lasts as long as the test says, whatever was asked for: AWS itself gives no less than 900 s."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if STATE.session_seconds is not None:
            self.expiration = utcnow() + timedelta(seconds=STATE.session_seconds)


_plain_call_action: Callable[[GlueResponse], Any] = GlueResponse.call_action
_plain_update_table: Callable[[GlueResponse], Any] = GlueResponse.update_table


def install() -> State:
    """Put the plugin into the moto of this process."""
    import moto.sts.models

    for name, member in vars(CatalogGlueResponse).items():
        if not name.startswith("__"):
            setattr(GlueResponse, name, member)
    moto.sts.models.AssumedRole = ShortRole  # type: ignore[misc]
    return STATE
