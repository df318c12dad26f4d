"""`lanceway check`: what it says of a catalog that keeps the contract, and of servers that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers.restadapter import adapters

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(process: Run, warehouse: Path) -> Run:
    """The program in a process of its own, since pytest inside pytest is another thing than pytest."""

    def run(*arguments: str) -> object:
        return process("--path", str(warehouse), "--set", "layout=manifest", *arguments)

    return run


def test_a_catalog_that_keeps_the_contract(folder: Run) -> None:
    ended = folder("check", "--only", "tag", "--json")
    assert ended.code == 0, ended
    report = ended.json
    assert report["totals"]["passed"] == len(report["results"]) > 10
    assert {row["group"] for row in report["groups"]} >= {"tag", "missing table"}
    assert sum(row["passed"] for row in report["groups"]) == report["totals"]["passed"]
    assert "storage_access" in {row["flag"] for row in report["left_out"]}
    first = report["results"][0]
    assert (first["outcome"], first["reason"]) == ("passed", None)
    assert not first["sentence"].startswith("test_")


def test_the_scratch_namespace_is_removed(folder: Run) -> None:
    assert folder("namespaces", "create", "keep").code == 0
    assert folder("check", "--in", "keep", "--only", "created").code == 0
    assert folder("namespaces", "list").out == "keep\n"
    assert folder("namespaces", "list", "keep").out == ""


def test_people_read_a_table(folder: Run) -> None:
    ended = folder("check", "--only", "restor")
    assert ended.code == 0
    assert "behaviour" in ended.out
    assert " passed, 0 failed" in ended.out


def test_storage_is_looked_at_when_it_can_be_reached(folder: Run) -> None:
    report = folder("check", "--only", "location", "--storage", "--json").json
    assert "storage_access" not in {row["flag"] for row in report["left_out"]}
    assert report["totals"]["failed"] == 0


def test_a_namespace_that_is_not_there(folder: Run) -> None:
    ended = folder("check", "--in", "nowhere", "--only", "tag")
    assert ended.code == 1
    assert "nowhere" in ended.err


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[str]:
    """pylance's own server, which is known to do some things otherwise."""
    folder = tmp_path / "served"
    folder.mkdir()
    with adapters() as opened:
        yield opened.serve(folder)


def test_a_server_that_does_some_things_otherwise(process: Run, adapter: str) -> None:
    ended = process("check", adapter, "--only", "may_be_skipped", "--json")
    assert ended.code == 1
    report = ended.json
    assert report["server"] == adapter
    failed = {row["test"]: row["reason"] for row in report["results"] if row["outcome"] == "failed"}
    assert "NamespaceNotFoundError" in failed["test_dropping_a_missing_namespace_may_be_skipped[Skip]"]


def test_a_careless_server_is_spared(process: Run, adapter: str) -> None:
    report = process("check", adapter, "--only", "strange or empty_name", "--json").json
    assert report["results"] == []
    assert "strange_paths" in {row["flag"] for row in report["left_out"]}
    asked = process("check", adapter, "--only", "strange and backslash", "--strange-paths", "--json").json
    assert len(asked["results"]) == 1


def test_an_operation_that_a_catalog_has_not_is_no_failure(folder: Run) -> None:
    ended = folder("check", "--only", "exactly_one_on_one_table", "--json")
    assert ended.code == 0
    assert {row["outcome"] for row in ended.json["results"]} == {"unsupported"}


def test_an_address_where_nothing_is(process: Run) -> None:
    ended = process("check", "http://127.0.0.1:9", "--only", "tag")
    assert (ended.code, ended.out) == (1, "")
    assert "127.0.0.1:9" in ended.err


def test_a_token_from_a_file_is_not_shown(process: Run, tmp_path: Path, adapter: str) -> None:
    secret = tmp_path / "token"
    secret.write_text("very-secret-token\n")
    ended = process("check", adapter, "--token-file", str(secret), "--only", "page_holds_at_least", "--json")
    assert "very-secret" not in ended.out + ended.err
    assert ended.json["server"] == adapter
