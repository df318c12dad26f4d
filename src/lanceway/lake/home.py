"""The database of a user who has named none: that of the home, which a server there would have too."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.engine import URL

from lanceway import config as configuration

_FILE = "lake.db"


def state(config: str | Path | None = None) -> str:
    """Where runs and jobs are recorded: LANCEWAY_STATE, or the server's database. The home is made if there is none."""
    named = configuration.variable("LANCEWAY_STATE")
    if named:
        return named
    settings = configuration.server(config)
    if settings.database:
        return settings.database
    home = settings.home.absolute()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return URL.create("sqlite", database=str(home / _FILE)).render_as_string(hide_password=False)
