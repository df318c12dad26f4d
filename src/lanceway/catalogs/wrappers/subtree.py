"""A part of a catalog as a catalog: the identifiers in requests and responses are rewritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from lance_namespace import CreateMaterializedViewRequest, DescribeTableResponse, LanceNamespace, ListNamespacesRequest
from pydantic import BaseModel

from lanceway.catalogs.contract import capabilities, clones, limits, schemas
from lanceway.catalogs.contract.limits import IdentifierLimits
from lanceway.catalogs.contract.metadata import WIRE_DELIMITER, create_root, refuse_drop_of_root
from lanceway.catalogs.contract.requests import table_id
from lanceway.catalogs.contract.schemas import Path, PathNaming, StatesNaming
from lanceway.catalogs.wrappers.forward import Wrapper
from lanceway.errors import InvalidInputError
from lanceway.identifiers import DEFAULT_SEPARATOR, HierarchicalName, Identifier
from lanceway.tables.schema import views

if TYPE_CHECKING:
    from lanceway.catalogs.contract.jobs import JobQueue, LazyJobQueue

Model = TypeVar("Model", bound=BaseModel)
Names = list[str]

_ID, _NEW_PARENT = "id", "new_namespace_id"


def identifiers(request: BaseModel) -> list[Names | None]:
    """Return the identifiers that a request is about: its own, or those of the requests in a batch."""
    fields, nested = _places(type(request))
    if _ID in fields:
        return [request.id]  # type: ignore[attr-defined]
    return [names for field in nested for item in _items(getattr(request, field)) for names in identifiers(item)]


def rewrite_request(request: Model, change: Callable[[Names | None], Names | None]) -> Model:
    """Return a request with every identifier changed. One that is left out is None, and may get a value."""
    fields, nested = _places(type(request))
    changes: dict[str, object] = {}
    for field in fields:
        value = getattr(request, field)
        # Without a new parent a table stays in its own, wherever that is.
        if field == _ID or value is not None:
            changes[field] = change(value)
    for field in nested:
        value = getattr(request, field)
        if isinstance(value, list):
            changes[field] = [rewrite_request(item, change) for item in value]
        elif value is not None:
            changes[field] = rewrite_request(value, change)
    if isinstance(request, CreateMaterializedViewRequest):
        changes["source_query"] = views.moved(request.source_query, change)
    return request.model_copy(update=changes)


def rewrite_response(operation: str, response: Any, change: Callable[[Names], Names]) -> Any:
    """Change every identifier of a response, in place."""
    if operation == "list_all_tables":
        response.tables = [WIRE_DELIMITER.join(change(name.split(WIRE_DELIMITER))) for name in response.tables]
    for field in ("id", "namespace"):
        names = getattr(response, field, None)
        if isinstance(names, list):
            setattr(response, field, change(names))
    for result in getattr(response, "results", None) or ():
        for field in type(result).model_fields:
            rewrite_response(field, getattr(result, field), change)
    return response


@cache
def _places(model: type[BaseModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a request that are identifiers, and those that hold requests with identifiers."""
    nested = tuple(
        field
        for field, info in model.model_fields.items()
        if any(_has_identifiers(inner, {model}) for inner in _models(info.annotation))
    )
    return _identifier_fields(model), nested


def _identifier_fields(model: type[BaseModel]) -> tuple[str, ...]:
    return tuple(field for field in (_ID, _NEW_PARENT) if field in model.model_fields)


def _has_identifiers(model: type[BaseModel], visited: set[type[BaseModel]]) -> bool:
    if model in visited:  # a full text query may hold others of its kind
        return False
    visited.add(model)
    inner_models = (inner for info in model.model_fields.values() for inner in _models(info.annotation))
    return bool(_identifier_fields(model)) or any(_has_identifiers(inner, visited) for inner in inner_models)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _items(value: Any) -> list[BaseModel]:
    return value if isinstance(value, list) else [] if value is None else [value]


_ON_NAMESPACES = frozenset(
    {"list_namespaces", "describe_namespace", "namespace_exists", "list_tables", "list_all_tables"}
)


class Subtree(Wrapper):
    """The catalog `inner` seen from its namespace `at`: identifiers begin there, and nothing above is reached."""

    def __init__(self, inner: LanceNamespace, at: Identifier) -> None:
        if at.is_root:
            raise InvalidInputError("at is empty: name the namespace that is to become the root, or leave at out.")
        super().__init__(inner)
        self._at = at

    def namespace_id(self) -> str:
        return f"{self._inner.namespace_id()}-at-{json.dumps(self._at)}"

    def acting_as(self, user: str, groups: tuple[str, ...] | None = None) -> Subtree:
        """Return the subtree for another user, where the catalog inside keeps track of who acts."""
        return Subtree(capabilities.acting_as(self._inner, user, groups), self._at)

    def with_job_queue(self, queue: JobQueue | LazyJobQueue) -> Subtree:
        """Return the subtree with its background jobs recorded in another queue."""
        return Subtree(capabilities.with_job_queue(self._inner, queue.inside(self._at)), self._at)

    def __repr__(self) -> str:
        return f"Subtree({self._inner!r}, at={str(self._at)!r})"

    def _forward(self, operation: str, request: BaseModel, *data: Any) -> Any:
        names = getattr(request, "id", None)
        if operation == "create_namespace" and not names:
            return create_root(getattr(request, "mode", None))
        if operation == "drop_namespace" and not names:
            refuse_drop_of_root()
        if operation not in _ON_NAMESPACES and "id" in type(request).model_fields:
            table_id(names, operation)
        response = super()._forward(operation, rewrite_request(request, self._inside), *data)
        return rewrite_response(operation, response, self._outside)

    def _creates_in_root(self) -> bool:
        return True  # what is a catalog lies above

    def _holds(self, names: list[str]) -> bool:
        return names[: self._at.depth] == list(self._at)

    def _inside(self, names: list[str] | None) -> list[str]:
        return [*self._at, *(names or ())]

    def _outside(self, names: list[str]) -> list[str]:
        return names[self._at.depth :]

    # -- namespaces by their names: a logical path is the whole catalog's ------------------------

    def naming(self, names: Sequence[str] = ()) -> PathNaming | None:
        """Return how names are written below this root; None where the catalog inside does not say."""
        naming = self._inner.naming([*self._at, *names]) if isinstance(self._inner, StatesNaming) else None
        return None if naming is None else naming.below(self._at)

    def list_schemas(self, parent: Path | None = None) -> list[str]:
        """Return the logical paths, below this root, of the namespaces directly inside one."""
        names = self._names(parent or ())
        listed = self._inner.list_namespaces(ListNamespacesRequest(id=self._inside(names)))
        naming = self.naming()
        separator = naming.separator if naming is not None else DEFAULT_SEPARATOR
        return [HierarchicalName((*names, name)).format(separator) for name in listed.namespaces]

    def create_namespaces(
        self, path: Path, properties: Mapping[str, str] | None = None, *, comment: str | None = None
    ) -> Identifier:
        """Make a namespace and what is missing above it: all of it, or nothing."""
        inner = schemas.require(self._inner, "create_namespaces")
        created = inner.create_namespaces(self._inside(self._names(path)), properties, comment=comment)
        return Identifier(self._outside(list(created)))

    def alter_namespace(
        self, path: Path, properties: Mapping[str, str] | None = None, *, unset: Iterable[str] = ()
    ) -> dict[str, str]:
        """Set and take away properties of a namespace, and return all it has then."""
        inner = schemas.require(self._inner, "alter_namespace")
        return inner.alter_namespace(self._inside(self._names(path)), properties, unset=unset)

    def drop_schema(self, path: Path) -> None:
        """Drop an empty namespace by its logical path."""
        if not (names := self._names(path)):
            refuse_drop_of_root()
        schemas.require(self._inner, "drop_schema").drop_schema(self._inside(names))

    def _names(self, path: Path) -> list[str]:
        if not isinstance(path, str):
            return list(path)
        naming = self.naming()
        if naming is None or not naming.nested:
            return [path] if path else []
        return list(HierarchicalName.parse(path, naming.separator))

    def clone_table(
        self,
        source: Path,
        target: Path,
        *,
        version: int | None = None,
        tag: str | None = None,
        branch: str | None = None,
    ) -> DescribeTableResponse:
        """Make a shallow clone of a table, below this root."""
        inner = clones.require(self._inner)
        names = (self._inside(list(Identifier.of(each))) for each in (source, target))
        return inner.clone_table(*names, version=version, tag=tag, branch=branch)

    # -- limits ----------------------------------------------------------------------------------

    def unwrapped(self) -> tuple[LanceNamespace, Identifier]:
        """Return the innermost catalog, and the namespace in it that is the root here."""
        catalog, at = limits.unwrap(self._inner)
        return catalog, Identifier((*at, *self._at))

    def address(self) -> str:
        """Return where the metadata lives, as text without a secret: the same for every user."""
        catalog, at = self.unwrapped()
        suffix = f" at={list(at)!r}" if isinstance(catalog, limits.StatesLimits) else ""
        return limits.address(catalog) + suffix

    def identifier_limits(self) -> IdentifierLimits:
        """Return how many names the identifier of a table has below this root."""
        catalog, at = self.unwrapped()
        least, most, folds_case = limits.identifier_limits(catalog)
        if most is not None and most - at.depth < 1:
            raise InvalidInputError(f"{at} cannot be a root for tables: {catalog!r} holds none so deep.")
        return IdentifierLimits(max(1, least - at.depth), None if most is None else most - at.depth, folds_case)

    def check_new_table(self, table: Identifier) -> None:
        """Raise InvalidInputError, with names to use instead, where no table could have this identifier."""
        limits.check_new_table(self._inner, self._below(table))

    def check_new_namespace(self, namespace: Identifier) -> None:
        """Raise InvalidInputError where creating this namespace would not make room for a table."""
        limits.check_new_namespace(self._inner, self._below(namespace))

    def check_location(self, table: Identifier, location: str) -> None:
        """Raise InvalidInputError where a table at this location could not be registered."""
        limits.check_location(self._inner, table, location)

    def check_register(self) -> None:
        """Raise UnsupportedOperationError or PermissionDeniedError where no table could be registered."""
        limits.check_register(self._inner)

    def single_writer(self) -> bool:
        """Return whether changes should be made one at a time, since concurrent ones would only wait for each other."""
        return limits.single_writer(self._inner)

    def _below(self, identifier: Identifier) -> Identifier:
        return Identifier((*self._at, *identifier))
