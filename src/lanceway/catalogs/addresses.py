"""What a text given to `connect` means: a location, a type, or a name in the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lanceway import config as configuration
from lanceway.config import connections
from lanceway.config.connections import server_uri
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError

_DATABASES = ("sqlite", "postgresql", "postgres")
_DATABASE_FILES = (".db", ".sqlite", ".sqlite3")


class CatalogAddress(NamedTuple):
    """How a catalog is reached: by its type with the settings that a location implies, or by its name."""

    type: str | None = None
    name: str | None = None
    settings: Mapping[str, object] = {}


def read(
    text: str | os.PathLike[str], settings: Mapping[str, object], config: str | Path | None, known: frozenset[str]
) -> CatalogAddress:
    """Return what `text` means: a location if it looks like one, a type if it has settings, else a name or a type.

    `known` are the types there are. Raises InvalidInputError where it is none of them.
    """
    if _is_location(text):
        return _located(os.fspath(text), settings)
    word = str(text)
    if settings:
        return CatalogAddress(type=word)
    names = {*configuration.namespaces(config), *connections.saved()}
    if word in names:
        return CatalogAddress(name=word)
    if meant := _meant(word):
        raise InvalidInputError(
            f"{word!r} does not say what it is. Did you mean {meant!r}? For a folder write './{word}'."
        )
    if word in known or "." in word or ":" in word:
        return CatalogAddress(type=word)
    raise InvalidInputError(
        f"{word!r} is not a name in {configuration.FILE_NAME}, nor a type of catalog.{nearest(word, names | known)} "
        f"For a folder write './{word}'. Names: {', '.join(sorted(names)) or 'none'}. "
        f"Types: {', '.join(sorted(known))}."
    )


def _is_location(text: str | os.PathLike[str]) -> bool:
    if not isinstance(text, str):
        return True
    return "/" in text or text in (".", "..", "~") or (os.sep != "/" and os.sep in text)


def _meant(word: str) -> str | None:
    """Return the address that a host, or the file of a database, was meant to be; None for any other word."""
    host, _, port = word.partition(":")
    if port.isdigit():
        return f"{'http' if connections.is_loopback(host) else 'https'}://{word}"
    return f"sqlite:///{word}" if word.endswith(_DATABASE_FILES) else None


def _located(location: str, settings: Mapping[str, object]) -> CatalogAddress:
    scheme = location.partition("://")[0].lower() if "://" in location else ""
    if scheme in ("http", "https"):
        return CatalogAddress("rest", settings={"uri": server_uri(location)})
    if scheme.partition("+")[0] in _DATABASES:
        return CatalogAddress("lake", settings={"uri": location, **_default_root(location, settings)})
    path = location if scheme else os.path.expanduser(location)
    # An empty folder becomes one with namespaces; one with tables stays as it is.
    return CatalogAddress("dir", settings={"path": path, **({} if "layout" in settings else {"layout": "auto"})})


def _default_root(location: str, settings: Mapping[str, object]) -> dict[str, str]:
    """Return where the tables of a new lake in a file are: in a folder beside the file."""
    prefix, _, path = location.partition(":///")
    if not prefix.startswith("sqlite") or "root" in settings or Path(path).exists():
        return {}
    return {"root": str(Path(path).absolute().parent / "warehouse")}
