"""A request's fields, from where the protocol puts them: path, query, body and headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
    given = [value for name, value in pairs if name == _DELIMITER]
    if given and not given[-1]:
        raise InvalidInputError(
            "The query has an empty delimiter. Leave it out for '$', or give at least one character."
        )
    return given[-1] if given else lance.DELIMITER


def read_id(route: LanceRoute, match: Match, delimiter: str) -> list[str] | None:
    """The identifier in the path; None for the operations that have none."""
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
) -> dict[str, Any]:
    """The fields of the request: the query beats the body, and the path beats both or must agree."""
    fields = _of_body(route, body)
    # Who asks is told by the headers, and is known by now. What a body says of it goes no further.
    fields.pop("identity", None)
    fields.update(lance.read_query(route, pairs))
    options.check(fields.get("storage_options"))
    if route.has_id:
        given = fields.get("id")
        if given is not None and not lance.is_same_id(given, match.id or "", delimiter):
            raise InvalidInputError(
                "The id in the body is not the one in the path. Leave it out of the body, or make them the same."
            )
        fields["id"] = id_
    if match.index_name is not None:
        if fields.get("index_name") not in (None, match.index_name):
            raise InvalidInputError("The index_name in the body is not the one in the path.")
        fields["index_name"] = match.index_name
    told = merged(fields.get("context"), headers)
    if told is not None:
        fields["context"] = told
    return fields


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
# What every client sends, what a proxy adds, what is a credential, what describes one body.
_KEPT_HERE = frozenset(
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
_KEPT_FAMILIES = ("accept-", "access-control-", "content-", "if-", "proxy-", "sec-", "x-forwarded-")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,4096}")
_MOST = 64


def _passes(name: str) -> bool:
    return name not in _KEPT_HERE and not name.startswith(_KEPT_FAMILIES)


def from_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """What of a request's headers is for the catalog."""
    found: dict[str, str] = {}
    for raw, value in headers:
        key = _key_of(raw)
        if key is not None:
            found[key] = value.decode("latin-1")
    return found


@lru_cache(1024)  # every request of a client has the same names
def _key_of(raw: bytes) -> str | None:
    """The entry that a header is kept as; None for one that ends here."""
    name = raw.decode("latin-1")
    return PREFIX + name if _passes(name) else None


def merged(given: object, headers: Iterable[tuple[bytes, bytes]]) -> Any:
    """The request's context. A header that was sent beats an entry that says so, and no entry names a credential."""
    sent = from_headers(headers)
    if not isinstance(given, Mapping):
        return given if given is not None else sent or None
    kept = {key: value for key, value in given.items() if not _is_header(key) or _passes(key[len(PREFIX) :].lower())}
    return {**kept, **sent}


def to_headers(context: Mapping[str, str] | None) -> list[tuple[bytes, bytes]]:
    """The headers that an answer's context asks for; one that cannot be sent stays in the body alone."""
    if not context:
        return []
    named = ((key[len(PREFIX) :].lower(), value) for key, value in context.items() if _is_header(key))
    fit = (
        (name.encode(), value.encode("latin-1"))
        for name, value in named
        if _passes(name) and _NAME.fullmatch(name) and _VALUE.fullmatch(value)
    )
    return list(fit)[:_MOST]


def _is_header(key: object) -> bool:
    return isinstance(key, str) and key.startswith(PREFIX)
