"""A describe over HTTP, with access control and without it, by a user without admin rights: for `bench/access.py`.

One server of one process serves the lake. Access control is a row of its database, so that it is turned on and off
between the turns, and the same server, tables and user are measured. What is shown are medians of all turns: while
nothing changes, when what was decided is still known, and while others write all the time. The processor's time is that
of the server's processes, not of the database's.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event, Thread

from rich.table import Table
from tests.servers import lanceway
from tests.servers.run import Run

from lanceway.access import tokens
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree import settings
from server_load import Found, Load, children, cpu_seconds, press
from server_subjects import Subject, refuse_failure

WARM_UP = 1.0  # seconds
PAUSE = 0.005  # seconds between two changes of a writer
QUIET, WRITTEN = "nothing changes", "others write"

# By what happens beside it and whether access control is on: what each turn found.
HttpFound = dict[tuple[str, str], list[Found]]


def measure_http(
    run: Run, store: LakeStore, home: Path, user: str, tables: Sequence[Sequence[str]], turns: int, seconds: float
) -> HttpFound:
    """Describe tables of the catalog `lake`, with access control and without, in turns."""
    token = tokens.create(store, user, by="bench").secret
    told = {"LANCEWAY_DATABASE": store.uri, "LANCEWAY_WAREHOUSE": str(home / "warehouse")}
    server = lanceway.start(run, home=home, environment=told)
    assert server.process is not None
    (pid,) = children(server.process.pid)
    subject = Subject("lanceway", server.uri, pid, token, ("lake",))
    load = Load("POST", [f"/v1/table/{subject.id(*table)}/describe" for table in tables], b"{}")
    found: HttpFound = {(beside, value): [] for beside in (QUIET, WRITTEN) for value in (settings.ON, settings.OFF)}
    try:
        for _ in range(turns):
            for (beside, value), turn in found.items():
                store.transact(settings.store, {settings.ACCESS_CONTROL: value})
                with writing(store) if beside == WRITTEN else nullcontext():
                    turn.append(_measure(subject, load, seconds))
    finally:
        store.transact(settings.store, {settings.ACCESS_CONTROL: settings.ON})
        server.stop()
    return found


@contextmanager
def writing(store: LakeStore) -> Iterator[None]:
    """Commit small changes all the time."""
    ended = Event()

    def write() -> None:
        for number in count():
            if ended.wait(PAUSE):
                return
            store.transact(settings.store, {"bench": str(number)})

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _measure(subject: Subject, load: Load, seconds: float) -> Found:
    with subject.client() as client:
        refuse_failure(subject, load.paths[0], client.post(load.paths[0], json={}))
    press(subject.uri, subject.token, load, WARM_UP)
    before = cpu_seconds(subject.pid)
    found = press(subject.uri, subject.token, load, seconds)
    if not found.counts:
        raise SystemExit(f"{found.refused} describes were refused and {found.broken} broke, of {found.requests}.")
    return replace(found, cpu=cpu_seconds(subject.pid) - before)


_FIGURES: dict[str, Callable[[Found], float]] = {
    "CPU µs for each": lambda each: each.cpu / each.requests * 1e6,
    "median ms": lambda each: each.p50,
    "requests a second": lambda each: each.rate,
}


def table_of(title: str, report: dict[int, HttpFound]) -> Table:
    table = Table("tables", "while", "", "on", "off", "on / off", title=f"{title}: a describe over HTTP")
    for size, found in report.items():
        for beside in (QUIET, WRITTEN):
            for name, figure in _FIGURES.items():
                on, off = (
                    statistics.median(map(figure, found[beside, value])) for value in (settings.ON, settings.OFF)
                )
                table.add_row(f"{size:,}", beside, name, f"{on:,.2f}", f"{off:,.2f}", f"{on / off:.2f}")
        table.add_section()
    return table
