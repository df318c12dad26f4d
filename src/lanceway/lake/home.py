"""The default database: the one of the home, which a server there uses too."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL

from lanceway import config as configuration

_FILE = "lake.db"


def default_database_uri(config: str | Path | None = None) -> str:
    """Return the database of runs and jobs: LANCEWAY_STATE, else the server's. The home is made if it is missing."""
    named = configuration.variable("LANCEWAY_STATE")
    if named:
        return named
    settings = configuration.server(config)
    if settings.database:
        return settings.database
    home = settings.home.absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return URL.create("sqlite", database=str(home / _FILE)).render_as_string(hide_password=False)
