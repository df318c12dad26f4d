"""Files that are not on this machine: in a bucket, or at an address of the web. They are brought here to be read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lanceway.errors import InvalidInputError

SCHEMES = ("s3", "gs", "az", "http", "https")
_WEB = ("http", "https")
# An object of a bucket is in memory as a whole for a moment.
_LARGEST = 2**30
_CHUNK = 2**20
_CONNECTING, _WAITING = 10, 60  # seconds
_OK = 200


def is_remote(name: str) -> bool:
    """Return whether a file has an address that can be read from here."""
    scheme, separator, _ = name.partition("://")
    return bool(separator) and scheme.lower() in SCHEMES


def shown(address: str) -> str:
    """Return an address without what may be secret: a user, a query."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def bring(address: str, folder: Path) -> Path:
    """Copy a file into a folder, under its own name. Credentials for a bucket are those of the environment.

    Raises InvalidInputError for one that is not there, and what the storage answers.
    """
    path = folder / (unquote(urlsplit(address).path).rpartition("/")[2] or "file")
    if urlsplit(address).scheme.lower() in _WEB:
        _download(address, path)
    else:
        _fetch(shown(address), path)
    return path


def _fetch(address: str, path: Path) -> None:
    from lanceway.tables.storage.store import open_store

    above, _, name = address.rpartition("/")
    store = open_store(above)
    entry = store.head(name)
    if entry is not None and entry.size > _LARGEST:
        raise InvalidInputError(
            f"{address} has {entry.size:,} bytes, which is too large to be read at once. Load Parquet with lanceway "
            "tables import, or copy the file here first."
        )
    data = None if entry is None else store.read(name)
    if data is None:
        raise InvalidInputError(f"There is no file {address}.")
    path.write_bytes(data)


def _download(address: str, path: Path) -> None:
    from urllib3 import PoolManager, ProxyManager, Timeout
    from urllib3.exceptions import HTTPError

    from lanceway import config

    parts = urlsplit(address)
    proxy = config.proxy(parts.scheme.lower(), parts.netloc.rpartition("@")[2])
    timeout = Timeout(connect=_CONNECTING, read=_WAITING)
    pool = PoolManager(timeout=timeout) if proxy is None else ProxyManager(proxy, timeout=timeout)
    try:
        with closing(pool.request("GET", address, preload_content=False)) as answer:
            if answer.status != _OK:
                raise InvalidInputError(f"{shown(address)} cannot be read: the server answers {answer.status}.")
            with path.open("wb") as file:
                file.writelines(answer.stream(_CHUNK))
    except HTTPError as error:
        # Its text may repeat the address, with what is secret in it.
        raise InvalidInputError(
            f"{shown(address)} cannot be read ({type(error).__name__}). Check the address and the network."
        ) from None
    finally:
        pool.clear()
