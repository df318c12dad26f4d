"""Iceberg tables become Lance tables and back on the command line: sentences, JSON, bars, refusals and Ctrl-C."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.rest import RestCatalog

from tests.cli.conftest import Run
from tests.cli.test_program import Terminal
from tests.servers.iceberg import Iceberg

CONFIGURATION = """
[namespaces.lake]
type = "lake"
uri = "sqlite:///lake.db"
root = "./files"

[namespaces.folder]
type = "dir"
path = "./folder"

[namespaces.reference]
type = "iceberg"
endpoint = "{endpoint}"
"""


@pytest.fixture(autouse=True)
def _configured(tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text(CONFIGURATION.format(endpoint="http://127.0.0.1:9"))
    pq.write_table(pa.table({"id": [1, 2, 3], "v": [[0.5], [1.0], [2.0]]}), "rows.parquet")


def lake(bare: Run, *arguments: str, code: int = 0) -> str:
    ended = bare("--in", "lake", "tables", *arguments)
    assert ended.code == code, ended
    return " ".join((ended.out or ended.err).replace("│", " ").split())


def test_there_and_back_in_a_lake(bare: Run, tmp_path: Path) -> None:
    lake(bare, "create", "rows", "rows.parquet", "--vector-column", "v")
    planned = lake(bare, "export", "rows", "ice", "--dry-run")
    assert "list<float>" in planned
    assert "fixed_size_list" in planned
    assert planned.endswith(
        "Planned: export version 1 of rows as the Iceberg table ice. Nothing was changed; leave --dry-run out to do it."
    )
    sentence = lake(bare, "export", "rows", "ice")
    assert sentence.startswith("Exported 3 rows of version 1 of rows as the Iceberg table ice (checksum ")
    assert "import the Iceberg table ice into back" in lake(bare, "import", "ice", "back", "--dry-run")
    record = bare("--in", "lake", "tables", "import", "ice", "back", "--json").json
    assert (record["job"], record["rows"], record["version"]) == ("import-iceberg", 3, 1)
    assert f"(checksum {record['checksum']} on both sides)" in sentence
    sentence = lake(bare, "import", "ice", "back", "--mode", "overwrite")
    assert sentence.startswith("Imported 3 rows of the Iceberg table ice into back (checksum ")
    assert sentence.endswith("back is at version 2.")
    before, after = (lake(bare, "query", name, "--json") for name in ("rows", "back"))
    assert before == after
    plan = bare("--in", "lake", "tables", "export", "back", "other", "--dry-run", "--json").json
    assert plan["columns"][1]["iceberg"] == "list<float>"


def test_tables_of_an_iceberg_server(bare: Run, iceberg: Iceberg, tmp_path: Path) -> None:
    (tmp_path / "lanceway.toml").write_text(CONFIGURATION.format(endpoint=iceberg.endpoint))
    namespace = f"n{uuid.uuid4().hex}"
    RestCatalog("direct", uri=iceberg.endpoint).create_namespace((namespace,))
    lake(bare, "create", "rows", "rows.parquet")
    lake(bare, "export", "rows", f"{namespace}.rows", "--to", "reference", "--property", "owner=red")
    assert RestCatalog("direct", uri=iceberg.endpoint).load_table((namespace, "rows")).properties["owner"] == "red"
    imported = bare(
        *("--in", "folder", "tables", "import", f"{namespace}.rows", "rows", "--json"),
        *("--from", iceberg.endpoint, "--warehouse", iceberg.warehouse),
    )
    assert imported.json["rows"] == 3, imported
    assert len(bare("--in", "folder", "tables", "query", "rows", "--json").json) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("import", "nothing", "x"), 1, "nothing"),
        (("import", "rows", "x"), 1, "rows is a Lance table already"),
        (("import", "ice", "x", "--from", "nowhere"), 1, "No namespace is called 'nowhere'"),
        (("import", "ice", "x", "--from", "folder"), 1, "A catalog of type dir has no Iceberg tables"),
        (("import", "a.b", "x", "--from", "reference"), 1, "Try again later"),
        (("import", "ice", "x", "--warehouse", "w"), 2, "--from or --to names"),
        (("import", "ice", "x", "--mode", "append"), 1, "mode is 'append', but must be one of create, overwrite"),
        (("export", "rows", "rows"), 1, "rows"),
        (("export", "nothing", "x"), 1, "nothing"),
    ],
)
def test_what_cannot_be_done_ends_in_one_sentence(
    bare: Run, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    lake(bare, "create", "rows", "rows.parquet")
    assert sentence in lake(bare, *arguments, code=code)


def test_a_catalog_without_iceberg_tables_says_what_to_do(bare: Run) -> None:
    ended = bare("--in", "folder", "tables", "import", "ice", "rows")
    assert ended.code == 1
    assert "A catalog of type dir keeps no Iceberg tables" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["import", "export"])
def test_progress_is_drawn_and_ctrl_c_leaves_nothing(bare: Run, tmp_path: Path, verb: str) -> None:
    pq.write_table(pa.table({"id": range(6_000_000)}), "rows.parquet")
    lake(bare, "create", "rows", "rows.parquet")
    if verb == "import":
        lake(bare, "export", "rows", "ice")
    before = {path for path in (tmp_path / "files").rglob("*") if path.suffix != ".json"}
    source = {"import": "ice", "export": "rows"}[verb]
    terminal = Terminal("--in", "lake", "tables", verb, source, "target")
    terminal.until("rows/s")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "lanceway: interrupted" in terminal.seen
    assert {path for path in (tmp_path / "files").rglob("*") if path.suffix != ".json"} == before
    assert "target" not in bare("--in", "lake", "tables", "list").out
    lake(bare, verb, source, "target")
