"""A workspace for a pipeline: its file, functions beside it, a namespace for tables, and a state of its own."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lance
import pyarrow as pa
import pytest

from lanceway import pipelines
from lanceway.pipelines import RunReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lanceway.writes.table_ref import TableRef


@dataclass
class Workspace:
    """The files of one pipeline. The namespace `here` is a folder, whose tables may be in namespaces."""

    root: Path
    file: Path
    spark: SparkSession | None = None

    @property
    def state(self) -> str:
        return f"sqlite:///{self.root}/state.db"

    @property
    def config(self) -> Path:
        return self.root / "lanceway.toml"

    def write(self, text: str) -> None:
        self.file.write_text(textwrap.dedent(text))

    def functions(self, text: str) -> None:
        """Write the module `steps`, beside the file."""
        (self.root / "steps.py").write_text(textwrap.dedent(text))

    def data(self, name: str, *rows: dict[str, Any]) -> None:
        """Write a file of rows into the folder `data`."""
        (self.root / "data").mkdir(exist_ok=True)
        (self.root / "data" / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def run(self, **options: Any) -> RunReport:
        defaults = {"state": self.state, "config": self.config, "spark": self.spark, "threads": 1}
        return pipelines.run(self.file, **{**defaults, **options})

    def location(self, table: str) -> str:
        return self._find(table).table().location

    def table(self, table: str, version: int | None = None) -> lance.LanceDataset:
        return self._find(table).open(version=version)

    def column(self, table: str, column: str = "id") -> list[Any]:
        return sorted(self.table(table).to_table(columns=[column])[column].to_pylist())

    def append(self, table: str, rows: pa.Table) -> None:
        self.write_rows(table, rows, "append")

    def write_rows(self, table: str, rows: pa.Table, mode: str) -> None:
        """Write as another program does, with pylance and through the catalog."""
        target = self._find(table)
        lance.write_dataset(rows, mode=mode, namespace_client=target.catalog(), table_id=list(target.id))

    def _find(self, table: str) -> TableRef:
        from lanceway.pipelines import model

        return model.find(f"here.{table}", self.config)


@pytest.fixture
def plain_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Return a workspace for tests that need no Spark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    workspace = Workspace(tmp_path, tmp_path / "pipeline.yaml")
    workspace.config.write_text(
        f'[namespaces.here]\ntype = "dir"\npath = "{tmp_path}/tables"\nlayout = "manifest"\n'
        f'[namespaces.there]\ntype = "lake"\nuri = "{workspace.state}"\nroot = "{tmp_path}/others"\n'
    )
    return workspace


@pytest.fixture
def workspace(plain_workspace: Workspace, spark: SparkSession) -> Workspace:
    plain_workspace.spark = spark
    return plain_workspace
