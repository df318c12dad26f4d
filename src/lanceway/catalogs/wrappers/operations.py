"""Running an operation by its name, on any catalog."""

from __future__ import annotations

from typing import Any

import lance_namespace as ln
from pydantic import BaseModel

from lanceway.catalogs.contract.hooks import stream_twin
from lanceway.tables.read import ipc


def carry_out(catalog: ln.LanceNamespace, operation: str, request: BaseModel, *data: Any) -> Any:
    """Run one operation, or a twin that streams, on any catalog: one without the twin takes and returns bytes."""
    method = getattr(catalog, operation, None)
    if method is not None:
        return method(request, *data)
    plain = getattr(catalog, operation.removesuffix(stream_twin("")))
    if data:
        return plain(request, b"".join(ipc.stream_chunks(data[0], file_format=False)))
    return ipc.read(plain(request).data)
