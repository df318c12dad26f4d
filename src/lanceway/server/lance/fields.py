"""The fields of a request, read from its path, query, body and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from lanceway.errors import InvalidInputError
from lanceway.identifiers import Identifier
from lanceway.tables.storage import options
from lanceway.wire import lance
from lanceway.wire.lance import Body, LanceRoute, Match

_MOST_PARAMETERS = 1000
_DELIMITER = "delimiter"


def read_query(query: bytes) -> list[tuple[str, str]]:
    if not query:
        return []
    try:
        return parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError as error:  # not ASCII, not UTF-8 behind its %, or too many
        raise InvalidInputError(
            f"The query cannot be read: it must be percent-encoded UTF-8 with at most {_MOST_PARAMETERS} parameters."
        ) from error


def read_delimiter(pairs: Sequence[tuple[str, str]]) -> str:
    delimiters = [value for name, value in pairs if name == _DELIMITER]
    if delimiters and not delimiters[-1]:
        raise InvalidInputError(
            "The query has an empty delimiter. Leave it out for '$', or give at least one character."
        )
    return delimiters[-1] if delimiters else lance.DELIMITER


def read_id(route: LanceRoute, match: Match, delimiter: str) -> list[str] | None:
    """Return the identifier in the path; None for operations without one."""
    if not route.has_id or match.id is None:
        return None
    return list(_identifier(match.id, delimiter))


def _identifier(text: str, delimiter: str) -> Identifier:
    if not text:
        raise InvalidInputError(f"The path has an empty identifier. The root namespace is written {delimiter!r}.")
    return lance.read_id(text, delimiter)


def collect(
    route: LanceRoute,
    match: Match,
    id_: list[str] | None,
    delimiter: str,
    pairs: Iterable[tuple[str, str]],
    body: object,
    headers: Iterable[tuple[bytes, bytes]],
    forwarded: ForwardedHeaders,
) -> dict[str, Any]:
    """Collect the fields of a request: the query beats the body, and the path beats both or must agree."""
    fields = _of_body(route, body)
    # The headers say who asks, and are verified by now. What a body claims is dropped.
    fields.pop("identity", None)
    for inner in _nested(fields):
        inner.pop("identity", None)
        if "context" in inner:
            inner["context"] = merge_context(inner["context"], (), forwarded)
    fields.update(lance.read_query(route, pairs))
    options.check(fields.get("storage_options"))
    if route.has_id:
        body_id = fields.get("id")
        if body_id is not None and not lance.is_same_id(body_id, match.id or "", delimiter):
            raise InvalidInputError(
                "The id in the body is not the one in the path. Leave it out of the body, or make them the same."
            )
        fields["id"] = id_
    if match.index_name is not None:
        if fields.get("index_name") not in (None, match.index_name):
            raise InvalidInputError("The index_name in the body is not the one in the path.")
        fields["index_name"] = match.index_name
    context = merge_context(fields.get("context"), headers, forwarded)
    if context is not None:
        fields["context"] = context
    return fields


def _nested(fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the requests inside a request: the query that is to be explained, the operations of a batch."""
    if isinstance(query := fields.get("query"), dict):
        yield query
    operations = fields.get("operations")
    for operation in operations if isinstance(operations, list) else ():
        if isinstance(operation, dict):
            yield from (request for request in operation.values() if isinstance(request, dict))


def _of_body(route: LanceRoute, body: object) -> dict[str, Any]:
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise InvalidInputError(f"The body must be a JSON object, but is {_kind(body)}.")
    if route.body is Body.MAP:
        if not all(isinstance(value, str) for value in body.values()):
            raise InvalidInputError("The body must be a JSON object whose values are strings.")
        return {"metadata": body}
    return body


def _kind(body: object) -> str:
    if isinstance(body, list):
        return "an array"
    return "a string" if isinstance(body, str) else "a number, true or false"


PREFIX = "header."
# What no setting lets through: what every client sends, what a proxy adds, a credential, what describes one body.
_NOT_FORWARDED = frozenset(
    {
        "accept",
        "authorization",
        "cache-control",
        "connection",
        "cookie",
        "date",
        "dnt",
        "expect",
        "forwarded",
        "from",
        "host",
        "keep-alive",
        "origin",
        "pragma",
        "priority",
        "proxy-authenticate",
        "proxy-authorization",
        "range",
        "referer",
        "server",
        "set-cookie",
        "te",
        "trailer",
        "traceparent",
        "tracestate",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "vary",
        "via",
        "www-authenticate",
        "x-api-key",
        "x-real-ip",
        "x-request-id",
    }
)
_NOT_FORWARDED_PREFIXES = ("accept-", "access-control-", "content-", "if-", "proxy-", "sec-", "x-forwarded-")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,4096}")
_MOST = 64


def _is_forwarded(name: str) -> bool:
    return name not in _NOT_FORWARDED and not name.startswith(_NOT_FORWARDED_PREFIXES)


# The headers that catalogs get, by their names as they arrive, with their keys in the context.
ForwardedHeaders = Mapping[bytes, str]


def forwarded_headers(names: Iterable[str]) -> ForwardedHeaders:
    """Return the headers of a client that catalogs get. A service behind the server may trust others blindly."""
    plain = (name.strip().lower() for name in names)
    return {name.encode("latin-1", "replace"): PREFIX + name for name in plain if _is_forwarded(name)}


def merge_context(context: object, headers: Iterable[tuple[bytes, bytes]], forwarded: ForwardedHeaders) -> Any:
    """Merge these headers, and no others, into the body's context. A header beats an entry of its name."""
    sent = (
        {forwarded[name]: value.decode("latin-1") for name, value in headers if name in forwarded} if forwarded else {}
    )
    if not isinstance(context, Mapping):
        return context if context is not None else sent or None
    names = frozenset(forwarded.values())
    entries = {key: value for key, value in context.items() if not _is_header(key) or key.lower() in names}
    return {**entries, **sent}


def to_headers(context: Mapping[str, str] | None) -> list[tuple[bytes, bytes]]:
    """Return the headers that an answer's context asks for; one that cannot be sent stays in the body alone."""
    if not context:
        return []
    named = ((key[len(PREFIX) :].lower(), value) for key, value in context.items() if _is_header(key))
    fit = (
        (name.encode(), value.encode("latin-1"))
        for name, value in named
        if _is_forwarded(name) and _NAME.fullmatch(name) and _VALUE.fullmatch(value)
    )
    return list(fit)[:_MOST]


def _is_header(key: object) -> bool:
    return isinstance(key, str) and key.lower().startswith(PREFIX)
