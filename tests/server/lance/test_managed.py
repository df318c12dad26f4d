"""Four servers on one PostgreSQL keep the versions of managed tables as one, whatever becomes of their answers."""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import lance
import lance_namespace
import pyarrow as pa
import pytest

from lanceway.tables.versions import manifests
from tests.server.append_program import Appender
from tests.server.conftest import Cluster
from tests.servers.cutting import Cutting

# Two that open the table for each append, and two that open it once.
WRITERS = ("pylance", "open_dataset", "pylance", "open_dataset")
EACH = 8
RATE = 0.15
LATEST = {"descending": "true", "limit": "1"}


def manifest() -> bytes:
    """A manifest that is like no other."""
    with tempfile.TemporaryDirectory() as folder:
        lance.write_dataset(pa.table({"id": [1]}), folder)
        (written,) = Path(folder, "_versions").glob("*.manifest")
        return written.read_bytes()


class Table:
    """A managed table, of which each request asks another server."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.name = cluster, ["lake", cluster.namespace(), "orders"]
        self.declared = self.post("declare", {}).json()
        self.location = Path(self.declared["location"])

    def post(self, operation: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.cluster.post(f"table/{'$'.join(self.name)}/{operation}", body, **options)

    def stage(self, version: int, *, naming_scheme: str = "V2") -> dict[str, object]:
        """Write a manifest as a client does, beside its final place; what to claim it with."""
        path = self.location / f"{manifests.key(version, scheme=naming_scheme)}-{uuid.uuid4()}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(manifest())
        where = str(path).removeprefix("/")
        size = path.stat().st_size
        return {"version": version, "manifest_path": where, "manifest_size": size, "naming_scheme": naming_scheme}

    def claim(self, version: int) -> dict[str, Any]:
        answer: dict[str, Any] = self.post("version/create", self.stage(version)).raise_for_status().json()["version"]
        return answer

    def listed(self, **query: str) -> list[int]:
        answer = self.post("version/list", params=query).raise_for_status().json()
        return [found["version"] for found in answer["versions"]]


@pytest.fixture
def table(cluster: Cluster) -> Table:
    return Table(cluster)


def refused(answer: httpx.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["code"]


# -- the contract --------------------------------------------------------------------------------


def test_declare_and_describe_say_where_and_that_it_is_managed(table: Table) -> None:
    assert table.declared["managed_versioning"] is True
    for _ in table.cluster.servers:
        described = table.post("describe", {}).json()
        assert (described["location"], described["managed_versioning"]) == (str(table.location), True)


def test_versions_are_listed_as_asked_for_by_every_server(table: Table) -> None:
    assert table.listed() == []
    for version in (1, 2, 3):
        table.claim(version)
        assert table.listed(**LATEST) == [version]
    for _ in table.cluster.servers:
        assert table.listed() == [1, 2, 3]
        assert table.listed(descending="true") == [3, 2, 1]
    assert refused(table.post("version/list", params={"branch": "none"})) == (404, 22)
    missing = "$".join([*table.name[:-1], "none"])
    assert refused(table.cluster.post(f"table/{missing}/version/list")) == (404, 4)


@pytest.mark.parametrize("naming_scheme", ["V1", "V2"])
def test_a_claim_is_copied_to_its_final_place_and_there_at_once(table: Table, naming_scheme: str) -> None:
    staged = table.stage(1, naming_scheme=naming_scheme)
    content = Path("/", str(staged["manifest_path"])).read_bytes()
    made = table.post("version/create", staged).raise_for_status().json()["version"]
    final = table.location / manifests.key(1, scheme=naming_scheme)
    assert (made["version"], made["manifest_path"]) == (1, str(final).removeprefix("/"))
    assert final.read_bytes() == content
    for _ in table.cluster.servers:
        assert (
            table.post("version/describe", {"version": 1}).json()["version"]["manifest_path"] == made["manifest_path"]
        )
    assert refused(table.post("version/describe", {"version": 2})) == (404, 11)


def test_a_lost_answer_may_be_asked_for_again_anywhere(table: Table) -> None:
    staged = table.stage(1)
    answers = [table.post("version/create", staged).raise_for_status().json() for _ in table.cluster.servers]
    assert answers == [answers[0]] * len(answers)
    table.claim(2)
    assert table.post("version/create", staged).raise_for_status().json() == answers[0]
    assert table.listed() == [1, 2]


def test_a_version_is_claimed_once_and_none_is_left_out(table: Table) -> None:
    table.claim(1)
    assert refused(table.post("version/create", table.stage(1))) == (409, 14)
    assert refused(table.post("version/create", table.stage(3))) == (409, 14)
    table.claim(2)
    assert table.listed() == [1, 2]


def test_of_claimants_at_once_one_succeeds(table: Table, rounds: int) -> None:
    with ThreadPoolExecutor(2 * len(table.cluster.servers)) as claimants:
        for version in range(1, 2 * rounds + 1):
            staged = [table.stage(version) for _ in range(2 * len(table.cluster.servers))]
            answers = list(claimants.map(lambda one: table.post("version/create", one), staged))
            codes = Counter(answer.status_code for answer in answers)
            assert codes == {200: 1, 409: len(staged) - 1}
    assert table.listed() == list(range(1, 2 * rounds + 1))


def test_what_goes_round_the_servers_is_moved_aside_and_the_writer_tries_again(cluster: Cluster) -> None:
    stock = lance_namespace.connect("rest", cluster.properties())
    address = {"namespace_client": stock, "table_id": ["lake", cluster.namespace(), "orders"]}
    dataset = lance.write_dataset(rows(1), mode="create", **address)
    lance.write_dataset(rows(2), mode="append", **address)
    lance.write_dataset(rows(99), dataset.uri, mode="append")
    lance.write_dataset(rows(3), mode="append", **address)
    assert sorted(lance.dataset(**address).to_table()["id"].to_pylist()) == [1, 2, 3]
    (stray,) = cluster.lake.reconcile(address["table_id"][1:])
    assert (stray.kind, stray.version) == ("stray", 3)


# -- a bad network -------------------------------------------------------------------------------


def test_no_commit_is_lost_or_doubled_when_answers_are(cluster: Cluster, rounds: int) -> None:
    told, cuts, requests = list[Appender](), Counter[str](), 0
    for seed in range(max(1, rounds // 5)):
        with Cutting([server.uri for server in cluster.servers], rate=RATE, seed=seed) as proxy:
            told += appended(cluster, proxy)
        cuts += proxy.cuts
        requests += len(proxy.requests)
    assert min(cuts[kind] for kind in ("Break", "Lose", "Halve", "Leave")) > 0
    sys.stdout.write(f"\n{requests} requests, cut off {dict(cuts)}: {figures(told)}\n")


def appended(cluster: Cluster, proxy: Cutting) -> list[Appender]:
    """Have writers append to a new table all at once, and see that each row is there once."""
    table = ["lake", cluster.namespace(), "orders"]
    address = {"namespace_client": lance_namespace.connect("rest", cluster.properties()), "table_id": table}
    lance.write_dataset(rows(), mode="create", **address)

    def work(at: int, client: str) -> Appender:
        appender = Appender(client, cluster.properties(proxy.endpoint), table, range(1000 * at, 1000 * at + EACH))
        appender.work()
        return appender

    with ThreadPoolExecutor(len(WRITERS)) as writers:
        appenders = list(writers.map(work, range(len(WRITERS)), WRITERS))
    committed = sorted(number for one in appenders for number in one.done + one.found)
    assert {1000 * at + number for at in range(len(WRITERS)) for number in range(EACH)} <= set(committed)
    assert sorted(lance.dataset(**address).to_table()["id"].to_pylist()) == committed
    # One row to a version, and the first has none.
    assert cluster.versions(table) == list(range(1, len(committed) + 2))
    assert cluster.lake.reconcile(table[1:]) == []
    return appenders


def figures(told: list[Appender]) -> str:
    """What a drill is run for."""
    failures = sum((one.failures for one in told), Counter[str]())
    done, found, repeated = (
        sum(len(one.done) for one in told),
        sum(len(one.found) for one in told),
        sum(one.repeated for one in told),
    )
    return f"{done} commits reported, {found} found by looking, {repeated} made again; failures {dict(failures)}"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})
