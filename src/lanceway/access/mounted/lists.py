"""Lists of mounted catalogs: what the caller may see of what a service lists.

Where a right reaches the namespace that is listed, the service's pages are filtered, and pages are read until one is
full. Where none does, the list begins with the caller's own grants, and the service is asked for those alone.

Schemas that a list begins with are compared with what the service has now. Tables are not, which would be a request
for each: the name of one that was made again is shown until its grants are used.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.access.decisions import Rights, grounds, judge
from lanceway.access.privileges import USE_CATALOG, USE_SCHEMA
from lanceway.access.rules import BY_NAME
from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.catalogs.contract.requests import foreign_page_token, page_limit, page_start, page_token
from lanceway.errors import (
    InternalError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    TableNotFoundError,
)
from lanceway.identifiers import Identifier
from lanceway.lake.access.facts import AccessFacts
from lanceway.lake.access.mounted import MountedFacts
from lanceway.lake.access.securables import CATALOG, METALAKE, SCHEMA, RecordedObject
from lanceway.lake.store.schema import NAMESPACE, TABLE

SECONDS = 20.0  # for one page
_PAGE = 1000  # names that a service is asked for at once where the caller wants all

Ask = Callable[[str, BaseModel], Any]


@dataclass(slots=True)
class _Position:
    """Where a page begins: in which list of the service, after which of its tokens, and how many names of that page.

    `root` is the namespace that the service lists, where the list begins with grants.
    """

    root: list[str] = field(default_factory=list)
    token: str | None = None
    skip: int = 0
    size: int = _PAGE

    @classmethod
    def of(cls, scope: str, token: str | None, size: int) -> _Position | None:
        start = page_start(scope, token)
        if start is None:
            return None
        try:
            root, inner, skip, old_size = json.loads(start)
            return cls([str(name) for name in root], inner, int(skip), int(old_size) or size)
        except (ValueError, TypeError):
            raise foreign_page_token(str(token)) from None

    def written(self, scope: str) -> str:
        return page_token(scope, json.dumps([self.root, self.token, self.skip, self.size], ensure_ascii=False))


class MountedLists:
    """One list of one mounted catalog, for one caller."""

    def __init__(self, facts: MountedFacts, ask: Ask, still_holds: Callable[[RecordedObject], bool]) -> None:
        self._facts, self._ask, self._still_holds = facts, ask, still_holds
        self._lapsed: set[int] = set()  # rows, since the facts were read
        self._until = time.monotonic() + SECONDS

    def answer(self, operation: str, request: BaseModel) -> Any:
        """Return a page of a list: of namespaces, of tables, or of all tables below a namespace."""
        if operation == "list_namespaces":
            return self._namespaces(request)
        return self._tables(operation, request)

    # -- namespaces ------------------------------------------------------------------------------

    def _namespaces(self, request: Any) -> ln.ListNamespacesResponse:
        parent = Identifier(request.id or ())
        leading: dict[str, list[Identifier]] = {}
        for path in self._loadable_schemas():
            if _is_inside(path, parent):
                leading.setdefault(path[parent.depth], []).append(path)
        if self._reaches(parent):

            def is_shown(name: str) -> bool:
                return name in leading or self._may("load schema", parent.child(name), NAMESPACE)

            names, token = self._filtered("list_namespaces", request, is_shown)
        else:
            names, token = self._present("list_namespaces", request, leading)
        return ln.ListNamespacesResponse(namespaces=names, page_token=token)

    # -- tables ----------------------------------------------------------------------------------

    def _tables(self, operation: str, request: Any) -> ln.ListTablesResponse:
        parent = Identifier(request.id or ())
        is_whole = operation == "list_all_tables"

        def is_shown(name: str) -> bool:
            table = Identifier(name.split(WIRE_DELIMITER)) if is_whole else parent.child(name)
            return self._may("load table", table, TABLE)

        if self._reaches(parent):
            names, token = self._filtered(operation, request, is_shown)
        elif is_whole:
            names, token = self._below_roots(request, parent, is_shown)
        else:
            names, token = [], None  # without the right to enter the namespace nothing inside is shown
        return ln.ListTablesResponse(tables=names, page_token=token)

    def _below_roots(
        self, request: Any, parent: Identifier, is_shown: Callable[[str], bool]
    ) -> tuple[list[str], str | None]:
        """List all tables of the highest schemas that the caller may load."""
        scope, limit = _scope("list_all_tables", parent), page_limit(request.limit)
        position = _Position.of(scope, request.page_token, limit or _PAGE)
        names: list[str] = []
        for root in self._roots(parent, [] if position is None else position.root):
            begin = position if position is not None and list(root) == position.root else _Position(list(root))
            begin.size = begin.size if position is begin else limit or _PAGE
            missing = None if limit is None else limit - len(names)
            try:
                page, rest = self._read("list_all_tables", request, begin, is_shown, missing)
            except NamespaceNotFoundError:  # dropped by others: its grants are dangling
                continue
            names += page
            if rest is not None:
                return names, rest.written(scope)
        return names, None

    # -- rights ----------------------------------------------------------------------------------

    def _may(self, rule: str, path: Identifier, kind: str) -> bool:
        return bool(judge(self._at(path, kind), BY_NAME[rule]))

    def _may_still_load(self, schema: Identifier) -> bool:
        """Whether a schema may be loaded, by rights on objects that the service still has."""
        while True:
            found = self._at(schema, NAMESPACE)
            verdict = judge(found, BY_NAME["load schema"])
            lapsed = {recorded.row for recorded in grounds(found, verdict) if not self._still_holds(recorded)}
            if not lapsed:
                return bool(verdict)
            self._lapsed |= lapsed

    def _at(self, path: Identifier, kind: str) -> AccessFacts:
        found = self._facts.at(path, kind)
        return found.without(self._lapsed) if self._lapsed else found

    def _reaches(self, namespace: Identifier) -> bool:
        """Whether a right to enter holds for the namespace, and so for what is inside unless it is denied there."""
        rights = Rights(self._at(namespace, NAMESPACE))
        if rights.owner_of(METALAKE) or rights.owner_of(CATALOG):
            return True
        return rights.has(USE_CATALOG) and (rights.has(USE_SCHEMA) or rights.owner_of(SCHEMA) is not None)

    def _loadable_schemas(self) -> Sequence[Identifier]:
        return [path for path in self._facts.known(NAMESPACE) if self._may("load schema", path, NAMESPACE)]

    def _highest_schemas(self, parent: Identifier) -> list[Identifier]:
        highest: list[Identifier] = []
        for path in sorted(path for path in self._loadable_schemas() if _is_inside(path, parent)):
            if not any(path.startswith(other) for other in highest):
                highest.append(path)
        return highest

    def _roots(self, parent: Identifier, start: Sequence[str]) -> Iterator[Identifier]:
        """Yield the highest schemas that the caller may load, from one on, and that the service still has."""
        roots = [root for root in self._highest_schemas(parent) if list(root) >= list(start)]
        while roots:
            root = roots.pop(0)
            if self._may_still_load(root):
                yield root
            else:  # what is granted further down is no longer covered by it
                roots = [other for other in self._highest_schemas(parent) if other > root]

    # -- pages -----------------------------------------------------------------------------------

    def _filtered(self, operation: str, request: Any, is_shown: Callable[[str], bool]) -> tuple[list[str], str | None]:
        scope, limit = _scope(operation, Identifier(request.id or ())), page_limit(request.limit)
        begin = _Position.of(scope, request.page_token, limit or _PAGE)
        begin = begin or _Position(list(request.id or ()), size=limit or _PAGE)
        names, rest = self._read(operation, request, begin, is_shown, limit)
        return names, None if rest is None else rest.written(scope)

    def _read(
        self, operation: str, request: Any, begin: _Position, is_shown: Callable[[str], bool], limit: int | None
    ) -> tuple[list[str], _Position | None]:
        """Read the service's pages until there are enough names, and return where the next page begins, if one does."""
        names: list[str] = []
        token, skip = begin.token, begin.skip
        while True:
            options = {"id": begin.root, "page_token": token, "limit": begin.size}
            page = self._ask(operation, request.model_copy(update=options))
            listed = page.namespaces if operation == "list_namespaces" else page.tables
            for number, name in enumerate(listed):
                if number < skip or not is_shown(name):
                    continue
                if limit is not None and len(names) == limit:
                    return names, _Position(begin.root, token, number, begin.size)
                names.append(name)
            if not page.page_token:
                return names, None
            if page.page_token == token:
                raise InternalError("The mounted catalog answers with the same page again and again.")
            token, skip = page.page_token, 0
            self._check_time()

    def _present(
        self, operation: str, request: Any, leading: Mapping[str, Sequence[Identifier]]
    ) -> tuple[list[str], str | None]:
        """Return a page of names that lead to what is granted, those alone that the service has."""
        parent = Identifier(request.id or ())
        scope, limit = f"granted\0{_scope(operation, parent)}", page_limit(request.limit)
        after = page_start(scope, request.page_token)
        shown: list[str] = []
        for name in self._still_there(parent, (name for name in sorted(leading) if after is None or name > after)):
            if not any(map(self._may_still_load, leading[name])):
                continue
            if limit is not None and len(shown) == limit:
                return shown, page_token(scope, shown[-1])
            shown.append(name)
        return shown, None

    def _still_there(self, parent: Identifier, names: Iterator[str]) -> Iterator[str]:
        for name in names:
            try:
                self._ask("namespace_exists", ln.NamespaceExistsRequest(id=list(parent.child(name))))
            except (NamespaceNotFoundError, TableNotFoundError):
                continue
            yield name
            self._check_time()

    def _check_time(self) -> None:
        if time.monotonic() > self._until:
            raise ServiceUnavailableError(
                f"The list could not be completed within {SECONDS:.0f} seconds: the mounted catalog has many objects "
                "that are not shown to you. List a namespace further down, or ask for a smaller page."
            )


def _is_inside(path: Identifier, parent: Identifier) -> bool:
    return path.depth > parent.depth and path.startswith(parent)


def _scope(operation: str, parent: Identifier) -> str:
    return "\0".join((operation, *parent))
