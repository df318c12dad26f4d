"""One request of Gravitino REST, as its handler gets it, and what several handlers answer with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_to_bytes

from lanceway.access.guard import Guard
from lanceway.access.mounted.catalogs import CatalogAdministration
from lanceway.access.principal import ANONYMOUS, Principal
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder
from lanceway.catalogs.contract.capabilities import ObjectDetails
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError, UnauthenticatedError, UnsupportedOperationError
from lanceway.lake.access.facts import Caller
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import settings
from lanceway.server.gravitino.columns import ColumnCache
from lanceway.server.home import METALAKE
from lanceway.wire.gravitino_requests import UpdateRequest

_PAGE = 1000  # names that a catalog is asked for at once
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class GravitinoCall:
    """Who asks for what. Handlers are called on threads of the catalog, and may wait."""

    principal: Principal
    guard: Guard
    store: LakeStore
    catalogs: CatalogAdministration
    configured: frozenset[str]  # the mounted catalogs of the configuration
    names: Mapping[str, str]  # in the path
    query: Mapping[str, str]
    body: Any
    columns: ColumnCache

    @property
    def catalog(self) -> str:
        return canonical(self.names["catalog"])

    @property
    def is_mounted(self) -> bool:
        """Whether the objects of the catalog are those of another service."""
        return self.catalog in self.guard.mounted_names

    @property
    def schema(self) -> list[str]:
        """The names of the schema in the path, the catalog's first."""
        return self.guard.split(self.catalog, self.names["schema"])

    def try_schema(self) -> list[str] | None:
        """Return the names of the schema in the path if that needs no waiting."""
        return self.guard.try_split(self.catalog, self.names["schema"])

    @property
    def table(self) -> list[str]:
        """The names of the table in the path, the catalog's first."""
        return [*self.schema, self.names["table"]]

    @property
    def separator(self) -> str:
        known = self.guard.try_separator(self.catalog) if "catalog" in self.names else None
        return known or self.store.read(settings.separator).character

    @property
    def actor(self) -> Actor:
        """The caller as one who administers rights. Raises UnauthenticatedError where it is no user."""
        if self.principal == ANONYMOUS:
            raise UnauthenticatedError("Rights belong to users, and this request names no user. Send a token of yours.")
        return Actor(Caller(self.principal.name, self.principal.groups), METALAKE)

    @property
    def places(self) -> PlaceFinder:
        return PlaceFinder(METALAKE, self.configured)

    def flag(self, name: str) -> bool:
        """Return a parameter that is true or false, in any case; it is false without it."""
        text = self.query.get(name, "false")
        value = _FLAGS.get(text.lower())
        if value is None:
            raise InvalidInputError(f"The parameter {name} is {text!r}, but must be true or false.")
        return value


Handler = Callable[[GravitinoCall], dict[str, Any]]
# In the event loop: None means that the handler must be called.
FastHandler = Callable[[GravitinoCall], dict[str, Any] | None]


def pages(list_: Callable[[str | None], Any], field: str) -> Iterator[str]:
    """Yield the names of all pages of a list: this protocol has none."""
    token: str | None = None
    while True:
        found = list_(token)
        yield from getattr(found, field)
        token = found.page_token
        if not token:
            return


def page(id_: Sequence[str], token: str | None) -> dict[str, Any]:
    """Return the fields of a request for a page."""
    return {"id": list(id_), "limit": _PAGE, "page_token": token}


def identifiers(namespace: Sequence[str], names: Iterable[str]) -> dict[str, Any]:
    """Return the answer of a list."""
    return {"identifiers": [{"namespace": list(namespace), "name": name} for name in names]}


def audit(details: ObjectDetails) -> dict[str, str]:
    """Return who made an object and changed it, without what is not known."""
    return audited(details.created_by, details.created_at, details.changed_by, details.changed_at)


def audited(
    creator: str | None, created: int | None, modifier: str | None = None, modified: int | None = None
) -> dict[str, str]:
    values = {
        "creator": creator,
        "createTime": _time(created),
        "lastModifier": modifier,
        "lastModifiedTime": _time(modified),
    }
    return {name: value for name, value in values.items() if value is not None}


def _time(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_name(kind: str, text: str, *, quoted: bool = False) -> str:
    """Return the name of a new object. Clients percent-encode those of schemas once, so it is `quoted`.

    Raises InvalidInputError for an empty name, and for one that holds `%`, which could be read as an escape later.
    """
    name = _unquoted(kind, text) if quoted else text
    if not name.strip():
        raise InvalidInputError(f"The name of the {kind} is empty. Give it at least one character.")
    if "%" in name:
        raise InvalidInputError(
            f"The {kind} {name!r} cannot be made: the name holds '%', which begins an escape in this protocol. Use "
            f"{name.replace('%', '_')!r}."
        )
    return name


def _unquoted(kind: str, text: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text.encode(errors="surrogatepass")).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The name of the {kind} is percent-encoded, and its bytes are not UTF-8. Correct the escapes."
        ) from error


def property_changes(updates: Iterable[UpdateRequest], noun: str, *, comments: bool = True) -> dict[str, str | None]:
    """Return changed properties, None for one that is taken away; of two changes of one, the later counts.

    With `comments`, a comment is the property of that name. Raises UnsupportedOperationError for other updates.
    """
    changes: dict[str, str | None] = {}
    for update in updates:
        if update.kind == "setProperty":
            if not update.property or update.value is None:
                raise InvalidInputError("An update setProperty needs a property and its value. Send both.")
            changes[update.property] = update.value
        elif update.kind == "removeProperty":
            if not update.property:
                raise InvalidInputError("An update removeProperty needs a property. Name it.")
            changes[update.property] = None
        elif update.kind == "updateComment" and comments:
            changes["comment"] = update.new_comment or None
        else:
            raise UnsupportedOperationError(
                f"The update {update.kind!r} of a {noun} is not supported. Use setProperty or removeProperty."
            )
    return changes
