"""Tables that changed last, and what each version of a table brought: what one may see of them, and no more."""

from __future__ import annotations

import json
import uuid

import httpx
import pyarrow as pa
import pytest

from tests.server.server_helpers import Id, ask, stream
from tests.servers.lanceway import Lanceway

RECENT, HISTORY = "/lanceway/v1/tables/recent", "/lanceway/v1/tables/history"


@pytest.fixture(scope="module")
def space(server: Lanceway) -> Id:
    id_ = ["lake", f"past{uuid.uuid4().hex[:8]}"]
    assert ask(server, "namespace", id_, "create").status_code == 200
    return id_


@pytest.fixture(scope="module")
def orders(server: Lanceway, space: Id) -> Id:
    """A table with four versions and a branch."""
    id_ = [*space, "orders"]
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    assert ask(server, "table", id_, "create", content=stream(rows)).status_code == 200
    assert ask(server, "table", id_, "insert", content=stream(rows.slice(0, 2))).status_code == 200
    assert ask(server, "table", id_, "delete", {"predicate": "id = 1"}).status_code == 200
    assert ask(server, "table", id_, "branches/create", {"name": "trial", "from_version": 2}).status_code == 200
    return id_


def get(server: Lanceway, path: str, token: str | None = None, **query: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token or server.token}"}
    with server.client(headers=headers) as client:
        return client.get(path, params={key: str(value) for key, value in query.items()})


def test_each_version_says_what_it_brought(server: Lanceway, orders: Id) -> None:
    answer = get(server, HISTORY, table="$".join(orders)).raise_for_status().json()
    seen = [(entry["version"], entry["operation"], entry["rows"], entry["by"]) for entry in answer["versions"]]
    assert seen == [(3, "Delete", 3, "admin"), (2, "Append", 5, "admin"), (1, "Overwrite", 3, "admin")]
    assert answer["page_token"] is None
    assert all(entry["at"] > 1_500_000_000_000 for entry in answer["versions"])


def test_each_version_says_how_many_rows_came_and_went(server: Lanceway, space: Id) -> None:
    id_ = [*space, "changed"]
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
    ask(server, "table", id_, "create", content=stream(rows))
    ask(server, "table", id_, "insert", content=stream(rows.slice(0, 2)))
    ask(server, "table", id_, "update", {"predicate": "id = 3", "updates": [["id", "30"]]})
    ask(server, "table", id_, "delete", {"predicate": "id < 3"})
    ask(server, "table", id_, "insert?mode=overwrite", content=stream(rows))
    ask(server, "table", id_, "restore", {"version": 4})
    changes = {
        entry["version"]: (entry["operation"], entry["added"], entry["removed"])
        for limit in (50, 3)  # the version before the oldest of a page is looked at, too
        for entry in get(server, HISTORY, table="$".join(id_), limit=limit).raise_for_status().json()["versions"]
    }
    assert changes == {
        1: ("Overwrite", 3, 0),
        2: ("Append", 2, 0),
        3: ("Update", 1, 1),
        4: ("Delete", 0, 4),
        5: ("Overwrite", 3, 1),
        6: ("Restore", None, None),
    }


def test_pages_follow_each_other(server: Lanceway, orders: Id) -> None:
    query = {"table": "$".join(orders), "limit": 2}
    first = get(server, HISTORY, **query).json()
    second = get(server, HISTORY, **query, page_token=first["page_token"]).json()
    assert [entry["version"] for page in (first, second) for entry in page["versions"]] == [3, 2, 1]
    assert second["page_token"] is None


def test_a_branch_has_a_history_of_its_own(server: Lanceway, orders: Id) -> None:
    rows = pa.table({"id": pa.array([9], pa.int64())})
    assert ask(server, "table", orders, "insert?branch=trial", content=stream(rows)).status_code == 200
    listed = get(server, HISTORY, table="$".join(orders), branch="trial").raise_for_status().json()["versions"]
    assert (listed[0]["version"], listed[0]["rows"]) == (3, 6)
    assert get(server, HISTORY, table="$".join(orders)).json()["versions"][0]["rows"] == 3


def test_the_pipeline_and_the_run_of_a_version(server: Lanceway, space: Id) -> None:
    import lance

    import lanceway as library

    id_ = [*space, "marked"]
    ask(server, "table", id_, "create", content=stream(pa.table({"a": [1]})))
    catalog = library.connect("rest", uri=server.uri, token=server.token)
    mark = {"pipeline": "nightly", "output": "x", "run": "r-1", "reads": {"secret source": {}}}
    lance.write_dataset(
        pa.table({"a": [2]}),
        namespace_client=catalog,
        table_id=id_,
        mode="append",
        transaction_properties={"lanceway.pipeline": json.dumps(mark)},
    )
    answer = get(server, HISTORY, table="$".join(id_))
    newest = answer.json()["versions"][0]
    assert (newest["pipeline"], newest["run"]) == ("nightly", "r-1")
    assert "secret source" not in answer.text


def test_who_may_not_see_a_table_gets_neither(server: Lanceway, orders: Id) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    with server.client() as client:
        token = client.post("/lanceway/v1/tokens", json={"user": user}).json()["token"]
    hidden = get(server, HISTORY, token, table="$".join(orders))
    missing = get(server, HISTORY, token, table="$".join([*orders[:-1], "nothing"]))
    assert (hidden.status_code, missing.status_code) == (403, 403)
    assert get(server, RECENT, token).json() == {"tables": []}


def test_the_name_of_another_user_is_for_those_who_manage_users(server: Lanceway, orders: Id) -> None:
    token = server.token_for(f"u{uuid.uuid4().hex[:8]}", "USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
    listed = get(server, HISTORY, token, table="$".join(orders)).raise_for_status().json()["versions"]
    assert {entry["by"] for entry in listed} == {None}
    assert orders in [table["id"] for table in get(server, RECENT, token, limit=50).json()["tables"]]


def test_what_is_hidden_takes_no_place_in_the_list(server: Lanceway, space: Id) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    token = server.token_for(user, "USE_CATALOG")
    mine, others = [*space, "mine"], [*space, "others"]
    for id_ in (mine, others):
        assert ask(server, "namespace", id_, "create").status_code == 200
    for id_ in ([*mine, "shown"], [*mine, "denied"], *([*others, f"t{number}"] for number in range(150))):
        assert ask(server, "table", id_, "declare", {}).status_code == 200
    changes = [
        _change(user, mine, "USE_SCHEMA"),
        _change(user, mine, "SELECT_TABLE"),
        _change(user, [*mine, "denied"], "SELECT_TABLE", deny=True),
        _change(user, others, "USE_SCHEMA"),
        _change(user, [*others, "t7"], "SELECT_TABLE"),
    ]
    with server.client(base_url=f"{server.address}/lanceway/v1") as client:
        client.post("/grants", json={"changes": changes}).raise_for_status()
        client.put("/owners", json={"object": "$".join([*others, "t3"]), "user": user}).raise_for_status()
    listed = [table["id"] for table in get(server, RECENT, token).json()["tables"]]
    assert listed == [[*others, "t7"], [*others, "t3"], [*mine, "shown"]]


def _change(user: str, id_: Id, privilege: str, *, deny: bool = False) -> dict[str, object]:
    return {"role": f"role-of-{user}", "object": "$".join(id_), "privilege": privilege, "deny": deny}


def test_what_changed_last_comes_first_under_its_present_name(server: Lanceway, space: Id) -> None:
    for name in ("one", "two"):
        ask(server, "table", [*space, name], "create", content=stream(pa.table({"a": [1]})))
    ask(server, "table", [*space, "one"], "insert", content=stream(pa.table({"a": [1]})))
    ask(server, "table", [*space, "one"], "rename", {"new_table_name": "first"})
    tables = [table["id"] for table in get(server, RECENT, limit=50).json()["tables"] if table["id"][:2] == space]
    assert tables[:2] == [[*space, "first"], [*space, "two"]]
    ask(server, "table", [*space, "two"], "drop")
    tables = [table["id"] for table in get(server, RECENT, limit=50).json()["tables"]]
    assert [*space, "two"] not in tables
    assert len(get(server, RECENT, limit=1).json()["tables"]) == 1


def test_a_table_of_another_service_has_versions_and_their_times(server: Lanceway, tmp_path: object) -> None:
    name = f"folder{uuid.uuid4().hex[:8]}"
    with server.client() as client:
        body = {"name": name, "type": "dir", "settings": {"path": str(tmp_path)}}
        client.post("/lanceway/v1/catalogs", json=body).raise_for_status()
    id_ = [name, "t"]
    assert ask(server, "table", id_, "create", content=stream(pa.table({"a": [1]}))).status_code == 200
    (entry,) = get(server, HISTORY, table="$".join(id_)).raise_for_status().json()["versions"]
    assert (entry["version"], entry["operation"], entry["rows"]) == (1, None, None)
