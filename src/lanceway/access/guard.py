"""The guard: a tree of catalogs as one caller has it.

It stands between every way in and the tree. Before an operation it asks for the rights that `operations` names, and
raises PermissionDeniedError with the reason; lists show what the caller may see (`lists`). An administrator passes:
whether a caller is one was read with its credentials, for this request.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import lance_namespace as ln
from pydantic import BaseModel
from sqlalchemy import Connection

from lanceway.access.credentials.entitlement import StorageEntitlement
from lanceway.access.credentials.iceberg import IcebergAccess, IcebergStorage
from lanceway.access.credentials.s3_requests import UnsignedRequest
from lanceway.access.credentials.signing import SignedRequest
from lanceway.access.credentials.vending import Vending
from lanceway.access.decisions import Verdict, grounds, judge
from lanceway.access.iceberg import GuardedIceberg, IcebergTarget
from lanceway.access.lists import VisibleTree, shows_all
from lanceway.access.mounted.changes import MountedChanges, steps
from lanceway.access.mounted.identities import MountedIdentities
from lanceway.access.operations import (
    CATALOG,
    EACH,
    METALAKE,
    NEW_PARENT,
    OPERATIONS,
    OWN,
    PARENT,
    SOURCES,
    SQL_SOURCES,
    TARGET,
    Demand,
)
from lanceway.access.principal import Principal
from lanceway.access.privileges import MODIFY_TABLE, SELECT_TABLE
from lanceway.access.rules import BY_NAME, LOAD, Rule
from lanceway.catalogs.contract import limits
from lanceway.catalogs.contract.capabilities import KeepsDefinitions, ObjectDetails
from lanceway.catalogs.contract.clones import CloneRequest
from lanceway.catalogs.contract.hooks import stream_twin
from lanceway.catalogs.contract.iceberg import KeepsIceberg, LoadedIceberg
from lanceway.catalogs.contract.requests import mode
from lanceway.catalogs.contract.schemas import Path, PathNaming, first
from lanceway.catalogs.federated.catalog import FederatedCatalog, ListingStep, canonical
from lanceway.catalogs.federated.iceberg import CompanionTables
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.catalogs.federated.mounts import Mount
from lanceway.catalogs.wrappers import subtree
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.catalogs.wrappers.iceberg import IcebergForwarder
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.errors import (
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    TableNotFoundError,
)
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access import facts, securables
from lanceway.lake.access.facts import AccessFacts, Caller
from lanceway.lake.access.fast_holdings import load_fast
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW
from lanceway.lake.tree import lookups, settings
from lanceway.lake.tree.clones import TableHasClonesError
from lanceway.lake.tree.lookups import NotLanceError
from lanceway.tables.dataset import StoredTable
from lanceway.tables.schema import views

_TWIN = stream_twin("")

# What a rule about schemas means for what is above them: a catalog is a namespace of the root.
_ABOVE: Mapping[tuple[str, str], str] = {
    ("load schema", securables.CATALOG): "use catalog",
    ("load schema", securables.METALAKE): "see metalake",
    ("own schema", securables.CATALOG): "own catalog",
    ("own schema", securables.METALAKE): "administer",
    ("create schema", securables.METALAKE): "create catalog",
}
# Rules about what is in a schema, and the kind of object that each is asked of.
_OF_LEAVES: Mapping[str, str] = {
    **dict.fromkeys(("load table", "read table", "modify table", "own table"), TABLE),
    **dict.fromkeys(("read view", "own view"), VIEW),
}
# Operations that can put something new in the place of what is there, by their modes, and what that needs.
_REPLACING: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "create_namespace": (NAMESPACE, {"exist_ok": "load schema", "overwrite": "own schema"}),
    "create_table": (TABLE, {"exist_ok": "load table", "overwrite": "modify table"}),
    "register_table": (TABLE, {"overwrite": "own table"}),
}
_OF_TRANSACTIONS = frozenset({"describe_transaction", "alter_transaction"})
_MOST_GUARDS = 1024
_PAGE = 1000  # names that a service is asked for at once
_FAST, _FAST_LISTS = frozenset({"describe_table", "table_exists"}), frozenset({"list_tables", "list_iceberg_tables"})
_LOAD_TABLE, _LOAD_SCHEMA = BY_NAME["load table"], BY_NAME["load schema"]

Question = tuple[Rule, Securable]
Answer = tuple[AccessFacts, Verdict]


class Guard(IcebergForwarder, Forwarder):
    """A tree for one caller. It costs next to nothing to make."""

    def __init__(
        self,
        tree: FederatedCatalog,
        store: LakeStore,
        metalake: str,
        principal: Principal,
        identities: MountedIdentities | None = None,
        vending: Vending | None = None,
    ) -> None:
        self._store, self._metalake, self._principal = store, metalake, principal
        self._identities = identities or MountedIdentities(store)
        self._caller = Caller(principal.name, principal.groups)
        self._tree = tree.pinned().acting_as(principal.name, principal.groups)
        if not principal.admin:
            still_holds = partial(self._identities.still_holds, self._tree)
            visible = VisibleTree(store, metalake, self._caller, self._tree.mounts, still_holds)
            self._tree = self._tree.showing(visible)
        vending = vending or Vending()
        self._changes = MountedChanges(store, principal, self._tree.mounts, self._place)
        self.storage = StorageEntitlement(
            vending,
            store,
            principal,
            partial(self._place, kind=TABLE),
            partial(self._identities.still_holds, self._tree),
        )
        self._iceberg_access = IcebergAccess(self.storage, vending, store, metalake, principal.name, self._require)

    @property
    def _mounted(self) -> Mapping[str, Mount]:
        return self._tree.mounts()

    @property
    def mounted_names(self) -> frozenset[str]:
        """The catalogs whose objects are those of other services."""
        return frozenset(self._mounted)

    # -- the operations of the contract ----------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        name = operation.removesuffix(_TWIN)
        self._tree.refresh()
        if not self._principal.admin:
            request = self._checked(name, request)
        was_there = self._was_there(name, request)
        try:
            response = carry_out(self._tree, operation, request, *data)
        except TableHasClonesError as error:
            raise error.with_names() if self._principal.admin else error from None
        except NotLanceError as error:
            raise self._concealed(error, next(filter(None, subtree.identifiers(request)))) from None
        self._changes.note(name, request, was_there=was_there)
        return response

    def _was_there(self, operation: str, request: BaseModel) -> bool | None:
        """Return whether an object of a mounted catalog is there, where that says what a request will have changed."""
        try:
            place = self._changes.doubtful(operation, request)
            return None if place is None else self._exists(place)
        except LanceNamespaceError:
            return None  # the request itself says what is wrong

    def _concealed(self, error: NotLanceError, names: Sequence[str]) -> LanceNamespaceError:
        """Return what the name of a view is to one who may not see the view: that of nothing."""
        if error.kind != VIEW or self._may("read view", [names[0], *error.path]):
            return error
        return lookups.not_found(error.path, None)

    def try_fast(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a response that needs no waiting, if the caller may have it; None means that it must be asked.

        What is mounted must be fresh: a server follows it before (`lanceway.server.branches`).
        """
        if not self._principal.admin and not self._may_fast(operation, names):
            return None
        return self._tree.try_fast(operation, names, fields)

    def listing(self, request: ln.ListTablesRequest) -> Generator[ListingStep, Any, ln.ListTablesResponse]:
        """List all tables that are visible, step by step, as the tree does."""
        yield ListingStep(None, self._tree.refresh)
        return (yield from self._tree.listing(request))

    def namespace_id(self) -> str:
        return self._tree.namespace_id()

    # -- namespaces by logical path --------------------------------------------------------------

    def naming(self, names: Sequence[str] = ()) -> PathNaming | None:
        """Return how names are written in the catalog that an identifier begins with."""
        self._tree.refresh()
        if names:
            self._require("load schema", [names[0]])
        return self._tree.naming(names)

    def list_schemas(self, parent: Path | None = None) -> list[str]:
        """Return the namespaces directly inside one that are visible, as `lake.team:sales`."""
        self._tree.refresh()
        if parent:
            self._require("load schema", [first(parent)[0]])
        naming = self._tree.naming([first(parent)[0]]) if parent and not self._principal.admin else None
        if parent and naming is not None and canonical(first(parent)[0]) in self._mounted:
            return self._mounted_schemas(self.names(parent), naming)
        return self._tree.list_schemas(parent)

    def _mounted_schemas(self, names: list[str], naming: PathNaming) -> list[str]:
        """Return the namespaces of a mounted catalog: of those that the service has, the visible ones."""
        catalog, inside, found = canonical(names[0]), Identifier(names[1:]), list[str]()
        token: str | None = None
        while True:
            page = self._tree.list_namespaces(ln.ListNamespacesRequest(id=names, limit=_PAGE, page_token=token))
            found += (HierarchicalName(inside.child(name)).format(naming.separator) for name in page.namespaces)
            token = page.page_token
            if not token:
                return [f"{catalog}.{name}" for name in found]

    def create_namespaces(
        self, path: Path, properties: Mapping[str, str] | None = None, *, comment: str | None = None
    ) -> Identifier:
        """Make a namespace and what is missing above it: all of it, with one owner, or nothing."""
        self._tree.refresh()
        names = self.names(path)
        self._require("create schema", names[:-1])
        new = [ln.CreateNamespaceRequest(id=each) for each in self._missing_in_mount(names)]
        made = self._tree.create_namespaces(path, properties, comment=comment)
        for request in new:
            self._changes.note("create_namespace", request)
        return made

    def _missing_in_mount(self, names: list[str]) -> list[list[str]]:
        """Return a namespace of a mounted catalog and those above it, as far as they are missing."""
        if canonical(names[0]) not in self._mounted:
            return []
        way = [names[:length] for length in range(2, len(names) + 1)]
        return [each for each in way if not self._exists(self._place(each))]

    def alter_namespace(
        self, path: Path, properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]:
        """Set and take away properties of a namespace, or of a catalog, and return all it has then."""
        self._tree.refresh()
        names = self.names(path)
        self._require("own schema", names)
        altered = self._tree.alter_namespace(path, properties, unset=unset)
        self._changes.note_altered(names)
        return altered

    def drop_schema(self, path: Path) -> None:
        """Drop an empty namespace, or an empty catalog of the lake."""
        self._tree.refresh()
        names = self.names(path)
        self._require("own schema", names)
        self._tree.drop_schema(path)
        self._changes.note("drop_namespace", ln.DropNamespaceRequest(id=names))

    def names(self, path: Path) -> list[str]:
        """Return the names of a logical path, the catalog's first. It tells nothing of what there is."""
        catalog, inside = first(path)
        if not isinstance(inside, str):
            return [catalog, *inside]
        return self.split(catalog, inside) if inside else [catalog]

    def split(self, catalog: str, inside: str) -> list[str]:
        """Return the names of a logical path in a catalog, the catalog's first."""
        separator = self._known_separator(catalog)
        return [catalog, inside] if separator is None else [catalog, *HierarchicalName.parse(inside, separator)]

    def _known_separator(self, catalog: str) -> str | None:
        """Return the separator of names in a catalog, None for one where they do not nest.

        A catalog that is missing, and one that the caller may not use, have the lake's: what is refused must not tell
        one from the other.
        """
        try:
            if self._may("load schema", [catalog]):
                return self._nesting_separator(catalog)
        except NamespaceNotFoundError:
            pass
        return self._store.read(settings.separator).character

    def nesting_separator(self, catalog: str) -> str | None:
        """Return what joins the names of nested namespaces in a catalog; None if its namespaces do not nest."""
        self._require("load schema", [catalog])
        return self._nesting_separator(catalog)

    def _nesting_separator(self, catalog: str) -> str | None:
        fast = self._tree.fast_naming(catalog)
        if fast is not None:
            return fast[0] if fast[1] else None
        naming = self._tree.naming([catalog])
        if naming is not None:
            return naming.separator if naming.nested else None
        most = limits.identifier_limits(self._tree.mount(catalog).catalog).most
        return None if most is not None and most <= 2 else self._store.read(settings.separator).character

    # -- what is recorded of objects -------------------------------------------------------------

    def object_details(self, names: Sequence[str], *, is_namespace: bool) -> ObjectDetails:
        """Return what is recorded of a catalog, a namespace or a table that the caller may see."""
        self._require("load schema" if is_namespace else "load table", names)
        try:
            return self._tree.object_details(names, is_namespace=is_namespace)
        except TableNotFoundError:
            if canonical(names[0]) in self._mounted or self._may("read view", names):
                raise
            raise lookups.not_found(Identifier(names[1:]), None) from None

    def try_split(self, catalog: str, inside: str) -> list[str] | None:
        """Return the names of a logical path in a catalog of the lake, if that needs no waiting."""
        naming = self._tree.fast_naming(catalog)
        if naming is None:
            return None
        separator, nested = naming
        return [catalog, *inside.split(separator)] if nested else [catalog, inside]

    def try_separator(self, catalog: str) -> str | None:
        """Return what joins the names of a logical path in a catalog of the lake, if that needs no waiting."""
        naming = self._tree.fast_naming(catalog)
        return None if naming is None else naming[0]

    def try_details(self, names: list[str], *, is_namespace: bool) -> ObjectDetails | None:
        """Return what is recorded of a namespace or a table, if the caller may have it and that needs no waiting."""
        if not self._principal.admin and not self._may_load_fast(names, is_namespace=is_namespace):
            return None
        return self._tree.try_details(names, is_namespace=is_namespace)

    def try_load_iceberg_table(self, names: list[str], delegation: frozenset[str]) -> LoadedIceberg | None:
        """Return an Iceberg table if the caller may have it, nothing is told of its storage, and that needs no waiting.

        `delegation` are the ways to storage that the client supports.
        """
        if not self._principal.admin and not self._may_load_fast(names, is_namespace=False):
            return None
        loaded = self._tree.try_load_iceberg_table(names)
        if loaded is None or self._iceberg_access.is_told(names, loaded.location, delegation):
            return None
        return loaded

    def _may_load_fast(self, names: list[str], *, is_namespace: bool) -> bool:
        reads = self._store.fast_reads
        if reads is None or len(names) < 2 or not all(names) or canonical(names[0]) in self._mounted:
            return False
        held = load_fast(reads, self._caller, self._place(names, NAMESPACE if is_namespace else TABLE))
        return held is not None and (_LOAD_SCHEMA if is_namespace else _LOAD_TABLE).allows(held)

    def alter_table_properties(self, names: Sequence[str], changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a table of the lake, None for one that is taken away, and return all it has then."""
        self._require("modify table", names)
        try:
            return self._tree.alter_table_properties(names, changes)
        except NotLanceError as error:
            raise self._concealed(error, names) from None

    def require_table(self, names: Sequence[str], privilege: str | None) -> None:
        """Raise PermissionDeniedError unless the caller owns a table, or may do with it what a privilege is for."""
        self._require(
            {SELECT_TABLE: "read table", MODIFY_TABLE: "modify table"}.get(privilege or "", "own table"), names
        )

    def require_owner(self, names: Sequence[str]) -> None:
        """Raise PermissionDeniedError unless the caller may change a catalog or a namespace."""
        self._require("own schema", names)

    # -- Iceberg tables and views ----------------------------------------------------------------

    @property
    def _iceberg(self) -> KeepsIceberg:
        # Of mounted catalogs, the operations of the guard itself are used, which keep their rows in step.
        return GuardedIceberg(
            self._tree, CompanionTables(self), self._tree.mounts, self._require_steps, self._principal.admin
        )

    def _require_steps(self, steps: Iterable[tuple[str, IcebergTarget]]) -> None:
        """Ask for all that some operations on Iceberg tables and views need."""
        self._tree.refresh()
        if not self._principal.admin:
            self._ask([question for operation, request in steps for question in self._questions(operation, request)])

    def require_again(self, steps: Iterable[tuple[str, IcebergTarget]]) -> None:
        """Ask again for what some operations need that were carried out before, to answer for them once more.

        Of what they dropped no right is left: there, what is around it must be open to the caller.
        """
        self._tree.refresh()
        if not self._principal.admin:
            questions = [question for operation, request in steps for question in self._questions(operation, request)]
            self._ask([self._about_what_is_left(*question) for question in questions])

    def _about_what_is_left(self, rule: Rule, place: Securable) -> Question:
        while place.path and not self._exists(place):
            place = place.parent
            rule = BY_NAME[LOAD[place.level]]
        return rule, place

    # -- the storage of Iceberg tables -----------------------------------------------------------

    def iceberg_storage(
        self,
        id_: Sequence[str],
        loaded: LoadedIceberg,
        *,
        delegation: frozenset[str],
        request_id: str = "",
        optional: bool = False,
    ) -> IcebergStorage:
        """Return what a client is told of the storage of a table that it has just loaded or made.

        Raises ServiceUnavailableError if credentials cannot be made now, unless they are `optional`.
        """
        return self._iceberg_access.storage(id_, loaded, delegation, request_id, optional=optional)

    def sign_iceberg_request(
        self, id_: Sequence[str], request: UnsignedRequest, *, note: str | None = None
    ) -> SignedRequest:
        """Sign a request to the storage of an Iceberg table, if the caller may do now what it does."""
        self._tree.refresh()
        signed = self._iceberg_access.sign(id_, request, note)
        self._tree.mount(id_[0]).catalog.namespace_id()  # refused for a catalog that is disabled
        return signed

    # -- clones ----------------------------------------------------------------------------------

    def clone_table(
        self,
        source: Path,
        target: Path,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
    ) -> ln.DescribeTableResponse:
        """Make a shallow clone of a table of the lake, which the caller owns."""
        self._tree.refresh()
        request = CloneRequest(list(Identifier.of(source)), list(Identifier.of(target)), version, tag, branch)
        if not self._principal.admin:
            self._ask(list(self._questions("clone_table", request)))
        try:
            return self._tree.clone_table(request.source, request.id, version=version, tag=tag, branch=branch)
        except NotLanceError as error:
            raise self._concealed(error, request.source) from None

    # -- tables in storage -----------------------------------------------------------------------

    def stored_table(self, names: Sequence[str], operation: str) -> StoredTable:
        """Return where a table of the lake is, for who may carry out this operation of the contract on it."""
        self._tree.refresh()
        if not self._principal.admin:
            self._ask(list(self._questions(operation, ln.TableExistsRequest(id=list(names)))))
        try:
            return self._tree.stored_table(names, operation)
        except NotLanceError as error:
            raise self._concealed(error, names) from None

    # -- other rights ----------------------------------------------------------------------------

    def require(self, rule: str) -> None:
        """Raise PermissionDeniedError unless the caller may do what a rule about the metalake says."""
        self._require(rule, [])

    def require_on_catalog(self, rule: str, name: str) -> None:
        """Raise PermissionDeniedError unless the caller may do what a rule about a catalog says."""
        self._tree.refresh()
        if not self._principal.admin:
            self._ask([(BY_NAME[rule], self._place([name]))])

    def _require(self, rule: str, names: Sequence[str]) -> None:
        if not self._principal.admin:
            self._ask([self._question(rule, names)])

    def _may(self, rule: str, names: Sequence[str]) -> bool:
        if self._principal.admin:
            return True
        _, verdict = self._store.read(answer_all, self._caller, [self._question(rule, names)])[0]
        return bool(verdict)

    # -- questions -------------------------------------------------------------------------------

    def _checked(self, operation: str, request: Any) -> Any:
        """Ask for all that an operation needs, and return the request as it may be carried out."""
        names = list(getattr(request, "id", None) or ())
        if operation not in OPERATIONS:
            raise PermissionDeniedError(f"{operation} is for administrators alone. Ask one.")
        if operation == "list_namespaces" and not names:
            return request  # the tree shows the catalogs that are visible
        questions = list(self._questions(operation, request))
        if operation == "list_all_tables" and names:
            questions.append(self._question("load schema", names))
        replaced = self._replaced(operation, request)
        if replaced is not None:
            rule, place = replaced
            if self._exists(place):
                questions.append((rule, place))
            else:
                # What appears in the meantime is another's: it is not replaced, but a conflict.
                request = request.model_copy(update={"mode": "create"})
        self._ask(questions)
        return request

    def _questions(self, operation: str, request: Any) -> Iterator[Question]:
        if operation == "batch_commit_tables":
            for name, inner in steps(request):
                yield from self._questions(name, inner)
            return
        for demand in (OPERATIONS.get(operation) or OWN[operation]).demands:
            yield from self._asked(operation, request, demand)

    def _asked(self, operation: str, request: Any, demand: Demand) -> Iterator[Question]:
        names = list(getattr(request, "id", None) or ())
        if operation in _OF_TRANSACTIONS:
            names = names[:-1]  # a transaction is named after its table, and is the table's
        rule = demand.rule.name
        if demand.of == METALAKE:
            yield self._question(rule, [])
        elif demand.of == CATALOG:
            yield self._question(rule, names[:1])
        elif demand.of == TARGET:
            if names or rule not in _OF_LEAVES:  # without a name, the tree says what is wrong
                yield self._question(rule, names)
        elif demand.of == PARENT:
            if names:
                yield self._question(rule, names[:-1])
        elif demand.of == NEW_PARENT:
            new_parent = names[:-1] if request.new_namespace_id is None else request.new_namespace_id
            yield self._question(rule, new_parent)
        elif demand.of == EACH:
            for entry in request.entries:
                yield self._question(rule, entry.id or ())
        elif demand.of == SOURCES:
            yield from self._sources(operation, request, names, rule)

    def _sources(self, operation: str, request: Any, names: list[str], rule: str) -> Iterator[Question]:
        """Ask for what a clone shares or a view reads."""
        if operation == "clone_table":
            yield self._question(rule, request.source)
            return
        if operation == "create_materialized_view":
            view: views.View | None = views.read_view_request(request)
        else:
            view = self._view_definition(names)
        if view is None:
            return
        if view.sql is not None:
            yield self._question(SQL_SOURCES.rule.name, names[:1])
        else:
            source = view.source if operation == "create_materialized_view" else (*names[:1], *view.source)
            yield self._question(rule, source)

    def _view_definition(self, names: list[str]) -> views.View | None:
        """Return the definition of a view of the lake; of others the worker trusts administrators alone."""
        if len(names) < 2 or canonical(names[0]) in self._mounted:
            return None
        try:
            catalog = self._tree.mount(names[0]).catalog
            return catalog.view_definition(names[1:]) if isinstance(catalog, KeepsDefinitions) else None
        except (InvalidTableStateError, NamespaceNotFoundError, TableNotFoundError):
            return None  # the tree says so, to who may know it

    def _question(self, rule: str, names: Sequence[str]) -> Question:
        place = self._place(names, _OF_LEAVES.get(rule, NAMESPACE))
        return BY_NAME[_ABOVE.get((rule, place.level), rule)], place

    def _place(self, names: Sequence[str], kind: str = NAMESPACE) -> Securable:
        if not names:
            return Securable(self._metalake)
        catalog = canonical(names[0])
        path = Identifier(names[1:])
        mounted = catalog in self._mounted
        if mounted:
            path = self._as_service(catalog, path)
        if path.is_root:
            return Securable(self._metalake, catalog, mounted=mounted)
        return Securable(self._metalake, catalog, path, kind, mounted=mounted)

    def _as_service(self, catalog: str, path: Identifier) -> Identifier:
        """Return a path as its service has it, so that an object has one name here, however a request spells it."""
        for name in path:
            if unicodedata.normalize("NFC", name) != name:
                raise InvalidInputError(
                    f"The name {name!r} is not in the normal form NFC, which names of mounted catalogs must have here."
                )
        if not path or not limits.identifier_limits(self._mounted[catalog].catalog).folds_case:
            return path
        return Identifier(name.lower() for name in path)

    def _replaced(self, operation: str, request: Any) -> Question | None:
        """Return what replacing or returning an object that is there already needs; None if it is refused anyway."""
        kind, rules = _REPLACING.get(operation, ("", {}))
        if not rules or not getattr(request, "id", None):
            return None
        chosen = mode(f"The mode of {operation}", request.mode, "create", *rules)
        if chosen == "create":
            return None
        place = self._place(request.id, kind)
        return BY_NAME[_ABOVE.get((rules[chosen], place.level), rules[chosen])], place

    def _exists(self, place: Securable) -> bool:
        if place.mounted and place.path:
            names = [str(place.catalog), *place.path]
            try:
                if place.kind == NAMESPACE:
                    self._tree.namespace_exists(ln.NamespaceExistsRequest(id=names))
                else:
                    self._tree.table_exists(ln.TableExistsRequest(id=names))
            except (NamespaceNotFoundError, TableNotFoundError):
                return False
            return True
        return self._store.read(facts.load, self._caller, place).found

    def _ask(self, questions: Sequence[Question]) -> None:
        while questions:
            if all(map(self._is_settled, self._store.read(answer_all, self._caller, questions))):
                return

    def _is_settled(self, answer: Answer) -> bool:
        """Require what was asked. Return whether it rests on objects that are still there, or is to be asked again.

        What it rested on has lapsed then, so that it is not asked for ever.
        """
        found, verdict = answer
        for recorded in grounds(found, verdict):
            if not self._identities.still_holds(self._tree, str(found.place.catalog), recorded):
                return False
        verdict.require()
        return True

    def _may_fast(self, operation: str, names: list[str] | None) -> bool:
        """Return whether an answer may be given at once. A refusal, which has reasons, is given in the usual way."""
        reads = self._store.fast_reads
        if reads is None or not names or not all(isinstance(name, str) for name in names):
            return False
        if canonical(names[0]) in self._mounted:
            return False
        is_table = operation in _FAST
        if operation not in _FAST_LISTS and not (is_table and len(names) > 1):
            return False
        held = load_fast(reads, self._caller, self._place(names, TABLE if is_table else NAMESPACE))
        if held is None:
            return False
        # Where nothing is found, the tree has no answer at once either.
        return _LOAD_TABLE.allows(held) if is_table else shows_all(held)


class Guards:
    """The guards of a server, by caller: those who are no administrators may have tables in allowed locations alone."""

    def __init__(
        self,
        tree: FederatedCatalog,
        store: LakeStore,
        allowed: AllowedLocations,
        metalake: str = "lanceway",
        vending: Vending | None = None,
    ) -> None:
        self.vending = vending or Vending()
        self._tree, self._confined = tree, tree.confined_to(allowed)
        self._store, self._metalake = store, metalake
        self._identities = MountedIdentities(store)
        self._made: dict[tuple[str, tuple[str, ...], bool], Guard] = {}

    @property
    def tree(self) -> FederatedCatalog:
        """The tree of an administrator, to whom nothing is closed."""
        return self._tree

    @property
    def configured_names(self) -> frozenset[str]:
        """The mounted catalogs of the configuration; which others are mounted, the database says."""
        return frozenset(self._tree.configured)

    def of(self, principal: Principal) -> Guard:
        """Return the guard for a caller."""
        key = principal.name, principal.groups, principal.admin
        guard = self._made.get(key)
        if guard is None:
            if len(self._made) >= _MOST_GUARDS:
                self._made.clear()
            tree = self._tree if principal.admin else self._confined
            guard = Guard(tree, self._store, self._metalake, principal, self._identities, self.vending)
            self._made[key] = guard
        return guard


def require_all(connection: Connection, caller: Caller, questions: Sequence[Question]) -> None:
    """Raise PermissionDeniedError unless every answer is yes. Each place is looked at once."""
    for _, verdict in answer_all(connection, caller, questions):
        verdict.require()


def answer_all(connection: Connection, caller: Caller, questions: Sequence[Question]) -> list[Answer]:
    """Return the verdict on each question, with what it was made from, up to the first refusal."""
    known: dict[Securable, AccessFacts] = {}
    answers: list[Answer] = []
    for rule, place in questions:
        if place not in known:
            known[place] = facts.load(connection, caller, place)
        answers.append((known[place], judge(known[place], rule)))
        if not answers[-1][1]:
            break
    return answers
