"""Capabilities that a catalog may have beside the operations of the contract, as protocols.

Any `lance_namespace.LanceNamespace` can be wrapped or mounted, ours or not: `isinstance(catalog, ActsAsUser)` tells
whether it has one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lance_namespace import LanceNamespace
from pydantic import BaseModel

from lanceway.identifiers import Identifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanceway.catalogs.contract.jobs import Job, JobQueue, LazyJobQueue
    from lanceway.tables.schema.computed import Definition
    from lanceway.tables.schema.views import View

# The property of a namespace that is its comment, in every dialect.
COMMENT = "comment"
# A service's own id of an object, and when it made it, in milliseconds since 1970.
ObjectIdentity = tuple[str | None, int | None]


@dataclass(frozen=True, slots=True)
class ObjectDetails:
    """What a catalog records of an object: its properties and comment, who made it and changed it, and when.

    Times are milliseconds since 1970. What a service does not say is None. `state` changes whenever the rows or the
    columns of a table do, and is None where only its storage can tell; then neither is the version known. An Iceberg
    table `is_iceberg`, and its metadata says the rest.
    """

    properties: Mapping[str, str]
    comment: str | None = None
    created_by: str | None = None
    created_at: int | None = None
    changed_by: str | None = None
    changed_at: int | None = None
    location: str | None = None
    version: int | None = None
    state: tuple[int, int, int] | None = None
    is_iceberg: bool = False


@runtime_checkable
class KeepsDetails(Protocol):
    """A catalog that records who made its objects, and lets the properties of tables be altered."""

    def object_details(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectDetails: ...

    def alter_table_properties(self, id_: Sequence[str], changes: Mapping[str, str | None]) -> dict[str, str]: ...


@runtime_checkable
class Closable(Protocol):
    """A catalog that holds connections."""

    def close(self) -> None: ...


@runtime_checkable
class ActsAsUser(Protocol):
    """A catalog that keeps track of who acts."""

    def acting_as(self, user: str, groups: tuple[str, ...] | None = None) -> LanceNamespace: ...


@runtime_checkable
class TakesJobQueue(Protocol):
    """A catalog whose background jobs can be recorded elsewhere."""

    def with_job_queue(self, queue: JobQueue | LazyJobQueue) -> LanceNamespace: ...


@runtime_checkable
class KeepsJobs(Protocol):
    """A catalog that shows its background jobs."""

    def list_jobs(self, *, table: Sequence[str] | None = None, **options: Any) -> tuple[list[Job], str | None]: ...

    def describe_job(self, job_id: str) -> Job: ...

    def cancel_job(self, job_id: str) -> Job: ...


@runtime_checkable
class KeepsDefinitions(Protocol):
    """A catalog that may say itself how views and columns come about; None where their metadata does."""

    def view_definition(self, id_: Sequence[str]) -> View | None: ...

    def column_definitions(self, id_: Sequence[str], branch: str | None) -> Mapping[str, Definition] | None: ...


@runtime_checkable
class IdentifiesObjects(Protocol):
    """A catalog that can tell an object from a later one of the same name."""

    def object_identity(self, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
        """Return the service's own id of an object and when it was made, in one request; None if it says neither.

        Raises NamespaceNotFoundError, TableNotFoundError.
        """


@runtime_checkable
class AsksService(Protocol):
    """A catalog that may list its root without a request, so that the list does not say whether its service answers."""

    def ask_service(self) -> None:
        """Send the service one request that reads. Raises what it answers where it is down, or refuses who asks."""


class VisibleObjects(Protocol):
    """What one caller is shown, in lists, of a tree of catalogs."""

    def catalogs(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of the names of catalogs that the caller is shown, in order."""

    def namespaces(self, catalog: str, parent: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return a page of the namespaces in a namespace of the lake's catalog."""

    def tables(self, catalog: str, parent: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        """Return a page of the Lance tables in a namespace of the lake's catalog."""

    def leaves(
        self, catalog: str, parent: Identifier, kinds: Sequence[str], after: str | None, limit: int | None
    ) -> Sequence[str]:
        """Return a page of what is of some kinds in a namespace of the lake's catalog, such as Iceberg tables."""

    def listed(self, catalog: str, operation: str, request: BaseModel, ask: Callable[[str, BaseModel], Any]) -> Any:
        """Return the answer of a mounted catalog, which `ask` asks, to an operation that lists."""


@runtime_checkable
class ShowsVisible(Protocol):
    """A catalog that can list what one caller is shown, and nothing else."""

    def showing(self, visible: VisibleObjects) -> LanceNamespace: ...


def close(catalog: object) -> None:
    """Close a catalog that can be closed."""
    if isinstance(catalog, Closable):
        catalog.close()


def acting_as(catalog: LanceNamespace, user: str, groups: tuple[str, ...] | None = None) -> LanceNamespace:
    """Return the catalog as another user has it, where it keeps track of who acts; else the catalog itself.

    A server names the groups of the user, and jobs that are asked for then run with the user's rights.
    """
    return catalog.acting_as(user, groups) if isinstance(catalog, ActsAsUser) else catalog


def object_identity(catalog: LanceNamespace, id_: Sequence[str], *, is_namespace: bool) -> ObjectIdentity | None:
    """Return what tells an object from a later one of the same name; None where the catalog does not say."""
    if not isinstance(catalog, IdentifiesObjects):
        return None
    return catalog.object_identity(id_, is_namespace=is_namespace)


def ask_service(catalog: LanceNamespace) -> None:
    """Have a catalog send its service a request, where its list of the root may send none."""
    if isinstance(catalog, AsksService):
        catalog.ask_service()


def with_job_queue(catalog: LanceNamespace, queue: JobQueue | LazyJobQueue) -> LanceNamespace:
    """Return the catalog with its jobs recorded in another queue, where it takes one; else the catalog itself."""
    return catalog.with_job_queue(queue) if isinstance(catalog, TakesJobQueue) else catalog
