"""A connection's settings: addresses, headers, times and TLS."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from lanceway.config import Setting
from lanceway.errors import InvalidInputError

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# What every catalog behind HTTP may set, beside its address and its credentials.
SETTINGS = (
    Setting("timeout", "How many seconds to wait for a server's next word.", float, default=300.0),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting("header.*", "Headers sent with every request: header.X-Team = …", secret=True),
    Setting("headers.*", "The same, in the plural.", secret=True),
    Setting("tls.ssl_ca_cert", "A file with the certificates that the server's must come from."),
    Setting("tls.cert_file", "The client's own certificate, a PEM file."),
    Setting("tls.key_file", "The key of the client's certificate, if it is in a file of its own."),
    Setting("tls.assert_hostname", "Whether the server's certificate must be for its name.", bool, default=True),
)


def checked_uri(uri: str) -> str:
    """A server's address without a slash at its end. What is wrong with it is said without repeating a password."""
    try:
        url = httpx.URL(uri)
    except httpx.InvalidURL:
        raise InvalidInputError("uri is no address. Give it as http://host:port/path.") from None
    if url.userinfo:
        raise InvalidInputError("uri holds a user or a password. Leave them out, and give a token in its own setting.")
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInputError(f"uri is {uri!r}, but must be an address such as http://host:port/path.")
    if url.query or url.fragment:
        raise InvalidInputError("uri has a query or a fragment. Give it as http://host:port/path.")
    return uri.rstrip("/")


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would not stay one header. The value itself is not repeated: it may be a secret."""
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise InvalidInputError(f"{name[:100]!r} cannot be the name of a header: use letters, digits and '-'.")
        if not _VALUE.fullmatch(value) or value != value.strip():
            raise InvalidInputError(
                f"The value of the header {name!r} cannot be sent: it must be one line of Latin characters, with no "
                "blank at its ends."
            )


def check(settings: Mapping[str, Any]) -> None:
    """Refuse what cannot be set together, or so."""
    for name in ("timeout", "connect_timeout"):
        if not 0 < settings[name] < float("inf"):
            raise InvalidInputError(f"{name} is {settings[name]}, but must be a number of seconds above 0.")
    if settings["retries"] < 0:
        raise InvalidInputError(f"retries is {settings['retries']}, but must be 0 or more.")
    if settings["tls.key_file"] and not settings["tls.cert_file"]:
        raise InvalidInputError("tls.key_file is set without tls.cert_file, the certificate it is for.")


def tls(settings: Mapping[str, Any]) -> ssl.SSLContext | bool:
    """What a server's certificate is checked by, and the client's own; True for what is usual."""
    authorities, certificate = settings["tls.ssl_ca_cert"], settings["tls.cert_file"]
    if not authorities and not certificate and settings["tls.assert_hostname"]:
        return True
    try:
        context = ssl.create_default_context(cafile=authorities)
        if certificate:
            context.load_cert_chain(certificate, settings["tls.key_file"])
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(
            f"{name}={settings[name]!r}" for name in sorted(settings) if name.endswith(("_file", "_cert"))
        )
        raise InvalidInputError(f"The files for TLS cannot be used ({files}): {error.strerror or error}.") from error
    context.check_hostname = settings["tls.assert_hostname"]
    return context
