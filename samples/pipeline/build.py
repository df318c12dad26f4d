"""The sample pipeline on a running server: `build` brings its tables up to date, `next_steps` says how they are asked.

    python samples/pipeline/build.py URI TOKEN_FILE [FOLDER]

The texts, the configuration and the record of the runs lie in FOLDER/.sample. Where nothing is new, it ends at once.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).absolute().parent
SAMPLE = Path(".sample")


def build(uri: str, token_file: Path, folder: Path = Path()) -> dict[str, Any]:
    """What the run came to. Raises RuntimeError with the reason if it failed; to call it again goes on from there."""
    sys.path.insert(0, str(HERE))
    try:
        from library import write
    finally:
        sys.path.remove(str(HERE))
    write(folder / SAMPLE / "documents")
    configure(folder / SAMPLE / "lanceway.toml", uri, token_file)
    state = f"sqlite:///{SAMPLE / 'runs.db'}"
    command = [sys.executable, "-m", "lanceway", "--config", str(SAMPLE / "lanceway.toml"), "pipeline", "run"]
    done = subprocess.run(
        [*command, str(HERE / "documents.yaml"), "--state", state, "--json"],
        cwd=folder,  # relative paths of the pipeline begin there
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(_reason(done))
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def configure(file: Path, uri: str, token_file: Path) -> None:
    """Writes the configuration in which the server's lake is the namespace `lake`."""
    file.write_text(
        f'[namespaces.lake]\ntype = "rest"\nuri = "{uri}"\ntoken_file = "{token_file.absolute()}"\nat = "lake"\n'
    )


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why it failed: the error of the run or of one of its steps, else what it says on standard error."""
    for text in (done.stdout, done.stderr):
        try:
            record = json.loads(text)
        except ValueError:
            continue
        errors = (record.get("error"), *(step.get("error") for step in record.get("steps", ())))
        if reason := next(filter(None, errors), None):
            return str(reason)
    return done.stderr.strip() or f"it ended with {done.returncode}"


def next_steps(uri: str, token_file: Path) -> list[str]:
    """How the table of documents is queried, where `lake` is connected to: from Python, LanceDB, SQL and curl.

    They work as they are printed. LanceDB is proposed where it is installed.
    """
    headers = f'-H "Authorization: Bearer $(cat {token_file})" -H "Content-Type: application/json"'
    lancedb = [
        ">>> database = lake.lancedb()",
        '>>> table = database.open_table("documents", namespace_path=["library"])',
        '>>> table.search("saffron", query_type="fts").limit(3).to_list()',
        "",
    ]
    return [
        '>>> lake["library.documents"].search("lighthouse").select("title", "topic").limit(3).to_pandas()',
        "",
        *(lancedb if importlib.util.find_spec("lancedb") else ()),
        ">>> import lanceway.spark",
        ">>> spark = lanceway.spark.session()",
        '>>> spark.sql("SELECT topic, documents FROM lake.library.topics ORDER BY topic").show()',
        "",
        f"$ curl -s {headers} -d '{{}}' '{uri}/v1/table/lake$library$documents/count_rows'",
    ]


def main() -> int:
    uri, token_file = sys.argv[1], Path(sys.argv[2])
    folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path()
    report = build(uri, token_file, folder)
    print(f"Run {report['number']} of {report['pipeline']}: {report['rows']:,} rows in {report['seconds']:.1f} s.")
    print("\n".join(next_steps(uri, token_file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
