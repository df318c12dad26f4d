"""The tree's branches: which catalog a request is for, and the request as that catalog understands it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel

from lanceway.catalogs.contract.job_queue import JobQueue
from lanceway.catalogs.federated.locations import AllowedLocations
from lanceway.catalogs.federated.mounts import ConfiguredMount, Mount
from lanceway.catalogs.wrappers import rewrite
from lanceway.catalogs.wrappers.forward import Forwarder, acting_as, carry_out, with_desk
from lanceway.config import CatalogSettings
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableNotFoundError,
    UnauthenticatedError,
)
from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from lanceway.catalogs.federated.own_lake import OwnLake

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
# What makes a table, or may: there, an identifier that can be no table's is a wrong request.
_MAKING = frozenset(
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
# What is recorded as a job, or may be.
_RECORDED = frozenset(
    {
        "alter_table_add_columns",
        "alter_table_backfill_columns",
        "create_materialized_view",
        "refresh_materialized_view",
    }
)


class FederatedTree(Forwarder):
    """What goes to a branch."""

    def __init__(self, catalogs: Mapping[str, CatalogSettings], lake: OwnLake | None = None) -> None:
        self._configured: dict[str, ConfiguredMount] = {}
        for name, given in catalogs.items():
            mount = ConfiguredMount(canonical(name), given)
            if mount.name in self._configured:
                raise InvalidInputError(f"Two sections [catalogs.{name}] have names that look the same. Rename one.")
            self._configured[mount.name] = mount
        self._lake = lake
        self._user: str | None = None
        self._allowed: AllowedLocations | None = None

    # -- mounts ----------------------------------------------------------------------------------

    def mounts(self) -> Mapping[str, Mount]:
        """The catalogs from the configuration. Those of the lake come and go, and share one database."""
        return MappingProxyType(self._configured)

    def mount(self, name: str) -> Mount:
        """The catalog of a name. Nothing is asked: whether the lake has one is seen when it is used.

        Raises NamespaceNotFoundError where there is no lake to ask.
        """
        from_file = self._configured.get(canonical(name))
        if from_file is not None:
            return from_file
        if self._lake is None:
            raise self._missing(name)
        return self._lake.mount(canonical(name))

    def _missing(self, name: str) -> NamespaceNotFoundError:
        known = ", ".join(sorted(self._configured)) or "none"
        return NamespaceNotFoundError(f"There is no catalog {name!r}. Those that are mounted: {known}.")

    def acting_as(self, user: str) -> Self:
        """The same tree for another user, whom the lake's catalogs name as owner and in their history."""
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        view._user = user
        return view

    def confined_to(self, allowed: AllowedLocations) -> Self:
        """The same tree for somebody who may have tables only where that is allowed."""
        view = type(self).__new__(type(self))
        view.__dict__ |= self.__dict__
        view._allowed = allowed
        return view

    # -- requests --------------------------------------------------------------------------------

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        name = self._branch(operation, request)
        mount = self.mount(name)
        if self._allowed is not None:
            self._allowed.check(mount, operation, request)

        def below(names: list[str] | None) -> list[str] | None:
            if names is None:
                return None
            if not names or canonical(names[0]) != name:
                raise InvalidInputError(
                    f"{operation} stays within one catalog, but {names!r} is not in {name!r}, where it began. Create "
                    "the table in the other catalog and copy its rows."
                )
            return names[1:]

        inside = rewrite.in_request(request, below)
        if mount.configured and getattr(inside, "identity", None) is not None:
            # It says who asks this tree, and is nobody else's to know.
            inside = inside.model_copy(update={"identity": None})
        answer = self._ask(mount, operation, inside, *data)
        return rewrite.in_answer(operation, answer, lambda names: [name, *names])

    def _branch(self, operation: str, request: BaseModel) -> str:
        """The name of the one catalog that a request is for."""
        asked = [Identifier(names or ()) for names in rewrite.identifiers(request)]
        for identifier in asked:
            if operation not in _ON_NAMESPACES:
                _refuse_at_the_root(operation, identifier)
        names = sorted({canonical(identifier[0]) for identifier in asked})
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
            return carry_out(self._acting(mount, operation), operation, request, *data)
        except NamespaceNotFoundError:
            if mount.configured or self._lake is None or not self._lake.is_stale(mount.name):
                raise
        except UnauthenticatedError as error:
            if getattr(request, "storage_options", None):  # the caller's own
                raise
            raise ServiceUnavailableError(
                f"The catalog {mount.name!r} does not accept the credentials that it is mounted with; whoever runs "
                f"this must mend its settings. ({error})"
            ) from error
        except (ConnectionError, TimeoutError) as error:
            raise ServiceUnavailableError(
                f"The catalog {mount.name!r} cannot be reached: {type(error).__name__}. Try again later."
            ) from error
        if data:  # some of it may have been read
            raise ConcurrentModificationError(
                f"The catalog {mount.name!r} was dropped and made anew at the same time. Try again."
            )
        return carry_out(self._acting(mount, operation), operation, request)

    def _acting(self, mount: Mount, operation: str) -> Any:
        catalog = mount.catalog if self._user is None else acting_as(mount.catalog, self._user)
        # The jobs of the lake's own catalogs are recorded in the same database anyway.
        desk = self._desk_of(mount.name) if mount.configured and operation in _RECORDED else None
        return catalog if desk is None else with_desk(catalog, desk)

    def _desk_of(self, catalog: str | None) -> JobQueue | None:
        """Where the jobs of a catalog are recorded, or with None those of all."""
        if self._lake is None:
            return None
        return JobQueue(self._lake.store, self._lake.metalake, catalog, self._user or self._lake.user)

    def glance(self, operation: str, names: list[str] | None, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer, if a catalog of the tree's own lake has it at once; None means that it is to be asked for.

        It waits for nobody, and fits an event loop. Nothing is refused here.
        """
        if not names or self._lake is None or names[0] in self._configured:
            return None
        catalog = self._lake.at_hand(names[0])
        return None if catalog is None else catalog.try_fast(operation, names[1:], fields)

    # -- identity --------------------------------------------------------------------------------

    def namespace_id(self) -> str:
        """Differs whenever what is mounted or who acts does. Secrets enter as a hash."""
        mounted = {name: mount.identity() for name, mount in self._configured.items()}
        lake = None if self._lake is None else self._lake.identity()
        text = json.dumps([mounted, lake, self._user], sort_keys=True)
        return f"lanceway-federated-{hashlib.sha256(text.encode()).hexdigest()[:32]}"

    def __repr__(self) -> str:
        own = "" if self._lake is None else f", {self._lake!r}"
        return f"{type(self).__name__}({list(self._configured.values())!r}{own})"

    def close(self) -> None:
        """Close all that is open. What is used again opens again."""
        for mount in self._configured.values():
            mount.close()
        if self._lake is not None:
            self._lake.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def canonical(name: str) -> str:
    """The one spelling of a catalog's name."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _refuse_at_the_root(operation: str, table: Identifier) -> None:
    """The root holds catalogs, and no tables."""
    if table.depth > 1:
        return
    if table.is_root:
        raise InvalidInputError(f"{operation} needs a table's identifier, but none was given (id is empty).")
    if operation in _MAKING:
        raise InvalidInputError(
            f"{operation} cannot have {table} for a table: the root holds catalogs, and a table needs one. Use "
            f"{['lake', table.name]!r} for a table of the catalog 'lake'."
        )
    raise TableNotFoundError(f"There is no table {table}: the root holds catalogs, whose names tables begin with.")
