"""Names that look like others: none is made, and those there are can be read and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

from tests.server.server_helpers import ask, created, refused, space, stream, table
from tests.servers import lanceway
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

HIDDEN = ["orders\u200b", "\u202eorders", "or\u00adders", "\ufefforders", "orders\U000e0041"]


@pytest.fixture(scope="module")
def with_folder(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lanceway, Path]]:
    folder = tmp_path_factory.mktemp("folder")
    server = lanceway.start(whole_run, settings=f'[catalogs.files]\ntype = "dir"\npath = "{folder}"\n')
    yield server, folder
    assert server.stop() == 0


@pytest.mark.parametrize("name", HIDDEN, ids=ascii)
def test_no_new_name_has_an_invisible_character(server: Lanceway, name: str) -> None:
    namespace, there = space(server), created(server, 1)
    assert refused(ask(server, "namespace", [*namespace, name], "create")) == (400, 13)
    assert refused(ask(server, "table", [*namespace, name], "create", content=stream(table(1)))) == (400, 13)
    assert refused(ask(server, "table", [*namespace, name], "declare", {})) == (400, 13)
    renamed = ask(server, "table", there, "rename", {"new_table_name": name})
    assert refused(renamed) == (400, 13)
    with server.client() as client:
        assert refused(client.post("/lanceway/v1/tokens", json={"user": name})) == (400, 13)


def test_letters_of_any_script_are_names(server: Lanceway) -> None:
    for name in ("заказы", "注文", "commandé", "a-b_c d"):
        assert ask(server, "namespace", [*space(server), name], "create").status_code == 200


def test_one_that_is_there_can_be_read_and_dropped(with_folder: tuple[Lanceway, Path]) -> None:
    server, folder = with_folder
    lance.write_dataset(table(1, 2), str(folder / "orders\u200b"))
    id_ = ["files", "orders\u200b"]
    assert refused(ask(server, "table", ["files", "other\u200b"], "create", content=stream(table(1)))) == (400, 13)
    assert ask(server, "table", id_, "describe").status_code == 200
    assert ask(server, "table", id_, "count_rows", {}).json() == 2
    assert ask(server, "table", id_, "drop").status_code == 200
    assert not (folder / "orders\u200b").exists()


@pytest.mark.parametrize(
    ("below", "named"),
    [
        (["nope"], "table lake.nope"),
        (["nope", "t"], "namespace lake.nope"),
        (["nope", "sub", "t"], "namespace lake.nope"),
    ],
)
def test_an_error_has_the_name_of_the_catalog(server: Lanceway, below: list[str], named: str) -> None:
    for verb in ("describe", "count_rows", "drop"):
        answer = ask(server, "table", ["lake", *below], verb, {})
        assert answer.status_code == 404
        assert f"There is no {named}" in answer.json()["error"], answer.text


@pytest.mark.parametrize(
    ("id_", "sentence"),
    [
        (["lake.team.t"], "There is no table ['lake.team.t']. Identifiers begin with a catalog"),
        (["t"], "There is no table t. Identifiers begin with a catalog: write ['lake', 't'], or lake$t over HTTP."),
        (["team", "t"], "There is no catalog 'team'. Identifiers begin with a catalog: write ['lake', 'team'], or"),
    ],
    ids=str,
)
def test_an_identifier_without_a_catalog_is_told_how_to_write_it(
    server: Lanceway, id_: list[str], sentence: str
) -> None:
    error = ask(server, "table", id_, "describe", {}).json()["error"]
    assert sentence in error
    if len(id_) == 1 and "." in id_[0]:
        assert "or lake$team$t over HTTP" in error


def test_a_mounted_catalog_has_its_name_in_errors_too(with_folder: tuple[Lanceway, Path]) -> None:
    server, _ = with_folder
    answer = ask(server, "table", ["files", "nope"], "describe", {})
    assert "There is no table files.nope" in answer.json()["error"], answer.text
