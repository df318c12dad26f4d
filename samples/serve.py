"""A server with something in it: `lanceway up`, filled with the tables of the tour through its own interface.

    python samples/serve.py [--home FOLDER] [options of lanceway up]

Ctrl-C ends it. What was made stays in the home, and is there at the next start.
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

HOME = Path(".sample") / "home"
LIBRARY = ["lake", "library"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--home", type=Path, default=HOME, help="where the server keeps its state")
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
            show(json.loads(started), log)
        else:
            sys.stderr.write(log.read_text().splitlines()[-1] + "\n")
        return server.wait()


def show(facts: dict[str, str], log: Path) -> None:
    uri, token_file = facts["lance"], Path(os.path.relpath(facts["admin_token"]))
    ns: Any = lanceway.connect("rest", uri=uri, token_file=str(token_file))
    ns.create_namespace({"id": LIBRARY, "mode": "exist_ok"})
    for name, data in (("books", books()), ("loans", loans())):
        ns.create_table_stream({"id": [*LIBRARY, name], "mode": "exist_ok"}, data.to_reader())
    console = Console()
    tables = ", ".join(f"{'.'.join(LIBRARY)}.{name}" for name in ns.list_tables({"id": LIBRARY}).tables)
    console.print(Panel.fit(f"[bold]{uri}[/] serves {tables}\nCtrl-C ends it. Its log is in {log}", title="Lanceway"))
    console.print("\n[bold cyan]Try next[/], in another terminal")
    for line in next_steps(uri, token_file):
        # Not wrapped and not in a box, so that it can be copied whole.
        console.print(line, soft_wrap=True, markup=False, highlight=False)
    sys.stdout.flush()


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
