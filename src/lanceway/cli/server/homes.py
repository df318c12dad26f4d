"""Where a server's database is: in a home, at a URL, or where the chosen namespace says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanceway.cli.lake.options import LakePlace, place, refuse_without_packages
from lanceway.cli.session import Session

if TYPE_CHECKING:
    from lanceway.config import ServerSettings
    from lanceway.lake.store.database import LakeStore

Home = Annotated[
    Path | None,
    typer.Option(
        "--home", metavar="DIR", file_okay=False, help="The server's folder, as lanceway up has it: ~/.lanceway."
    ),
]
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DURATION = re.compile(r"([0-9]{1,9})([smhdw])")
PAGE = 1_000


def chosen_server(session: Session, home: Path | None, uri: str | None) -> Mapping[str, str] | None:
    """Return the settings of the server that is asked over HTTP; None where a server's database is meant."""
    return None if home is not None or uri is not None else session.server


def server_place(session: Session, home: Path | None, uri: str | None) -> LakePlace:
    """Find the server's database: from options, from the chosen namespace, or where `lanceway up` would."""
    from lanceway import config

    if uri is not None or session.name is not None or session.type is not None:
        return place(session, uri=uri)
    settings = config.server(session.config, {"home": home})
    refuse_without_home(settings)
    return place(session, uri=server_database(settings))


def refuse_without_home(settings: ServerSettings) -> None:
    """Refuse settings with which no server was ever started (BadParameter)."""
    if settings.database is None and not _own_database(settings).exists():
        raise typer.BadParameter(
            f"no server was ever started in {settings.home}. Start one with lanceway up, log in to one elsewhere with "
            "lanceway login URL, or say what is meant: --home DIR, --uri for its database, or --in NAME.",
            param_hint="'--home'",
        )


def _own_database(settings: ServerSettings) -> Path:
    return settings.home.absolute() / "lake.db"


def server_database(settings: ServerSettings) -> str:
    """Return the database URL of a server with these settings."""
    refuse_without_packages()
    from sqlalchemy import URL

    return settings.database or URL.create("sqlite", database=str(_own_database(settings))).render_as_string()


def read_duration(text: str, option: str) -> timedelta:
    """Return how long a text such as 30d means. Raises BadParameter, which names the option."""
    match = _DURATION.fullmatch(text)
    try:
        if match:
            return timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        pass
    raise typer.BadParameter(
        f"{text!r} is not a time to live; write a number and one of s, m, h, d, w, such as 30d.",
        param_hint=f"'{option}'",
    )


@contextmanager
def opened_to_purge(
    session: Session, older: str, home: Path | None, uri: str | None
) -> Iterator[tuple[LakeStore, timedelta]]:
    """Open the server's database, and read the age from which on something is deleted."""
    age = read_duration(older, "--older-than")
    with server_place(session, home, uri).opened() as store:
        yield store, age


def all_pages(ask: Callable[..., tuple[list[dict[str, Any]], str | None]]) -> Iterator[dict[str, Any]]:
    """Yield the items of every page, each requested when the one before has been read."""
    page, token = ask(page_token=None)
    yield from page
    while token:
        page, token = ask(page_token=token)
        yield from page
