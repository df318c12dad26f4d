"""Headers and context: the protocol carries what it has no field for in either of them.

A request's header `X` is `context["header.X"]` for the catalog that answers it, and an entry
`header.X` in an answer's context is sent as the header `X`. Neither way takes along what belongs to one
connection or to whoever is connected: credentials end here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

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
