"""The way to a server: straight, or by the proxy that the environment names.

`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` mean what they mean everywhere. A proxy hands plain requests on,
and is a tunnel for those with TLS.
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from lanceway.errors import InvalidInputError
from lanceway.wire.connections import Address, read_address
from lanceway.wire.strict import StrictResponse

_AUTHORIZATION = "proxy-authorization"


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """How requests get to a server."""

    address: Address
    proxy: Address | None = None
    login: Mapping[str, str] = field(default_factory=dict, repr=False)  # what a proxy wants to be told
    # What a proxy that hands requests on gets with each of them, and in front of its target.
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    prefix: str = ""

    @property
    def has_tls(self) -> bool:
        return "https" in (self.address.scheme, (self.proxy or self.address).scheme)

    def connection(self, seconds: float, context: ssl.SSLContext | None) -> HTTPConnection:
        """A connection that is still to be made, within so many seconds."""
        first = self.proxy or self.address
        if self.has_tls:
            made: HTTPConnection = HTTPSConnection(first.host, first.port, timeout=seconds, context=context)
        else:
            made = HTTPConnection(first.host, first.port, timeout=seconds)
        if self.proxy and not self.prefix:
            made.set_tunnel(self.address.host, self.address.port, dict(self.login))
        made.auto_open = 0  # one that broke must not come back in the middle of a request
        made.response_class = StrictResponse
        return made


def way_to(address: Address) -> ProxyRoute:
    """As the environment has it now. Raises InvalidInputError for a proxy that cannot be used."""
    proxies = getproxies()
    named = proxies.get(address.scheme) or proxies.get("all")
    if not named or proxy_bypass(f"{address.host}:{address.port}"):
        return ProxyRoute(address)
    uri = named if "://" in named else f"http://{named}"
    try:
        proxy = read_address(uri)
    except ValueError:
        raise _unusable(address) from None
    login = _login(urlsplit(uri))
    if address.scheme == "http":
        return ProxyRoute(address, proxy, login, login, prefix=f"http://{address.netloc}")
    if proxy.scheme == "https":
        raise _unusable(address)  # TLS inside TLS is beyond the standard library
    return ProxyRoute(address, proxy, login)


def _unusable(address: Address) -> InvalidInputError:
    # The proxy is not named: its address may hold a password.
    return InvalidInputError(
        f"The environment names a proxy for {address.scheme}:// that cannot be used. Give it as http://host:port, or "
        f"list {address.host} in NO_PROXY."
    )


def _login(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {_AUTHORIZATION: f"Basic {base64.b64encode(pair.encode()).decode()}"}
