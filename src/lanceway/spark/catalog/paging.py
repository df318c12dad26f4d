"""Lists of a catalog, page after page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.operations import REQUESTS

_PAGE = 1000
# What an answer calls the names that it lists.
_NAMES = {"list_namespaces": "namespaces", "list_tables": "tables"}


def names(catalog: LanceNamespace, operation: str, id_: list[str], **fields: object) -> Iterator[str]:
    """The names that `list_namespaces` or `list_tables` answers, one page in memory at a time."""
    token: str | None = None
    while True:
        given = {"id": id_, "limit": _PAGE, "page_token": token, **fields}
        answer: Any = getattr(catalog, operation)(REQUESTS[operation].model_validate(given))
        yield from getattr(answer, _NAMES[operation]) or ()
        token = answer.page_token
        if not token:
            return
