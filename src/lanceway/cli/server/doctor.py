"""`lanceway doctor`"""

from __future__ import annotations

from typing import Annotated

import typer

from lanceway.cli.command import FAILED, command, group
from lanceway.cli.session import Session

app = group("Doctor")


@command(app, "doctor")
def doctor(
    session: Session,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, help="Wait this long for each namespace's answer.")
    ] = 10.0,
) -> None:
    """Say what is installed, what is missing and how to get it, and whether the namespaces answer.

    Exit code 0 if all that Lanceway needs is there, 1 if not.
    """
    from lanceway.cli.server import checks

    packages = checks.packages()
    healthy = all(row["ok"] for row in packages if row["needed"] == "always")
    # Without its base Lanceway cannot even read its configuration.
    found = checks.configuration(session.config, seconds) if healthy else checks.nothing()
    healthy = healthy and not found["problems"]
    session.output.health({"healthy": healthy, "packages": packages, **found})
    if not healthy:
        raise typer.Exit(FAILED)
