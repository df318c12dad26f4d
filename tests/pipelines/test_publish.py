"""Publishing that could never work is found by the check, before a run has written anything."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

import lanceway
from lanceway import pipelines
from lanceway.catalogs.contract import limits
from lanceway.errors import PermissionDeniedError
from tests.pipelines.conftest import Workspace

TEXT = """\
pipeline: notes
sources:
  raw: {files: data, format: json, schema: "id BIGINT"}
outputs:
  notes: {from: raw, table: here.notes, publish: %s}
"""


def found(workspace: Workspace, name: str, more: str = "") -> list[str]:
    with workspace.config.open("a") as config:
        config.write(more)
    workspace.write(TEXT % name)
    problems = [problem for problem in pipelines.check(workspace.file, config=workspace.config) if problem.wrong]
    assert {problem.where for problem in problems} <= {f"{workspace.file}:5"}
    return [problem.message for problem in problems]


def test_a_table_that_a_lake_can_register_is_no_problem(plain_workspace: Workspace) -> None:
    assert found(plain_workspace, "there.shop.notes") == []


@pytest.mark.parametrize("written", [False, True])
def test_a_directory_catalog_has_only_tables_of_its_own_folder(plain_workspace: Workspace, written: bool) -> None:
    other = f'[namespaces.other]\ntype = "dir"\npath = "{plain_workspace.root}/other"\nlayout = "manifest"\n'
    if written:
        here = lanceway.connect(name="here", config=plain_workspace.config)
        here.create_table_stream({"id": ["notes"]}, pa.table({"id": [1]}).to_reader())  # type: ignore[attr-defined]
    (message,) = found(plain_workspace, "other.notes", other)
    assert "The output 'notes' can never be published as other.notes" in message
    assert "a directory catalog holds what is below its own folder" in message


def test_a_directory_catalog_has_one_name_for_each_table(plain_workspace: Workspace) -> None:
    (message,) = found(plain_workspace, "here.second")
    assert "one name for each table" in message


def test_a_catalog_that_cannot_register_is_found(plain_workspace: Workspace) -> None:
    plain = f'[namespaces.plain]\ntype = "dir"\npath = "{plain_workspace.root}"\nlayout = "plain"\n'
    (message,) = found(plain_workspace, "plain.notes", plain)
    assert "does not support register_table" in message


def test_a_lake_that_cannot_be_written_is_found(plain_workspace: Workspace) -> None:
    lake = plain_workspace.root / "readers.db"
    lanceway.connect("lake", uri=f"sqlite:///{lake}", root=str(plain_workspace.root / "readers")).close()  # type: ignore[attr-defined]
    section = f'[namespaces.readers]\ntype = "lake"\nuri = "sqlite:///file:{lake}?mode=ro&uri=true"\n'
    (message,) = found(plain_workspace, "readers.notes", f'{section}root = "{plain_workspace.root}/readers"\n')
    assert "read-only" in message


def test_a_folder_that_cannot_be_written_is_found() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for child, mode in (("open", 0o777), ("closed", 0o555)):
            (folder / child).mkdir()
            (folder / child).chmod(mode)
        catalogs = {
            child: lanceway.connect("dir", path=str(folder / child), layout="manifest") for child in ("open", "closed")
        }
        user = os.geteuid()
        if user == 0:  # who may write everywhere
            os.seteuid(65534)
        try:
            limits.check_register(catalogs["open"])
            with pytest.raises(PermissionDeniedError, match="cannot write to"):
                limits.check_register(catalogs["closed"])
        finally:
            os.seteuid(user)


def test_a_name_that_another_table_has_is_found(plain_workspace: Workspace) -> None:
    rows = pa.table({"id": [1]})
    for name, table in (("here", ["notes"]), ("there", ["taken"])):
        catalog = lanceway.connect(name=name, config=plain_workspace.config)
        catalog.create_table_stream({"id": table}, rows.to_reader())  # type: ignore[attr-defined]
    (message,) = found(plain_workspace, "there.taken")
    assert "there.taken is another table" in message
