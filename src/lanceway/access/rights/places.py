"""Places as people write them: `metalake`, `lake`, `lake$team$sales`; found, and written back.

What a caller may not see is reported like what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Select, select

from lanceway.access.rights.actor import Actor
from lanceway.catalogs.federated.mounts import canonical
from lanceway.errors import InvalidInputError, NamespaceNotFoundError, TableNotFoundError
from lanceway.identifiers import HierarchicalName, Identifier
from lanceway.lake.access import securables
from lanceway.lake.access.near import hint, nearest
from lanceway.lake.access.securables import LEVELS, METALAKE, SCHEMA, Securable
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW, catalogs, metalakes, objects
from lanceway.lake.tree import mounts, settings

_KINDS = {SCHEMA: NAMESPACE, TABLE: TABLE, VIEW: VIEW}
_parents = objects.alias("parents")


class PlaceNotFoundError(InvalidInputError):
    """There is no such object, or the caller may not know of it."""

    status = 404


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """An object as it is written. `kind` is one of the levels; without it, it is looked up."""

    text: str
    kind: str | None = None
    delimiter: str = "$"

    def __post_init__(self) -> None:
        if not self.text:
            raise InvalidInputError("Name an object: metalake, a catalog such as lake, or lake$team$sales.")
        if self.kind is not None and self.kind not in LEVELS:
            raise InvalidInputError(
                f"{self.kind!r} is not a kind of object. Use {', '.join(LEVELS[:-1])} or {LEVELS[-1]}."
            )

    @property
    def names(self) -> Identifier:
        names = Identifier.parse(self.text, self.delimiter)
        return Identifier((canonical(names[0]), *names[1:]))

    @property
    def is_metalake(self) -> bool:
        return self.kind == METALAKE or (self.kind is None and self.text == METALAKE)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class PlaceFinder:
    """The objects of a metalake: those in the lake's own catalogs, and those of catalogs that a server mounts.

    `configured` are the mounted catalogs of its configuration; the others are in the database.
    """

    metalake: str
    configured: frozenset[str] = frozenset()

    @property
    def top(self) -> Securable:
        return Securable(self.metalake)

    def find(self, connection: Connection, actor: Actor, written: WrittenPlace) -> Securable:
        """Return an object that the actor may know of.

        Raises PlaceNotFoundError, with the nearest name for those from whom nothing is hidden, and InvalidInputError
        for an object of a mounted catalog whose kind must be given.
        """
        place = next(self._found(connection, written), None)
        if place is not None and actor.sees(connection, place):
            return place
        if not actor.sees_all(connection):
            raise PlaceNotFoundError(f"There is no {written}, or you may not see it. Check the name.")
        if place is None:
            raise self._missing(connection, written)
        return place

    def mounts(self, connection: Connection) -> frozenset[str]:
        """Return the names of the catalogs that are mounted, as the database has them now."""
        return self.configured.union(mounts.names(connection, self.metalake))

    def imagine(self, connection: Connection, written: WrittenPlace, kind: str) -> Securable:
        """Return an object that need not exist: of the lake's kinds, unless what is written says which."""
        if written.is_metalake:
            return self.top
        names = written.names
        kind = _KINDS.get(written.kind or "", kind) if len(names) > 1 else NAMESPACE
        return Securable(
            self.metalake, names[0], Identifier(names[1:]), kind, mounted=names[0] in self.mounts(connection)
        )

    def write(self, place: Securable, delimiter: str = "$") -> dict[str, object]:
        """Describe an object: as it is written, by its kind, and by its names, which may hold the delimiter."""
        names = [] if place.catalog is None else [place.catalog, *place.path]
        return {"object": delimiter.join(names) or METALAKE, "kind": place.level, "names": names}

    # -- looking up ------------------------------------------------------------------------------

    def _found(self, connection: Connection, written: WrittenPlace) -> Iterator[Securable]:
        """Yield what is meant: at most one, for no two objects of a namespace have one name."""
        if written.is_metalake:
            yield self.top
            return
        mounted = self.mounts(connection)
        for names in self._readings(connection, written, mounted):
            catalog, path = names[0], Identifier(names[1:])
            if catalog in mounted:
                yield from self._mounted(connection, written, catalog, path)
                continue
            candidates = [Securable(self.metalake, catalog, path, kind) for kind in _kinds(path)]
            yield from (
                place for place in candidates if written.kind in (None, place.level) and _exists(connection, place)
            )

    def _readings(
        self, connection: Connection, written: WrittenPlace, mounted: frozenset[str]
    ) -> Iterator[Sequence[str]]:
        """Yield the names that a text may mean: in a lake, its separator may join those of namespaces."""
        names = written.names
        yield names
        separator = settings.separator(connection).character
        if names[0] not in mounted and any(separator in name for name in names[1:]):
            yield [names[0], *(part for name in names[1:] for part in name.split(separator) if part)]

    def _mounted(
        self, connection: Connection, written: WrittenPlace, catalog: str, path: Identifier
    ) -> Iterator[Securable]:
        """Yield an object of a service, which is not asked: its kind must be known from what is written or granted."""
        candidates = [Securable(self.metalake, catalog, path, kind, mounted=True) for kind in _kinds(path)]
        if path.is_root or written.kind is not None:
            yield from (place for place in candidates if written.kind in (None, place.level))
            return
        recorded = [place for place in candidates if _exists(connection, place)]
        if len(recorded) == 1:
            yield from recorded

    def _missing(self, connection: Connection, written: WrittenPlace) -> InvalidInputError:
        names = written.names
        if names[0] in self.mounts(connection):
            return InvalidInputError(
                f"{names[0]} is a mounted catalog, and what {written} is there is not known here. Say it: kind schema, "
                "table or view."
            )
        other = next(self._found(connection, WrittenPlace(written.text, None, written.delimiter)), None)
        if other is not None:
            return PlaceNotFoundError(f"{written} is a {other.level}, and no {written.kind}.")
        return PlaceNotFoundError(f"There is no {written.kind or 'object'} {written}.{self._near(connection, written)}")

    def _near(self, connection: Connection, written: WrittenPlace) -> str:
        """Return a sentence with the nearest object: the first name that is not there is replaced."""
        names = written.names
        for depth in range(len(names)):
            if depth and _exists(connection, self._inner(names[: depth + 1])):
                continue
            if not depth:
                known = {*self.mounts(connection), *connection.execute(_catalog_names(self.metalake)).scalars()}
                if names[0] in known:
                    continue
                near = nearest(names[0], {*known, METALAKE})
                return f" Did you mean {near!r}?" if near else f" There are {METALAKE}, {', '.join(sorted(known))}."
            found = hint(connection, names[depth], objects.c.name, *_inside(self._inner(names[:depth])))
            inside = written.delimiter.join(names[:depth])
            return f"{found} It is in {inside}." if found else f" Nothing in {inside} has a name like {names[depth]!r}."
        return ""

    def _inner(self, names: Sequence[str]) -> Securable:
        return Securable(self.metalake, names[0], Identifier(names[1:]))


def _kinds(path: Identifier) -> tuple[str, ...]:
    return (NAMESPACE,) if path.is_root else (NAMESPACE, TABLE, VIEW)


def _exists(connection: Connection, place: Securable) -> bool:
    try:
        securables.find(connection, place)
    except (NamespaceNotFoundError, TableNotFoundError):
        return False
    return True


def _catalog_names(metalake: str) -> Select[tuple[str]]:
    return (
        select(catalogs.c.name)
        .join_from(catalogs, metalakes, metalakes.c.id == catalogs.c.metalake_id)
        .where(metalakes.c.name == metalake)
        .limit(1000)
    )


def _inside(place: Securable) -> tuple[ColumnElement[bool], ...]:
    path = HierarchicalName(place.path).physical
    parent = (
        select(_parents.c.id)
        .join_from(_parents, catalogs, catalogs.c.id == _parents.c.catalog_id)
        .join(metalakes, metalakes.c.id == catalogs.c.metalake_id)
        .where(metalakes.c.name == place.metalake, catalogs.c.name == place.catalog, _parents.c.physical == path)
    )
    return (objects.c.parent_id == parent.scalar_subquery(),)
