"""The default database: the one of the home, which a server there uses too."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL

from lanceway import config as configuration

_FILE = "lake.db"


def default_database_uri(config: str | Path | None = None) -> str:
    """Return the database of runs and jobs: LANCEWAY_STATE, else the server's. The home is made if it is missing."""
    named = _named(config)
    if named:
        return named
    file = _file(config)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return _uri(file)


def existing_database_uri(config: str | Path | None = None) -> str | None:
    """Return the default database without creating anything; None if it is the home's own and is not there yet."""
    named, file = _named(config), _file(config)
    return named or (_uri(file) if file.exists() else None)


def _named(config: str | Path | None) -> str | None:
    return configuration.variable("LANCEWAY_STATE") or configuration.server(config).database


def _file(config: str | Path | None) -> Path:
    return configuration.server(config).home.absolute() / _FILE


def _uri(file: Path) -> str:
    return URL.create("sqlite", database=str(file)).render_as_string(hide_password=False)
