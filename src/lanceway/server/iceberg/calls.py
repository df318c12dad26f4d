"""One request of Iceberg REST, as its handler gets it, and the answers of handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lance_namespace as ln
import msgspec

from lanceway.access.guard import Guard
from lanceway.access.principal import Principal
from lanceway.catalogs.federated.catalog import canonical
from lanceway.errors import InvalidInputError, LanceNamespaceError
from lanceway.server.http.page_tokens import PageTokenSeal
from lanceway.server.lance.answers import JSON, EncodedAnswer, Header
from lanceway.wire import iceberg
from lanceway.wire.iceberg import IcebergRoute

PAGE = 1000  # names that a catalog is asked for at once
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class IcebergRestCall:
    """Who asks for what. Handlers are called on threads of the catalog, and may wait."""

    route: IcebergRoute
    principal: Principal
    guard: Guard
    seal: PageTokenSeal
    names: Mapping[str, str]  # in the path, decoded
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(repr=False)
    request_id: str = ""

    @property
    def catalog(self) -> str:
        return canonical(self.names["prefix"])

    @property
    def is_mounted(self) -> bool:
        """Whether the objects of the catalog are those of another service."""
        return self.catalog in self.guard.mounted_names

    @property
    def namespace(self) -> list[str]:
        """The names of the namespace in the path, the catalog's first."""
        return [self.catalog, *iceberg.read_namespace(self.names["namespace"])]

    @property
    def table(self) -> list[str]:
        """The names of the table or the view in the path, the catalog's first."""
        return [*self.namespace, self.names.get("table") or self.names["view"]]

    @property
    def is_pyiceberg(self) -> bool:
        return self.headers.get("user-agent", "").startswith("PyIceberg/")

    def inside(self, names: Sequence[str]) -> list[str]:
        """Return the identifier of a namespace that the body names, the catalog's first."""
        return [self.catalog, *names]

    def flag(self, name: str) -> bool:
        """Return a parameter that is true or false, in any case; it is false without it."""
        text = self.query.get(name) or "false"
        value = _FLAGS.get(text.lower())
        if value is None:
            raise InvalidInputError(f"The parameter {name} is {text!r}, but must be true or false.")
        return value

    # -- pages -----------------------------------------------------------------------------------

    def is_paged(self) -> bool:
        """Return whether the client takes a list page by page. Without a token, even an empty one, it wants all."""
        return "pageToken" in self.query

    def page_size(self) -> int:
        """Return how many rows a page has at most."""
        text = self.query.get("pageSize") or str(PAGE)
        if not (text.isascii() and text.isdigit() and int(text[:10]) > 0):
            raise InvalidInputError(f"The parameter pageSize is {text!r}, but must be a number above 0.")
        return min(int(text[:10]), PAGE)

    def page_start(self, names: Sequence[str]) -> str | None:
        """Return where the page begins that a client asks for, None at the beginning."""
        return self.seal.open(self.route.operation, names, self.query.get("pageToken") or "") or None

    def next_page(self, names: Sequence[str], position: str | None) -> dict[str, str]:
        """Return the part of a list's answer that leads to the page that follows, if one does."""
        return {"next-page-token": self.seal.close(self.route.operation, names, position)} if position else {}


Handler = Callable[[IcebergRestCall], EncodedAnswer]
# In the event loop: None means that the handler must be called.
FastHandler = Callable[[IcebergRestCall], EncodedAnswer | None]
NO_CONTENT = EncodedAnswer(204, b"")


def answer(body: Mapping[str, Any], *headers: Header) -> EncodedAnswer:
    """Return an answer of JSON."""
    return EncodedAnswer(200, msgspec.json.encode(body), [JSON, *headers])


def new_name(noun: str, name: str) -> str:
    """Return the name of a new object. Raises InvalidInputError for one that no path could have."""
    if not name:
        raise InvalidInputError(f"The name of the {noun} is empty. Give it at least one character.")
    if iceberg.SEPARATOR in name:
        raise InvalidInputError(
            f"The {noun} {name!r} cannot be made: its name holds the character 0x1F, which separates names in this "
            f"protocol. Use {name.replace(iceberg.SEPARATOR, '_')!r}."
        )
    return name


def exists(guard: Guard, names: Sequence[str]) -> bool:
    """Return whether there is a namespace that the caller may load."""
    try:
        guard.namespace_exists(ln.NamespaceExistsRequest(id=list(names)))
    except LanceNamespaceError:
        return False
    return True
