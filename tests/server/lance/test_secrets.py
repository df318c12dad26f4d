"""No secret that a server is configured with is in any answer, header, error or line of its log, whatever is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from lanceway.wire.lance import ARROW_STREAM, ROUTES
from tests.server.server_helpers import Id, path, space, stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers import moto, polaris
from tests.servers import unity as unity_server
from tests.servers.hive import Hive
from tests.servers.iceberg import Iceberg
from tests.servers.lanceway import Lanceway
from tests.servers.moto import Glue
from tests.servers.polaris import Polaris
from tests.servers.run import Run
from tests.servers.unity import Unity

CANARY = "canary5EcReT"
CLOSED = "127.0.0.1:1"
# Whatever a storage might take for a credential, and one that nobody knows yet.
STORAGE = {
    f"storage.{name}": f"{CANARY}-{name}"
    for name in (
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "azure_storage_account_key",
        "azure_storage_sas_key",
        "google_service_account_key",
        "headers",
        "something_new",
    )
} | {"storage.aws_region": "us-east-1", "storage.proxy_url": f"http://me:{CANARY}@{CLOSED}"}
NAMESPACE, TABLE, RENAMED, TRANSACTION, VIEW, NOWHERE = "namespace", "table", "renamed", "transaction", "view", None


def rest(server: Lanceway) -> dict[str, Any]:
    return {"type": "rest", "uri": server.uri, "token": server.token, "header.X-Team": CANARY}


def mounts(
    folder: Path, other: Lanceway, glue: Glue, unity: Unity, iceberg: Iceberg, hive: Hive, generic: Polaris
) -> dict[str, dict[str, Any]]:
    """A catalog of every type, on a service that answers."""
    return {
        "folder": {"type": "dir", "path": str(folder / "folder"), "layout": "manifest"},
        "rest": rest(other),
        "glue": {
            "type": "glue",
            **glue.settings,
            "session_token": CANARY,
            "hierarchy": "databases",
            "root": (folder / "glue").as_uri(),
        },
        "unity": {
            "type": "unity",
            "endpoint": unity.endpoint,
            "catalog": "main",
            "auth_token": CANARY,
            "header.X-Team": CANARY,
            "root": (folder / "unity").as_uri(),
        },
        "iceberg": {
            "type": "iceberg",
            "endpoint": iceberg.endpoint,
            "warehouse": iceberg.warehouse,
            "auth_token": CANARY,
            "headers.X-Team": CANARY,
            "root": (folder / "iceberg").as_uri(),
        },
        "hive": {"type": "hive", "uri": hive.uri, "ugi": "ada:staff", "root": (folder / "hive").as_uri()},
        "gravitino": {
            "type": "gravitino",
            "endpoint": other.address,
            "metalake": "lanceway",
            "auth_token": other.token,
            "header.X-Team": CANARY,
        },
        "polaris": {
            "type": "polaris",
            "endpoint": generic.endpoint,
            "warehouse": polaris.WAREHOUSE,
            "credential": f"{polaris.ID}:{polaris.SECRET}",
            "header.X-Team": CANARY,
            "root": (folder / "polaris").as_uri(),
        },
        "second": {"type": "lake", "uri": f"sqlite:///{folder}/second.db", "root": str(folder / "second")},
    }


def dead(folder: Path, no_glue: str = "") -> dict[str, dict[str, Any]]:
    """A catalog of every type that cannot be reached, or whose settings are wrong."""
    quick = {"storage.client_max_retries": "0", "storage.client_retry_timeout": "1"}
    return {
        "dead_s3": {"type": "dir", "path": "s3://bucket/x", "storage.aws_endpoint": f"http://{CLOSED}", **quick},
        "dead_s3_proxy": {"type": "dir", "path": "s3://bucket/y", **quick},
        "dead_gs": {"type": "dir", "path": "gs://bucket/x", **quick},
        "dead_az": {"type": "dir", "path": "az://bucket/x", "storage.azure_storage_account_name": "x", **quick},
        "dead_rest": {"type": "rest", "uri": f"http://{CLOSED}", "api_key": CANARY, "retries": 0},
        "dead_rest_client": {"type": "rest", "uri": f"http://{CLOSED}", "credential": f"me:{CANARY}", "retries": 0},
        "dead_glue": {
            "type": "glue",
            "endpoint": no_glue,
            "region": "us-east-1",
            "access_key_id": CANARY,
            "secret_access_key": CANARY,
            "session_token": CANARY,
        },
        "dead_unity": {
            "type": "unity",
            "endpoint": f"http://{CLOSED}",
            "catalog": "main",
            "auth_token": CANARY,
            "max_retries": 0,
        },
        "dead_iceberg": {
            "type": "iceberg",
            "endpoint": f"http://{CLOSED}",
            "credential": f"me:{CANARY}",
            "max_retries": 0,
        },
        "dead_hive": {"type": "hive", "uri": f"thrift://{CLOSED}", "max_retries": 0},
        "wrong_hive": {"type": "hive", "uri": f"thrift://{CLOSED},thrift://me:{CANARY}@{CLOSED}", "max_retries": 0},
        "dead_gravitino": {
            "type": "gravitino",
            "endpoint": f"http://{CLOSED}",
            "metalake": "m",
            "credential": f"me:{CANARY}",
            "max_retries": 0,
        },
        "dead_polaris": {
            "type": "polaris",
            "endpoint": f"http://{CLOSED}",
            "warehouse": "w",
            "auth_token": CANARY,
            "max_retries": 0,
        },
        "dead_lake": {"type": "lake", "uri": f"postgresql://me:{CANARY}@{CLOSED}/x", "root": str(folder / "x")},
    }


def toml(catalogs: Mapping[str, Mapping[str, Any]]) -> str:
    sections = {"server": STORAGE, **{f"catalogs.{name}": {**STORAGE, **given} for name, given in catalogs.items()}}
    return "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in given.items()), ""])
        for name, given in sections.items()
    )


class Asked:
    """Every operation on one catalog, and all that came back."""

    def __init__(self, client: httpx.Client, namespace: Id) -> None:
        self.client, self.namespace = client, namespace
        self.answers: dict[str, list[httpx.Response]] = {}

    def __call__(self, operation: str, kind: str | None, body: Any = None, **options: Any) -> httpx.Response:
        route = next(route for route in ROUTES if route.operation == operation)
        ids: dict[str | None, Id] = {
            NAMESPACE: self.namespace,
            TABLE: [*self.namespace, "t"],
            RENAMED: [*self.namespace, "u"],
            TRANSACTION: [*self.namespace, "t", "1"],
            VIEW: [*self.namespace, "v"],
        }
        where = route.path.removeprefix("/v1/").replace("{index_name}", "words")
        if kind in ids:
            first, _, verb = where.partition("/{id}/")
            where = path(first, ids[kind], verb)
        if "content" in options:
            options["headers"] = {"content-type": ARROW_STREAM}
        answer = self.client.request(route.method, f"/lance/v1/{where}", json=body, **options)
        self.answers.setdefault(operation, []).append(answer)
        return answer

    def everything(self) -> None:
        mine, query = [*self.namespace, "t"], {"k": 1, "vector": {}, "filter": "id > 0"}
        self("create_namespace", NAMESPACE, {"properties": {"a": "b"}})
        self("create_table", TABLE, content=stream(table(1, 2)))
        self("create_table", TABLE, content=stream(table(1, 2)), params={"mode": "overwrite"})
        self("create_table", TABLE, content=b"no Arrow")
        for operation in ("describe_namespace", "namespace_exists", "list_namespaces", "list_tables"):
            self(operation, NAMESPACE)
        for operation in ("table_exists", "count_table_rows", "get_table_stats", "list_table_indices"):
            self(operation, TABLE, {})
        self("describe_table", TABLE, {"vend_credentials": True})
        self("describe_table", TABLE, {"vend_credentials": True, "check_declared": True})
        self("describe_table", TABLE, {}, params={"load_detailed_metadata": "true", "with_table_uri": "true"})
        self("declare_table", VIEW, {"vend_credentials": True})
        self("deregister_table", VIEW, {})
        self("list_all_tables", NOWHERE)
        self("insert_into_table", TABLE, content=stream(table(3)))
        self("merge_insert_into_table", TABLE, content=stream(table(3)), params={"on": "id"})
        self("update_table", TABLE, {"updates": [["name", "'x'"]]})
        self("delete_from_table", TABLE, {"predicate": "id = 99"})
        self("delete_from_table", TABLE, {"predicate": "no such column = 1"})
        self("query_table", TABLE, query)
        self("explain_table_query_plan", TABLE, {"query": query})
        self("analyze_table_query_plan", TABLE, query)
        self("alter_table_add_columns", TABLE, {"new_columns": [{"name": "twice", "expression": "id * 2"}]})
        self("alter_table_alter_columns", TABLE, {"alterations": [{"path": "twice", "rename": "double"}]})
        self("update_field_metadata", TABLE, {"updates": [{"path": "double", "metadata": {"unit": "m"}}]})
        self("alter_table_drop_columns", TABLE, {"columns": ["double"]})
        self("update_table_schema_metadata", TABLE, {"owner": "ada"})
        self("create_table_scalar_index", TABLE, {"column": "id", "index_type": "BTREE"})
        self("create_table_index", TABLE, {"column": "name", "index_type": "FTS", "name": "words"})
        self("describe_table_index_stats", TABLE, {})
        self("drop_table_index", TABLE, {})
        self("create_table_tag", TABLE, {"tag": "first", "version": 1})
        self("list_table_tags", TABLE)
        self("get_table_tag_version", TABLE, {"tag": "first"})
        self("update_table_tag", TABLE, {"tag": "first", "version": 2})
        self("delete_table_tag", TABLE, {"tag": "first"})
        self("create_table_branch", TABLE, {"name": "work"})
        self("list_table_branches", TABLE)
        self("delete_table_branch", TABLE, {"name": "work"})
        self("list_table_versions", TABLE)
        self("describe_table_version", TABLE, {"version": 1})
        self("restore_table", TABLE, {"version": 1})
        self("batch_delete_table_versions", TABLE, {"ranges": [{"start_version": 2, "end_version": 3}]})
        claim = {"version": 99, "manifest_path": "nowhere/1.manifest-x"}
        self("create_table_version", TABLE, claim)
        self("batch_create_table_versions", NOWHERE, {"entries": [{"id": mine, **claim}]})
        together = [{"declare_table": {"id": [*self.namespace, "together"], "vend_credentials": True}}]
        self("batch_commit_tables", NOWHERE, {"operations": together})
        self(
            "batch_commit_tables",
            NOWHERE,
            {"operations": [{"deregister_table": {"id": [*self.namespace, "together"]}}]},
        )
        self("describe_transaction", TRANSACTION, {})
        self("alter_transaction", TRANSACTION, {"actions": [{"setPropertyAction": {"key": "note", "value": "x"}}]})
        self("alter_table_backfill_columns", TABLE, {"column": "id"})
        self("create_materialized_view", VIEW, {"kind": "query", "source_query": "x", "output_schema": "x"})
        self("refresh_materialized_view", VIEW, {})
        self("rename_table", TABLE, {"new_table_name": "u"})
        self("rename_table", RENAMED, {"new_table_name": "t"})
        self("register_table", VIEW, {"location": "elsewhere"})
        self("drop_table", TABLE, {})
        self("drop_namespace", NAMESPACE, {"behavior": "Cascade"})

    def all_answers(self) -> Iterator[tuple[str, httpx.Response]]:
        return ((operation, answer) for operation, found in self.answers.items() for answer in found)


@pytest.fixture(scope="module")
def glue() -> Iterator[Glue]:
    with moto.serve() as served:
        yield served


@pytest.fixture(scope="module")
def unity() -> Iterator[Unity]:
    with unity_server.serve() as served:
        httpx.post(f"{served.endpoint}{unity_server.API}/catalogs", json={"name": "main"}).raise_for_status()
        yield served


@pytest.fixture(scope="module")
def generic() -> Iterator[Polaris]:
    with polaris.serve() as served:
        served.signs_in = True
        yield served


@pytest.fixture(scope="module")
def secretive(
    whole_run: Run,
    tmp_path_factory: pytest.TempPathFactory,
    server: Lanceway,
    glue: Glue,
    unity: Unity,
    iceberg: Iceberg,
    hive: Hive,
    generic: Polaris,
) -> Iterator[Lanceway]:
    folder = tmp_path_factory.mktemp("secretive")
    services = mounts(folder, server, glue, unity, iceberg, hive, generic)
    catalogs = {**services, **dead(folder, unity.endpoint)}
    started = lanceway_server.start(whole_run, settings=toml(catalogs))
    yield started
    started.stop()


def secrets(*servers: Lanceway) -> list[str]:
    return [CANARY, moto.SECRET, polaris.SECRET, polaris.TOKEN, *(server.token for server in servers)]


def check(asked: Asked, secretive: Lanceway, server: Lanceway) -> None:
    """Every operation was asked for, and none of what came back or was logged has a secret."""
    assert set(asked.answers) == {route.operation for route in ROUTES}
    known = secrets(secretive, server)
    for operation, answer in asked.all_answers():
        told = answer.content.decode(errors="replace") + str(answer.headers.multi_items())
        assert not [secret for secret in known if secret in told], f"{operation}: {told}"
    last = list(asked.all_answers())[-1][1]
    secretive.logged(last.headers["x-request-id"])
    assert not [line for line in secretive.lines().splitlines() if any(secret in line for secret in known)]


LIVE = {
    "lake": [],
    "folder": [],
    "rest": ["lake"],
    "glue": [],
    "unity": ["main"],
    "iceberg": ["wh"],
    "hive": ["hive"],
    "gravitino": ["lake"],
    "polaris": [polaris.WAREHOUSE],
    "second": [],
}


@pytest.mark.parametrize("mount", LIVE)
def test_no_answer_of_a_catalog_has_a_secret(secretive: Lanceway, server: Lanceway, mount: str) -> None:
    with secretive.client() as client:
        asked = Asked(client, [mount, *LIVE[mount], space(server)[-1]])
        asked.everything()
    check(asked, secretive, server)
    for operation in ("create_table", "describe_table", "declare_table", "insert_into_table", "drop_table"):
        first = asked.answers[operation][0]
        assert first.is_success, f"{operation}: {first.text}"
    if mount in ("lake", "second"):
        declared = asked.answers["batch_commit_tables"][0].json()["results"][0]["declare_table"]
        assert declared["storage_options"] == {"aws_region": "us-east-1"}
    assert asked.answers["describe_table"][0].json()["storage_options"] == {"aws_region": "us-east-1"}


@pytest.mark.parametrize("mount", dead(Path()))
def test_no_error_of_a_catalog_has_a_secret(secretive: Lanceway, server: Lanceway, mount: str) -> None:
    with secretive.client() as client:
        asked = Asked(client, [mount, "main", "s"])
        asked.everything()
    check(asked, secretive, server)
    assert not asked.answers["create_table"][0].is_success


def test_no_page_beside_the_catalogs_has_a_secret(secretive: Lanceway, server: Lanceway) -> None:
    with secretive.client() as client:
        for page in (
            "/health",
            "/ready",
            "/metrics",
            "/openapi.json",
            "/lanceway/v1/tokens",
            "/lanceway/v1/jobs",
            "/lanceway/v1/runs",
            "/lance/v1/namespace/$/list",
        ):
            answer = client.get(page)
            told = answer.text + str(answer.headers.multi_items())
            assert not [secret for secret in secrets(secretive, server) if secret in told], page
        for name in (*LIVE, *dead(Path())):
            told = client.post(f"/lance/v1/namespace/{name}/describe", json={}).text
            assert not [secret for secret in secrets(secretive, server) if secret in told], told
