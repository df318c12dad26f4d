"""A connection's settings: addresses, headers, times and TLS."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from lanceway.config import Setting
from lanceway.errors import InvalidInputError

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# What may stand in an address as it is; a percent sign because it is encoded already.
_PLAIN = "%/:@!$&'()*+,;=~?"
_UNPRINTABLE, _BLANK = re.compile(r"[\x00-\x1f\x7f]"), re.compile(r"\s")
_PORTS = {"http": 80, "https": 443}
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# What every catalog behind HTTP may set, beside its address and its credentials.
SETTINGS = (
    Setting("timeout", "Read timeout in seconds.", float, default=300.0),
    Setting("connect_timeout", "How many seconds to wait for a connection.", float, default=10.0),
    Setting("retries", "How often a request is sent again where that is safe.", int, default=3),
    Setting("header.*", "Headers sent with every request: header.X-Team = …", secret=True),
    Setting("headers.*", "Another spelling of header.*.", secret=True),
    Setting("tls.ssl_ca_cert", "A file with the certificates that the server's must come from."),
    Setting("tls.cert_file", "The client's own certificate, a PEM file."),
    Setting("tls.key_file", "The key of the client's certificate, if it is in a file of its own."),
    Setting("tls.assert_hostname", "Whether the server's certificate must be for its name.", bool, default=True),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A server, and the target that an address names there."""

    scheme: str
    host: str
    port: int
    target: str  # path and query, as they are sent

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"


def read_address(uri: str) -> Address:
    """Parse an address. Raises ValueError, which does not repeat it, for text that is not one."""
    if _UNPRINTABLE.search(uri):
        raise ValueError("An address is one line of printable characters.")
    parts = urlsplit(uri)
    if parts.scheme not in _PORTS or not parts.hostname or _BLANK.search(parts.netloc):
        raise ValueError("An address is http://host:port/path.")
    port = _PORTS[parts.scheme] if parts.port is None else parts.port
    target = quote(parts.path, safe=_PLAIN) + (f"?{quote(parts.query, safe=_PLAIN)}" if parts.query else "")
    return Address(parts.scheme, parts.hostname, port, target)


def checked_uri(uri: str) -> str:
    """Return a server's address without a slash at its end.

    What is wrong with it is said without repeating a password.
    """
    try:
        parts = urlsplit(uri)
        if "@" in parts.netloc:
            raise InvalidInputError(
                "uri holds a user or a password. Leave them out, and give a token in its own setting."
            )
        read_address(uri)
    except ValueError:
        said = "no address" if "@" in uri else f"{uri!r}, which is not an address"
        raise InvalidInputError(f"uri is {said}. Give it as http://host:port/path.") from None
    if parts.query or parts.fragment:
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


def tls(settings: Mapping[str, Any]) -> ssl.SSLContext:
    """Return how to check the server's certificate: by the system's authorities unless others are set.

    The client's own.
    """
    authorities, certificate = settings["tls.ssl_ca_cert"], settings["tls.cert_file"]
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
    context.set_alpn_protocols(["http/1.1"])
    return context
