"""Credentials that a server makes for one user and one table, on a storage that holds them to their policy."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import boto3
import lance
import lance_namespace
import obstore
import pytest
from botocore.exceptions import ClientError

from lanceway.access.credentials.checks import CHECKS
from lanceway.access.privileges import CREATE_TABLE, MODIFY_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA
from lanceway.writes import journal
from lanceway.writes.table_ref import TableRef
from tests.server.server_helpers import path, stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers import seaweedfs
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run
from tests.servers.seaweedfs import KEY, REGION, ROLE, S3, SECRET

Id = list[str]
SPACE = ["lake", "team"]
_ENTER = (USE_CATALOG, USE_SCHEMA)


def settings(s3: S3, root: str, *, duration: int | None = 900, section: str = "server") -> str:
    """The text of a section whose tables are in a bucket; without a duration no credentials are made."""
    lines = [f"[{section}]", f'warehouse = "{root}"' if section == "server" else f'type = "dir"\npath = "{root}"']
    lines += [f'storage.{key} = "{value}"' for key, value in s3.storage_options.items()]
    if duration is not None:
        lines += [f'credentials.role_arn = "{ROLE}"', f"credentials.duration = {duration}"]
    return "\n".join([*lines, ""])


@dataclass(frozen=True)
class Site:
    """A server that makes credentials, and its storage."""

    server: Lanceway
    s3: S3
    tokens: dict[str, str]

    def ask(self, who: str, kind: str, id_: Id, verb: str, body: Any = None, **options: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.tokens[who]}", **options.pop("headers", {})}
        return self.server.ask("POST", path(kind, id_, verb), body, headers=headers, **options)

    def create(self, who: str = "owner", *ids: int) -> Id:
        id_ = [*SPACE, f"t{uuid.uuid4().hex[:8]}"]
        headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
        answer = self.ask(who, "table", id_, "create", content=stream(table(*(ids or (1, 2, 3)))), headers=headers)
        assert answer.status_code == 200, answer.text
        return id_

    def describe(self, who: str, id_: Id, **fields: Any) -> dict[str, Any]:
        answer = self.ask(who, "table", id_, "describe", {"vend_credentials": True, **fields})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def options(self, who: str, id_: Id) -> dict[str, str]:
        options: dict[str, str] = self.describe(who, id_)["storage_options"]
        return options

    def client(self, who: str) -> Any:
        """A stock client of this user."""
        told = {"uri": self.server.uri, "header.Authorization": f"Bearer {self.tokens[who]}"}
        return lance_namespace.connect("rest", told)

    def open(self, who: str, id_: Id, **options: Any) -> lance.LanceDataset:
        return lance.dataset(namespace_client=self.client(who), table_id=id_, **options)


@pytest.fixture(scope="module")
def s3(whole_run: Run) -> S3:
    return seaweedfs.start_sts(whole_run)


@pytest.fixture(scope="module")
def site(whole_run: Run, s3: S3) -> Iterator[Site]:
    text = settings(s3, s3.prefix()) + settings(s3, s3.prefix(), section="catalogs.archive")
    text += settings(s3, s3.prefix(), duration=SHORT, section=f"catalogs.{BRIEF}")
    text += settings(s3, s3.prefix(), duration=None, section="catalogs.plain")
    text += settings(s3, s3.prefix(), section="catalogs.broken").replace(ROLE, f"{ROLE}-not-there")
    server = lanceway_server.start(whole_run, name="vending", settings=text)
    tokens = {
        "admin": server.token,
        "owner": server.token_for("owner", *_ENTER, CREATE_TABLE),
        "writer": server.token_for("writer", *_ENTER, SELECT_TABLE, MODIFY_TABLE),
        "reader": server.token_for("reader", *_ENTER, SELECT_TABLE),
        "changer": server.token_for("changer", *_ENTER, MODIFY_TABLE),
    }
    found = Site(server, s3, tokens)
    assert found.ask("admin", "namespace", SPACE, "create", {}).status_code == 200
    yield found
    server.stop()


def bucket(s3: S3, options: dict[str, str]) -> Any:
    """The storage itself, as the holder of some options has it."""
    return boto3.client(
        "s3",
        endpoint_url=s3.endpoint,
        region_name=REGION,
        aws_access_key_id=options["aws_access_key_id"],
        aws_secret_access_key=options["aws_secret_access_key"],
        aws_session_token=options.get("aws_session_token"),
    )


def key_of(location: str, name: str = "") -> str:
    return f"{location.removeprefix('s3://').partition('/')[2]}/{name}"


def refused(call: Any, **arguments: Any) -> bool:
    try:
        call(**arguments)
    except ClientError as error:
        return str(error.response["Error"]["Code"]) in ("AccessDenied", "403")
    return False


# -- who gets what -------------------------------------------------------------------------------


def test_who_may_read_gets_credentials_that_read(site: Site) -> None:
    id_, neighbour = site.create(), site.create()
    described = site.describe("reader", id_)
    location, options = described["location"], described["storage_options"]
    assert options["aws_session_token"]
    assert options["aws_endpoint"] == site.s3.endpoint
    assert SECRET not in json.dumps(described)
    assert KEY not in options.values()
    assert site.open("reader", id_).to_table()["id"].to_pylist() == [1, 2, 3]
    opened = bucket(site.s3, options)
    own = {"Bucket": site.s3.bucket, "Key": key_of(location, "data/new")}
    assert refused(opened.put_object, **own, Body=b"x")
    assert refused(opened.delete_object, **own)
    other = site.describe("admin", neighbour)["location"]
    assert refused(opened.list_objects_v2, Bucket=site.s3.bucket, Prefix=key_of(other))
    assert refused(opened.list_objects_v2, Bucket=site.s3.bucket, Prefix=key_of(location).rpartition("/")[0])
    with pytest.raises(ValueError, match=r"AccessDenied|403"):
        lance.dataset(other, storage_options={**options, "client_max_retries": "0"})
    with pytest.raises(OSError, match="AccessDenied"):
        lance.write_dataset(table(4), location, mode="append", storage_options=options)


def test_who_may_read_and_change_writes_and_deletes_nothing(site: Site) -> None:
    id_ = site.create()
    described = site.describe("writer", id_)
    client = site.client("writer")
    lance.write_dataset(table(4), namespace_client=client, table_id=id_, mode="append")
    assert site.open("writer", id_).count_rows() == 4
    site.open("writer", id_).delete("id = 1")
    site.open("writer", id_).optimize.compact_files()
    site.open("writer", id_).create_scalar_index("id", "BTREE")
    assert site.open("reader", id_).to_table()["id"].to_pylist() == [2, 3, 4]
    opened = bucket(site.s3, described["storage_options"])
    listed = opened.list_objects_v2(Bucket=site.s3.bucket, Prefix=key_of(described["location"]))["Contents"]
    assert refused(opened.delete_object, Bucket=site.s3.bucket, Key=listed[0]["Key"])
    note = {"Bucket": site.s3.bucket, "Key": key_of(described["location"], f"{journal.FOLDER}/entry/note")}
    opened.put_object(**note, Body=b"")
    opened.delete_object(**note)


def test_who_owns_a_table_deletes_too(site: Site) -> None:
    id_ = site.create("owner")
    described = site.describe("owner", id_)
    opened = bucket(site.s3, described["storage_options"])
    own = {"Bucket": site.s3.bucket, "Key": key_of(described["location"], "data/new")}
    opened.put_object(**own, Body=b"x")
    opened.delete_object(**own)
    assert refused(opened.delete_object, Bucket=site.s3.bucket, Key="ready")


def test_a_writers_clean_up_removes_nothing_and_does_not_say_so(site: Site) -> None:
    """As the guide warns: pylance takes no notice of files that it may not delete."""
    id_ = site.create()
    for number in (4, 5):
        lance.write_dataset(table(number), namespace_client=site.client("owner"), table_id=id_, mode="overwrite")
    location = site.describe("owner", id_)["location"]

    def files() -> set[str]:
        return {entry["path"] for page in obstore.list(site.s3.store(location)) for entry in page}

    before = files()
    versions = [version["version"] for version in site.open("writer", id_).versions()]
    site.open("writer", id_).cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert files() >= before, "nothing was removed, and nothing was raised"
    assert [version["version"] for version in site.open("reader", id_).versions()] == versions
    site.open("owner", id_).cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    assert not files() >= before, "an owner's removes"
    assert site.open("reader", id_).to_table()["id"].to_pylist() == [5]


def test_who_may_only_change_gets_none_and_is_told_how(site: Site) -> None:
    described = site.describe("changer", site.create())
    assert "aws_session_token" not in described["storage_options"]
    assert "SELECT_TABLE" in described["context"]["lanceway.storage"]


def test_who_may_not_see_a_table_gets_nothing(site: Site) -> None:
    answer = site.ask("owner", "table", site.create("admin"), "describe", {"vend_credentials": True})
    assert answer.status_code == 403
    assert "token" not in answer.text


def test_none_are_made_for_who_wants_none(site: Site) -> None:
    id_ = site.create()
    for _ in range(2):  # the second time there are some at hand
        assert "aws_session_token" not in site.describe("reader", id_, vend_credentials=False)["storage_options"]
        assert "aws_session_token" in site.options("reader", id_)


def test_a_declaration_comes_with_credentials(site: Site) -> None:
    id_ = [*SPACE, f"t{uuid.uuid4().hex[:8]}"]
    declared = site.ask("owner", "table", id_, "declare", {"vend_credentials": True}).json()
    opened = bucket(site.s3, declared["storage_options"])
    opened.put_object(Bucket=site.s3.bucket, Key=key_of(declared["location"], "data/x"), Body=b"x")
    assert refused(opened.put_object, Bucket=site.s3.bucket, Key="elsewhere", Body=b"x")


def test_a_mounted_folder_has_credentials_of_its_own(site: Site) -> None:
    id_, neighbour = ["archive", "orders"], ["archive", "orders2"]
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    for each in (id_, neighbour):
        assert site.ask("admin", "table", each, "create", content=stream(table(1, 2)), headers=headers).is_success
    assert site.open("reader", id_).count_rows() == 2
    options = site.options("reader", id_)
    location = site.describe("admin", neighbour)["location"]
    assert refused(
        bucket(site.s3, options).list_objects_v2, Bucket=site.s3.bucket, Prefix=key_of(location.removesuffix("2"))[:-1]
    )
    with pytest.raises(ValueError, match=r"AccessDenied|403"):
        lance.dataset(location, storage_options={**options, "client_max_retries": "0"})


# -- where none are made -------------------------------------------------------------------------


def arrow(site: Site, id_: Id) -> None:
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = site.ask("admin", "table", id_, "create", content=stream(table(1, 2)), headers=headers)
    assert answer.is_success, answer.text


def test_without_sts_nothing_is_vended_and_the_answer_says_how(site: Site) -> None:
    id_ = ["plain", "orders"]
    arrow(site, id_)
    described = site.describe("reader", id_)
    assert "through the server" in described["context"]["lanceway.storage"]
    assert described["storage_options"] == {
        key: value for key, value in site.s3.storage_options.items() if "key" not in key
    }
    assert "context" not in site.ask("reader", "table", id_, "describe", {}).json(), "who did not ask is told nothing"
    declared = site.ask("admin", "table", ["plain", "new"], "declare", {"vend_credentials": True}).json()
    assert "through the server" in declared["context"]["lanceway.storage"]


def test_a_stock_client_takes_such_an_answer(site: Site) -> None:
    id_ = ["plain", "sales"]
    arrow(site, id_)
    client = site.client("reader")
    described = client.describe_table(lance_namespace.DescribeTableRequest(id=id_, vend_credentials=True))
    assert described.location.endswith("sales")
    keys = {key: value for key, value in site.s3.storage_options.items() if "key" in key}
    assert lance.dataset(namespace_client=client, table_id=id_, storage_options=keys).count_rows() == 2
    assert client.count_table_rows(lance_namespace.CountTableRowsRequest(id=id_)).count == 2


def test_if_sts_refuses_who_asked_for_credentials_is_told_and_others_go_on(site: Site) -> None:
    id_ = ["broken", "orders"]
    arrow(site, id_)
    refusal = site.ask("reader", "table", id_, "describe", {"vend_credentials": True})
    assert (refusal.status_code, refusal.json()["code"]) == (503, 17)
    assert "STS" in refusal.json()["error"]
    assert site.ask("reader", "table", id_, "describe", {}).status_code == 200
    declared = site.ask("admin", "table", ["broken", "new"], "declare", {"vend_credentials": True})
    assert declared.status_code == 200, "it is declared, and says so"
    assert "ask again" in declared.json()["context"]["lanceway.storage"]


# -- checks --------------------------------------------------------------------------------------


def test_the_storages_are_checked_when_they_are_mounted(site: Site) -> None:
    lines = site.server.lines()
    assert "storage of the lake's warehouse: refused outside the table: passed" in lines
    assert "storage of archive: read-only cannot write: passed" in lines
    assert "storage of broken: issued: failed" in lines
    assert "storage of plain" not in lines
    assert SECRET not in lines


def test_an_administrator_has_a_storage_checked(site: Site) -> None:
    with site.server.client() as client:
        found = client.post("/lanceway/v1/storage/check", json={"catalog": "archive"}).raise_for_status().json()
        wrong = client.post("/lanceway/v1/storage/check", json={"catalog": "broken"}).raise_for_status().json()
    outcomes = {check["name"]: check["outcome"] for check in found["checks"]}
    assert list(outcomes) == list(CHECKS)
    assert {outcomes[name] for name in CHECKS if name != "expired is refused"} == {"passed"}
    assert (found["storage"], found["passed"], wrong["passed"]) == ("archive", True, False)


def test_a_catalog_that_is_not_there_has_no_storage(site: Site) -> None:
    with site.server.client() as client:
        missing = client.post("/lanceway/v1/storage/check", json={"catalog": "archiv"})
        own = client.post("/lanceway/v1/storage/check", json={}).raise_for_status().json()
    assert missing.status_code == 404
    assert "There is no catalog 'archiv'. Did you mean 'archive'?" in missing.json()["error"]
    assert own["storage"] == "the lake's warehouse"


# -- clones --------------------------------------------------------------------------------------


def test_a_clone_is_read_with_its_own_credentials_and_its_source_is_not(site: Site) -> None:
    source, clone = site.create("owner", 1, 2, 3), [*SPACE, f"c{uuid.uuid4().hex[:8]}"]
    opened = site.open("admin", source)
    opened.create_scalar_index("id", "BTREE")
    opened.delete("id = 2")
    body = {"source": source, "target": clone}
    with site.server.client() as client:
        assert client.post("/lanceway/v1/tables/clone", json=body).status_code == 201
    lance.write_dataset(table(4), namespace_client=site.client("admin"), table_id=source, mode="append")
    assert site.open("reader", clone).to_table(filter="id > 0")["id"].to_pylist() == [1, 3]
    options = site.options("reader", clone)
    location = site.describe("admin", source)["location"]
    with pytest.raises(ValueError, match=r"AccessDenied|403"):
        lance.dataset(location, storage_options={**options, "client_max_retries": "0"})
    files = bucket(site.s3, {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}).list_objects_v2(
        Bucket=site.s3.bucket, Prefix=key_of(location, "_versions/")
    )["Contents"]
    assert refused(bucket(site.s3, options).get_object, Bucket=site.s3.bucket, Key=files[0]["Key"])


# -- for how long --------------------------------------------------------------------------------


def test_a_credential_is_kept_and_its_end_is_another_each_time(site: Site) -> None:
    id_ = site.create()
    answers = [site.options("reader", id_) for _ in range(5)]
    assert len({answer["aws_access_key_id"] for answer in answers}) == 1
    ends = {int(answer["expires_at_millis"]) for answer in answers}
    assert len(ends) > 1
    assert all(0 < end / 1000 - time.time() <= 900 for end in ends)
    assert all(80_000 < int(answer["refresh_offset_millis"]) <= 90_000 for answer in answers)
    assert site.options("writer", id_)["aws_access_key_id"] != answers[0]["aws_access_key_id"]


def test_to_renew_opens_no_table(site: Site) -> None:
    id_ = site.create()
    location = site.describe("admin", id_)["location"]
    store = site.s3.store(location)
    obstore.delete(store, [entry["path"] for page in obstore.list(store) for entry in page])
    assert "aws_session_token" in site.options("reader", id_)


def test_a_revoked_right_gives_no_more_and_what_was_given_ends_by_itself(site: Site) -> None:
    token = site.server.token_for(user := f"u{uuid.uuid4().hex[:8]}", *_ENTER, SELECT_TABLE)
    site.tokens[user] = token
    id_ = site.create()
    described = site.describe(user, id_)
    with site.server.client() as client:
        assert client.post(f"/lanceway/v1/roles/role-of-{user}/take", json={"user": user}).is_success
    assert site.ask(user, "table", id_, "describe", {"vend_credentials": True}).status_code == 403
    options = described["storage_options"]
    assert lance.dataset(described["location"], storage_options=options).count_rows() == 3


def test_a_location_is_not_used_again_while_credentials_live(site: Site) -> None:
    root = site.describe("admin", site.create())["location"].rpartition("/")[0]
    location, id_ = f"{root}/chosen-{uuid.uuid4().hex}", [*SPACE, f"t{uuid.uuid4().hex[:8]}"]

    def declare(place: str) -> Any:
        return site.ask("admin", "table", id_, "declare", {"location": place})

    assert declare(location).is_success
    assert site.ask("admin", "table", id_, "drop").is_success
    for place in (location, f"{location}/below"):
        answer = declare(place)
        assert answer.status_code == 400
        assert "seconds" in answer.json()["error"]
    assert declare(f"{location}-2").is_success


def test_a_table_is_registered_again_in_its_own_place_alone(site: Site) -> None:
    id_ = site.create("admin")
    location = site.describe("admin", id_)["location"]
    again = site.ask("admin", "table", id_, "register", {"location": location, "mode": "overwrite"})
    assert again.is_success, again.text
    assert site.ask("admin", "table", id_, "deregister").is_success
    assert site.ask("admin", "table", id_, "register", {"location": location}).status_code == 400


# -- renewing ------------------------------------------------------------------------------------

BRIEF, SHORT = "brief", 4  # a catalog whose clients are told that credentials end within so many seconds


def brief(site: Site, rows: int) -> Id:
    """A new table of the catalog whose credentials end soon, with many files."""
    id_ = [BRIEF, f"t{uuid.uuid4().hex[:8]}"]
    location = site.ask("admin", "table", id_, "declare", {}).json()["location"]
    lance.write_dataset(table(*range(rows)), location, storage_options=site.s3.storage_options, max_rows_per_file=8)
    return id_


def describes(site: Site) -> int:
    """How many descriptions the server has given."""
    with site.server.client() as client:
        lines = client.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith('lanceway_requests_total{operation="describe_table"')]
    return sum(int(float(line.rpartition(" ")[2])) for line in found)


def test_stock_pylance_renews_during_a_long_read(site: Site) -> None:
    opened = site.open("reader", brief(site, 160))
    before, began, rows = describes(site), time.monotonic(), 0
    for batch in opened.to_batches(batch_size=8, batch_readahead=1, fragment_readahead=1):
        rows += batch.num_rows
        time.sleep(0.3)
    lasted = time.monotonic() - began
    assert rows == 160
    assert lasted > SHORT
    renewed = describes(site) - before
    assert 1 <= renewed <= 1 + lasted / (SHORT / 4), "each renewal serves for more than a quarter of a life"


def test_tasks_of_one_process_renew_together(site: Site) -> None:
    """As Spark's tasks in one worker: many datasets of one table, opened through one catalog."""
    id_, tasks = brief(site, 64), 8
    ref = TableRef("rest", {"uri": site.server.uri, "token": site.tokens["reader"]}, tuple(id_))
    ref.catalog()  # one for the process, which all tasks share
    before = describes(site)

    def task(_: int) -> int:
        opened, rows = ref.open(), 0
        for _ in range(2):
            rows += opened.to_table().num_rows
            time.sleep(SHORT * 0.9)
        return rows + opened.to_table().num_rows

    with ThreadPoolExecutor(tasks) as pool:
        assert list(pool.map(task, range(tasks))) == [192] * tasks
    # To open it takes two descriptions; what is renewed in between, in two waves, is renewed for all of them.
    renewals = describes(site) - before - 2 * tasks
    assert 1 <= renewals < tasks, renewals
