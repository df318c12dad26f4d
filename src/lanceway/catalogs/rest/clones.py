"""Shallow clones on a Lanceway server, which are made beside Lance REST."""

from __future__ import annotations

import json

from lance_namespace import DescribeTableResponse

from lanceway.catalogs.contract.clones import CloneRequest
from lanceway.catalogs.rest.schemas import SendsRequests
from lanceway.wire.http import Request
from lanceway.wire.lance import JSON


def clone(server: SendsRequests, request: CloneRequest) -> DescribeTableResponse:
    """Have a server make a clone, and return where it is."""
    body = {
        "source": request.source,
        "target": request.id,
        "version": request.version,
        "tag": request.tag,
        "branch": request.branch,
    }
    content = json.dumps(body).encode()
    headers = {"content-type": JSON}
    answer = server.send(Request("clone_table", "POST", "/v1/tables/clone", headers=headers, content=content))
    return DescribeTableResponse(location=answer["location"])
