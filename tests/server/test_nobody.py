"""Every route of the server, asked by a user who may do nothing: it is told nothing of what is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_plus

import httpx
import pytest
from sqlalchemy import Connection

from lanceway.access import tokens
from lanceway.access.privileges import SELECT_TABLE, USE_CATALOG
from lanceway.identifiers import Identifier
from lanceway.lake import users
from lanceway.lake.access import grants, groups, owners, roles
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import GROUP
from lanceway.server.api.endpoints import BASE
from lanceway.server.api.routes import ENDPOINTS
from lanceway.server.home import METALAKE
from lanceway.server.iceberg.dialect import HANDLERS as ICEBERG_HANDLERS
from lanceway.server.lancedb.routes import ADD_NULL_COLUMNS, ADD_PART, LanceDbRoute
from lanceway.server.lancedb.routes import ROUTES as LANCEDB_ROUTES
from lanceway.wire.gravitino import ROUTES as GRAVITINO_ROUTES
from lanceway.wire.iceberg import ROUTES as ICEBERG_ROUTES
from lanceway.wire.iceberg import IcebergRoute
from lanceway.wire.lance import ARROW_STREAM, BY_OPERATION, ROUTES, Body, path
from tests.server.api.test_runs import Runner
from tests.server.lance.test_rights import REQUESTS, Asked
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run

MOUNT, CATALOG, SPACE, INNER, TABLE = "sesame_mount", "sesame_catalog", "sesame_space", "sesame_inner", "sesame_table"
ICE, ICE_VIEW = "sesame_ice", "sesame_totals"
ROLE, GROUP_NAME, USER, PIPELINE, TAG = "sesame-role", "sesame-group", "sesame-user", "sesame-pipeline", "sesame-tag"
VALUE, COLUMN, HOLDER, HELD = "sesame-value", "sesame_column", "sesame-holder", "sesame-held"
SECRETS = (
    *(MOUNT, CATALOG, SPACE, INNER, TABLE, ICE, ICE_VIEW, ROLE, GROUP_NAME, USER, PIPELINE, TAG),
    *(VALUE, COLUMN, HOLDER, HELD),
    *("warehouse", "lake.db"),  # where things are
)


@dataclass(frozen=True)
class Asker:
    """The user who may do nothing, on a server that has some of everything."""

    client: httpx.Client
    run: str
    job: str
    token: str  # the prefix of another's

    def ask(self, method: str, url: str, **options: Any) -> httpx.Response:
        """Send a request, and look for names in its answer that the request did not have."""
        answer = self.client.request(method, url, **options)
        sent = unquote_plus(str(answer.request.url)) + answer.request.content.decode(errors="replace")
        sent += answer.request.headers.get("x-lancedb-database", "")
        told = answer.text + json.dumps(dict(answer.headers), ensure_ascii=False)
        leaked = [secret for secret in SECRETS if secret in told and secret not in sent]
        assert not leaked, f"{method} {url} tells {leaked}: {answer.status_code} {answer.text}"
        return answer


@pytest.fixture(scope="module")
def nobody(whole_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("mounted")
    server = lanceway_server.start(
        whole_run,
        name="nobody",
        settings=f'[catalogs.{MOUNT}]\ntype = "dir"\npath = "{folder}"\nlayout = "manifest"\n',
    )
    store = open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)
    with server.client() as admin:

        def made(operation: str, *id_: str, **options: Any) -> Any:
            route = BY_OPERATION[operation]
            answer = admin.request(route.method, f"/lance{path(route, id_)}", **options)
            assert answer.is_success, answer.text
            return answer.json()

        made("create_namespace", CATALOG, json={"properties": {"note": VALUE}})
        content = stream(table(1).append_column(COLUMN, [[VALUE]]))
        for catalog in (CATALOG, MOUNT):
            for space in ([SPACE], [SPACE, INNER]):
                made("create_namespace", catalog, *space, json={"properties": {"note": VALUE}})
            for inside in ([SPACE], [SPACE, INNER]):
                options: Any = {"content": content, "headers": {"content-type": ARROW_STREAM}}
                made("create_table", catalog, *inside, TABLE, **options)
        for kind, body in (
            ("tables", {"name": ICE, "schema": _SCHEMA, "properties": {"note": VALUE}}),
            ("views", {"name": ICE_VIEW, "schema": _SCHEMA, "view-version": _VERSION, "properties": {"note": VALUE}}),
        ):
            admin.post(f"/iceberg/v1/{CATALOG}/namespaces/{SPACE}/{kind}", json=body).raise_for_status()
        made("create_table_tag", CATALOG, SPACE, TABLE, json={"tag": TAG, "version": 1})
        created = {"new_columns": [{"name": "sesame_more", "virtual_column": None, "expression": "id"}]}
        made("alter_table_add_columns", CATALOG, SPACE, TABLE, json=created)
    pipeline = Runner(server, server.token, PIPELINE)
    key = pipeline.run(table=TABLE)
    assert Runner(server, server.token, HELD).hold(by=HOLDER).is_success
    store.transact(_give_rights)
    prefix = server.token.rpartition("_")[0]
    secret = tokens.create(store, "nobody", by="admin").secret
    with server.client(headers={"x-api-key": secret}) as client:
        yield Asker(client, key, "1", prefix)
    store.close()
    server.stop()


def _give_rights(connection: Connection) -> None:
    space = Securable(METALAKE, CATALOG, Identifier([SPACE]))
    users.create(connection, USER, by="admin")
    groups.create(connection, GROUP_NAME, by="admin")
    groups.add(connection, GROUP_NAME, USER, by="admin")
    roles.create(connection, METALAKE, ROLE, by="admin", comment=VALUE)
    roles.give(connection, METALAKE, ROLE, USER, by="admin")
    roles.give(connection, METALAKE, ROLE, GROUP_NAME, GROUP, by="admin")
    owners.change_owner(connection, space, Owner(USER), by="admin")
    owners.change_owner(connection, Securable(METALAKE, CATALOG), Owner(GROUP_NAME, GROUP), by="admin")
    changes = [GrantChange(ROLE, space, SELECT_TABLE), GrantChange(ROLE, Securable(METALAKE, CATALOG), USE_CATALOG)]
    grants.apply(connection, METALAKE, changes, by="admin")


# -- Lance REST ----------------------------------------------------------------------------------

NAMES = {"lake": "", "a": SPACE, "b": INNER, "t": TABLE, "source": TABLE, "view": TABLE}


def moved(value: Any, catalog: str) -> Any:
    """A request of the tests of rights, about objects that are there in this catalog."""
    if isinstance(value, dict):
        return {key: moved(each, catalog) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        if value and value[0] == "lake":
            return [catalog if name == "lake" else NAMES.get(name, name) for name in value]
        return [moved(each, catalog) for each in value]
    return value


@pytest.mark.parametrize("catalog", [CATALOG, MOUNT])
def test_lance_rest(nobody: Asker, catalog: str) -> None:
    shown = {"list_all_tables": ("tables", Asked(None))}
    assert {route.operation for route in ROUTES} == {*REQUESTS, *shown}, "a route is not asked for here"
    for route in ROUTES:
        asked = shown[route.operation][1] if route.operation in shown else REQUESTS[route.operation]
        id_ = moved(asked.id, catalog) if asked.id is not None else None
        options: dict[str, Any] = {"params": dict(asked.query)}
        if route.body is Body.ARROW:
            options |= {"content": stream(table(1)), "headers": {"content-type": ARROW_STREAM}}
        elif route.body is not Body.NONE:
            options["json"] = moved(asked.body, catalog)
            if "source_query" in options["json"]:
                options["json"]["source_query"] = json.dumps({"source": [catalog, SPACE, TABLE]})
        answer = nobody.ask(route.method, f"/lance{path(route, id_, index_name='none')}", **options)
        if route.operation in shown:
            assert answer.json()[shown[route.operation][0]] == []
        else:
            assert (answer.status_code, answer.json()["code"]) == (403, 15), f"{route.operation}: {answer.text}"


def test_the_root(nobody: Asker) -> None:
    assert nobody.ask("GET", "/lance/v1/namespace/$/list").json()["namespaces"] == []
    assert nobody.ask("GET", "/lance/v1/namespace/$/table/list").json()["tables"] == []
    for verb in ("describe", "exists"):
        assert nobody.ask("POST", f"/lance/v1/namespace/$/{verb}", json={}).status_code in (200, 403)
    for verb in ("create", "drop"):
        answer = nobody.ask("POST", f"/lance/v1/namespace/$/{verb}", json={"mode": "overwrite"})
        assert answer.status_code in (400, 403, 409)


def test_what_is_there_and_what_is_not_read_alike(nobody: Asker) -> None:
    for verb in ("describe", "count_rows", "drop", "version/list", "stats"):
        answers = []
        for id_ in ([CATALOG, SPACE, TABLE], ["absent0", "absent1", "absent2"], [MOUNT, SPACE, TABLE]):
            answer = nobody.ask("POST", f"/lance/v1/table/{quote('$'.join(id_))}/{verb}", json={})
            text = answer.json()["error"]
            for number, name in enumerate(id_):
                text = text.replace(name, f"<{number}>")
            answers.append((answer.status_code, text))
        assert len(set(answers)) == 1, answers


# -- LanceDB's client ----------------------------------------------------------------------------


def marked(catalog: str) -> dict[str, str]:
    return {"x-lancedb-database": catalog}


@pytest.mark.parametrize("catalog", [CATALOG, MOUNT])
def test_lance_rest_in_the_form_of_lancedb(nobody: Asker, catalog: str) -> None:
    for route in ROUTES:
        asked = REQUESTS.get(route.operation, Asked(None))
        id_ = moved(asked.id, catalog)[1:] if asked.id is not None else None
        options: dict[str, Any] = {"params": dict(asked.query)}
        headers = marked(catalog)
        if route.body is Body.ARROW:
            options["content"], headers["content-type"] = stream(table(1)), ARROW_STREAM
        elif route.body is not Body.NONE:
            options["json"] = moved(asked.body, catalog)
            if "source_query" in options["json"]:
                options["json"]["source_query"] = json.dumps({"source": [catalog, SPACE, TABLE]})
        answer = nobody.ask(route.method, f"/lance{path(route, id_, index_name='none')}", headers=headers, **options)
        assert (answer.status_code, answer.json()["code"]) == (403, 15), f"{route.operation}: {answer.text}"


JOB_ANSWERS = {"list_jobs": 200, "describe_job": 404, "cancel_job": 404}
LANCEDB_BODIES: Mapping[str, dict[str, Any]] = {
    "fetch_blobs": {"column": COLUMN, "row_ids": [0]},
    "describe_job": {"job_id": "job-1"},
    "cancel_job": {"job_id": "job-1"},
}


LANCEDB_NAMES = {"id": f"{SPACE}${TABLE}", "column": COLUMN, "row": "0", "index_name": "none"}


def ask_lancedb(nobody: Asker, route: LanceDbRoute, catalog: str, *names: str) -> httpx.Response:
    """One request for what LanceDB's client asks for besides Lance REST, about a table in a catalog."""
    url = "/lance" + route.path.format(**{**LANCEDB_NAMES, "id": "$".join(names)})
    headers: dict[str, str] = marked(catalog)
    options: dict[str, Any] = {}
    if route in (ADD_PART, ADD_NULL_COLUMNS):
        headers["content-type"] = ARROW_STREAM
        options["content"] = stream(table(1))
    elif route.method == "POST":
        body = LANCEDB_BODIES.get(route.operation, {})
        source = f"db://{'/'.join([catalog, *names])}"
        options["json"] = {"source_location": source} if route.operation == "clone_table" else body
    query = {"upload_id": "an upload", "upload_part_id": "a"} if route is ADD_PART else {}
    return nobody.ask(route.method, url, headers=headers, params=query, **options)


@pytest.mark.parametrize("catalog", [CATALOG, MOUNT])
def test_what_lancedb_asks_besides(nobody: Asker, catalog: str) -> None:
    for route in (*LANCEDB_ROUTES, ADD_PART, ADD_NULL_COLUMNS):
        answer = ask_lancedb(nobody, route, catalog, SPACE, TABLE)
        expected = 406 if route.refusal else JOB_ANSWERS.get(route.operation, 403)
        assert answer.status_code == expected, f"{route.operation}: {answer.text}"
        if route.operation == "list_jobs":
            assert answer.json() == {"jobs": []}


def test_what_lancedb_is_told_of_what_is_there_and_what_is_not_reads_alike(nobody: Asker) -> None:
    for route in (*LANCEDB_ROUTES, ADD_PART, ADD_NULL_COLUMNS):
        answers = set()
        for names in ((CATALOG, SPACE, TABLE), ("absent0", "absent1", "absent2"), (MOUNT, SPACE, TABLE)):
            answer = ask_lancedb(nobody, route, *names)
            text = answer.text if answer.is_success else answer.json()["error"]
            for number, name in enumerate(names):
                text = text.replace(name, f"<{number}>")
            answers.add((answer.status_code, text))
        assert len(answers) == 1, answers


# -- /lanceway/v1 --------------------------------------------------------------------------------

DENIED, MISSING = (403,), (404,)
LEASE = {"pipeline": HELD, "key": "k" * 40, "seconds": 60}
CHANGE = {"role": ROLE, "object": f"{CATALOG}${SPACE}", "privilege": SELECT_TABLE}


@dataclass(frozen=True)
class Told:
    """A request of an operation, by its parts, and the answers that tell nothing: statuses, or a whole body."""

    answer: tuple[int, ...] | Mapping[str, Any]
    parts: Mapping[str, str] | None = None
    query: Mapping[str, str] | None = None
    body: Any = None


def _page(items: str) -> dict[str, Any]:
    return {items: [], "page_token": None}


OBJECT = {"object": f"{CATALOG}${SPACE}"}
TOLD: Mapping[str, tuple[Told, ...]] = {
    "who_am_i": (Told({"name": "nobody", "groups": [], "admin": False, "anonymous": False}),),
    "list_tokens": (Told((200,)), Told(DENIED, query={"user": USER})),
    "create_token": (Told((201,), body={}), Told(DENIED, body={"user": USER})),
    "revoke_token": (Told(MISSING, {"prefix": "another's"}),),
    "list_users": (Told(DENIED),),
    "create_user": (Told(DENIED, body={"name": USER}), Told(DENIED, body={"name": "new", "admin": True})),
    "get_user": (Told(DENIED, {"name": USER}), Told(DENIED, {"name": "none"})),
    **{
        f"{verb}_user": (Told(DENIED, {"name": USER}), Told(DENIED, {"name": "none"}))
        for verb in ("disable", "enable", "promote", "demote", "delete")
    },
    "rename_user": (Told(DENIED, {"name": USER}, body={"name": "new"}),),
    "list_groups": (Told(_page("groups")),),
    "create_group": (Told(DENIED, body={"name": GROUP_NAME}),),
    "get_group": (Told(DENIED, {"name": GROUP_NAME}),),
    "add_member": (Told(DENIED, {"name": GROUP_NAME}, body={"user": "nobody"}),),
    "remove_member": (Told(DENIED, {"name": GROUP_NAME}, body={"user": USER}),),
    "delete_group": (Told(DENIED, {"name": GROUP_NAME}), Told(DENIED, {"name": "none"})),
    "list_roles": (Told(_page("roles")),),
    "create_role": (Told(DENIED, body={"name": ROLE}),),
    "get_role": (Told(DENIED, {"name": ROLE}), Told(DENIED, {"name": "none"})),
    "give_role": (Told(DENIED, {"name": ROLE}, body={"user": "nobody"}),),
    "take_role": (Told(DENIED, {"name": ROLE}, body={"user": USER}),),
    "delete_role": (Told(DENIED, {"name": ROLE}),),
    "list_grants": (
        Told(DENIED, query={"role": ROLE}),
        Told(MISSING, query=OBJECT),
        Told(DENIED, query={"object": "metalake"}),
        Told(DENIED, query={"dangling": "true"}),
    ),
    "change_grants": (
        Told(MISSING, body={"changes": [CHANGE]}),
        Told(DENIED, body={"changes": [{**CHANGE, "object": "metalake"}]}),
    ),
    "purge_dangling_grants": (Told(DENIED),),
    "check_storage": tuple(Told(DENIED, body=body) for body in ({}, {"catalog": MOUNT}, {"catalog": "none"})),
    "clone_table": tuple(
        Told(DENIED, body={"source": [catalog, SPACE, TABLE], "target": [CATALOG, SPACE, "new"]})
        for catalog in (CATALOG, MOUNT, "none")
    ),
    "list_grantable": (Told(MISSING, query=OBJECT), Told({"privileges": []}, query={"object": "metalake"})),
    "try_grant": (Told(MISSING, body=CHANGE), Told(DENIED, body={**CHANGE, "object": "metalake"})),
    "get_owner": (Told(MISSING, query=OBJECT),),
    "change_owner": (
        Told(MISSING, body={**OBJECT, "user": "nobody"}),
        Told(DENIED, body={"object": "metalake", "user": "nobody"}),
    ),
    "get_access": (Told({"enabled": True}),),
    "get_own_rights": (
        Told(
            {
                "user": "nobody",
                "is_admin": False,
                "enabled": True,
                "groups": [],
                "roles": [],
                "grants": [],
                "truncated": False,
            }
        ),
    ),
    "explain_access": (
        Told((200,), query={**OBJECT, "action": "load schema"}),
        Told(DENIED, query={**OBJECT, "action": "load schema", "user": USER}),
    ),
    "get_place_rights": (Told(MISSING, query=OBJECT), Told(DENIED, query={"object": "metalake"})),
    "get_user_rights": (Told(DENIED, query={"name": USER}), Told(DENIED, query={"name": "none"})),
    "list_privileges": (Told((200,)),),
    "list_actions": (Told((200,)),),
    "enable_access": (Told(DENIED, body={"confirm": True}), Told(DENIED, body={})),
    "disable_access": (Told(DENIED),),
    "list_events": (Told((200,)),),  # nothing is in them, see below
    "list_audit": (Told(DENIED, query={"user": "admin"}),),  # one's own are looked at below
    "list_catalogs": (Told(_page("catalogs")),),
    "create_catalog": tuple(
        Told(DENIED, body={"name": name, "type": type_, "settings": {"path": "/etc"} if type_ == "dir" else {}})
        for name in (CATALOG, MOUNT, "new")
        for type_ in ("lake", "dir")
    ),
    "test_new_catalog": (Told(DENIED, body={"name": MOUNT, "type": "dir", "settings": {"path": "/etc"}}),),
    **{
        operation: tuple(Told(DENIED, {"name": name}, body=body) for name in (CATALOG, MOUNT, "none"))
        for operation, body in {
            "get_catalog": None,
            "alter_catalog": {"comment": "mine", "name": "new"},
            "drop_catalog": None,
            "enable_catalog": None,
            "disable_catalog": None,
            "test_catalog": None,
            "enable_nested": {"dry_run": True},
        }.items()
    },
    "list_schemas": (
        Told({"schemas": []}),
        Told(DENIED, query={"parent": CATALOG}),
        Told(DENIED, query={"parent": f"{MOUNT}.{SPACE}"}),
        Told(DENIED, query={"parent": "none"}),
    ),
    **{
        f"{verb}_schema": tuple(
            Told(DENIED, body={"name": f"{catalog}.{SPACE}:new"}) for catalog in (CATALOG, MOUNT, "none")
        )
        for verb in ("create", "alter", "drop")
    },
    "list_recent_tables": (Told({"tables": []}), Told({"tables": []}, query={"limit": "50"})),
    "list_history": tuple(
        Told(DENIED, query={"table": f"{catalog}${SPACE}${name}"})
        for catalog in (CATALOG, MOUNT, "none")
        for name in (TABLE, "none")
    ),
    "take_lease": (Told(DENIED, body=LEASE),),
    "renew_lease": (Told(DENIED, body=LEASE),),
    "release_lease": (Told({"held": False}, body=LEASE),),
    "record_run": (
        Told(
            DENIED,
            {"key": "a run"},
            body={"pipeline": PIPELINE, "lease": "k" * 40, "record": {"record": "end", "state": "done"}},
        ),
    ),
    "list_pipelines": (Told(_page("pipelines")),),
    "get_pipeline": tuple(Told(DENIED, {"name": name}) for name in (PIPELINE, HELD, "none")),
    "list_runs": (Told(_page("runs")), Told(_page("runs"), query={"pipeline": PIPELINE})),
    **{
        name: (Told(MISSING, {"key": "a run"}, query={"source": "in"}),)
        for name in ("get_run", "get_had", "get_last_steps", "get_files", "get_changed")
    },
    "cancel_run": (Told(MISSING, {"key": "a run"}),),
    "get_lineage": (
        Told({"locations": [], "upstream": [], "downstream": []}, query={"table": f"{PIPELINE}.{TABLE}"}),
        Told((200,), query={"location": f"/{PIPELINE}.{TABLE}"}),
    ),
    "list_jobs": (Told(_page("jobs")), Told(DENIED, query={"all": "true"})),
    "describe_job": (Told(MISSING, {"id": "a job"}),),
    "cancel_job": (Told(MISSING, {"id": "a job"}),),
}


def test_every_operation_has_an_entry() -> None:
    assert {endpoint.handler.__name__ for endpoint in ENDPOINTS} == set(TOLD)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda endpoint: str(endpoint.handler.__name__))
def test_lanceway_rest(nobody: Asker, endpoint: Any) -> None:
    known = {"a run": nobody.run, "a job": nobody.job, "another's": nobody.token}
    for told in TOLD[endpoint.handler.__name__]:
        url = endpoint.path.replace(":path}", "}")
        for name, value in (told.parts or {}).items():
            url = url.replace(f"{{{name}}}", quote(known.get(value, value), safe=""))
        answer = nobody.ask(endpoint.method, f"{BASE}{url}", params=told.query, json=told.body)
        if isinstance(told.answer, Mapping):
            assert answer.is_success, answer.text
            assert answer.json() == told.answer
        else:
            assert answer.status_code in told.answer, answer.text


# -- Gravitino REST ------------------------------------------------------------------------------

_NEW: Mapping[str, Any] = {"name": "new"}
_USE = {"privileges": [{"name": "use_schema", "condition": "allow"}]}
_OBJECT = {"type": "schema", "object": f"{CATALOG}.{SPACE}"}
_UPDATE = {"updates": [{"@type": "setProperty", "property": "a", "value": "b"}]}
# Answers of Gravitino REST: names in the path beside those that are there, the body, and what is answered.
GRAVITINO: Mapping[str, tuple[Told, ...]] = {
    "get_version": (Told((200,)),),
    "list_metalakes": (Told((200,)),),
    "load_metalake": (Told((200,)),),
    "list_catalogs": (Told({"identifiers": []}), Told({"catalogs": []}, query={"details": "true"})),
    "create_catalog": (Told(DENIED, body=_NEW), Told(DENIED, body={"name": CATALOG})),
    "test_connection": (Told(DENIED, body=_NEW),),
    "test_catalog": (Told(DENIED), Told(DENIED, {"catalog": "none"})),
    "load_catalog": (Told(DENIED), Told(DENIED, {"catalog": MOUNT}), Told(DENIED, {"catalog": "none"})),
    "alter_catalog": (Told(DENIED, body=_UPDATE), Told(DENIED, {"catalog": MOUNT}, body=_UPDATE)),
    "set_catalog": (Told(DENIED, body={"inUse": False}),),
    "drop_catalog": (Told(DENIED), Told(DENIED, {"catalog": "none"})),
    "list_schemas": (
        Told(DENIED),
        Told(DENIED, query={"parentSchema": SPACE}),
        Told(DENIED, {"catalog": MOUNT}),
        Told(DENIED, {"catalog": "none"}),
    ),
    "create_schema": tuple(
        Told(DENIED, {"catalog": catalog}, body={"name": f"{SPACE}:new"}) for catalog in (CATALOG, MOUNT, "none")
    ),
    **{
        f"{verb}_schema": tuple(
            Told(DENIED, {"catalog": catalog, "schema": schema}, body=_UPDATE if verb == "alter" else None)
            for catalog in (CATALOG, MOUNT, "none")
            for schema in (SPACE, "none")
        )
        for verb in ("load", "alter", "drop")
    },
    "list_tables": tuple(Told(DENIED, {"catalog": catalog}) for catalog in (CATALOG, MOUNT, "none")),
    "create_table": tuple(
        Told(DENIED, {"catalog": catalog}, body={**_NEW, "columns": [{"name": "a", "type": "long"}]})
        for catalog in (CATALOG, MOUNT, "none")
    ),
    **{
        f"{verb}_table": tuple(
            Told(DENIED, {"catalog": catalog, "table": table}, body=_UPDATE if verb == "alter" else None)
            for catalog in (CATALOG, MOUNT, "none")
            for table in (TABLE, "none")
        )
        for verb in ("load", "alter", "drop")
    },
    "list_users": (Told(DENIED), Told(DENIED, query={"details": "true"})),
    "add_user": (Told(DENIED, body=_NEW), Told(DENIED, body={"name": USER})),
    "get_user": (Told(DENIED), Told(DENIED, {"user": "none"})),
    "remove_user": (Told(DENIED), Told(DENIED, {"user": "none"})),
    "list_groups": (Told({"names": []}), Told({"groups": []}, query={"details": "true"})),
    "add_group": (Told(DENIED, body=_NEW),),
    "get_group": (Told(DENIED), Told(DENIED, {"group": "none"})),
    "remove_group": (Told(DENIED), Told(DENIED, {"group": "none"})),
    "list_roles": (Told({"names": []}),),
    "create_role": (Told(DENIED, body=_NEW), Told(DENIED, body={"name": ROLE})),
    "get_role": (Told(DENIED), Told(DENIED, {"role": "none"})),
    "delete_role": (Told(DENIED), Told(DENIED, {"role": "none"})),
    **{
        f"{verb}_roles_{word}_{kind}": (
            Told(DENIED, body={"roleNames": [ROLE]}),
            Told(DENIED, {kind: "none"}, body={"roleNames": ["none"]}),
        )
        for verb, word in (("grant", "to"), ("revoke", "from"))
        for kind in ("user", "group")
    },
    **{
        f"{verb}_privileges": (
            Told(MISSING, _OBJECT, body=_USE),
            Told(MISSING, {**_OBJECT, "object": f"{CATALOG}.none"}, body=_USE),
            Told(DENIED, {"type": "metalake", "object": "lanceway"}, body=_USE),
        )
        for verb in ("grant", "revoke")
    },
    "override_privileges": (Told(DENIED, body={"overrides": []}),),
    "get_owner": (Told(MISSING, _OBJECT), Told(MISSING, {**_OBJECT, "object": "none.none"})),
    "set_owner": (
        Told(MISSING, _OBJECT, body={"name": "nobody", "type": "USER"}),
        Told(DENIED, {"type": "metalake", "object": "lanceway"}, body={"name": "nobody", "type": "USER"}),
    ),
    "list_object_roles": (
        Told(MISSING, _OBJECT),
        Told(DENIED, {"type": "metalake", "object": "lanceway"}),
    ),
}
THERE = {
    "metalake": METALAKE,
    "catalog": CATALOG,
    "schema": f"{SPACE}:{INNER}",
    "table": TABLE,
    "user": USER,
    "group": GROUP_NAME,
    "role": ROLE,
}


@pytest.mark.parametrize("route", GRAVITINO_ROUTES, ids=lambda route: str(route.operation))
def test_gravitino_rest(nobody: Asker, route: Any) -> None:
    assert {each.operation for each in GRAVITINO_ROUTES} == set(GRAVITINO), "a route is not asked for here"
    for told in GRAVITINO[route.operation]:
        names = {name: quote(value, safe="") for name, value in {**THERE, **(told.parts or {})}.items()}
        url = f"/api{route.path}".format(**names)
        answer = nobody.ask(route.method, url, params=told.query, json=told.body)
        if isinstance(told.answer, Mapping):
            assert answer.json() == {"code": 0, **told.answer}
        else:
            assert answer.status_code in told.answer, f"{url}: {answer.text}"
        if answer.status_code == 403:
            assert answer.json()["code"] == 1008


# -- Iceberg REST --------------------------------------------------------------------------------

_COLUMN = {"id": 1, "name": "a", "required": False, "type": "long"}
_SCHEMA = {"type": "struct", "schema-id": 0, "fields": [_COLUMN]}
_COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
_VERSION = {
    "version-id": 1,
    "timestamp-ms": 1,
    "schema-id": 0,
    "summary": {},
    "default-namespace": [],
    "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
}
_FILE = {"metadata-location": "file:///none/00000-a.metadata.json"}
# Bodies of Iceberg REST by operation. Whatever is asked for, in whichever catalog, is denied.
ICEBERG: Mapping[str, Any] = {
    "list_namespaces": None,
    "create_namespace": {"namespace": [SPACE, "new"]},
    "load_namespace": None,
    "namespace_exists": None,
    "drop_namespace": None,
    "update_properties": {"updates": {"a": "b"}},
    "list_tables": None,
    "create_table": {**_NEW, "schema": _SCHEMA},
    "load_table": None,
    "table_exists": None,
    "commit_table": _COMMIT,
    "drop_table": None,
    "unregister_table": None,
    "load_credentials": None,
    "sign_request": {"region": "r", "uri": "https://h/k", "method": "GET", "headers": {}},
    "report_metrics": {
        "report-type": "commit-report",
        "table-name": "t",
        "snapshot-id": 1,
        "sequence-number": 1,
        "operation": "append",
        "metrics": {},
    },
    "register_table": {**_NEW, **_FILE},
    "rename_table": {
        "source": {"namespace": [SPACE], "name": TABLE},
        "destination": {"namespace": [SPACE], "name": "new"},
    },
    "commit_transaction": {"table-changes": [{**_COMMIT, "identifier": {"namespace": [SPACE], "name": TABLE}}]},
    "list_views": None,
    "create_view": {**_NEW, "schema": _SCHEMA, "view-version": _VERSION, "properties": {}},
    "load_view": None,
    "view_exists": None,
    "replace_view": _COMMIT,
    "drop_view": None,
    "register_view": {**_NEW, **_FILE},
    "rename_view": {
        "source": {"namespace": [SPACE], "name": TABLE},
        "destination": {"namespace": [SPACE], "name": "new"},
    },
}
_ICEBERG_SERVED = [route for route in ICEBERG_ROUTES if route.operation in ICEBERG_HANDLERS]


@pytest.mark.parametrize("route", _ICEBERG_SERVED, ids=lambda route: str(route.operation))
def test_iceberg_rest(nobody: Asker, route: IcebergRoute) -> None:
    assert {each.operation for each in _ICEBERG_SERVED} <= set(ICEBERG), "a route is not asked for here"
    for prefix in (CATALOG, MOUNT, "none"):
        places = ((f"{SPACE}%1F{INNER}", TABLE), (SPACE, ICE), (SPACE, ICE_VIEW), (SPACE, "none"), ("none", "none"))
        for namespace, name in places:
            url = f"/iceberg{route.path}".format(prefix=prefix, namespace=namespace, table=name, view=name)
            answer = nobody.ask(route.method, url, json=ICEBERG[route.operation])
            assert answer.status_code == 403, f"{url}: {answer.status_code} {answer.text}"
            if route.method != "HEAD":
                assert answer.json()["error"]["type"] == "ForbiddenException"


def test_iceberg_warehouses(nobody: Asker) -> None:
    for name in (CATALOG, MOUNT, "none", "lake"):
        answer = nobody.ask("GET", "/iceberg/v1/config", params={"warehouse": name})
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NoSuchWarehouseException")
    # The answer has the word `warehouse`, which is the protocol's.
    assert nobody.client.get("/iceberg/v1/config").status_code == 400


def test_a_path_that_nothing_can_have(nobody: Asker) -> None:
    """It is refused before rights are looked for on all above it, which took the server minutes, and its memory."""
    names = ["a"] * 5_000
    path, place = "$".join(names), {"namespace": names, "name": "t"}
    for url, body in (
        (f"/lance/v1/namespace/lake${path}/describe", {}),
        (f"/lance/v1/table/lake${path}/describe", {}),
        ("/api/metalakes/lanceway/catalogs/lake/schemas", {"name": ":".join(names)}),
        ("/iceberg/v1/lake/namespaces", {"namespace": names}),
        ("/iceberg/v1/lake/tables/rename", {"source": place, "destination": place}),
        (
            "/iceberg/v1/lake/transactions/commit",
            {"table-changes": [{"identifier": place, "requirements": [], "updates": []}]},
        ),
    ):
        answer = nobody.client.post(url, json=body)
        assert (answer.status_code, "is too long" in answer.text) == (400, True), (url[:60], answer.text[:200])
        assert len(answer.content) < 1_000, url[:60]


def test_of_the_audit_one_sees_ones_own(nobody: Asker) -> None:
    nobody.ask("POST", f"/lance/v1/table/{CATALOG}$x$y/drop")
    answer = nobody.client.get(f"{BASE}/audit", params={"limit": 1000})
    assert {event["user"] for event in answer.json()["events"]} == {"nobody"}


def test_of_the_events_one_sees_ones_own_and_the_metalakes(nobody: Asker) -> None:
    query: dict[str, Any] = {"limit": 1000}
    found: list[dict[str, Any]] = []
    while True:
        page = nobody.ask("GET", f"{BASE}/events", params=query).json()
        found += page["events"]
        query["after"] = page["cursor"]
        if not page["more"]:
            break
    assert {event["subject"] for event in found} <= {"metalake", "users/nobody"}
    for under in (CATALOG, f"{CATALOG}${SPACE}", "none"):
        answer = nobody.ask("GET", f"{BASE}/events", params={"under": under}).json()
        assert (answer["events"], answer["more"]) == ([], False)


def test_without_a_token_nothing_is_told(nobody: Asker) -> None:
    for method, url in (
        *((route.method, f"/lance{path(route, [CATALOG, SPACE, TABLE], index_name='none')}") for route in ROUTES),
        *((each.method, f"/lance{each.path}".format(**LANCEDB_NAMES)) for each in LANCEDB_ROUTES),
        *((each.method, f"{BASE}{each.path.replace(':path}', '}')}") for each in ENDPOINTS),
        *(
            (each.method, f"/api{each.path}".format(**THERE, type="schema", object=f"{CATALOG}.{SPACE}"))
            for each in GRAVITINO_ROUTES
            if each.operation != "get_version"
        ),
        *(
            (each.method, f"/iceberg{each.path}".format(prefix=CATALOG, namespace=SPACE, table=TABLE, view=TABLE))
            for each in ICEBERG_ROUTES
            if each.operation != "get_token"
        ),
    ):
        answer = nobody.client.request(method, url, headers={"x-api-key": "", **marked(CATALOG)})
        assert answer.status_code == 401, f"{method} {url}: {answer.text}"
        assert not any(secret in answer.text for secret in SECRETS)
