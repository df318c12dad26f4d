"""Credentials for Iceberg clients: stock pyiceberg on a storage that holds them to their policy."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import lance
import obstore
import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog import Catalog, load_catalog

from lanceway.access.privileges import CREATE_TABLE, MODIFY_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from tests.server.iceberg.iceberg_rest_helpers import COLUMNS, refused
from tests.server.server_helpers import stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers import seaweedfs
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, REGION, ROLE, S3, SECRET

_ENTER = (USE_CATALOG, USE_SCHEMA)
_DELEGATION = {"X-Iceberg-Access-Delegation": "vended-credentials"}
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": pa.array(["a", "b", "c"])})


@dataclass(frozen=True)
class Site:
    """A server that makes credentials, and its users."""

    server: Lanceway
    s3: S3
    tokens: dict[str, str]

    def catalog(self, user: str) -> Catalog:
        """Stock pyiceberg, which is told neither keys nor the address of the storage."""
        settings = {"uri": f"{self.server.address}/iceberg", "warehouse": "lake", "token": self.tokens[user]}
        return load_catalog("lake", type="rest", **settings)

    def ask(self, user: str, method: str, path: str, body: Any = None, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[user]}", **options.pop("headers", {})}
        with self.server.client(headers=headers) as client:
            return client.request(method, f"/iceberg/v1/lake/namespaces/team/tables{path}", json=body, **options)

    def load(self, user: str, name: str) -> dict[str, Any]:
        answer = self.ask(user, "GET", f"/{name}", headers=_DELEGATION).raise_for_status()
        body: dict[str, Any] = answer.json()
        assert answer.headers.get("cache-control") == ("no-store" if "storage-credentials" in body else None)
        return body

    def create(self, user: str = "owner", **more: Any) -> dict[str, Any]:
        name = f"t{uuid.uuid4().hex[:8]}"
        answer = self.ask(user, "POST", "", {"name": name, "schema": COLUMNS, **more}, headers=_DELEGATION)
        assert answer.status_code == 200, answer.text
        assert answer.headers.get("cache-control") == ("no-store" if "storage-credentials" in answer.json() else None)
        return {"name": name, "location": answer.json()["metadata"]["location"], **answer.json()}


@pytest.fixture(scope="module")
def site(whole_run: Run) -> Iterator[Site]:
    s3 = seaweedfs.start_sts(whole_run)
    lines = ["[server]", f'warehouse = "{s3.prefix()}"', f'credentials.role_arn = "{ROLE}"']
    lines += [f'storage.{key} = "{value}"' for key, value in s3.storage_options.items()]
    server = lanceway_server.start(whole_run, name="vended", settings="\n".join(lines))
    tokens = {
        "admin": server.token,
        "owner": server.token_for("owner", *_ENTER, CREATE_TABLE),
        "writer": server.token_for("writer", *_ENTER, SELECT_TABLE, MODIFY_TABLE),
        "reader": server.token_for("reader", *_ENTER, SELECT_TABLE),
        "changer": server.token_for("changer", *_ENTER, MODIFY_TABLE),
        "stranger": server.token_for("stranger", *_ENTER),
    }
    site = Site(server, s3, tokens)
    site.catalog("admin").create_namespace("team")
    yield site
    server.stop()


def bucket(site: Site, config: dict[str, str]) -> Any:
    """The storage itself, as the holder of a credential has it."""
    return boto3.client(
        "s3",
        endpoint_url=config["s3.endpoint"],
        region_name=config["s3.region"],
        aws_access_key_id=config["s3.access-key-id"],
        aws_secret_access_key=config["s3.secret-access-key"],
        aws_session_token=config["s3.session-token"],
    )


def object_of(site: Site, location: str, name: str) -> dict[str, str]:
    return {"Bucket": site.s3.bucket, "Key": f"{location.removeprefix(f's3://{site.s3.bucket}/')}/{name}"}


def may(call: Any, **arguments: Any) -> bool:
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDenied", "403"):
            raise
        return False
    return True


def allows(site: Site, config: dict[str, str], location: str) -> str:
    """What the holder of a credential may do at a location: letters for list, put, get and delete."""
    opened = bucket(site, config)
    own = object_of(site, location, "data/file")
    obstore.put(site.s3.store(location), "data/file", b"x")
    listing = {"Bucket": own["Bucket"], "Prefix": own["Key"].removesuffix("data/file")}
    calls = {
        "l": (opened.list_objects_v2, listing),
        "p": (opened.put_object, {**own, "Body": b"y"}),
        "g": (opened.get_object, own),
        "d": (opened.delete_object, own),
    }
    return "".join(letter for letter, (call, arguments) in calls.items() if may(call, **arguments))


# -- stock pyiceberg -----------------------------------------------------------------------------


def test_a_table_is_made_appended_to_and_read(site: Site) -> None:
    name = ("team", f"t{uuid.uuid4().hex[:8]}")
    made = site.catalog("owner").create_table(name, ROWS.schema)
    made.append(ROWS)
    site.catalog("writer").load_table(name).append(ROWS.slice(0, 1))
    read = site.catalog("reader").load_table(name).scan().to_arrow()
    assert sorted(read["id"].to_pylist()) == [1, 1, 2, 3]


def test_a_reader_writes_no_file(site: Site) -> None:
    name = ("team", f"t{uuid.uuid4().hex[:8]}")
    site.catalog("owner").create_table(name, ROWS.schema)
    with pytest.raises(OSError, match=r"ACCESS_DENIED|AccessDenied"):
        site.catalog("reader").load_table(name).append(ROWS)


def test_a_staged_table_is_written_before_it_is_made(site: Site) -> None:
    name = ("team", f"t{uuid.uuid4().hex[:8]}")
    with site.catalog("owner").create_table_transaction(name, ROWS.schema) as transaction:
        transaction.append(ROWS)
    assert site.catalog("owner").load_table(name).scan().to_arrow().num_rows == 3


# -- who gets what -------------------------------------------------------------------------------


def test_rights_say_what_a_credential_opens(site: Site) -> None:
    made, other = site.create(), site.create()
    opened = {}
    for user in ("admin", "owner", "writer", "reader"):
        loaded = site.load(user, made["name"])
        [credential] = loaded["storage-credentials"]
        assert credential["prefix"] == made["location"]
        assert credential["config"] == loaded["config"]
        assert loaded["config"]["s3.endpoint"] == site.s3.endpoint
        assert loaded["config"]["s3.path-style-access"] == "true"
        assert (loaded["config"]["client.region"], loaded["config"]["s3.region"]) == (REGION, REGION)
        assert int(loaded["config"]["s3.session-token-expires-at-ms"]) > 0
        assert SECRET not in json.dumps(loaded)
        assert KEY not in loaded["config"].values()
        opened[user] = allows(site, loaded["config"], made["location"])
        assert allows(site, loaded["config"], other["location"]) == ""
        assert allows(site, loaded["config"], f"{made['location']}2") == ""
    assert opened == {"admin": "lpgd", "owner": "lpgd", "writer": "lpg", "reader": "lg"}


def test_who_may_not_read_gets_none(site: Site) -> None:
    made = site.create()
    loaded = site.load("changer", made["name"])
    assert loaded["config"] == {}
    assert "storage-credentials" not in loaded
    answer = site.ask("stranger", "GET", f"/{made['name']}/credentials")
    assert refused(answer)[0] == 403
    assert "s3." not in answer.text


@pytest.mark.parametrize("wanted", [None, "", "something"])
def test_who_does_not_ask_gets_none(site: Site, wanted: str | None) -> None:
    made = site.create()
    headers = {} if wanted is None else {"X-Iceberg-Access-Delegation": wanted}
    loaded = site.ask("owner", "GET", f"/{made['name']}", headers=headers).json()
    assert loaded["config"] == {}
    assert "storage-credentials" not in loaded


def test_credentials_are_given_again(site: Site) -> None:
    made = site.create()
    first, again = (site.load("reader", made["name"])["config"] for _ in range(2))
    assert first["s3.session-token"] == again["s3.session-token"], "one is kept"
    path = first["client.refresh-credentials-endpoint"]
    assert path == f"v1/lake/namespaces/team/tables/{made['name']}/credentials"
    renewed = site.ask("reader", "GET", f"/{made['name']}/credentials")
    assert renewed.headers["cache-control"] == "no-store"
    [credential] = renewed.json()["storage-credentials"]
    assert credential["prefix"] == made["location"]
    assert allows(site, credential["config"], made["location"]) == "lg"
    assert site.load("writer", made["name"])["config"]["s3.session-token"] != first["s3.session-token"]


def test_a_revoke_counts_from_the_next_request_on(site: Site) -> None:
    user = f"u{uuid.uuid4().hex[:8]}"
    site.tokens[user] = site.server.token_for(user, *_ENTER, SELECT_TABLE)
    made = site.create()
    assert site.load(user, made["name"])["config"]
    with site.server.client() as client:
        assert client.post(f"/lanceway/v1/roles/role-of-{user}/take", json={"user": user}).is_success
    assert refused(site.ask(user, "GET", f"/{made['name']}", headers=_DELEGATION))[0] == 403
    del site.tokens[user]


# -- places --------------------------------------------------------------------------------------


def test_the_recorded_location_counts_not_that_of_the_metadata(site: Site) -> None:
    """Who may write a table may write over its metadata, which names a location."""
    made, victim = site.create(), site.create("admin")
    writer = bucket(site, site.load("writer", made["name"])["config"])
    place = made["metadata-location"].removeprefix(f"s3://{site.s3.bucket}/")
    forged = json.dumps({**made["metadata"], "location": victim["location"]}).encode()
    writer.put_object(Bucket=site.s3.bucket, Key=place, Body=forged)
    answer = site.ask("writer", "GET", f"/{made['name']}", headers=_DELEGATION)
    for credential in answer.json().get("storage-credentials", []):
        assert credential["prefix"] == made["location"]
        assert allows(site, credential["config"], victim["location"]) == ""
    [credential] = site.ask("writer", "GET", f"/{made['name']}/credentials").json()["storage-credentials"]
    assert credential["prefix"] == made["location"]


def test_a_staged_table_has_credentials_where_the_lake_chose_the_place(site: Site) -> None:
    staged = site.create("owner", **{"stage-create": True})
    assert allows(site, staged["config"], staged["location"]) == "lpgd"
    assert "client.refresh-credentials-endpoint" not in staged["config"]
    root = staged["location"].rpartition("/")[0]
    chosen = site.create("owner", location=f"{root}/chosen-{uuid.uuid4().hex}", **{"stage-create": True})
    assert chosen["config"] == {}, "another table may come to be there while they live"


def test_a_lance_table_has_credentials_for_its_own_files(site: Site) -> None:
    name = f"l{uuid.uuid4().hex[:8]}"
    site.server.ask("POST", f"table/lake$team${name}/create", content=stream(table(1, 2))).raise_for_status()
    config = site.load("reader", name)["config"]
    location = site.server.ask("POST", f"table/lake$team${name}/describe", {}).json()["location"]
    options = {
        "aws_access_key_id": config["s3.access-key-id"],
        "aws_secret_access_key": config["s3.secret-access-key"],
        "aws_session_token": config["s3.session-token"],
        "aws_endpoint": config["s3.endpoint"],
        "aws_region": config["s3.region"],
        "allow_http": "true",
    }
    assert lance.dataset(location, storage_options=options).count_rows() == 2
    assert allows(site, config, location) == "lg"


def test_signing_is_for_those_who_ask_for_nothing_else(site: Site) -> None:
    made = site.create()
    both = {"X-Iceberg-Access-Delegation": "remote-signing, vended-credentials"}
    assert "s3.access-key-id" in site.ask("owner", "GET", f"/{made['name']}", headers=both).json()["config"]
    alone = {"X-Iceberg-Access-Delegation": "remote-signing"}
    config = site.ask("owner", "GET", f"/{made['name']}", headers=alone).json()["config"]
    assert config["s3.remote-signing-enabled"] == "true"
    assert "s3.access-key-id" not in config


def test_nothing_is_said_of_keys(site: Site) -> None:
    assert SECRET not in site.server.lines()
    assert site.create()["config"]["s3.session-token"] not in site.server.lines()
