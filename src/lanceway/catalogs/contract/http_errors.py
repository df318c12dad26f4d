"""Errors of foreign HTTP services as errors of the contract, with what a user can do about them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lanceway.errors import LanceNamespaceError, from_error_code
from lanceway.wire.http import HttpAnswer, Request

_WHAT_TO_DO: Mapping[int, str] = MappingProxyType(
    {
        0: "This server has no such operation.",
        17: "Try again later.",
        21: "Ask less often, or later.",
    }
)


def refusal(
    request: Request, answer: HttpAnswer, code: int, said: str | None, what_to_do: Mapping[int, str]
) -> LanceNamespaceError:
    """Return the error of a code, with the server's own message and what a user can do about it."""
    failure = f"{request.what} failed with {answer.status}: {(said or 'no reason was given').rstrip('.')}."
    error: LanceNamespaceError = from_error_code(
        code, " ".join(filter(None, (failure, what_to_do.get(code, _WHAT_TO_DO.get(code)))))
    )
    return error
