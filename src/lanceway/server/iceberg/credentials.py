"""What Iceberg clients are told of the storage of a table: with the table, alone, and one signed request at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lanceway.access.credentials.iceberg import STAGED, IcebergStorage
from lanceway.access.credentials.s3_requests import UnsignedRequest
from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.errors import UnsupportedOperationError
from lanceway.server.iceberg.calls import Handler, IcebergRestCall, answer
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.wire import iceberg
from lanceway.wire.iceberg_requests import SigningRequest

_PROVIDER = "s3"
# Neither a client nor what is between may give a signature or a key to another one, or use it after a revoke.
_NOT_KEPT, NOT_STORED = (b"cache-control", b"no-cache"), (b"cache-control", b"no-store")


def storage_parts(
    call: IcebergRestCall, id_: Sequence[str], loaded: LoadedIceberg, *, optional: bool = False
) -> dict[str, Any]:
    """Return the parts of a table's answer that lead to its storage, by the ways of access that the client supports.

    With `optional` a failure leaves them empty, where the table was made or changed before.
    """
    storage = call.guard.iceberg_storage(
        id_, loaded, delegation=delegation(call.headers), request_id=call.request_id, optional=optional
    )
    credentials = _credentials(storage)
    return {"config": storage.config, **({"storage-credentials": credentials} if credentials else {})}


def load_credentials(call: IcebergRestCall) -> EncodedAnswer:
    """Return credentials for the storage of a table; none for who may not read it, and where none are made."""
    loaded = call.guard.load_iceberg_table(call.table)
    storage = call.guard.iceberg_storage(
        call.table, loaded, delegation=frozenset({iceberg.VENDED}), request_id=call.request_id
    )
    return answer({"storage-credentials": _credentials(storage)}, NOT_STORED)


def sign_request(call: IcebergRestCall) -> EncodedAnswer:
    """Sign a request to the storage of a table."""
    body: SigningRequest = call.body
    if (body.provider or _PROVIDER) != _PROVIDER:
        raise UnsupportedOperationError(
            f"Requests to {str(body.provider)[:40]!r} are not signed here, only to {_PROVIDER}."
        )
    request = UnsignedRequest(body.method, body.uri, body.headers)
    signed = call.guard.sign_iceberg_request(call.table, request, note=call.query.get(STAGED))
    return answer({"uri": signed.uri, "headers": signed.headers}, _NOT_KEPT)


def delegation(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the ways to the storage of a table that a client supports."""
    return frozenset(text.strip().lower() for text in headers.get(iceberg.DELEGATION, "").split(","))


def _credentials(storage: IcebergStorage) -> list[dict[str, Any]]:
    return [{"prefix": prefix, "config": config} for prefix, config in storage.credentials]


HANDLERS: Mapping[str, Handler] = {"load_credentials": load_credentials, "sign_request": sign_request}
