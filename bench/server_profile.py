"""Where the server's time goes: `python bench/server_profile.py describe` writes `profiles/describe.txt`.

One process serves a lake of 1,000 tables while wrk asks for one operation, and py-spy looks at it some hundred times a
second. Kept is the share of each function by itself and with all that it calls, and the processor's time for each
request, taken in a run of its own without anybody looking.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("LANCE_LOG", "error")
sys.path.append(str(Path(__file__).parents[1]))

from tests.servers import lanceway
from tests.servers.run import Run

import server_large
from directory import SPACE
from lanceway.lake.store.database import open_store
from server import check, loads, prepare
from server_filling import fill_folder, fill_lake
from server_load import Load, children, cpu_seconds, press, require_wrk
from server_subjects import Subject

TABLES, LINES, RATE = 1_000, 40, 500
FOLDER = Path(__file__).with_name("profiles")


@contextmanager
def server(run: Run) -> Iterator[Subject]:
    folder, home = run.folder / "tables", run.folder / "home"
    folder.mkdir()
    fill_folder(folder, TABLES)
    ours = lanceway.start(run, home=home)
    assert ours.process is not None
    store = open_store(f"sqlite:///{home}/lake.db")
    fill_lake(store, folder, TABLES)
    store.close()
    (pid,) = children(ours.process.pid)
    subject = Subject("lanceway", ours.uri, pid, ours.token, ("lake",))
    prepare(subject, (SPACE,))
    server_large.register(subject, server_large.make_table(folder / "large.lance"))
    yield subject
    ours.stop()


def watched(subject: Subject, load: Load, seconds: int, stacks: Path) -> list[str]:
    """What was running, one stack to a line with how often it was seen."""
    command = ["py-spy", "record", "-p", str(subject.pid), "-f", "raw", "-r", str(RATE), "-d", str(seconds), "-F"]
    watcher = subprocess.Popen([*command, "-o", str(stacks)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    press(subject.uri, subject.token, load, seconds + 1)
    watcher.wait(timeout=60)
    return stacks.read_text().splitlines()


WAITING = ("Condition.wait", "_worker (concurrent", "Event.wait", "wait_for_tstate")


def shares(stacks: list[str]) -> str:
    alone, together, total = Counter[str](), Counter[str](), 0
    for line in stacks:
        stack, _, times = line.rpartition(" ")
        frames = stack.split(";")
        if frames[-1].startswith(WAITING):  # for work
            continue
        total += int(times)
        alone[frames[-1]] += int(times)
        for frame in set(frames):
            together[frame] += int(times)
    lines = [f"{'itself':>8} {'with calls':>10}  function"]
    for frame, times in alone.most_common(LINES):
        lines.append(f"{times / total:8.1%} {together[frame] / total:10.1%}  {frame}")
    lines.append(f"\n{'with calls':>10}  function, by all that it calls")
    lines += [f"{times / total:10.1%}  {frame}" for frame, times in together.most_common(LINES)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "operations", nargs="*", default=["describe", "query", "insert", "large"], help="The first words of some."
    )
    parser.add_argument("--seconds", type=int, default=5, help="How long each operation is watched.")
    options = parser.parse_args()
    require_wrk()
    if not shutil.which("py-spy"):
        raise SystemExit("The profile needs py-spy, which is missing. Install it: pip install py-spy")
    FOLDER.mkdir(exist_ok=True)
    run = Run.begin()
    try:
        with server(run) as subject:
            asked = {**loads(subject, (SPACE,), TABLES), "large query": server_large.query(subject)}
            for operation, load in asked.items():
                word = operation.split()[0]
                if word not in options.operations:
                    continue
                check(subject, load)
                before = cpu_seconds(subject.pid)
                found = press(subject.uri, subject.token, load, options.seconds)
                spent = (cpu_seconds(subject.pid) - before) / found.requests
                text = shares(watched(subject, load, options.seconds, run.folder / "stacks"))
                head = f"{operation}: {spent * 1e6:,.0f} microseconds of the processor for each request\n\n"
                (FOLDER / f"{word}.txt").write_text(f"{head}{text}\n")
                print(head.strip())
    finally:
        run.end()


if __name__ == "__main__":
    main()
