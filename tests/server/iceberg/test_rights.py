"""Rights on Iceberg tables and views over HTTP, and where users who are no administrators may have files.

Every set of rights that a rule calls sufficient is enough for each operation, and no less is.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest

from lanceway.access.operations import CATALOG, NEW_PARENT, OPERATIONS, OWN, PARENT, TARGET, Demand
from lanceway.access.rules import BY_NAME
from lanceway.identifiers import Identifier
from lanceway.lake.access import grants, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import NAMESPACE, TABLE, VIEW
from lanceway.server.home import METALAKE
from lanceway.server.iceberg.dialect import HANDLERS
from lanceway.wire.iceberg import ROUTES
from tests.access.iceberg_helpers import SCHEMA, VERSION, creation, snapshot
from tests.access.sufficient_helpers import MISSING_PARENT, GivenRights, attempts, check_reason, place
from tests.server.iceberg.iceberg_rest_helpers import IcebergAsker, asking, lake_of, new_catalog, new_token, refused
from tests.servers.lanceway import Lanceway

SPACE = "s"
SET = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
FORBIDDEN = (403, "ForbiddenException")


@dataclass(frozen=True)
class Desk:
    """A catalog with a namespace that has the Iceberg tables `ice` and `other` and the view `totals`, and a user."""

    store: LakeStore
    admin: IcebergAsker
    me: IcebergAsker
    role: str

    def grant(
        self, privilege: str, *path: str, kind: str = NAMESPACE, deny: bool = False, revoke: bool = False
    ) -> None:
        place = Securable(METALAKE, self.admin.catalog, Identifier(path), kind if path else NAMESPACE)
        change = GrantChange(self.role, place, privilege, deny, revoke)
        self.store.transact(grants.apply, METALAKE, [change], by="admin")

    def enter(self) -> None:
        for privilege in ("USE_CATALOG", "USE_SCHEMA"):
            self.grant(privilege)


@pytest.fixture
def desk(server: Lanceway) -> Iterator[Desk]:
    store = lake_of(server)
    catalog, user = new_catalog(store, server), f"u{uuid.uuid4().hex[:10]}"
    token = new_token(store, user)
    store.transact(roles.create, METALAKE, f"role-of-{user}", by="admin")
    store.transact(roles.give, METALAKE, f"role-of-{user}", user, by="admin")
    with asking(server, server.token, catalog) as admin, asking(server, token, catalog) as me:
        admin.make(SPACE)
        for name in ("ice", "other"):
            assert new_table(admin, name).status_code == 200
        assert new_view(admin, "totals").status_code == 200
        yield Desk(store, admin, me, f"role-of-{user}")
    store.close()


def new_table(asker: IcebergAsker, name: str, **more: Any) -> httpx.Response:
    return asker.ask("POST", asker.at(SPACE, then="/tables"), {"name": name, "schema": SCHEMA, **more})


def new_view(asker: IcebergAsker, name: str, **more: Any) -> httpx.Response:
    body = {"name": name, "schema": SCHEMA, "view-version": VERSION, "properties": {}, **more}
    return asker.ask("POST", asker.at(SPACE, then="/views"), body)


def table(asker: IcebergAsker, name: str = "ice") -> str:
    return asker.at(SPACE, then=f"/tables/{name}")


def view(asker: IcebergAsker, name: str = "totals") -> str:
    return asker.at(SPACE, then=f"/views/{name}")


def listed(asker: IcebergAsker, what: str) -> list[str]:
    answer = asker.ask("GET", asker.at(SPACE, then=f"/{what}")).raise_for_status()
    return [row["name"] for row in answer.json()["identifiers"]]


def location(asker: IcebergAsker, name: str) -> str:
    return str(asker.ask("GET", table(asker, name)).raise_for_status().json()["metadata"]["location"])


def test_each_right_opens_what_it_is_for(desk: Desk) -> None:
    me = desk.me
    desk.enter()
    assert listed(me, "tables") == listed(me, "views") == []
    assert refused(me.ask("GET", table(me))) == refused(me.ask("GET", view(me))) == FORBIDDEN
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE)
    assert listed(me, "tables") == ["ice"]
    assert me.ask("HEAD", table(me)).status_code == 204
    assert me.ask("HEAD", table(me, "other")).status_code == 403
    assert refused(me.ask("POST", table(me), SET)) == FORBIDDEN
    desk.grant("MODIFY_TABLE", SPACE, "ice", kind=TABLE)
    assert me.ask("POST", table(me), SET).status_code == 200
    change = {"identifier": {"namespace": [SPACE], "name": "other"}, **SET}
    both = {"table-changes": [{"identifier": {"namespace": [SPACE], "name": "ice"}, **SET}, change]}
    assert refused(me.ask("POST", "/transactions/commit", both)) == FORBIDDEN
    assert refused(me.ask("DELETE", table(me))) == FORBIDDEN
    assert refused(me.ask("POST", table(me), {**SET, "requirements": [{"type": "assert-create"}]})) == FORBIDDEN
    desk.grant("SELECT_VIEW", SPACE)
    assert listed(me, "views") == ["totals"]
    assert me.ask("GET", view(me)).status_code == 200
    assert refused(me.ask("POST", view(me), SET)) == refused(me.ask("DELETE", view(me))) == FORBIDDEN
    for privilege in ("CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, SPACE)
    assert new_table(me, "mine").status_code == new_view(me, "my_view").status_code == 200
    rename = {"source": {"namespace": [SPACE], "name": "mine"}, "destination": {"namespace": [SPACE], "name": "own"}}
    assert me.ask("POST", "/tables/rename", rename).status_code == 204
    assert me.ask("POST", view(me, "my_view"), SET).status_code == 200
    assert me.ask("DELETE", table(me, "own"), params={"purgeRequested": "true"}).status_code == 204
    assert me.ask("DELETE", view(me, "my_view")).status_code == 204


def test_what_is_at_hand_needs_its_right_each_time(desk: Desk) -> None:
    """A load that the event loop answers from memory, and a short list, ask as those on a thread do."""
    me = desk.me
    desk.enter()
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE)
    for _ in range(2):
        assert me.ask("GET", table(me)).status_code == 200
        desk.admin.ask("GET", table(desk.admin, "other")).raise_for_status()
        assert refused(me.ask("GET", table(me, "other"))) == FORBIDDEN
        assert listed(me, "tables") == ["ice"]
        assert listed(desk.admin, "tables") == ["ice", "other"]
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE, revoke=True)
    assert refused(me.ask("GET", table(me))) == FORBIDDEN
    assert me.ask("HEAD", table(me)).status_code == 403
    assert listed(me, "tables") == []


def test_a_denial_is_told_with_its_reason(desk: Desk) -> None:
    desk.enter()
    desk.grant("SELECT_TABLE", SPACE)
    desk.grant("SELECT_TABLE", SPACE, "ice", kind=TABLE, deny=True)
    answer = desk.me.ask("GET", table(desk.me))
    assert refused(answer) == FORBIDDEN
    assert "SELECT_TABLE is denied on the table ice" in answer.json()["error"]["message"]
    assert listed(desk.me, "tables") == ["other"]


@pytest.mark.parametrize("privileges", [(), ("SELECT_TABLE",), ("SELECT_VIEW",)], ids=lambda names: "+".join(names))
def test_what_is_hidden_and_what_is_missing_answer_alike(desk: Desk, privileges: tuple[str, ...]) -> None:
    me = desk.me
    desk.enter()
    for privilege in privileges:
        desk.grant(privilege, SPACE)

    def answers(path: Callable[[IcebergAsker, str], str], name: str) -> list[object]:
        calls = (("GET", None), ("HEAD", None), ("POST", SET), ("DELETE", None))
        found = (me.ask(method, path(me, name), body) for method, body in calls)
        return [(each.status_code, re.sub(rf"\b{name}\b", "…", each.text)) for each in found]

    hidden = {table: ["totals"], view: ["ice"]}
    if "SELECT_TABLE" not in privileges:
        hidden[table].append("ice")
    if "SELECT_VIEW" not in privileges:
        hidden[view].append("totals")
    for path, names in hidden.items():
        for name in names:
            assert answers(path, name) == answers(path, "zz"), f"{path.__name__} {name}"


def test_no_one_takes_files_of_another_table(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With the right to make tables and to change one: neither its location nor any of its files."""
    me = desk.me
    desk.enter()
    for privilege in ("CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, SPACE)
    for privilege in ("SELECT_TABLE", "MODIFY_TABLE"):
        desk.grant(privilege, SPACE, "ice", kind=TABLE)
    victim = desk.admin.ask("GET", table(desk.admin, "other")).json()
    place, pointer = victim["metadata"]["location"], victim["metadata-location"]
    outside = f"file://{tmp_path_factory.mktemp('outside')}/t"

    def move(location: str) -> httpx.Response:
        update = {"action": "set-location", "location": location}
        return me.ask("POST", table(me), {"requirements": [], "updates": [update]})

    for at, status in ((place, 400), (f"{place}/data", 400), (outside, 403)):
        made = creation(SPACE, "new", location=at)
        staged = {"requirements": list(made.requirements), "updates": list(made.updates)}
        answers = [
            new_table(me, "new", location=at),
            new_view(me, "new", location=at),
            me.ask("POST", table(me, "new"), staged),
            move(at),
        ]
        assert [answer.status_code for answer in answers] == [status] * 4, [answer.text for answer in answers]
    for path in ("/register", "/register-view"):
        answer = me.ask("POST", me.at(SPACE, then=path), {"name": "new", "metadata-location": pointer})
        assert answer.status_code == 400, answer.text
        assert victim["metadata"]["table-uuid"] not in answer.text
    delegation = {"X-Iceberg-Access-Delegation": "vended-credentials,remote-signing"}
    body = {"name": "new", "schema": SCHEMA, "stage-create": True, "location": place}
    answer = me.ask("POST", me.at(SPACE, then="/tables"), body, headers=delegation)
    assert refused(answer)[0] == 400, answer.text
    around = new_table(me, "new", location=place.rpartition("/")[0])
    assert around.status_code == 400
    assert place not in around.text
    own = location(me, "ice")
    for path, status in ((f"{place}/metadata/snap.avro", 403), (f"{own}/metadata/snap.avro", 200)):
        commit = snapshot(path, SPACE, "ice")
        answer = me.ask("POST", table(me), {"requirements": [], "updates": list(commit.updates)})
        assert answer.status_code == status, answer.text
    assert listed(desk.admin, "tables") == ["ice", "other"]
    assert desk.admin.ask("GET", table(desk.admin, "other")).json() == victim


@dataclass
class Repeated:
    """A request that was carried out with a key, and can be sent again."""

    asker: IcebergAsker
    method: str
    path: str
    body: Any = None

    def __post_init__(self) -> None:
        self.headers = {"Idempotency-Key": str(uuid.uuid4())}
        self.first = self.send()

    def send(self) -> httpx.Response:
        return self.asker.ask(self.method, self.path, self.body, headers=self.headers)


def test_a_repeated_request_needs_the_rights_of_the_first(desk: Desk) -> None:
    me = desk.me
    desk.enter()
    for privilege in ("CREATE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege)
    for privilege in ("SELECT_TABLE", "MODIFY_TABLE"):
        desk.grant(privilege, SPACE, "ice", kind=TABLE)
    tables, views = me.at(SPACE, then="/tables"), me.at(SPACE, then="/views")
    change = {"identifier": {"namespace": [SPACE], "name": "ice"}, **SET}

    def rename(old: str, new: str) -> dict[str, Any]:
        return {"source": {"namespace": [SPACE], "name": old}, "destination": {"namespace": [SPACE], "name": new}}

    view = {"name": "v", "schema": SCHEMA, "view-version": VERSION, "properties": {}}
    stale = {**SET, "requirements": [{"type": "assert-current-schema-id", "current-schema-id": 7}]}
    for name in ("t", "gone"):
        assert new_table(me, name).status_code == 200
    sent = [
        Repeated(me, "POST", "/namespaces", {"namespace": ["mine"]}),
        Repeated(me, "POST", me.at("mine", then="/properties"), {"removals": [], "updates": {"k": "v"}}),
        Repeated(me, "DELETE", me.at("mine")),
        Repeated(me, "POST", tables, {"name": "s", "schema": SCHEMA}),
        Repeated(me, "POST", f"{tables}/t", SET),
        Repeated(me, "POST", "/tables/rename", rename("t", "u")),
        Repeated(me, "POST", f"{tables}/u/unregister"),
        Repeated(me, "POST", table(me), SET),
        Repeated(me, "POST", table(me), stale),
        Repeated(me, "POST", "/transactions/commit", {"table-changes": [change]}),
        Repeated(me, "POST", views, view),
        Repeated(me, "POST", f"{views}/v", SET),
        Repeated(me, "POST", "/views/rename", rename("v", "w")),
        Repeated(me, "DELETE", f"{views}/w"),
    ]
    place = sent[6].first.json()["metadata-location"]
    body = {"name": "r", "metadata-location": place}
    sent += [
        Repeated(me, "POST", me.at(SPACE, then="/register"), body),
        Repeated(me, "DELETE", f"{tables}/gone"),
    ]
    before = [each.first for each in sent]
    assert [each.status_code for each in before if each is not sent[8].first and each.is_error] == []
    again = [each.send() for each in sent]
    assert [each.status_code for each in again] == [each.status_code for each in before]
    assert [each.content for each in again] == [each.content for each in before]
    # One right less: what rests on it alone is refused, the rest is not.
    desk.grant("MODIFY_TABLE", SPACE, "ice", kind=TABLE, revoke=True)
    assert [number for number, each in enumerate(sent) if each.send().status_code == 403] == [7, 8, 9]
    for privilege in ("USE_CATALOG", "USE_SCHEMA", "CREATE_SCHEMA", "CREATE_TABLE", "CREATE_VIEW"):
        desk.grant(privilege, revoke=True)
    for each in sent:
        assert refused(each.send()) == FORBIDDEN, each.path


# -- every sufficient set ------------------------------------------------------------------------

A, B = "a", "b"
FRESH = frozenset({"drop_table", "unregister_table", "drop_view"})  # they remove what they name
_NAME = {"namespace": [A], "name": "ice"}
_RENAME = {"source": _NAME, "destination": {"namespace": [B], "name": "ice"}}  # which is there
_NONE = {"name": "ice", "metadata-location": ""}  # filled in below: that of the table itself
# Bodies by operation. Each need not succeed: names of what is made are taken already.
BODIES: Mapping[str, Any] = {
    "create_namespace": {"namespace": [A, MISSING_PARENT, "n"]},
    "update_properties": {"updates": {"a": "b"}},
    "create_table": {"name": "ice", "schema": SCHEMA},
    "commit_table": SET,
    "sign_request": {"region": "r", "uri": "https://h/k", "method": "GET", "headers": {}},
    "report_metrics": {
        "report-type": "commit-report",
        "table-name": "ice",
        "snapshot-id": 1,
        "sequence-number": 1,
        "operation": "append",
        "metrics": {},
    },
    "register_table": _NONE,
    "register_view": _NONE,
    "rename_table": _RENAME,
    "commit_transaction": {"table-changes": [{"identifier": _NAME, **SET}]},
    "create_view": {"name": "totals", "schema": SCHEMA, "view-version": VERSION, "properties": {}},
    "replace_view": SET,
    "rename_view": {
        "source": {"namespace": [A], "name": "totals"},
        "destination": {"namespace": [B], "name": "totals"},
    },
}
# The operation of the data that a route is, where their names differ; a rule where there is none.
_ALIKE: Mapping[str, str] = {
    "load_namespace": "describe_namespace",
    "update_properties": "drop_namespace",
    "commit_transaction": "commit_iceberg_table",
    "table_exists": "iceberg_table_exists",
    "view_exists": "iceberg_view_exists",
    "report_metrics": "iceberg_table_exists",
    "load_credentials": "load_iceberg_table",
    "unregister_table": "drop_iceberg_table",
    "list_tables": "list_iceberg_tables",
    "list_views": "list_iceberg_views",
}
SERVED = {route.operation: route for route in ROUTES if route.operation in HANDLERS}


def demands_of(operation: str) -> tuple[Demand, ...]:
    if operation == "sign_request":  # of a table that is there; what is written there is asked besides
        return (Demand(TARGET, BY_NAME["read table"]),)
    verb, _, noun = operation.partition("_")
    name = _ALIKE.get(operation) or (operation if "namespace" in operation else f"{verb}_iceberg_{noun}")
    return {**OPERATIONS, **OWN}[name].demands


@dataclass(frozen=True)
class Office:
    """A catalog whose namespaces `a` and `b` have an Iceberg table and a view each, and the user `me`."""

    admin: IcebergAsker
    me: IcebergAsker
    rights: GivenRights
    pointers: Mapping[str, str]  # of the table and of the view, in storage

    def ask(self, operation: str, name: str, *, parent_exists: bool = False) -> httpx.Response:
        route, body = SERVED[operation], BODIES.get(operation)
        path = route.path.format(prefix=self.me.catalog, namespace=A, table=name, view=name)
        if body is _NONE:
            kind = operation.partition("_")[2]
            body = {"name": {"table": "ice", "view": "totals"}[kind], "metadata-location": self.pointers[kind]}
        if parent_exists:
            body = {"namespace": [A, "n"]}
        params = {"parent": A} if operation == "list_namespaces" else None
        return self.me.client.request(route.method, f"/iceberg{path}", json=body, params=params)

    def asked_of(self, name: str, demand: Demand) -> Securable:
        catalog, rule = self.me.catalog, demand.rule.name
        if demand.of == TARGET:
            kind = {"table": TABLE, "view": VIEW}.get(rule.split()[-1])
            return place(catalog, A, name, kind=kind) if kind else place(catalog, A)
        above = {CATALOG: (), PARENT: (A, MISSING_PARENT) if rule == "create schema" else (A,), NEW_PARENT: (B,)}
        return place(catalog, *above[demand.of])


@pytest.fixture(scope="module")
def office(server: Lanceway) -> Iterator[Office]:
    store = lake_of(server)
    catalog, token = new_catalog(store, server), new_token(store, "me")
    rights = GivenRights(store)
    with asking(server, server.token, catalog) as admin, asking(server, token, catalog) as me:
        found = {}
        for space in (A, B):
            admin.make(space)
            made = {kind: fresh(admin, space, kind, name) for kind, name in (("table", "ice"), ("view", "totals"))}
            found[space] = {kind: answer.json()["metadata-location"] for kind, answer in made.items()}
        yield Office(admin, me, rights, found[A])
    rights.give(())
    store.close()


def fresh(admin: IcebergAsker, space: str, kind: str, name: str) -> httpx.Response:
    body = BODIES[f"create_{kind}"]
    return admin.ask("POST", admin.at(space, then=f"/{kind}s"), {**body, "name": name}).raise_for_status()


def test_every_route_says_what_it_needs() -> None:
    assert all(demands_of(operation) for operation in SERVED)


@pytest.mark.parametrize("operation", sorted(SERVED))
def test_every_sufficient_set_is_enough_and_no_less_is(office: Office, operation: str) -> None:
    demands, kind = demands_of(operation), VIEW if "view" in operation else TABLE
    for demand in demands:
        for number, needs in enumerate(demand.rule.sufficient):
            name = "totals" if kind == VIEW else "ice"
            if operation in FRESH:
                name = f"{operation}{number}"
                fresh(office.admin, A, kind, name)
            for attempt in attempts(demands, partial(office.asked_of, name), demand, needs):
                office.rights.give(attempt.rights)
                answer = office.ask(operation, name, parent_exists=attempt.parent_exists)
                if operation in FRESH and not attempt.without:
                    office.rights.forget(place(office.me.catalog, A, name, kind=kind))
                said = f"{demand.rule.name} by {[str(need) for need in needs]}: {answer.status_code} {answer.text}"
                if not attempt.without:
                    assert answer.status_code not in (401, 403, 500), said
                    if operation == "create_namespace":
                        _remove_made(office.admin)
                    continue
                assert answer.status_code == 403, f"without {attempt.without}, {said}"
                if SERVED[operation].method != "HEAD":
                    assert refused(answer) == FORBIDDEN
                    check_reason(answer.json()["error"]["message"], demands, attempt.rights)


def _remove_made(admin: IcebergAsker) -> None:
    for names in ((A, MISSING_PARENT, "n"), (A, MISSING_PARENT)):
        admin.ask("DELETE", admin.at(*names)).raise_for_status()
