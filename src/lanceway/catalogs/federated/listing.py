"""Every table of the tree, catalog after catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, NamedTuple

from lance_namespace import ListTablesRequest, ListTablesResponse

from lanceway.catalogs.contract.requests import accept, page_limit, page_start, page_token
from lanceway.catalogs.federated.jobs import FederatedJobs
from lanceway.errors import InternalError, NamespaceNotFoundError

_SCOPE = "tables of all catalogs"


class ListingStep(NamedTuple):
    """A part of a longer answer: what is to be called, and the configured catalog that it may have to wait for."""

    mount: str | None
    call: Callable[[], Any]


class FederatedListing(FederatedJobs):
    """ListAllTables."""

    def list_all_tables(self, request: ListTablesRequest) -> ListTablesResponse:
        """Every table below a namespace, below the root if none is given, in order of its identifier.

        One catalog that does not answer makes it fail: a list is complete or none.
        """
        request = accept(ListTablesRequest, request)
        if request.id:
            answer: ListTablesResponse = self._forward("list_all_tables", request)
            return answer
        steps, given = self.listing(request), None
        try:
            while True:
                given = steps.send(given).call()
        except StopIteration as done:
            found: ListTablesResponse = done.value
            return found

    def listing(self, request: ListTablesRequest) -> Generator[ListingStep, Any, ListTablesResponse]:
        """The same from the root, step by step: a server takes each on the threads of its catalog.

        Whoever drives it calls each step, and sends what that answered.
        """
        limit = page_limit(request.limit)
        after = page_start(_SCOPE, request.page_token)
        start, token = json.loads(after) if after else (None, None)
        tables: list[str] = []
        names = yield ListingStep(None, partial(self._names, None))
        names = [name for name in names if start is None or name > start or (name == start and token)]
        for name in names:
            token = token if name == start else None
            while True:
                wanted = None if limit is None else limit - len(tables)
                own = request.model_copy(update={"id": [name], "limit": wanted, "page_token": token})
                page = yield ListingStep(name if name in self._configured else None, partial(self._page, name, own))
                if page.page_token and page.page_token == token:
                    raise InternalError(f"The catalog {name!r} answers with the same page of tables again and again.")
                tables += page.tables
                token = page.page_token
                if limit is not None and len(tables) >= limit and (token or name != names[-1]):
                    return ListTablesResponse(tables=tables, page_token=page_token(_SCOPE, json.dumps([name, token])))
                if not token:
                    break
        return ListTablesResponse(tables=tables)

    def _page(self, name: str, request: ListTablesRequest) -> ListTablesResponse:
        try:
            page: ListTablesResponse = self._forward("list_all_tables", request)
        except NamespaceNotFoundError:
            if name in self._configured:
                raise
            return ListTablesResponse(tables=[])  # dropped since
        return page
