"""What each operation needs, over HTTP: every set of rights that a rule calls sufficient is enough, and no less is."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lanceway.access import tokens
from lanceway.access.operations import (
    CATALOG,
    EACH,
    NEW_PARENT,
    OPERATIONS,
    PARENT,
    SOURCES,
    TARGET,
    Demand,
)
from lanceway.access.privileges import BY_NAME as PRIVILEGES
from lanceway.access.rules import OWNER, PRIVILEGE, UNDENIED
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.wire.lance import ARROW_STREAM, BY_OPERATION, Body
from lanceway.wire.lance import path as route_path
from tests.access.sufficient_helpers import MISSING_PARENT, GivenRights, Right, attempts, check_reason, declare, place
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

# What is there. The namespace `b` is another one: a right in `a` does not count there.
A, B, T, SOURCE, VIEW = ("lake", "a"), ("lake", "b"), ("lake", "a", "t"), ("lake", "b", "source"), ("lake", "a", "view")
SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string()})
ARROW = stream(table(1))
CLAIM = {"version": 9_999, "manifest_path": "nowhere/1.manifest-x"}


def view_request() -> dict[str, Any]:
    return {
        "kind": "query",
        "source_query": json.dumps({"source": list(SOURCE)}),
        "output_schema": base64.b64encode(SCHEMA.serialize()).decode(),
        "with_no_data": True,
    }


@dataclass(frozen=True)
class Asked:
    """A request of an operation: with which identifier, body and query. A `fresh` one needs a table of its own."""

    id: tuple[str, ...] | None = T
    body: Any = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False


# Each is cheap, and need not succeed: what it asks for may be missing, as long as the table is there.
REQUESTS: Mapping[str, Asked] = {
    "list_namespaces": Asked(A),
    "describe_namespace": Asked(A),
    "namespace_exists": Asked(A),
    "create_namespace": Asked((*A, MISSING_PARENT, "n")),
    "drop_namespace": Asked(A),  # which is not empty
    "list_tables": Asked(A),
    "describe_table": Asked(),
    "table_exists": Asked(),
    "create_table": Asked((*A, "t")),
    "declare_table": Asked((*A, "t")),
    "register_table": Asked((*A, "t"), {"location": "a/t"}),
    "drop_table": Asked(fresh=True),
    "deregister_table": Asked(fresh=True),
    "rename_table": Asked(body={"new_namespace_id": list(B), "new_table_name": "source"}),
    "query_table": Asked(body={"k": 1, "vector": {}}),
    "count_table_rows": Asked(),
    "explain_table_query_plan": Asked(body={"query": {"k": 1, "vector": {}}}),
    "analyze_table_query_plan": Asked(body={"k": 1, "vector": {}}),
    "get_table_stats": Asked(),
    "list_table_indices": Asked(),
    "describe_table_index_stats": Asked(),
    "list_table_versions": Asked(),
    "describe_table_version": Asked(body={"version": 1}),
    "list_table_tags": Asked(),
    "get_table_tag_version": Asked(body={"tag": "none"}),
    "list_table_branches": Asked(),
    "describe_transaction": Asked((*T, "1")),
    "insert_into_table": Asked(query={"branch": "none"}),
    "merge_insert_into_table": Asked(query={"on": "none", "branch": "none"}),
    "update_table": Asked(body={"updates": [["none", "1"]]}),
    "delete_from_table": Asked(body={"predicate": "none = 1"}),
    "restore_table": Asked(body={"version": 9_999}),
    "create_table_version": Asked(body=CLAIM),
    "batch_delete_table_versions": Asked(body={"ranges": [{"start_version": 9_000, "end_version": 9_001}]}),
    "create_table_index": Asked(body={"column": "none", "index_type": "FTS"}),
    "create_table_scalar_index": Asked(body={"column": "none", "index_type": "BTREE"}),
    "drop_table_index": Asked(),
    "update_table_schema_metadata": Asked(body={"lanceway.none": "1"}, query={"branch": "none"}),
    "update_field_metadata": Asked(body={"updates": [{"path": "none", "metadata": {"unit": "m"}}]}),
    "alter_table_add_columns": Asked(body={"new_columns": [{"name": "id", "expression": "1"}]}),
    "alter_table_alter_columns": Asked(body={"alterations": [{"path": "none", "rename": "n"}]}),
    "alter_table_drop_columns": Asked(body={"columns": ["none"]}),
    "alter_table_backfill_columns": Asked(body={"column": "none"}),
    "create_table_tag": Asked(body={"tag": "none", "version": 9_999}),
    "delete_table_tag": Asked(body={"tag": "none"}),
    "update_table_tag": Asked(body={"tag": "none", "version": 9_999}),
    "create_table_branch": Asked(body={"name": "branch", "from_branch": "none"}),
    "delete_table_branch": Asked(body={"name": "none"}),
    "alter_transaction": Asked((*T, "1"), {"actions": [{"setPropertyAction": {"key": "note", "value": "x"}}]}),
    "batch_create_table_versions": Asked(None, {"entries": [{"id": list(T), **CLAIM}]}),
    "batch_commit_tables": Asked(None, {"operations": [{"create_table_version": {"id": list(T), **CLAIM}}]}),
    "create_materialized_view": Asked(VIEW, view_request()),
    "refresh_materialized_view": Asked(VIEW, {"src_version": 9_999}),
}
ON_TABLE = frozenset({"load table", "read table", "modify table", "own table"})


def asked_of(operation: str, asked: Asked, demand: Demand) -> Securable:
    """The object of a request that a demand is about, from the data alone."""
    names = asked.id or T
    if operation.endswith("_transaction"):  # it is named after its table
        names = T
    if demand.of == CATALOG:
        return place(names[0])
    if demand.of in (TARGET, EACH):
        return place(*names, kind=TABLE if demand.rule.name in ON_TABLE else NAMESPACE)
    return {PARENT: place(*names[:-1]), NEW_PARENT: place(*B), SOURCES: place(*SOURCE, kind=TABLE)}[demand.of]


class Site:
    """A server with some tables, and a user who has exactly what a test gives it."""

    def __init__(self, server: Lanceway, store: LakeStore) -> None:
        self.store, self.rights = store, GivenRights(store)
        self.admin = server.client()
        self.user = server.client(headers={"x-api-key": tokens.create(store, "me", by="admin").secret})

    def make(self) -> None:
        for id_ in (A, B):
            self.ask("create_namespace", Asked(id_), self.admin).raise_for_status()
        for id_ in (T, SOURCE):
            self.ask("create_table", Asked(id_), self.admin).raise_for_status()
        self.ask("create_materialized_view", Asked(VIEW, view_request()), self.admin).raise_for_status()

    def ask(self, operation: str, asked: Asked, client: httpx.Client | None = None) -> httpx.Response:
        route = BY_OPERATION[operation]
        url = f"/lance{route_path(route, asked.id, index_name='none')}"
        options: dict[str, Any] = {"params": dict(asked.query)}
        if route.body is Body.ARROW:
            options |= {"content": ARROW, "headers": {"content-type": ARROW_STREAM}}
        elif route.body is not Body.NONE:
            options["json"] = asked.body
        return (client or self.user).request(route.method, url, **options)


@pytest.fixture(scope="module")
def site(whole_run: Run) -> Iterator[Site]:
    server = lanceway_server.start(whole_run, name="sufficient")
    store = open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)
    made = Site(server, store)
    made.make()
    yield made
    made.admin.close()
    made.user.close()
    store.close()
    server.stop()


# -- the tests -----------------------------------------------------------------------------------


def test_every_operation_with_a_route_is_asked_for() -> None:
    assert set(REQUESTS) == {name for name in OPERATIONS if name in BY_OPERATION and OPERATIONS[name].demands}


@pytest.mark.parametrize("operation", sorted(REQUESTS))
def test_every_sufficient_set_is_enough_and_no_less_is(site: Site, operation: str) -> None:
    for demand in OPERATIONS[operation].demands:
        for number, needs in enumerate(demand.rule.sufficient):
            asked = REQUESTS[operation]
            if asked.fresh:
                asked = replace(asked, id=(*A, f"{operation}{number}"))
                declare(site.store, *asked.id or ())
            asked_for = partial(asked_of, operation, asked)
            for attempt in attempts(OPERATIONS[operation].demands, asked_for, demand, needs):
                site.rights.give(attempt.rights)
                there = replace(asked, id=(*(asked.id or ())[:-2], "n")) if attempt.parent_exists else asked
                answer = site.ask(operation, there)
                if asked.fresh and not attempt.without:
                    site.rights.forget(place(*asked.id or (), kind=TABLE))
                said = f"{demand.rule.name} by {[str(need) for need in needs]}: {answer.status_code} {answer.text}"
                if attempt.without:
                    assert answer.status_code == 403, f"without {attempt.without}, {said}"
                    assert answer.json()["code"] == 15
                    check_reason(answer.json()["error"], OPERATIONS[operation].demands, attempt.rights)
                else:
                    assert answer.status_code not in (401, 403, 500), said


def test_who_has_nothing_is_refused_every_operation(site: Site) -> None:
    site.rights.give(())
    for operation, asked in REQUESTS.items():
        answer = site.ask(operation, asked)
        assert (answer.status_code, answer.json()["code"]) == (403, 15), operation
        check_reason(answer.json()["error"], OPERATIONS[operation].demands, ())


def test_a_denial_takes_away_what_is_granted_but_not_what_is_owned(site: Site) -> None:
    """Of every operation on a table: a denial on the table itself counts, whatever is granted above it."""
    above = [Right(PRIVILEGE, name, place()) for name in PRIVILEGES if "metalake" in PRIVILEGES[name].levels]
    denials = [Right(UNDENIED, name, place(*T, kind=TABLE)) for name in ("SELECT_TABLE", "MODIFY_TABLE")]
    on_table = [
        name
        for name, operation in OPERATIONS.items()
        if name in REQUESTS and not REQUESTS[name].fresh and asked_of_table(operation.demands)
    ]
    assert len(on_table) > 30
    for owned, operation in itertools.product((False, True), sorted(on_table)):
        asked = REQUESTS[operation]
        if asked.id == VIEW:
            continue
        site.rights.give([*above, *denials, *([Right(OWNER, "", place(*T, kind=TABLE))] if owned else [])])
        status = site.ask(operation, asked).status_code
        assert (status == 403) is not owned, f"{operation}: {status}"


def asked_of_table(demands: Sequence[Demand]) -> bool:
    return any(demand.of in (TARGET, EACH) and demand.rule.name in ON_TABLE for demand in demands)
