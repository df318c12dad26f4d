"""What a Lanceway server has beside Lance REST: namespaces by their logical paths, and shallow clones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import quote

from lance_namespace import DescribeTableResponse

from lanceway.catalogs.contract.clones import CloneRequest
from lanceway.catalogs.contract.schemas import Path, PathNaming
from lanceway.errors import UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.wire.errors import Repeat
from lanceway.wire.http import Request
from lanceway.wire.lance import JSON

_SCHEMAS = "/v1/schemas"


class SendsRequests(Protocol):
    """What sends a request to `/lanceway`, and returns the JSON of its answer."""

    def send(self, request: Request) -> Any: ...


class RestSchemas:
    """The schemas of a server. A path begins with the name of a catalog: `lake.team:sales`."""

    def __init__(self, server: SendsRequests) -> None:
        self._server = server

    def naming(self, catalog: str) -> PathNaming | None:
        """Return how names are written in a catalog; None where the server does not say."""
        request = Request("naming", "GET", f"/v1/catalogs/{quote(catalog, safe='')}", repeat=Repeat.SAFE)
        try:
            answer = self._server.send(request)
        except UnsupportedOperationError:
            return None
        if "separator" not in answer:
            return None
        fields = (answer["separator"], answer["policy"], answer["nested"])
        return PathNaming(*fields, answer["metalake"], answer["catalog"], in_tree=True)

    def list(self, parent: str | None) -> list[str]:
        query = [("parent", parent)] if parent else []
        answer = self._server.send(Request("list_schemas", "GET", _SCHEMAS, query, repeat=Repeat.SAFE))
        return [str(name) for name in answer["schemas"]]

    def create(self, path: Path, properties: Mapping[str, str] | None, comment: str | None) -> Identifier:
        body = {"name": _name(path), "properties": dict(properties or {}), "comment": comment}
        return Identifier(self._post("create_namespaces", _SCHEMAS, body)["id"])

    def alter(self, path: Path, properties: Mapping[str, str] | None, unset: Iterable[str]) -> dict[str, str]:
        body = {"name": _name(path), "set": dict(properties or {}), "unset": [*unset]}
        answer = self._post("alter_namespace", f"{_SCHEMAS}/alter", body)
        return {str(key): str(value) for key, value in answer["properties"].items()}

    def drop(self, path: Path) -> None:
        self._post("drop_schema", f"{_SCHEMAS}/drop", {"name": _name(path)})

    def clone(self, request: CloneRequest) -> DescribeTableResponse:
        """Have the server make a shallow clone of a table, and return where it is."""
        body = {
            "source": request.source,
            "target": request.id,
            "version": request.version,
            "tag": request.tag,
            "branch": request.branch,
        }
        return DescribeTableResponse(location=self._post("clone_table", "/v1/tables/clone", body)["location"])

    def _post(self, what: str, path: str, body: Mapping[str, object]) -> Any:
        content = json.dumps(body).encode()
        return self._server.send(Request(what, "POST", path, headers={"content-type": JSON}, content=content))


def _name(path: Path) -> str | Sequence[str]:
    return path if isinstance(path, str) else [*path]
