"""Judges of Iceberg REST and LanceDB's protocol: `make judges`, or `python -m tests.judges rck --server reference`.

Each runs tests that others have written, or a foreign engine, and its failures are set beside the deviations that are
expected of the server (tests/judges/expected). A failure that is not among them, and one that no longer fails, makes
the run fail. The reference server is judged to see that the judge works and what it asks for.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console

from tests.judges import lancedb, pyiceberg, rck, spark
from tests.judges.judged import SERVERS, Start
from tests.judges.outcomes import Verdict, expected, summary
from tests.servers.run import Run

JUDGES = {"rck": rck, "pyiceberg": pyiceberg, "spark": spark, "lancedb": lancedb}
# Judges of what the reference server does not speak.
OURS_ALONE = frozenset({"lancedb"})


def verdict(run: Run, judge: str, server: str, start: Start) -> Verdict:
    module = JUDGES[judge]
    module.prepare()
    judgement = Verdict(judge, expected(server, judge))
    for part in module.PARTS:
        folder = Path(run.folder, f"{judge}-{part}")
        folder.mkdir()
        with start(run, folder) as judged:
            judgement.outcomes.extend(module.judge(judged, part))
        shutil.rmtree(folder)
    return judgement


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judges", nargs="*", metavar="judge", help=f"{', '.join(JUDGES)}; all without one.")
    parser.add_argument("--server", choices=list(SERVERS), default="lanceway", help="Which server they look at.")
    options = parser.parse_args()
    if unknown := set(options.judges) - set(JUDGES):
        parser.error(f"There is no judge {', '.join(sorted(unknown))}. There are {', '.join(JUDGES)}.")
    chosen = options.judges or [judge for judge in JUDGES if options.server == "lanceway" or judge not in OURS_ALONE]
    if options.server != "lanceway" and (ours := OURS_ALONE & set(chosen)):
        parser.error(f"The {options.server} server does not speak what {', '.join(sorted(ours))} asks for.")
    console, run = Console(width=160), Run.begin()
    try:
        verdicts = [verdict(run, judge, options.server, SERVERS[options.server]) for judge in chosen]
    finally:
        run.end()
    for judgement in verdicts:
        judgement.show(console)
    console.print(summary(verdicts, options.server))
    surprises = [f"{row.judge}: {line}" for row in verdicts for line in row.surprises]
    for line in surprises:
        console.print(f"unexpected: {line}", highlight=False, markup=False, style="red")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
