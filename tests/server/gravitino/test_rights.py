"""Tables of Gravitino REST over HTTP: every set of rights that a rule calls sufficient is enough, and no less is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from lanceway.access.operations import NEW_PARENT, OPERATIONS, OWN, PARENT, TARGET, Demand
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE
from lanceway.wire.gravitino import ROUTES
from tests.access.sufficient_helpers import GivenRights, attempts, check_reason, declare, place
from tests.server.gravitino.gravitino_helpers import Asker, asking, lake_of, new_catalog, new_token, refused
from tests.servers.lanceway import Lanceway

A, B, T = "a", "b", "t"
COLUMNS = [{"name": "id", "type": "long"}]


@dataclass(frozen=True)
class Asked:
    """A request: its operation in the data, method, body and query. A `fresh` one needs a table of its own.

    It need not succeed: what is made has a name that is taken, and columns that are changed are missing.
    """

    operation: str
    method: str
    body: Any = None
    query: Mapping[str, str] | None = None
    fresh: bool = False


def _update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"updates": [{"@type": kind, **fields}]}


REQUESTS: Mapping[str, Asked] = {
    "list_tables": Asked("list_iceberg_tables", "GET"),
    "create_table": Asked("create_table", "POST", {"name": T, "columns": COLUMNS}),
    "create_table, declared": Asked("declare_table", "POST", {"name": T}),
    "create_table, registered": Asked(
        "register_table", "POST", {"name": T, "properties": {"lance.register": "true", "location": "a/t"}}
    ),
    "load_table": Asked("describe_table", "GET"),
    "load_table, with SELECT_TABLE": Asked("query_table", "GET", query={"privileges": "SELECT_TABLE"}),
    "load_table, with MODIFY_TABLE": Asked("insert_into_table", "GET", query={"privileges": "MODIFY_TABLE"}),
    "alter_table, its name": Asked("rename_table", "PUT", _update("rename", newName=T, newSchemaName=B)),
    "alter_table, properties": Asked(
        "update_table_schema_metadata", "PUT", _update("setProperty", property="a", value="b")
    ),
    "alter_table, new columns": Asked(
        "alter_table_add_columns", "PUT", _update("addColumn", fieldName=["id"], type="long")
    ),
    "alter_table, columns": Asked(
        "alter_table_alter_columns", "PUT", _update("renameColumn", oldFieldName=["none"], newFieldName="n")
    ),
    "alter_table, no columns": Asked("alter_table_drop_columns", "PUT", _update("deleteColumn", fieldName=["none"])),
    "alter_table, comments": Asked(
        "update_field_metadata", "PUT", _update("updateColumnComment", fieldName=["none"], newComment="n")
    ),
    "drop_table": Asked("drop_table", "DELETE", fresh=True),
    "drop_table, purged": Asked("drop_table", "DELETE", query={"purge": "true"}, fresh=True),
}


@dataclass(frozen=True)
class Office:
    """A catalog whose schemas `a` and `b` have a table each, and the user `me` with exactly what a test gives it."""

    store: LakeStore
    me: Asker
    rights: GivenRights

    def ask(self, asked: Asked, name: str) -> httpx.Response:
        of_table = not (asked.method == "POST" or asked.operation == "list_iceberg_tables")
        path = self.me.schemas(A, "tables", *([name] if of_table else []))
        return self.me.ask(asked.method, path, asked.body, params=asked.query)

    def asked_of(self, name: str, demand: Demand) -> Securable:
        catalog = self.me.catalog
        if demand.of == TARGET and demand.rule.name.endswith(" table"):
            return place(catalog, A, name, kind=TABLE)
        return place(catalog, {TARGET: A, PARENT: A, NEW_PARENT: B}[demand.of], kind=NAMESPACE)


@pytest.fixture(scope="module")
def office(server: Lanceway) -> Iterator[Office]:
    store = lake_of(server)
    catalog, token = new_catalog(store, server), new_token(store, "me")
    rights = GivenRights(store)
    with asking(server, server.token, catalog) as admin, asking(server, token, catalog) as me:
        admin.make(A, B)
        for schema in (A, B):
            body = {"name": T, "columns": COLUMNS}
            admin.ask("POST", admin.schemas(schema, "tables"), body).raise_for_status()
        yield Office(store, me, rights)
    rights.give(())
    store.close()


def test_every_route_of_tables_is_asked_for() -> None:
    routes = {route.operation for route in ROUTES if route.operation.endswith(("_table", "_tables"))}
    assert routes == {name.partition(",")[0] for name in REQUESTS}


@pytest.mark.parametrize("request_name", REQUESTS)
def test_every_sufficient_set_is_enough_and_no_less_is(office: Office, request_name: str) -> None:
    asked = REQUESTS[request_name]
    demands = {**OPERATIONS, **OWN}[asked.operation].demands
    for demand in demands:
        for number, needs in enumerate(demand.rule.sufficient):
            name = f"{request_name.replace(', ', '_')}{number}" if asked.fresh else T
            if asked.fresh:
                declare(office.store, office.me.catalog, A, name)
            for attempt in attempts(demands, partial(office.asked_of, name), demand, needs):
                office.rights.give(attempt.rights)
                answer = office.ask(asked, name)
                if asked.fresh and not attempt.without:
                    office.rights.forget(place(office.me.catalog, A, name, kind=TABLE))
                said = f"{demand.rule.name} by {[str(need) for need in needs]}: {answer.status_code} {answer.text}"
                if attempt.without:
                    assert answer.status_code == 403, f"without {attempt.without}, {said}"
                    assert refused(answer) == (403, 1008, "ForbiddenException"), said
                    check_reason(answer.json()["message"], demands, attempt.rights)
                else:
                    assert answer.status_code not in (401, 403, 500), said
