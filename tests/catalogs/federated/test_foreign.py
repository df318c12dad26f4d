"""Glue, Unity and an Iceberg catalog as branches of one running server, with data on a real S3 server.

Everything goes over HTTP without Lanceway's own client.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest

from tests.catalogs.unity.unity_helpers import Home, home
from tests.servers import lanceway, moto, seaweedfs
from tests.servers.lanceway import Lanceway
from tests.servers.moto import Glue
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, S3, TABLE_BUCKET
from tests.servers.unity import Unity

ARROW = "application/vnd.apache.arrow.stream"
SECRETS = (seaweedfs.SECRET, moto.SECRET, KEY)


@pytest.fixture(scope="module")
def tree(whole_run: Run, glue_server: Glue, unity_process: Unity, s3: S3) -> Iterator[Lanceway]:
    """A server with three foreign catalogs. Secrets come from its environment."""
    storage = {key: value for key, value in s3.storage_options.items() if "secret" not in key}
    shared = "".join(f'storage.{key} = "{value}"\n' for key, value in storage.items())
    settings = f"""
[catalogs.aws]
type = "glue"
endpoint = "{glue_server.endpoint}"
region = "{moto.REGION}"
catalog_id = "{moto.ACCOUNT}"
access_key_id = "{moto.KEY}"
hierarchy = "databases"
root = "{s3.prefix()}"
{shared}
[catalogs.unity]
type = "unity"
endpoint = "{unity_process.endpoint}"
catalog = "main"
root = "{s3.prefix()}"
{shared}
[catalogs.ice]
type = "iceberg"
endpoint = "{s3.iceberg}"
warehouse = "{TABLE_BUCKET}"
root = "s3://"
{shared}
"""
    secrets = {f"LANCEWAY_CATALOGS__{name}__STORAGE__AWS_SECRET_ACCESS_KEY": seaweedfs.SECRET for name in NAMES}
    secrets["LANCEWAY_CATALOGS__AWS__SECRET_ACCESS_KEY"] = moto.SECRET
    secrets["LANCEWAY_CATALOGS__ICE__CREDENTIAL"] = f"{KEY}:{seaweedfs.SECRET}"
    server = lanceway.start(whole_run, name="foreign", settings=settings, environment=secrets)
    yield server
    server.stop()


NAMES = ("AWS", "UNITY", "ICE")


@pytest.fixture
def main(unity_process: Unity) -> Iterator[Home]:
    """The catalog `main` of the Unity server, which the server cannot make."""
    unity_process.clear()
    with home(unity_process.endpoint, "main") as server:
        yield server


@pytest.mark.parametrize("branch", [("aws",), ("unity", "main"), ("ice", TABLE_BUCKET)], ids=lambda path: path[0])
def test_a_foreign_catalog_is_a_branch(tree: Lanceway, main: Home, branch: tuple[str, ...]) -> None:
    name = f"n{uuid.uuid4().hex[:8]}"
    space = "$".join((*branch, name))
    table = f"{space}$t"
    with tree.client(base_url=f"{tree.uri}/v1") as http:

        def post(path: str, body: object = None, **options: object) -> httpx.Response:
            return http.post(path, **({"json": body or {}} | options)).raise_for_status()  # type: ignore[arg-type]

        def write(path: str, *ids: int) -> None:
            http.post(path, content=stream(*ids), headers={"Content-Type": ARROW}).raise_for_status()

        assert branch[0] in http.get("/namespace/$/list").json()["namespaces"]
        post(f"/namespace/{space}/create")
        assert name in http.get(f"/namespace/{'$'.join(branch)}/list").json()["namespaces"]
        write(f"/table/{table}/create", 1, 2)
        write(f"/table/{table}/insert?mode=append", 3)
        response = post(
            f"/table/{table}/query", {"k": 10, "vector": {}, "filter": "id > 1", "columns": {"column_names": ["id"]}}
        )
        assert pa.ipc.open_file(response.content).read_all().to_pydict() == {"id": [2, 3]}
        assert http.get(f"/namespace/{space}/table/list").json()["tables"] == ["t"]
        described = post(f"/table/{table}/describe")
        assert described.json()["location"].startswith("s3://")
        assert not [secret for secret in SECRETS if secret in described.text]
        missing = http.post(f"/table/{space}$none/describe", json={})
        assert (missing.status_code, missing.json()["code"]) == (404, 4)
        post(f"/table/{table}/drop")
        assert http.get(f"/namespace/{space}/table/list").json()["tables"] == []
        post(f"/namespace/{space}/drop")


def test_no_secret_of_a_branch_is_in_the_servers_log(tree: Lanceway) -> None:
    tree.ask("GET", "namespace/aws/list")
    assert not [secret for secret in SECRETS[:2] if secret in tree.lines()]


def stream(*ids: int) -> bytes:
    data = pa.table({"id": ids})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_table(data)
    return bytes(sink.getvalue())
