"""Drivers that are killed at events inside steps, commits and publishes: what comes out is what the sources say."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lanceway
from lanceway import pipelines
from lanceway.catalogs.lake import repair
from lanceway.lake.store.database import open_store
from lanceway.lake.versions import checks
from lanceway.pipelines import model
from tests.drilling import DrillProgress
from tests.pipelines.conftest import Workspace
from tests.pipelines.test_restart import with_children

TEXT = """\
pipeline: drill
sources:
  raw:
    files: data
    format: json
    schema: id BIGINT, text STRING
  base: {table: here.base}
transforms:
  clean:
    batches: steps:passing
    inputs: raw
    schema: id BIGINT, text STRING
    with: {victim: VICTIM}
    expect:
      - {name: has a text, that: length(text) > 0, otherwise: quarantine, into: here.rejected}
  counted: {sql: "SELECT count(*) AS rows, sum(id) AS total FROM clean"}
outputs:
  added:
    from: clean
    table: here.team.added
    indices: [{column: id, type: BTREE}]
    tags: [published, "run-{run}"]
    publish: there.shop.added
  merged: {from: clean, table: here.merged, keys: text}
  totals: {from: counted, table: here.totals, mode: overwrite}
  copied: {from: base, table: here.copied, publish: there.shop.copied}
"""
FUNCTIONS = """\
import os
import signal
from pathlib import Path


def passing(batch, victim):
    try:
        driver = int(Path(victim).read_text())
        Path(victim).unlink()
    except (FileNotFoundError, ValueError):
        return batch
    os.kill(driver, signal.SIGKILL)
    return batch
"""
TABLES = ("added", "merged", "totals", "copied", "clean/rejected")
STEPS = (*TABLES, "added/indices", "added/tags", "added/publish", "copied/publish")
COMMITS = (
    "lanceway.tables.versions.commit:commit",
    "lanceway.tables.write.create:publish",
    "lanceway.writes.journal:finish",
)
PUBLISHES = ("lanceway.jobs.between.register:Registrar.register", "lanceway.pipelines.after_write:_publish")
RECORDS = ("PipelineLease.pin", "PipelineLease.plan", "PipelineLease.begin_step", "PipelineLease.end_step")


def triggers(chance: random.Random, victim: Path) -> Iterator[dict[str, Any]]:
    """Yield events for ever, one of each kind in turn."""
    while True:
        yield {"function": COMMITS[0], "at": "call", "nth": chance.randint(1, 4), "statement": chance.randint(1, 8)}
        yield {"function": chance.choice(PUBLISHES), "at": chance.choice(("call", "return"))}
        yield {"step": chance.choice(STEPS), "moment": chance.choice(("begun", "ended"))}
        yield {"function": chance.choice(COMMITS), "at": chance.choice(("call", "return")), "nth": chance.randint(1, 5)}
        yield {"step": chance.choice(TABLES), "moment": "written"}
        yield {"task": str(victim)}
        name = f"lanceway.pipelines.runs.store:{chance.choice(RECORDS)}"
        yield {"function": name, "at": chance.choice(("call", "return")), "nth": chance.randint(1, 6)}
        yield {"function": PUBLISHES[0], "at": "call", "statement": chance.randint(1, 8)}


@dataclass
class Drill:
    """A pipeline over two lakes, with the rows that its sources have had so far, and what befell it."""

    workspace: Workspace
    progress: DrillProgress
    rows: list[dict[str, Any]] = field(default_factory=list)
    base: list[int] = field(default_factory=list)
    files: int = 0
    events: list[str] = field(default_factory=list)

    @property
    def story(self) -> str:
        """By what the drill can be repeated, and each event so far."""
        return "\n".join([f"--seed {self.progress.seed}", *self.events])

    @property
    def victim(self) -> Path:
        return self.workspace.root / "victim"

    def lakes(self) -> dict[str, tuple[str, str]]:
        root = self.workspace.root
        return {name: (f"sqlite:///{root}/{name}.db", f"{root}/{name}") for name in ("here", "there")}

    def prepare(self) -> None:
        sections = (
            f'[namespaces.{name}]\ntype = "lake"\nuri = "{uri}"\nroot = "{root}"\n'
            for name, (uri, root) in self.lakes().items()
        )
        self.workspace.config.write_text("".join(sections))
        self.workspace.write(TEXT.replace("VICTIM", str(self.victim)))
        self.workspace.functions(FUNCTIONS)

    def feed(self, chance: random.Random) -> None:
        """Give each source more rows: some to be rejected, some with keys that were there before."""
        first = len(self.rows) + 1
        rows = [
            {"id": first + number, "text": "" if number == 3 else f"key {chance.randint(1, 9) * 10 + number}"}
            for number in range(5)
        ]
        self.files += 1
        self.workspace.data(f"{self.files:04}.json", *rows)
        self.rows += rows
        self.base.append(len(self.base) + 1)
        with lanceway.connect(name="here", config=self.workspace.config) as lake:  # type: ignore[attr-defined]
            data = pa.table({"id": self.base[-1:]})
            if len(self.base) == 1:
                lake.create_table_stream({"id": ["base"]}, data.to_reader())
            else:
                lake.insert_into_table_stream({"id": ["base"]}, data.to_reader())

    def kill(self, trigger: dict[str, Any]) -> bool:
        """Run the pipeline in a process of its own; tell whether it was killed before it came to its end."""
        self.victim.unlink(missing_ok=True)
        workspace = self.workspace
        arguments = [str(workspace.file), workspace.state, str(workspace.config), json.dumps(trigger)]
        errors = workspace.root / "errors.txt"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.pipelines.drill_program", *arguments],
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])},
                start_new_session=True,
                stderr=file,
            )
        try:
            code = process.wait(timeout=300)
        finally:
            with_children(process.pid)
            self.victim.unlink(missing_ok=True)
        self.events.append(f"{'killed' if code else 'not reached'}: {trigger}")
        self.progress.event(self.events[-1])
        assert code in (0, -signal.SIGKILL), f"{self.story}\n{code}: {errors.read_text()[-3000:]}"
        return code != 0

    def check(self) -> None:
        """Compare all that came out with what the sources say, and check both lakes and the state."""
        good = [row for row in self.rows if row["text"]]
        ids = [row["id"] for row in good]
        assert self.table("here.team.added") == self.table("there.shop.added") == ids, self.story
        assert self.table("here.rejected") == [row["id"] for row in self.rows if not row["text"]], self.story
        last = {row["text"]: row["id"] for row in good}
        merged = self.open("here.merged").to_table().to_pylist()
        assert {row["text"]: row["id"] for row in merged} == last, self.story
        assert len(merged) == len(last), self.story
        totals = [{"rows": len(ids), "total": sum(ids)}]
        assert self.open("here.totals").to_table().to_pylist() == totals, self.story
        assert self.table("here.copied") == self.table("there.shop.copied") == self.base, self.story
        added = self.open("here.team.added")
        (index,) = added.describe_indices()
        assert index.num_rows_indexed == len(ids), self.story
        tagged = added.checkout_version("published")
        assert tagged.count_rows() == len(ids), self.story
        for uri, root in (*self.lakes().values(), (self.workspace.state, None)):
            with closing(open_store(uri)) as store:
                found = [*store.snapshot(checks.check), *repair.check(store, {}, root)]
            assert not [finding for finding in found if finding.wrong], f"{self.story}\n{uri}: {found}"

        runs = pipelines.history(self.workspace.file, state=self.workspace.state, config=self.workspace.config)
        assert {run["state"] for run in runs} == {"done"}, f"{self.story}\n{runs}"

    def open(self, name: str) -> lance.LanceDataset:
        return model.find(name, self.workspace.config).open()

    def table(self, name: str) -> list[int]:
        ids = self.open(name).to_table(columns=["id"])["id"].to_pylist()
        return sorted(ids)


@pytest.mark.timeout(0)
def test_a_driver_that_is_killed_at_any_event_leaves_what_the_sources_say(
    workspace: Workspace, rounds: int, progress: DrillProgress
) -> None:
    """Two kills of one run, and in the drill one for every 20 of its rounds, each of another run."""
    kills = max(2, rounds // 20)
    chance, drill = random.Random(progress.seed), Drill(workspace, progress)
    drill.prepare()
    drill.feed(chance)
    killed = 0
    for trigger in triggers(chance, drill.victim):
        killed += drill.kill(trigger)
        if kills > 2 or killed == kills:
            report = workspace.run()
            assert report.ok, f"{drill.story}\n{report.failed}"
            assert report.warnings == [], drill.story
            drill.check()
        if killed == kills:
            break
        if kills > 2:
            drill.feed(chance)
    assert workspace.run().idle, drill.story
