"""A server with something in it: `lanceway up`, filled with the tables of the tour and by the sample pipeline on Spark.

    python samples/serve.py [--home FOLDER] [--without-pipeline] [options of lanceway up]

Ctrl-C ends it. What was made stays in the home, and is there at the next start, which takes seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("LANCE_LOG", "error")

from rich.console import Console
from rich.panel import Panel
from tour import books, loans

import lanceway
from pipeline import build

HOME = Path(".sample") / "home"
LIBRARY = ["lake", "library"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--home", type=Path, default=HOME, help="where the server keeps its state")
    parser.add_argument("--without-pipeline", action="store_true", help="start no Spark")
    given, others = parser.parse_known_args()
    given.home.parent.mkdir(parents=True, exist_ok=True)
    log = given.home.parent / "server.log"
    command = [sys.executable, "-m", "lanceway", "up", "--home", str(given.home), "--json", *others]
    with log.open("ab") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as server:
        # Ctrl-C reaches the server too, and it is the server that knows when all is done.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: server.terminate())
        assert server.stdout is not None
        started = server.stdout.readline()
        if started:
            show(json.loads(started), log, with_pipeline=not given.without_pipeline)
        else:
            sys.stderr.write(log.read_text().splitlines()[-1] + "\n")
        return server.wait()


def show(facts: dict[str, str], log: Path, *, with_pipeline: bool) -> None:
    uri, token_file = facts["lance"], Path(os.path.relpath(facts["admin_token"]))
    console = Console()
    fill(uri, token_file)
    served = f"[bold]{uri}[/], with the token in {token_file}\nCtrl-C ends it. Its log is in {log}"
    console.print(Panel.fit(served, title="Lanceway"))
    steps = next_steps(uri, token_file)
    if with_pipeline and has_built(console, uri, token_file):
        steps += ["", *build.next_steps(uri, token_file)]
    console.print("\n[bold cyan]Try next[/], in another terminal")
    for line in steps:
        # Not wrapped and not in a box, so that it can be copied whole.
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    sys.stdout.flush()


def fill(uri: str, token_file: Path) -> None:
    """The tables of the tour, through the server's own interface."""
    ns: Any = lanceway.connect("rest", uri=uri, token_file=str(token_file))
    ns.create_namespace({"id": LIBRARY, "mode": "exist_ok"})
    for name, data in (("books", books()), ("loans", loans())):
        ns.create_table_stream({"id": [*LIBRARY, name], "mode": "exist_ok"}, data.to_reader())


def has_built(console: Console, uri: str, token_file: Path) -> bool:
    """Run the sample pipeline. The server goes on without it where Spark cannot be started, and says why."""
    with console.status("The sample pipeline runs on Spark: texts become a table that can be searched"):
        try:
            report = build.build(uri, token_file)
        except RuntimeError as error:
            console.print(f"[yellow]The sample pipeline did not run:[/] {error}", soft_wrap=True, highlight=False)
            return False
    if report["rows"]:
        done = f"{report['rows']:,} rows in {report['seconds']:.1f} s"
    else:
        done = "nothing is new since the last run"
    console.print(f"The sample pipeline (samples/pipeline/documents.yaml): {done}", highlight=False)
    return True


def next_steps(uri: str, token_file: Path) -> list[str]:
    """Commands for a shell and lines for Python; they work as they are printed."""
    rest = f".venv/bin/lanceway --type rest --set uri={uri} --set token_file={token_file}"
    return [
        f"$ {rest} namespaces list lake",
        f"$ {rest} tables query lake.library.books --filter 'year > 1860' --columns title,year",
        f"$ {rest} tables versions list lake.library.books",
        "",
        ">>> import lance, lanceway",
        f'>>> ns = lanceway.connect("rest", uri="{uri}", token_file="{token_file}")',
        '>>> ns.list_all_tables({"id": []}).tables',
        '>>> lance.dataset(namespace_client=ns, table_id=["lake", "library", "books"]).count_rows()',
    ]


if __name__ == "__main__":
    sys.exit(main())
