"""What the stock client cannot send: rows with blobs, in a request of the dialect."""

from __future__ import annotations

import httpx
import pyarrow as pa

from tests.clients.lancedb.side import Side
from tests.server.server_helpers import stream


def create(side: Side, name: str, data: pa.Table, content_type: str) -> None:
    catalog, _, prefix = side.database.partition("/")
    headers = {"x-lancedb-database": catalog, "x-lancedb-database-prefix": prefix, "content-type": content_type}
    address = f"{side.uri}/v1/table/{name}/create/"
    answer = httpx.post(
        address, content=stream(data), headers={**headers, "x-api-key": side.token}, trust_env=False, timeout=60
    )
    answer.raise_for_status()
