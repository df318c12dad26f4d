"""One tree over many catalogs: each is mounted by its name under one root.

The first name of an identifier chooses the catalog, and the names after it are the catalog's own:
`["lake", "team", "orders"]` is `["team", "orders"]` in the catalog `lake`. There are three kinds of catalogs: those
from the configuration, of any type, which cannot be changed here (`mounts.py`); those of other services that were made
through an interface (`made.py`); and those in the database of the tree's own lake, which are created and dropped as
namespaces of the root (`own_lake.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract import clones
from lanceway.catalogs.contract.capabilities import (
    KeepsDetails,
    ObjectDetails,
    ObjectIdentity,
    ShowsVisible,
    VisibleObjects,
    acting_as,
    object_identity,
    with_job_queue,
)
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.iceberg import ConfinesIceberg, KeepsIceberg, LoadedIceberg
from lanceway.catalogs.contract.jobs import JobMethods, JobQueue
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.metadata import create_root, refuse_drop_of_root
from lanceway.catalogs.contract.requests import accept, mode, page_limit, page_of, page_start, page_token
from lanceway.catalogs.contract.schemas import HasSchemas, Path, PathNaming, StatesNaming, changes, first, require
from lanceway.catalogs.federated.iceberg import CompanionTables, FederatedIceberg, Result
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.catalogs.federated.mounts import (
    ConfiguredMount,
    Mount,
    Mounted,
    ServiceMount,
    begin_with_a_catalog,
    canonical,
    in_use,
)
from lanceway.catalogs.federated.root import RootCatalogs
from lanceway.catalogs.handles.contents import CatalogContents
from lanceway.catalogs.wrappers import subtree
from lanceway.catalogs.wrappers.forward import Forwarder
from lanceway.catalogs.wrappers.iceberg import IcebergForwarder
from lanceway.catalogs.wrappers.operations import carry_out
from lanceway.config import CatalogSettings, ServerSettings
from lanceway.errors import (
    ConcurrentModificationError,
    InternalError,
    InvalidInputError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    UnauthenticatedError,
    UnsupportedOperationError,
    table_not_found,
)
from lanceway.identifiers import Identifier
from lanceway.tables import bases
from lanceway.tables.dataset import StoredTable

if TYPE_CHECKING:
    from lanceway.catalogs.federated.made import MadeMounts
    from lanceway.catalogs.federated.own_lake import OwnLake
    from lanceway.lake.secrets import SecretKeys
    from lanceway.lake.store.database import LakeStore

__all__ = ["FederatedCatalog", "ListingStep", "Mount", "canonical"]

_ON_NAMESPACES = frozenset(
    {
        "create_namespace",
        "describe_namespace",
        "drop_namespace",
        "list_all_tables",
        "list_namespaces",
        "list_tables",
        "namespace_exists",
    }
)
# Operations that may create a table: for these an identifier that no table can have is a wrong request.
_CREATING = frozenset(
    {
        "batch_commit_tables",
        "batch_create_table_versions",
        "create_empty_table",
        "create_materialized_view",
        "create_table",
        "create_table_stream",
        "declare_table",
        "register_table",
    }
)
# Operations that claim versions whose manifests the client has written.
_CLAIMING = frozenset({"batch_commit_tables", "batch_create_table_versions", "create_table_version"})
# Operations that may record a job.
_RECORDING = frozenset(
    {
        "alter_table_add_columns",
        "alter_table_backfill_columns",
        "create_materialized_view",
        "refresh_materialized_view",
    }
)


_LISTING = frozenset({"list_all_tables", "list_namespaces", "list_tables"})

# What the page tokens of a list of all tables are made for.
_ALL_TABLES = "tables of all catalogs"


class ListingStep(NamedTuple):
    """A part of a longer list: the call to make, and the configured catalog that it may have to wait for."""

    mount: str | None
    call: Callable[[], Any]


class FederatedCatalog(CatalogContents, JobMethods, IcebergForwarder, Forwarder):
    """Catalogs under one root.

    A call waits for the catalog that it is for, as long as that takes: deadlines and threads of mounts are enforced
    by the server. A catalog that cannot be opened answers 17 for its own branch, and is tried again a second later;
    the root and the other branches do not need it.
    """

    def __init__(
        self,
        catalogs: Mapping[str, CatalogSettings],
        lake: OwnLake | None = None,
        keys: SecretKeys | None = None,
    ) -> None:
        self._configured: dict[str, ConfiguredMount] = {}
        for name, settings in catalogs.items():
            mount = ConfiguredMount(canonical(name), settings)
            if mount.name in self._configured:
                raise InvalidInputError(f"Two sections [catalogs.{name}] have names that look the same. Rename one.")
            self._configured[mount.name] = mount
        self._lake = lake
        self._made = None if lake is None else lake.made_mounts(self._configured, keys)
        self._is_pinned = False
        self._user: str | None = None
        self._groups: tuple[str, ...] | None = None
        self._allowed: AllowedLocations | None = None
        self._visible: VisibleObjects | None = None

    @classmethod
    def from_settings(
        cls,
        settings: ServerSettings,
        store: LakeStore | None = None,
        *,
        metalake: str = "lanceway",
        warehouse: str | None = None,
    ) -> Self:
        """Return the tree of a server with these settings, over its store if that is open already.

        Raises InvalidInputError for a catalog that cannot be configured, such as one with the name of a catalog in
        the database.
        """
        if store is None and settings.database is None:
            return cls(settings.catalogs)
        from lanceway.catalogs.federated.own_lake import OwnLake
        from lanceway.lake.store.database import open_store

        lake = OwnLake(
            store or open_store(settings.database or "", upgrade=False),
            metalake=metalake,
            warehouse=warehouse or settings.warehouse,
            storage=settings.storage,
            threads=settings.threads,
            deadline=settings.request_timeout,
        )
        tree = cls(settings.catalogs, lake, secret_keys(settings, lake.store))
        if hidden := lake.present(list(tree._configured)):
            raise InvalidInputError(
                f"The section [catalogs.{hidden[0]}] of the configuration and the catalog {hidden[0]!r} in the lake's "
                f"database ({lake.store!r}) have the same name, and one would hide the other. Rename the section."
            )
        return tree

    # -- mounts ----------------------------------------------------------------------------------

    @property
    def made(self) -> MadeMounts:
        """Return the mounted catalogs made through an interface. Raise UnsupportedOperationError without a lake."""
        return self._root.require_made()

    @property
    def lake(self) -> OwnLake:
        """Return the tree's own lake. Raises UnsupportedOperationError where there is none."""
        return self._root.require_lake("to make catalogs")

    @property
    def configured(self) -> Mapping[str, Mount]:
        """Return the catalogs from the configuration, which cannot be changed here."""
        return MappingProxyType(self._configured)

    def mounts(self) -> Mapping[str, Mount]:
        """Return the catalogs of other services. Those of the lake come and go, and share one database."""
        return MappingProxyType(self._mounts)

    @property
    def _mounts(self) -> Mapping[str, ServiceMount]:
        return self._mounted.mounts

    @property
    def _mounted(self) -> Mounted:
        if self._made is None:
            return Mounted("", self._configured)
        return self._made.at_hand if self._is_pinned else self._made.current()

    def pinned(self) -> Self:
        """Return the tree with what was mounted when `refresh` was last called, rather than asking each time."""
        view = self._copy()
        view._is_pinned = True
        return view

    def refresh(self) -> None:
        """Notice what any process has mounted, altered, disabled or dropped: with one statement, which may wait."""
        if self._made is not None:
            self._made.current()

    def is_fresh(self) -> bool:
        """Return whether nothing was changed since, if that is known at once. It never waits, for an event loop."""
        return self._made is None or self._made.is_current()

    @property
    def is_readable_at_once(self) -> bool:
        """Return whether `is_fresh` can be known: the lake's database allows reads that never wait."""
        return self._lake is None or self._lake.store.fast_reads is not None

    @property
    def revision(self) -> str | None:
        """Return which state of what is mounted is at hand; None before the first `refresh`."""
        return None if self._made is None else self._made.at_hand.revision

    def is_known(self, name: str | None) -> bool:
        """Return whether a name is that of a catalog at hand, mounted or opened before. Nothing is asked."""
        if self.revision is None and self._made is not None:
            return False
        return name is None or name in self._mounts or (self._lake is not None and self._lake.at_hand(name) is not None)

    def mount(self, name: str) -> Mount:
        """Return the catalog of a name. Nothing is asked: whether the lake has it is known when it is used.

        Raises NamespaceNotFoundError where there is no lake to ask.
        """
        mounted, key = self._mounted, canonical(name)
        return mounted.mounts.get(key) or self._root.lake_of(name).mount(key, disabled=key in mounted.disabled)

    @property
    def _root(self) -> RootCatalogs:
        made, visible = self._made, self._visible
        return RootCatalogs(self._configured, lambda: self._mounts, self._lake, made, visible, self._user)

    def acting_as(self, user: str, groups: tuple[str, ...] | None = None) -> Self:
        """Return the tree for another user, whom the lake's catalogs name as owner and in their history."""
        view = self._copy()
        view._user, view._groups = user, groups
        return view

    def confined_to(self, allowed: AllowedLocations) -> Self:
        """Return the tree for a user who may have tables only in the allowed locations."""
        view = self._copy()
        view._allowed = allowed
        return view

    def showing(self, visible: VisibleObjects) -> Self:
        """Return the tree with lists of what is visible alone. What can be done by name stays as it is."""
        view = self._copy()
        view._visible = visible
        return view

    def _copy(self) -> Self:
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        return view

    def _creates_in_root(self) -> bool:
        return False

    # -- requests for a branch -------------------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        """Run an operation on the one catalog that its identifiers name, with the names that it has there."""
        name = self._branch(operation, request)
        mount = self.mount(name)
        if self._allowed is not None:
            self._allowed.check(mount, operation, request)
        if mount.foreign:
            for new_name in _new_names(operation, request):
                self._check_plain(mount, new_name)

        def below(names: list[str] | None) -> list[str] | None:
            if names is None:
                return None
            if not names or canonical(names[0]) != name:
                raise InvalidInputError(
                    f"{operation} stays within one catalog, but {names!r} is not in {name!r}, where it began. Create "
                    "the table in the other catalog and copy its rows."
                )
            return names[1:]

        inside = subtree.rewrite_request(request, below)
        if mount.foreign and getattr(inside, "identity", None) is not None:
            # It says who asks this tree, and is not for the mounted service to know.
            inside = inside.model_copy(update={"identity": None})
        with bases.claimed_by_client() if operation in _CLAIMING else nullcontext():
            if self._visible is not None and mount.foreign and operation in _LISTING:
                response = self._visible.listed(name, operation, inside, partial(self._ask, mount))
            else:
                response = self._ask(mount, operation, inside, *data)
        return subtree.rewrite_response(operation, response, lambda names: [name, *names])

    def _check_plain(self, mount: Mount, name: str) -> None:
        """Refuse a new name in a mounted catalog that holds the separator of the lake, where its policy says so."""
        if self._lake is not None and not name.isalnum():
            self._lake.separator.check_plain(name, mount.name)

    def _branch(self, operation: str, request: BaseModel) -> str:
        """Return the name of the one catalog that a request is for."""
        identifiers = [Identifier(names or ()) for names in subtree.identifiers(request)]
        for identifier in identifiers:
            if operation not in _ON_NAMESPACES:
                _refuse_at_the_root(operation, identifier)
        names = sorted({canonical(identifier[0]) for identifier in identifiers})
        if not names:
            raise InvalidInputError(f"{operation} names no table, so that no catalog can be asked. Name at least one.")
        if len(names) > 1:
            raise InvalidInputError(
                f"{operation} is one transaction and stays within one catalog, but it names tables of "
                f"{' and '.join(repr(name) for name in names)}. Ask for each catalog on its own."
            )
        return names[0]

    def _ask(self, mount: Mount, operation: str, request: BaseModel, *data: Any) -> Any:
        try:
            with in_use(mount), self._reaching(mount, getattr(request, "storage_options", None)):
                return carry_out(self._catalog_for(mount, operation), operation, request, *data)
        except NamespaceNotFoundError:
            # A catalog of the lake may have been dropped, and its name given to another since it was opened.
            if mount.foreign or self._lake is None or not self._lake.is_stale(mount.name):
                raise
        if data:  # some of it may have been read
            raise ConcurrentModificationError(
                f"The catalog {mount.name!r} was dropped and created again at the same time. Try again."
            )
        return carry_out(self._catalog_for(mount, operation), operation, request)

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return what tells an object of a mounted catalog from a later one of the same name, if its service says."""
        mount = self.mount(id_[0])
        with in_use(mount), self._reaching(mount):
            return object_identity(mount.catalog, id_[1:], is_namespace=is_namespace)

    def object_details(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectDetails:
        """Return what is recorded of a catalog, a namespace or a table: of a service's, the properties alone."""
        if len(id_) == 1:
            return self._root.details(canonical(id_[0]))
        mount = self.mount(id_[0])
        if not mount.foreign and isinstance(mount.catalog, KeepsDetails):
            try:
                return mount.catalog.object_details(id_[1:], is_namespace=is_namespace)
            except NamespaceNotFoundError:
                if self._lake is None or not self._lake.is_stale(mount.name):
                    raise
                return self.object_details(id_, is_namespace=is_namespace)
        if is_namespace:
            return ObjectDetails(self.describe_namespace(ln.DescribeNamespaceRequest(id=list(id_))).properties or {})
        return ObjectDetails(self.describe_table(ln.DescribeTableRequest(id=list(id_))).properties or {})

    def alter_table_properties(self, id_: Sequence[str], changes: Mapping[str, str | None]) -> dict[str, str]:
        """Change properties of a table of the lake, None for one that is taken away, and return all it has then."""
        _refuse_at_the_root("alter_table_properties", Identifier(id_))
        catalog = self._catalog_for(self.mount(id_[0]), "alter_table_properties")
        if not isinstance(catalog, KeepsDetails):
            raise UnsupportedOperationError(
                f"The properties of tables in {id_[0]!r} cannot be altered: only those of the lake can."
            )
        return catalog.alter_table_properties(id_[1:], changes)

    @contextmanager
    def _reaching(self, mount: Mount, own_options: Mapping[str, str] | None = None) -> Iterator[None]:
        """Say which catalog cannot be reached, or not with the credentials that it is mounted with."""
        try:
            yield
        except UnauthenticatedError as error:
            if own_options:  # the caller's
                raise
            raise ServiceUnavailableError(
                f"The catalog {mount.name!r} does not accept the credentials that it is mounted with; an administrator "
                f"must correct its settings. ({error})"
            ) from error
        except (ConnectionError, TimeoutError) as error:
            raise ServiceUnavailableError(
                f"The catalog {mount.name!r} cannot be reached: {type(error).__name__}. Try again later."
            ) from error

    def _catalog_for(self, mount: Mount, operation: str) -> ln.LanceNamespace:
        catalog = mount.catalog if self._user is None else acting_as(mount.catalog, self._user, self._groups)
        if self._visible is not None and not mount.foreign and isinstance(catalog, ShowsVisible):
            catalog = catalog.showing(self._visible)
        # The jobs of the lake's own catalogs are recorded in the same database anyway.
        queue = self._queue_of(mount.name) if mount.foreign and operation in _RECORDING else None
        return catalog if queue is None else with_job_queue(catalog, queue)

    def try_fast(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a response that a catalog of the tree's own lake has at once; None means that it must be asked.

        It never waits, and fits an event loop. Nothing is refused here.
        """
        if not names or self._made is None or self._lake is None:
            return None
        if not self._is_pinned and not self._made.is_current():
            return None
        mounted = self._made.at_hand
        if names[0] in mounted.mounts or names[0] in mounted.disabled:
            return None
        catalog = self._lake.at_hand(names[0])
        return None if catalog is None else catalog.try_fast(operation, names[1:], fields)

    def fast_naming(self, name: str) -> tuple[str, bool] | None:
        """Return the separator, and whether a catalog of the tree's own lake is nested, as `try_fast` does."""
        catalog = None if self._lake is None or name in self._configured else self._lake.at_hand(name)
        return None if catalog is None else catalog.fast_naming()

    def try_details(self, names: list[str], *, is_namespace: bool) -> ObjectDetails | None:
        """Return what is recorded of a namespace or a table of the tree's own lake, as `try_fast` does."""
        if self._lake is None or len(names) < 2 or names[0] in self._configured:
            return None
        catalog = self._lake.at_hand(names[0])
        return None if catalog is None else catalog.try_details(names[1:], is_namespace=is_namespace)

    def try_load_iceberg_table(self, names: list[str]) -> LoadedIceberg | None:
        """Return an Iceberg table of the tree's own lake, as `try_fast` does."""
        if self._lake is None or len(names) < 2 or names[0] in self._configured:
            return None
        catalog = self._lake.at_hand(names[0])
        return None if catalog is None else catalog.try_load_iceberg_table(names[1:])

    # -- the root: catalogs as namespaces --------------------------------------------------------

    def list_namespaces(
        self, request: ln.ListNamespacesRequest | Mapping[str, Any] | None = None
    ) -> ln.ListNamespacesResponse:
        """List namespaces: at the root every catalog, none of which is asked."""
        request = accept(ln.ListNamespacesRequest, request)
        if request.id:
            return super().list_namespaces(request)
        limit, scope = page_limit(request.limit), "catalogs"
        names = self._root.shown(page_start(scope, request.page_token), limit and limit + 1)
        names, token = page_of(names, limit, scope, str)
        return ln.ListNamespacesResponse(namespaces=names, page_token=token)

    def describe_namespace(
        self, request: ln.DescribeNamespaceRequest | Mapping[str, Any]
    ) -> ln.DescribeNamespaceResponse:
        """Describe a namespace: a catalog by its type and properties; one from the configuration is not asked."""
        request = accept(ln.DescribeNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.depth > 1:
            return super().describe_namespace(request)
        return ln.DescribeNamespaceResponse(properties=self._properties(namespace))

    def namespace_exists(self, request: ln.NamespaceExistsRequest | Mapping[str, Any]) -> ln.NamespaceExistsResponse:
        request = accept(ln.NamespaceExistsRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.depth > 1:
            return super().namespace_exists(request)
        self._properties(namespace)
        return ln.NamespaceExistsResponse()

    def _properties(self, namespace: Identifier) -> dict[str, str]:
        return {} if namespace.is_root else self._root.properties(canonical(namespace.name))

    def create_namespace(self, request: ln.CreateNamespaceRequest | Mapping[str, Any]) -> ln.CreateNamespaceResponse:
        """Create a namespace: at the root, a nested catalog of the lake."""
        request = accept(ln.CreateNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        if namespace.is_root:
            return create_root(request.mode)
        if namespace.depth > 1:
            return super().create_namespace(request)
        chosen = mode("The mode of create_namespace", request.mode, "create", "exist_ok", "overwrite")
        properties = self._root.create(canonical(namespace.name), request.properties or {}, chosen)
        return ln.CreateNamespaceResponse(properties=properties)

    def drop_namespace(self, request: ln.DropNamespaceRequest | Mapping[str, Any]) -> ln.DropNamespaceResponse:
        """Drop a namespace: at the root a catalog of the lake, an empty one or with `cascade` all that is in it."""
        request = accept(ln.DropNamespaceRequest, request)
        namespace = Identifier(request.id or ())
        missing = mode("The mode of drop_namespace", request.mode, "fail", "skip")
        behavior = mode("The behavior of drop_namespace", request.behavior, "restrict", "cascade")
        if namespace.is_root:
            refuse_drop_of_root()
        if namespace.depth > 1:
            return super().drop_namespace(request)
        properties = self._root.drop(
            canonical(namespace.name), skip_missing=missing == "skip", cascade=behavior == "cascade"
        )
        return ln.DropNamespaceResponse(properties=properties)

    # -- namespaces by logical path, after the name of their catalog: lake.team:sales ------------

    def naming(self, names: Sequence[str] = ()) -> PathNaming | None:
        """Return how names are written in the catalog that an identifier begins with; None where it does not say."""
        if not names:
            return None
        inner = self.mount(names[0]).catalog
        naming = inner.naming(names[1:]) if isinstance(inner, StatesNaming) else None
        return None if naming is None else replace(naming, in_tree=True)

    def list_schemas(self, parent: Path | None = None) -> list[str]:
        """Return the namespaces directly inside one, as `lake.team:sales`; all catalogs if none is given."""
        if not parent:
            return list(self._root.shown(None))
        catalog, path = first(parent)
        names = self._with_schemas(catalog, "list_schemas").list_schemas(path or None)
        return [f"{canonical(catalog)}.{name}" for name in names]

    def create_namespaces(
        self, path: Path, properties: Mapping[str, str] | None = None, *, comment: str | None = None
    ) -> Identifier:
        """Make a namespace and what is missing above it in its catalog: all of it, with one owner, or nothing."""
        catalog, inside = first(path)
        created = self._with_schemas(catalog, "create_namespaces").create_namespaces(
            inside, properties, comment=comment
        )
        return Identifier((canonical(catalog), *created))

    def alter_namespace(
        self, path: Path, properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]:
        """Set and take away properties of a namespace, or of a catalog of the lake, and return all it has then."""
        catalog, inside = first(path)
        if inside:
            return self._with_schemas(catalog, "alter_namespace").alter_namespace(inside, properties, unset=unset)
        return self._root.alter(canonical(catalog), changes(properties, unset))

    def drop_schema(self, path: Path) -> None:
        """Drop an empty namespace, or an empty catalog of the lake."""
        catalog, inside = first(path)
        if inside:
            self._with_schemas(catalog, "drop_schema").drop_schema(inside)
        else:
            self.drop_namespace(ln.DropNamespaceRequest(id=[catalog]))

    def _with_schemas(self, name: str, method: str) -> HasSchemas:
        mount = self.mount(name)
        return require(self._catalog_for(mount, method), method)

    # -- Iceberg tables and views ----------------------------------------------------------------

    @property
    def _iceberg(self) -> KeepsIceberg:
        return FederatedIceberg(self.mount, self._in_lake, CompanionTables(self))

    def _in_lake(self, mount: Mount, call: Callable[[KeepsIceberg], Result]) -> Result:
        try:
            return call(self._keeping_iceberg(mount))
        except NamespaceNotFoundError:
            if self._lake is None or not self._lake.is_stale(mount.name):
                raise
            return call(self._keeping_iceberg(mount))

    def _keeping_iceberg(self, mount: Mount) -> KeepsIceberg:
        catalog = self._catalog_for(mount, "iceberg")
        assert isinstance(catalog, ConfinesIceberg)  # as every catalog of the lake is
        if self._allowed is None:
            return catalog
        return catalog.confined_to(partial(self._allowed.check_location, mount, "An Iceberg table or view"))

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
        """Make a shallow clone of a table, within one catalog of the lake that is this tree's own."""
        names = Identifier.of(source), Identifier.of(target)
        for identifier in names:
            _refuse_at_the_root("clone_table", identifier)
        (first_name, *inside), (target_name, *new) = names
        name = canonical(target_name)
        if canonical(first_name) != name or name in self._mounts:
            raise UnsupportedOperationError(
                f"{first_name!r} and {target_name!r}: a clone shares the files of a table of the same catalog, which "
                "must be one of the lake. Between others, and in those that are mounted, copy the rows."
            )
        catalog = clones.require(self._catalog_for(self.mount(name), "clone_table"))
        return catalog.clone_table(inside, new, version=version, tag=tag, branch=branch)

    # -- tables in storage -----------------------------------------------------------------------

    def stored_table(self, names: Sequence[str], operation: str) -> StoredTable:
        """Return where a table is and how to reach it, in a catalog of the lake that is this tree's own."""
        identifier = Identifier.of(names)
        _refuse_at_the_root(operation, identifier)
        name, *inside = identifier
        if canonical(name) in self._mounts:
            raise UnsupportedOperationError(
                f"{operation} works on tables of the lake's own catalogs. {name!r} is mounted from another service."
            )
        catalog = self._catalog_for(self.mount(name), operation)
        assert isinstance(catalog, CatalogHooks)
        return catalog._table(inside, operation)

    # -- lists of tables -------------------------------------------------------------------------

    def list_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        """List the tables of a namespace; the root has none."""
        request = accept(ln.ListTablesRequest, request)
        if request.id:
            return super().list_tables(request)
        page_limit(request.limit)
        page_start("no tables", request.page_token)
        return ln.ListTablesResponse(tables=[])

    def list_all_tables(self, request: ln.ListTablesRequest | Mapping[str, Any] | None = None) -> ln.ListTablesResponse:
        """List every table below a namespace, or below the root, in order of its identifier.

        One catalog that does not answer makes it fail: a list is complete, or an error.
        """
        request = accept(ln.ListTablesRequest, request)
        if request.id:
            return super().list_all_tables(request)
        steps, result = self.listing(request), None
        try:
            while True:
                result = steps.send(result).call()
        except StopIteration as done:
            response: ln.ListTablesResponse = done.value
            return response

    def listing(self, request: ln.ListTablesRequest) -> Generator[ListingStep, Any, ln.ListTablesResponse]:
        """List every table below the root, step by step: a server runs each step on the threads of its catalog.

        The caller makes the call of each step, and sends its result.
        """
        limit = page_limit(request.limit)
        after = page_start(_ALL_TABLES, request.page_token)
        start, token = json.loads(after) if after else (None, None)
        tables: list[str] = []
        names = yield ListingStep(None, partial(self._root.shown, None))
        names = [name for name in names if start is None or name > start or (name == start and token)]
        for name in names:
            token = token if name == start else None
            while True:
                missing = None if limit is None else limit - len(tables)
                below = request.model_copy(update={"id": [name], "limit": missing, "page_token": token})
                page = yield ListingStep(name if name in self._mounts else None, partial(self._page, name, below))
                if page.page_token and page.page_token == token:
                    raise InternalError(f"The catalog {name!r} answers with the same page of tables again and again.")
                tables += page.tables
                token = page.page_token
                if limit is not None and len(tables) >= limit and (token or name != names[-1]):
                    next_page = page_token(_ALL_TABLES, json.dumps([name, token]))
                    return ln.ListTablesResponse(tables=tables, page_token=next_page)
                if not token:
                    break
        return ln.ListTablesResponse(tables=tables)

    def _page(self, name: str, request: ln.ListTablesRequest) -> ln.ListTablesResponse:
        try:
            return super().list_all_tables(request)
        except NamespaceNotFoundError:
            if name in self._mounts:
                raise
            return ln.ListTablesResponse(tables=[])  # dropped since

    # -- background jobs: recorded in the tree's own lake, whatever catalog they are for ---------

    def _queue_of(self, catalog: str | None) -> JobQueue | None:
        """Return the queue for the jobs of a catalog, or with None for those of all."""
        if self._lake is None:
            return None
        user = self._user or self._lake.user
        return JobQueue(self._lake.store, self._lake.metalake, catalog, user, groups=self._groups)

    def _require_queue(self, operation: str) -> JobQueue:
        queue = self._queue_of(None)
        if queue is None:
            raise UnsupportedOperationError(f"{operation}: a tree without a lake of its own keeps no jobs.")
        return queue

    # -- limits ----------------------------------------------------------------------------------

    def identifier_limits(self) -> IdentifierLimits:
        """Return how many names the identifier of a table has: the root holds catalogs, and no tables."""
        return IdentifierLimits(least=2)

    def check_new_table(self, table: Identifier) -> None:
        """Raise InvalidInputError for an identifier that names a catalog, or the root, and for a name that the lake's
        policy keeps out of mounted catalogs.
        """
        _refuse_at_the_root("create_table", table)
        mount = self._mounts.get(canonical(table[0]))
        for name in table[1:] if mount is not None else ():
            self._check_plain(self.mount(table[0]), name)

    # -- identity --------------------------------------------------------------------------------

    def namespace_id(self) -> str:
        """Return an id that differs whenever what is mounted or who acts does. Secrets enter as a hash."""
        mounted = {name: mount.identity() for name, mount in self._configured.items()}
        lake = None if self._lake is None else self._lake.identity()
        text = json.dumps([mounted, lake, self._user], sort_keys=True)
        return f"lanceway-federated-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    def __repr__(self) -> str:
        lake = "" if self._lake is None else f", {self._lake!r}"
        return f"{type(self).__name__}({list(self._configured.values())!r}{lake})"

    def close(self) -> None:
        """Close all that is open. What is used again opens again."""
        for mount in self._configured.values():
            mount.close()
        if self._made is not None:
            self._made.close()
        if self._lake is not None:
            self._lake.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def secret_keys(settings: ServerSettings, store: LakeStore) -> SecretKeys:
    """Return the keys that encrypt secrets: the configured ones, else those of the home beside a SQLite database."""
    from lanceway.lake import secrets

    file = None if store.is_shared else settings.home / secrets.FILE
    return secrets.SecretKeys(settings.secret_key, file)


def _new_names(operation: str, request: Any) -> Iterator[str]:
    """Yield the names of objects that a request may make."""
    if operation == "batch_commit_tables":
        for step in request.operations:
            if step.declare_table is not None:
                yield from (step.declare_table.id or [])[-1:]
    elif operation == "rename_table":
        yield request.new_table_name
    elif operation == "create_namespace" or operation in _CREATING - {"batch_create_table_versions"}:
        yield from (request.id or [])[-1:]


def _refuse_at_the_root(operation: str, table: Identifier) -> None:
    """Refuse a table's identifier that is too short: the root holds catalogs, and no tables."""
    if table.depth > 1:
        return
    if table.is_root:
        raise InvalidInputError(f"{operation} needs a table's identifier, but none was given (id is empty).")
    if operation in _CREATING:
        raise InvalidInputError(
            f"{operation} cannot have {table} for a table: the root holds catalogs, and a table needs one. Use "
            f"{['lake', table.name]!r} for a table of the catalog 'lake'."
        )
    raise table_not_found(f"There is no table {table}. {begin_with_a_catalog(table.name)}")
