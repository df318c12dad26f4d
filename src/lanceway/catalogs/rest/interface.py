"""What a Lanceway server has beside Lance REST, below `/lanceway`: requests to it, and its refusals as errors."""

from __future__ import annotations

from typing import Any

from lanceway.catalogs.rest.messages import cleaned
from lanceway.catalogs.rest.settings import RestSettings
from lanceway.errors import InternalError, LanceNamespaceError, UnsupportedOperationError, from_error_code
from lanceway.wire import lance
from lanceway.wire.http import Client, HttpAnswer, Request

_LANCE, _LANCEWAY = "/lance", "/lanceway"
_NOT_FOUND = 404


class LancewayInterface:
    """A server's `/lanceway`. Its client has no address where the uri is not a Lanceway server's."""

    def __init__(self, settings: RestSettings) -> None:
        self._client: Client | None = None
        if settings.uri.endswith(_LANCE):
            address = settings.uri.removesuffix(_LANCE) + _LANCEWAY
            self._client = Client(address, settings.client, settings.credentials, _refuse)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def send(self, request: Request) -> Any:
        """Send a request, and return the JSON of its answer."""
        if self._client is None:
            raise _unsupported(request)
        try:
            return self._client.send(request).json()
        except ValueError as error:
            raise InternalError(f"{request.what}: the answer cannot be read. Is this a Lanceway server?") from error


def _refuse(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    body, code = lance.read_error(answer.content)
    if code is not None:
        return from_error_code(code, cleaned(body.get("error")))
    if answer.status == _NOT_FOUND:
        return _unsupported(request)
    return from_error_code(lance.CODE_OF_STATUS.get(answer.status, 18), f"{request.what}: {answer.status}.")


def _unsupported(request: Request) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"{request.what}: only a Lanceway server has this beside Lance REST, such as background jobs, and its uri ends "
        f"in {_LANCE}."
    )
