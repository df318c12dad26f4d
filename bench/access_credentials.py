"""A describe over HTTP with a vended credential, beside one without, by a user who is not an administrator.

Part of `make bench-access`; alone: `bench/access_credentials.py`. The storage is SeaweedFS, which makes credentials
and is asked once for each table: after that, a credential is at hand until half of its life is over. One server of one
process serves a lake on each database. What is shown are medians of all turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the suite knows how to start the storage

from rich.table import Table
from tests.servers import lanceway, postgres, seaweedfs
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import ROLE, S3

from lanceway.access.privileges import SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from server_load import Found, Load, children, cpu_seconds, press, require_wrk
from server_subjects import Subject, refuse_failure
from sheet import Sheet

TABLES, WARM_UP = 50, 1.0
VENDED, PLAIN = b'{"vend_credentials":true}', b'{"vend_credentials":false}'
_FIGURES: dict[str, Callable[[Found], float]] = {
    "CPU µs for each": lambda each: each.cpu / each.requests * 1e6,
    "median ms": lambda each: each.p50,
    "requests a second": lambda each: each.rate,
}


def measure_credentials(run: Run, databases: list[str], turns: int, seconds: float) -> Table:
    """Describe tables with a credential and without, in turns, and return what was found."""
    s3 = seaweedfs.start_sts(run)
    table = Table("database", "", "vended", "none", "vended / none", title="A describe with a vended credential")
    for name in databases:
        database = {}
        if name == "postgresql":
            started = postgres.start(run, settings=())
            database = {"LANCEWAY_DATABASE": started.uri(started.schema())}
        server = lanceway.start(run, name=f"credentials-{name}", environment=database, settings=_settings(s3))
        try:
            found = _measure_server(server, turns, seconds)
        finally:
            server.stop()
        for title, figure in _FIGURES.items():
            vended, plain = (statistics.median(map(figure, found[body])) for body in (VENDED, PLAIN))
            table.add_row(name, title, f"{vended:,.2f}", f"{plain:,.2f}", f"{vended / plain:.2f}")
        table.add_section()
    return table


def _settings(s3: S3) -> str:
    lines = ["[server]", f'warehouse = "{s3.prefix()}"', f'credentials.role_arn = "{ROLE}"']
    return "\n".join([*lines, *(f'storage.{key} = "{value}"' for key, value in s3.storage_options.items())])


def _measure_server(server: Lanceway, turns: int, seconds: float) -> dict[bytes, list[Found]]:
    token = server.token_for("reader", USE_CATALOG, USE_SCHEMA, SELECT_TABLE)
    server.ask("POST", "namespace/lake$bench/create", {}).raise_for_status()
    names = [f"lake$bench$t{number}" for number in range(TABLES)]
    for name in names:
        server.ask("POST", f"table/{name}/declare", {}).raise_for_status()
    assert server.process is not None
    (pid,) = children(server.process.pid)
    subject = Subject("lanceway", server.uri, pid, token, ("lake",))
    paths = [f"/v1/table/{name}/describe" for name in names]
    found: dict[bytes, list[Found]] = {VENDED: [], PLAIN: []}
    for _ in range(turns):
        for body, turn in found.items():
            turn.append(_measure(subject, Load("POST", paths, body), seconds))
    return found


def _measure(subject: Subject, load: Load, seconds: float) -> Found:
    with subject.client() as client:
        for path in load.paths:  # each credential is made once
            headers = {"content-type": "application/json"}
            answer = client.post(path, content=load.body, headers=headers)
            refuse_failure(subject, path, answer)
            assert ("aws_session_token" in answer.text) == (load.body == VENDED)
    press(subject.uri, subject.token, load, WARM_UP)
    before = cpu_seconds(subject.pid)
    found = press(subject.uri, subject.token, load, seconds)
    if not found.counts:
        raise SystemExit(f"{found.refused} describes were refused and {found.broken} broke, of {found.requests}.")
    return replace(found, cpu=cpu_seconds(subject.pid) - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--databases", nargs="*", default=["sqlite", "postgresql"], help="Which databases.")
    parser.add_argument("--seconds", type=float, default=3.0, help="How long each turn lasts.")
    parser.add_argument("--turns", type=int, default=5, help="How many turns there are.")
    options = parser.parse_args()
    require_wrk()
    run = Run.begin()
    try:
        Sheet(width=120).print(measure_credentials(run, options.databases, options.turns, options.seconds))
    finally:
        run.end()


if __name__ == "__main__":
    main()
