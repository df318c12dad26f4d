"""One request to Unity Catalog: its answer read, and its refusal understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.catalogs.contract.http_errors import refusal
from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError
from lanceway.wire import unity
from lanceway.wire.http import HttpAnswer, Request
from lanceway.wire.unity import UnityRoute

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the grant, or use another token.",
        16: "Check auth_token.",
    }
)


@dataclass(frozen=True, slots=True)
class UnityCall(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: UnityRoute = unity.ROUTES[0]


def read(call: UnityCall, answer: HttpAnswer) -> Any:
    """The JSON of an answer. A deletion is answered with words that are no JSON, and means nothing more."""
    if call.method == "DELETE":
        return None
    try:
        return answer.json()
    except ValueError:
        raise InternalError(
            f"{call.what}: the answer is no JSON (status {answer.status}). Are endpoint and api_path a Unity Catalog's?"
        ) from None


def refused(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    """What a refusal means, by its code, its status and what was asked; its words are for people."""
    assert isinstance(request, UnityCall)
    failure = _failure(answer)
    if answer.status == 404 and (failure is None or failure.error_code == "ENDPOINT_NOT_FOUND"):
        return InvalidInputError(
            f"{request.what} failed: the server has no {request.path}, so it is no Unity Catalog, or one at another "
            f"path. Check endpoint, and api_path, which is {unity.API_PATH} by default."
        )
    code = unity.code_of(request.route, answer.status, failure)
    return refusal(request, answer, code, failure.message if failure else None, _WHAT_TO_DO)


def _failure(answer: HttpAnswer) -> unity.UnityFailure | None:
    try:
        return unity.read_failure(answer.json())
    except ValueError:
        return None
