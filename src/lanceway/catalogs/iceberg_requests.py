"""One request of the Iceberg REST protocol: its answer read, and its refusal understood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.errors import InternalError, InvalidInputError, LanceNamespaceError, from_error_code
from lanceway.wire import iceberg
from lanceway.wire.http import Answer, Request
from lanceway.wire.iceberg import Route

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        0: "This server has no such operation.",
        15: "Ask for the privilege, or use another principal; some servers answer so for what does not exist, too.",
        16: "Check auth_token, token_file or credential.",
        17: "Try again later.",
        21: "Ask less often, or later.",
    }
)


@dataclass(frozen=True, slots=True)
class Call(Request):
    """A request of the protocol, with the row that says what its refusal means."""

    route: Route = iceberg.ROUTES[0]


def read(call: Call, answer: Answer) -> Any:
    """The JSON of an answer, None if it is empty."""
    if not answer.content.strip():
        return None
    try:
        return json.loads(answer.content)
    except (ValueError, RecursionError):
        raise InternalError(
            f"{call.what}: the answer is no JSON (status {answer.status}). Is the endpoint an Iceberg REST catalog?"
        ) from None


def refused(request: Request, answer: Answer) -> LanceNamespaceError:
    """What a refusal means, by what was asked, its status and its type; its words are for people."""
    assert isinstance(request, Call)
    failure = _failure(answer)
    if failure is None and answer.status == 404 and request.route.operation == "get_config":
        return InvalidInputError(
            f"{request.what} failed: the endpoint has no {request.route.path}, so it is no Iceberg REST catalog. Give "
            "its address up to and without /v1."
        )
    code = iceberg.code_of(request.route, answer.status, failure)
    said = failure.message.rstrip(".") if failure and failure.message else "no reason was given"
    error: LanceNamespaceError = from_error_code(
        code, " ".join(filter(None, (f"{request.what} failed with {answer.status}: {said}.", _WHAT_TO_DO.get(code))))
    )
    return error


def _failure(answer: Answer) -> iceberg.Failure | None:
    try:
        return iceberg.read_failure(json.loads(answer.content))
    except (ValueError, RecursionError):
        return None
