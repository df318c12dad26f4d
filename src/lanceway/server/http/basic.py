"""The scheme Basic, with which clients of Gravitino sign in: a user, and a token of that user as the password."""

from __future__ import annotations

import base64
import binascii

from lanceway.access import tokens
from lanceway.access.authenticator import AUTHORIZATION
from lanceway.access.principal import Principal
from lanceway.errors import UnauthenticatedError

Headers = list[tuple[bytes, bytes]]

_NAME = AUTHORIZATION.encode()
_SCHEME = b"basic "


def as_bearer(headers: Headers, *, simple: bool = False) -> tuple[Headers, str | None]:
    """Return the headers with the token as a bearer token, and the user that they name; as they are without Basic.

    With `simple`, where names are believed, so are headers whose password is no token.
    """
    claimed: str | None = None
    changed: Headers = []
    for name, value in headers:
        if name == _NAME and value[: len(_SCHEME)].lower() == _SCHEME:
            claimed, token = _read(value[len(_SCHEME) :])
            if simple and not tokens.is_token(token.decode("latin-1")):
                return headers, None
            changed.append((name, b"Bearer " + token))
        else:
            changed.append((name, value))
    return (headers, None) if claimed is None else (changed, claimed)


def _read(value: bytes) -> tuple[str, bytes]:
    try:
        user, colon, token = base64.b64decode(value.strip(), validate=True).partition(b":")
        if not colon or not token.strip():
            raise ValueError("no password")
        return user.decode(), token.strip()
    except (binascii.Error, ValueError) as error:
        raise UnauthenticatedError(
            "The header Authorization has no user and token in its Basic credentials. Send a token of the user as the "
            "password, or `Bearer` and the token."
        ) from error


def check_claim(claimed: str | None, principal: Principal) -> None:
    """Raise UnauthenticatedError where a token is sent for another user than its own."""
    if claimed is not None and claimed != principal.name:
        raise UnauthenticatedError(
            f"The token does not belong to the user {claimed!r}. Send a token of that user, or the name it belongs to."
        )
