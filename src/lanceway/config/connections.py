"""Connections: servers that the user has logged in to, and the one that runs on this machine.

~/.config/lanceway/connections.json   mode 0600: names, addresses and tokens, and which one is in use
~/.lanceway/server.json               mode 0600: where the server of this home answers, locked while it runs
"""

from __future__ import annotations

import ipaddress
import json
import os
import platform
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from lanceway.config.files import user_config_folder, variable
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError

FILE_NAME, RECORD_NAME = "connections.json", "server.json"
URI, TOKEN = "LANCEWAY_URI", "LANCEWAY_TOKEN"
# Where a Lanceway server answers Lance REST.
_REST_PATH = "/lance"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


@dataclass(frozen=True, slots=True)
class Connection:
    """A server under a name, with the token that it knows the user by, or the file that holds one."""

    name: str
    uri: str
    token: str | None = field(default=None, repr=False)
    token_file: str | None = None

    @property
    def settings(self) -> dict[str, str]:
        """Return it as settings of a catalog of type rest. They hold a secret."""
        values = {"uri": self.uri, "token": self.token, "token_file": self.token_file}
        return {key: value for key, value in values.items() if value}


def server_uri(address: str) -> str:
    """Return where a server answers Lance REST: the address itself, or below it if it has no path."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=_REST_PATH)) if parts.path in ("", "/") else address.rstrip("/")


# -- saved by the user -----------------------------------------------------------------------------


def saved() -> dict[str, Connection]:
    """Return the connections that the user has saved, by their names."""
    entries = _read().get("connections", {})
    return {name: Connection(name, entry["uri"], entry.get("token")) for name, entry in entries.items()}


def in_use() -> Connection | None:
    """Return the saved connection that is taken where no other catalog is chosen."""
    return saved().get(_read().get("in_use") or "")


def save(connection: Connection) -> None:
    """Save a connection, in the place of one of its name, and use it."""
    content = _read()
    entry = {"uri": connection.uri, **({"token": connection.token} if connection.token else {})}
    connections = {**content.get("connections", {}), connection.name: entry}
    _write({**content, "connections": connections, "in_use": connection.name})


def use(name: str) -> Connection:
    """Use a saved connection from now on."""
    connection = _known(name)
    _write({**_read(), "in_use": name})
    return connection


def forget(name: str) -> Connection:
    """Forget a saved connection with its token."""
    connection, content = _known(name), _read()
    rest = {key: entry for key, entry in content["connections"].items() if key != name}
    in_use = None if content.get("in_use") == name else content.get("in_use")
    _write({**content, "connections": rest, "in_use": in_use})
    return connection


def _known(name: str) -> Connection:
    connections = saved()
    if name not in connections:
        names = f"There are: {', '.join(sorted(connections))}." if connections else "None is saved."
        near = nearest(name, connections)
        raise InvalidInputError(f"No connection is called {name!r}.{near} {names} Save one with lanceway login URL.")
    return connections[name]


def _file() -> Path:
    return user_config_folder() / FILE_NAME


def _read() -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(_file().read_bytes())
        connections = content.get("connections", {})
        if not all(isinstance(entry["uri"], str) for entry in connections.values()):
            raise TypeError
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInputError(f"Cannot read {_file()}: {error.strerror}.") from error
    except (ValueError, TypeError, KeyError, AttributeError):
        # Not chained: what cannot be read may hold a token.
        raise InvalidInputError(f"{_file()} is not as lanceway login writes it. Delete it and log in again.") from None
    return content


def _write(content: Mapping[str, Any]) -> None:
    """Replace the file at once by one that the owner alone may read."""
    file = _file()
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(part, _NEW_FILE, 0o600), "w", encoding="utf-8") as opened:
            json.dump(content, opened, indent=2)
        part.replace(file)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {file}: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


# -- of the environment ----------------------------------------------------------------------------


def of_environment() -> Connection | None:
    """Return the server that LANCEWAY_URI names, with the token of LANCEWAY_TOKEN."""
    uri = variable(URI)
    return Connection(URI, server_uri(uri), variable(TOKEN) or None) if uri else None


def to(address: str, home: Path) -> Connection:
    """Return the connection to a server by its address alone, with a token that is meant for that very address.

    LANCEWAY_TOKEN is, unless LANCEWAY_URI names another server; else a saved one, or that of the server of this home.
    """
    uri = server_uri(address)
    named = of_environment()
    if (named is None or named.uri == uri) and (token := variable(TOKEN)):
        return Connection(uri, uri, token)
    known = (*saved().values(), of_this_machine(home))
    return next((each for each in known if each is not None and each.uri == uri), Connection(uri, uri))


# -- of this machine -------------------------------------------------------------------------------


@contextmanager
def running(home: Path, address: str, token_file: Path) -> Iterator[None]:
    """Record in a home that its server answers at an address, for as long as it does.

    The record is locked by this process, so that one that was left by a process that died is told from one that holds.
    """
    lock = _locks()
    if lock is None:
        yield
        return
    file = home / RECORD_NAME
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    content = {"address": address, "token_file": str(token_file), "host": platform.node()}
    with os.fdopen(os.open(part, _NEW_FILE, 0o600), "w", encoding="utf-8") as opened:
        lock.flock(opened, lock.LOCK_EX)
        json.dump(content, opened)
        opened.flush()
        part.replace(file)
        try:
            yield
        finally:
            with suppress(OSError):
                if os.path.samestat(file.stat(), os.fstat(opened.fileno())):  # not that of a server begun later
                    file.unlink()


def of_this_machine(home: Path) -> Connection | None:
    """Return the server of this home if it runs on this machine, on loopback, as this user."""
    lock = _locks()
    if lock is None:
        return None
    try:
        descriptor = os.open(home / RECORD_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            return None
        try:
            lock.flock(opened, lock.LOCK_SH | lock.LOCK_NB)
        except BlockingIOError:  # its server holds it
            return _recorded(opened.read())
    return None


def _recorded(text: bytes) -> Connection | None:
    try:
        content = json.loads(text)
        address, token_file = str(content["address"]), Path(content["token_file"])
        is_here = content["host"] == platform.node()
    except (ValueError, TypeError, KeyError):
        return None
    if not is_here or not is_loopback(urlsplit(address).hostname or ""):
        return None
    return Connection("local", f"{address}{_REST_PATH}", None, str(token_file) if token_file.exists() else None)


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _locks() -> Any:
    """Return the module of file locks; None where there is none, as on Windows."""
    try:
        import fcntl
    except ImportError:
        return None
    return fcntl
