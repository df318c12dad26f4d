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
    sign_in = f".venv/bin/lanceway console --home {os.path.relpath(facts['home'])}"
    console.print(f"Console: [bold]{facts['console']}[/]  (a link that signs in: {sign_in})", soft_wrap=True)
    sys.stdout.flush()
    config = configure(uri, token_file)
    fill(uri, token_file)
    served = f"[bold]{uri}[/], with the token in {token_file}\nCtrl-C ends it. Its log is in {log}"
    console.print(Panel.fit(served, title="Lanceway"))
    show_steps(console, "Try next[/], in another terminal", next_steps(config))
    if with_pipeline and has_built(console, uri, token_file):
        show_steps(console, "And on what it made[/]", build.next_steps(uri, token_file))


def show_steps(console: Console, title: str, steps: list[str]) -> None:
    console.print(f"\n[bold cyan]{title}")
    for line in steps:
        # Not wrapped and not in a box, so that it can be copied whole.
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    console.print()
    sys.stdout.flush()


def configure(uri: str, token_file: Path) -> Path:
    """The file by which commands and sessions of Spark find the server's lake under the name `lake`."""
    config = Path(".sample") / "lanceway.toml"
    build.configure(config, uri, token_file)
    return config


def fill(uri: str, token_file: Path) -> None:
    """The tables of the tour, through the server's own interface."""
    lake = lanceway.connect(uri, token_file=str(token_file))
    for name, data in (("books", books()), ("loans", loans())):
        lake.create([*LIBRARY, name], data, mode="exist_ok")
    shelf = lake[[*LIBRARY, "books"]]
    if not any("about" in index.columns for index in shelf.indices()):
        shelf.index("about", "FTS")


def has_built(console: Console, uri: str, token_file: Path) -> bool:
    """Run the sample pipeline. The server runs on without it where the pipeline fails, and says why."""
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


def next_steps(config: Path) -> list[str]:
    """Commands for a shell and lines for Python; they work as they are printed."""
    return [
        f"$ export LANCEWAY_CONFIG={config} PATH=$PWD/.venv/bin:$PATH",
        "$ lanceway namespaces tree",
        "$ lanceway tables query library.books --text whale --columns title,about",
        "$ lanceway tables query library.books --vector 1,0,0,0,1,0 --columns title,year --limit 3",
        "$ lanceway sql 'SELECT reader, title FROM library.loans JOIN library.books ON book = books.id'",
        "",
        "$ python",
        ">>> import lanceway",
        '>>> lake = lanceway.connect("lake")',
        ">>> lake.tree()",
        '>>> lake["library.books"].search([1, 0, 0, 0, 1, 0]).select("title", "year").limit(3).to_pandas()',
    ]


if __name__ == "__main__":
    sys.exit(main())
