"""One request of the Iceberg REST protocol: its answer read, and its refusal understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.catalogs.contract.http_errors import refusal
from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError
from lanceway.wire import iceberg
from lanceway.wire.http import HttpAnswer, Request
from lanceway.wire.iceberg import IcebergRoute

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        15: "Ask for the privilege, or use another principal; some servers answer so for what does not exist, too.",
        16: "Check auth_token, token_file or credential.",
    }
)


@dataclass(frozen=True, slots=True)
class IcebergCall(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: IcebergRoute = iceberg.ROUTES[0]


def read(call: IcebergCall, answer: HttpAnswer) -> Any:
    """The JSON of an answer, None if it is empty."""
    if not answer.content.strip():
        return None
    try:
        return answer.json()
    except ValueError:
        raise InternalError(
            f"{call.what}: the answer is no JSON (status {answer.status}). Is the endpoint an Iceberg REST catalog?"
        ) from None


def refused(request: Request, answer: HttpAnswer) -> LanceNamespaceError:
    """What a refusal means, by what was asked, its status and its type; its words are for people."""
    assert isinstance(request, IcebergCall)
    failure = _failure(answer)
    if failure is None and answer.status == 404 and request.route.operation == "get_config":
        return InvalidInputError(
            f"{request.what} failed: the endpoint has no {request.route.path}, so it is no Iceberg REST catalog. Give "
            "its address up to and without /v1."
        )
    code = iceberg.code_of(request.route, answer.status, failure)
    return refusal(request, answer, code, failure.message if failure else None, _WHAT_TO_DO)


def _failure(answer: HttpAnswer) -> iceberg.IcebergFailure | None:
    try:
        return iceberg.read_failure(answer.json())
    except ValueError:
        return None
