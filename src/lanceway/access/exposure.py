"""Refuse a server without authentication that listens beyond this machine, and warn of one without encryption."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from lanceway.errors import InvalidInputError


class Exposed(Protocol):
    """The settings of a server that matter here."""

    @property
    def host(self) -> str: ...
    @property
    def anonymous(self) -> bool: ...
    @property
    def simple_auth(self) -> bool: ...
    @property
    def allow_public_anonymous(self) -> bool: ...
    @property
    def tls_cert(self) -> Path | None: ...


def check_exposure(settings: Exposed) -> str | None:
    """Return a warning to be shown loudly where anonymous access is configured, or tokens travel in the clear.

    Raises InvalidInputError where anyone on the network could use such a server and no setting allows that.
    """
    if settings.simple_auth:
        return _believing(settings)
    if not settings.anonymous:
        return None if is_loopback(settings.host) or settings.tls_cert else _in_the_clear(settings.host)
    if is_loopback(settings.host):
        return "ANONYMOUS ACCESS IS ON: every program on this machine may read, change and delete all tables."
    if settings.allow_public_anonymous:
        return (
            f"ANONYMOUS ACCESS IS ON, AND THE SERVER LISTENS ON {settings.host}: anyone who can reach it may read, "
            "change and delete all tables."
        )
    raise InvalidInputError(
        f"Anonymous access is on and the server would listen on {settings.host!r}, where others than this machine can "
        "reach it. Listen on 127.0.0.1, turn `anonymous` off, or set `allow_public_anonymous` too if this is meant."
    )


def _believing(settings: Exposed) -> str:
    if not is_loopback(settings.host):
        raise InvalidInputError(
            f"simple_auth is on and the server would listen on {settings.host!r}, where others than this machine can "
            "reach it, and claim any name. Listen on 127.0.0.1, or turn simple_auth off and use tokens."
        )
    return (
        "SIMPLE AUTHENTICATION IS ON: every program on this machine may say that it is any user, the admin too, and is "
        "believed without a token."
    )


def _in_the_clear(host: str) -> str:
    return (
        f"PLAIN HTTP, AND THE SERVER LISTENS ON {host}: tokens and rows travel unencrypted. Set tls_cert and tls_key, "
        "or listen on 127.0.0.1 behind a proxy that encrypts."
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address. Of names only `localhost` is known to be one."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
