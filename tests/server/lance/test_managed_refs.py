"""Tags of managed tables, and reserved keys, over Lance REST: as the lake behind the server has them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import lance
import pyarrow as pa
import pytest

import lanceway
from lanceway.errors import TableTagNotFoundError
from tests.servers.lanceway import Lanceway

VIEW = {"lanceway.view": '{"kind": "query", "source": ["secret"]}'}


@pytest.fixture
def lake(server: Lanceway) -> Iterator[Any]:
    with lanceway.connect("rest", uri=server.uri, token=server.token, at="lake") as lake:  # type: ignore[attr-defined]
        yield lake


@pytest.fixture
def table(lake: Any) -> Iterator[list[str]]:
    id_ = [f"t{uuid.uuid4().hex}"]
    lake.create_table_stream({"id": id_}, pa.table({"id": [1]}).to_reader())
    lake.insert_into_table_stream({"id": id_}, pa.table({"id": [2]}).to_reader())
    yield id_
    lake.drop_table({"id": id_})


def test_tags_are_what_the_lake_has(lake: Any, table: list[str]) -> None:
    stock = lance.dataset(namespace_client=lake, table_id=table)
    stock.tags.create("rogue", 1)
    lake.create_table_tag({"id": table, "tag": "mine", "version": 1})
    stock.tags.delete("mine")
    assert {name: tag.version for name, tag in lake.list_table_tags({"id": table}).tags.items()} == {"mine": 1}
    assert lake.describe_table({"id": table, "tag": "mine", "load_detailed_metadata": True}).version == 1
    with pytest.raises(TableTagNotFoundError):
        lake.describe_table({"id": table, "tag": "rogue", "load_detailed_metadata": True})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("declare", {"properties": VIEW}),
        ("schema_metadata/update", VIEW),
        ("update_field_metadata", {"updates": [{"path": "id", "metadata": {"lanceway.computed": "1"}}]}),
    ],
)
def test_a_reserved_key_is_refused(server: Lanceway, table: list[str], path: str, body: dict[str, Any]) -> None:
    name = f"lake${table[0]}" if path != "declare" else f"lake${table[0]}x"
    answer = httpx.post(
        f"{server.uri}/v1/table/{name}/{path}", json=body, headers={"Authorization": f"Bearer {server.token}"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, 13)
    assert "is reserved" in answer.text


def test_a_reserved_key_of_an_arrow_schema_is_left_out(server: Lanceway, table: list[str]) -> None:
    planted = pa.table({"id": [9]}).replace_schema_metadata(VIEW)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, planted.schema) as writer:
        writer.write_table(planted)
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/vnd.apache.arrow.stream",
    }
    for path in (f"lake${table[0]}/insert", f"lake${table[0]}/create?mode=overwrite", f"lake${table[0]}y/create"):
        answer = httpx.post(f"{server.uri}/v1/table/{path}", content=sink.getvalue().to_pybytes(), headers=headers)
        assert answer.is_success, answer.text
    for name in (table[0], f"{table[0]}y"):
        described = httpx.post(
            f"{server.uri}/v1/table/lake${name}/describe",
            json={"load_detailed_metadata": True},
            headers={"Authorization": f"Bearer {server.token}"},
        )
        assert "lanceway.view" not in described.text
