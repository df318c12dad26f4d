"""The token endpoint of OAuth2 (RFC 6749): client credentials for a bearer token. It needs no other authentication.

Gravitino's and Iceberg's clients ask for a token here. Answers and errors are those of the RFC, and never cached.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lanceway.access import issuing
from lanceway.access.issuing import InvalidClientError
from lanceway.access.principal import Principal
from lanceway.errors import LanceNamespaceError, ThrottlingError
from lanceway.lake.store.database import LakeStore
from lanceway.server.http import log, uploads
from lanceway.server.http.audit import Auditor
from lanceway.server.http.errors import MethodNotAllowedError
from lanceway.server.http.middleware import PRINCIPAL_KEY
from lanceway.server.threads import CatalogThreads, ThreadLimits
from lanceway.wire.lance import JSON

CLIENT_CREDENTIALS = "client_credentials"
_LARGEST_BODY, _MOST_FIELDS = 16 * 2**10, 20
_NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_MORE_HEADERS: Mapping[int, Mapping[str, str]] = {
    401: {"www-authenticate": 'Basic realm="lanceway"'},
    429: {"retry-after": "60"},  # until one of the tokens ends, which may take an hour
    503: {"retry-after": "1"},
}
_LIMITS = ThreadLimits("of tokens", threads=4, deadline=30.0)


class GrantError(Exception):
    """A request for a token that cannot be answered: an error code of the RFC, and a sentence."""

    def __init__(self, code: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.code, self.description, self.status = code, description, status


class TokenEndpoint:
    """An ASGI application for `POST`, wherever it is mounted."""

    def __init__(self, store: LakeStore, auditor: Auditor) -> None:
        self._store, self._auditor = store, auditor
        self._threads = CatalogThreads(_LIMITS, {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        log.of(scope).operation = "issue_token"
        if scope["method"] != "POST":
            raise MethodNotAllowedError("This path takes POST only.", ("POST",))
        try:
            response = await self._answer(scope, receive)
        except GrantError as error:
            body = {"error": error.code, "error_description": error.description}
            more = _MORE_HEADERS.get(error.status, {})
            response = Response(msgspec.json.encode(body), error.status, {**_NO_STORE, **more}, JSON)
        await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        form = _read_form(await uploads.read_body(receive, _LARGEST_BODY))
        if form.get("grant_type") != CLIENT_CREDENTIALS:
            raise GrantError("unsupported_grant_type", f"Only the grant {CLIENT_CREDENTIALS} is known here.")
        user, secret = _client(scope, form)
        try:
            await self._threads.run(None, issuing.check, self._store, user, secret)
            scope[PRINCIPAL_KEY] = Principal(user)
            log.of(scope).user = user
            async with self._auditor.change(scope, "issue_token", ()):
                issued = await self._threads.run(None, issuing.issue, self._store, user, secret)
        except InvalidClientError as error:
            raise GrantError("invalid_client", str(error), 401) from error
        except ThrottlingError as error:
            raise GrantError("temporarily_unavailable", str(error), 429) from error
        except LanceNamespaceError as error:
            log.refused("A token could not be issued.", log.of(scope), error)  # its words are not for strangers
            raise GrantError("temporarily_unavailable", "Tokens cannot be issued now. Try again later.", 503) from error
        answer = {"access_token": issued.text, "token_type": "bearer", "expires_in": issued.seconds}
        answer["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        if form.get("scope"):
            answer["scope"] = form["scope"]  # it is the whole of what the user may do, whatever is asked for
        return Response(msgspec.json.encode(answer), 200, _NO_STORE, JSON)

    async def close(self, seconds: float) -> None:
        """Wait for what runs, but not longer than that."""
        await self._threads.close(seconds)


def _read_form(body: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:  # UnicodeDecodeError is one
        raise GrantError("invalid_request", "The body must be a form: grant_type=client_credentials&…") from error
    form = dict(pairs)
    if len(form) < len(pairs):
        raise GrantError("invalid_request", "A parameter is there twice. Send each once.")
    return form


def _client(scope: Scope, form: Mapping[str, str]) -> tuple[str, str]:
    """Return the id and the secret of a client: from the form, or from the header Authorization, but not from both."""
    headers = [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]
    in_header = [value for value in headers if value.lower().startswith("basic ")]
    if (in_header and "client_secret" in form) or len(in_header) > 1:
        raise GrantError("invalid_request", "The client's credentials are there twice. Send them once.")
    user, secret = _basic(in_header[0]) if in_header else (form.get("client_id", ""), form.get("client_secret", ""))
    if not user or not secret:
        raise GrantError("invalid_client", str(InvalidClientError()), 401)
    return user, secret


def _basic(header: str) -> tuple[str, str]:
    try:
        user, _, secret = base64.b64decode(header[len("basic ") :].strip(), validate=True).decode().partition(":")
    except ValueError as error:
        raise GrantError("invalid_client", str(InvalidClientError()), 401) from error
    # The RFC encodes both as in a form, which most clients leave out; a token has nothing to decode.
    return unquote_plus(user) if "%" in user else user, secret
