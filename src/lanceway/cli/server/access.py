"""`lanceway access …`: access control on and off."""

from __future__ import annotations

from typing import Any

from lanceway.cli.command import command, group
from lanceway.cli.lake.options import Uri
from lanceway.cli.server.homes import Home
from lanceway.cli.server.rights import opened
from lanceway.cli.session import Session, Yes, agreed

app = group("Access control: on in new databases, off in those that were made by a version without it.")

_COLUMNS = {"user": "user", "catalogs": "catalogs", "objects": "owns", "effect": "effect"}


@command(app, "status")
def status(session: Session, home: Home = None, uri: Uri = None) -> None:
    """Show whether access control is on, and how many catalogs each user who is not an admin reaches with it.

    A server that you are logged in to says only whether it is on.
    """
    with opened(session, home, uri) as desk:
        found = desk.access_status()
    if session.json:
        session.output.record(found)
        return
    session.output.text("text", f"Access control is {'on' if found['enabled'] else 'off'}.")
    if "losses" in found:
        _show(session, found, "is" if found["enabled"] else "would be")


@command(app, "enable")
def enable(session: Session, yes: Yes = False, home: Home = None, uri: Uri = None) -> None:
    """Switch access control on. It shows first how many catalogs each user who is not an admin keeps, and asks.

    Servers that are running go by it from their next request on. It is refused if no admin is enabled.
    """
    with opened(session, home, uri) as desk:
        found = desk.enable_access(confirm=False)
        if not found["was_enabled"]:
            if not session.json:
                _show(session, found, "will be")
            agreed("Switch access control on?", yes)
            found = desk.enable_access(confirm=True)
    sentence = "Nothing changed: access control is already on." if found["was_enabled"] else "Enabled access control."
    session.output.done(sentence, found)


@command(app, "disable")
def disable(session: Session, yes: Yes = False, home: Home = None, uri: Uri = None) -> None:
    """Switch access control off: all who are signed in may do everything then. Grants and owners stay as they are."""
    agreed("Switch access control off, so that all who are signed in may do everything?", yes)
    with opened(session, home, uri) as desk:
        found = desk.disable_access()
    sentence = "Disabled access control." if found["was_enabled"] else "Nothing changed: access control is already off."
    session.output.done(sentence, found)


def _show(session: Session, found: dict[str, Any], will_be: str) -> None:
    """Show people who is concerned."""
    count, catalogs = found["losses_count"], found["catalogs_count"]
    if not count:
        session.output.text("text", "Every user is an admin.")
        return
    text = (
        f"Users who are not admins: {count:,}. Of {catalogs:,} {'catalog' if catalogs == 1 else 'catalogs'}, each "
        f"reaches as many as shown; what it neither owns nor is granted {will_be} closed to it."
    )
    session.output.text("text", text)
    session.output.records(_COLUMNS, found["losses"])
    if count > len(found["losses"]):
        session.output.text("text", f"These are the first {len(found['losses'])}.")
