"""`/lanceway/v1/runs` and what belongs to it: recorded over HTTP, listed, drawn, and one's own alone."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest

from tests.servers.lanceway import Lanceway

V1 = "/lanceway/v1"


@dataclass
class Runner:
    """Somebody who runs a pipeline elsewhere, and records it here."""

    server: Lanceway
    token: str
    pipeline: str = field(default_factory=lambda: f"p-{uuid.uuid4().hex}")
    lease: str = field(default_factory=lambda: f"machine/1/2/{uuid.uuid4()}")

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"x-api-key": self.token, **options.pop("headers", {})}
        return httpx.request(
            method, f"{self.server.address}{V1}{path}", headers=headers, timeout=60, trust_env=False, **options
        )

    def get(self, path: str, **query: Any) -> Any:
        answer = self.ask("GET", path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def hold(self, **given: Any) -> httpx.Response:
        body = {"pipeline": self.pipeline, "key": self.lease, "seconds": 60, "by": "a test", **given}
        return self.ask("POST", "/leases", json=body)

    def record(self, run: str, record: str, **values: Any) -> Any:
        answer = self.tell(run, record, **values)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def tell(self, run: str, record: str, **values: Any) -> httpx.Response:
        body = {"pipeline": self.pipeline, "lease": self.lease, "record": {"record": record, **values}}
        return self.ask("POST", f"/runs/{run}/records", json=body)

    def run(self, source: str = "raw", table: str = "out", state: str = "done") -> str:
        """A whole run that has read a table and written another."""
        key = str(uuid.uuid4())
        assert self.hold().status_code == 200
        self.record(key, "begin", full=False, graph={"nodes": []})
        self.record(key, "plan", steps=[{"name": "out", "kind": "output"}])
        self.record(key, "begin step", step="out", changes={"base": 0})
        read = {"step": "out", "source": "in", "kind": "table", "after": 0, "version": 3}
        changes = {"version": 1, "rows": 5, "table_name": self.named(table), "location": f"/{self.named(table)}"}
        reads = [{**read, "table_name": self.named(source), "location": f"/{self.named(source)}"}]
        self.record(key, "end step", step="out", state="done", reads=reads, changes=changes)
        self.record(key, "end", state=state)
        return key

    def named(self, table: str) -> str:
        return f"{self.pipeline}.{table}"


@pytest.fixture
def admin(server: Lanceway) -> Runner:
    return Runner(server, server.token)


def user(admin: Runner) -> Runner:
    return Runner(admin.server, admin.server.token_for(f"user-{uuid.uuid4().hex[:8]}", "RUN_JOB"))


@pytest.fixture
def ada(admin: Runner) -> Runner:
    return user(admin)


def refused(answer: httpx.Response) -> tuple[int, int]:
    assert answer.json()["instance"] == answer.headers["x-request-id"]
    return answer.status_code, answer.json()["code"]


def test_a_run_is_shown_with_its_steps_and_what_they_read(ada: Runner) -> None:
    key = ada.run()
    found = ada.get(f"/runs/{key}")
    assert (found["pipeline"], found["number"], found["state"], found["rows"]) == (ada.pipeline, 1, "done", 5)
    assert found["started_by"] == ada.get("/me")["name"]
    (step,) = found["steps"]
    assert (step["table_name"], step["version"], step["seconds"] >= 0) == (ada.named("out"), 1, True)
    assert [(read["table_name"], read["version"]) for read in found["reads"]] == [(ada.named("raw"), 3)]
    held = ada.get(f"/pipelines/{ada.pipeline}")
    assert held["held_by"] == f"{found['started_by']}, a test"
    assert ada.lease not in str(held)  # whoever knows it could record in its place
    assert refused(ada.ask("GET", f"/runs/{uuid.uuid4()}")) == (404, 13)
    assert refused(ada.ask("GET", "/runs/x/y")) == (404, 13)


def test_pages_go_from_the_newest_to_the_oldest(ada: Runner) -> None:
    made = [ada.run(state="failed" if number % 2 else "done") for number in range(5)]
    first = ada.get("/runs", pipeline=ada.pipeline, limit=2)
    second = ada.get("/runs", pipeline=ada.pipeline, limit=2, page_token=first["page_token"])
    last = ada.get("/runs", pipeline=ada.pipeline, limit=2, page_token=second["page_token"])
    assert [run["key"] for page in (first, second, last) for run in page["runs"]] == made[::-1]
    assert last["page_token"] is None
    assert [run["key"] for run in ada.get("/runs", state="failed")["runs"]] == [made[3], made[1]]
    (listed,) = ada.get("/pipelines")["pipelines"]
    assert (listed["name"], listed["runs"], listed["state"]) == (ada.pipeline, 5, "done")
    foreign = ada.ask("GET", "/runs", params={"page_token": first["page_token"]})
    assert refused(foreign) == (400, 13)


def test_everybody_sees_his_own_and_an_admin_all(admin: Runner, ada: Runner) -> None:
    bob = user(admin)
    hers, his = ada.run(), bob.run()
    assert [run["key"] for run in ada.get("/runs")["runs"]] == [hers]
    assert {hers, his} <= {run["key"] for run in admin.get("/runs", limit=1000)["runs"]}
    assert refused(bob.ask("GET", f"/runs/{hers}")) == (404, 13)
    assert refused(bob.ask("GET", f"/pipelines/{ada.pipeline}")) == (403, 15)
    assert bob.get("/lineage", table=ada.named("out")) == {"locations": [], "upstream": [], "downstream": []}
    bob.pipeline = ada.pipeline
    assert refused(bob.hold()) == (403, 15)
    assert admin.get(f"/runs/{hers}")["key"] == hers
    nobody = httpx.get(f"{admin.server.address}{V1}/runs", trust_env=False)
    assert nobody.status_code == 401


def test_lineage_is_told_and_drawn(ada: Runner) -> None:
    ada.run("raw", "clean")
    ada.run("clean", "report")
    table = ada.named("clean")
    found = ada.get("/lineage", table=table)
    assert found["locations"] == [f"/{table}"]
    assert [(edge["source"], edge["table"]) for edge in found["upstream"]] == [(ada.named("raw"), table)]
    assert [(edge["source"], edge["table"]) for edge in found["downstream"]] == [(table, ada.named("report"))]
    assert ada.get("/lineage", location=f"/{table}", direction="upstream")["downstream"] == []
    whole, near = (ada.get("/lineage", table=ada.named("report"), **far)["upstream"] for far in ({}, {"depth": 1}))
    assert (len(whole), len(near)) == (2, 1)
    by_header = ada.ask("GET", "/lineage", params={"table": table}, headers={"accept": "image/svg+xml"})
    for answer in (by_header, ada.ask("GET", "/lineage", params={"table": table, "format": "svg"})):
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert len(list(ET.fromstring(answer.text).iter("{http://www.w3.org/2000/svg}rect"))) == 4  # the ground, too


def test_only_who_holds_a_pipeline_records(ada: Runner) -> None:
    key = ada.run()
    other = Runner(ada.server, ada.token, ada.pipeline)
    assert refused(other.hold()) == (409, 14)
    assert refused(other.tell(key, "end", state="failed")) == (409, 14)
    assert other.hold(ended="machine/1/2").status_code == 200  # that process is known to be no more
    assert refused(ada.tell(key, "end", state="failed")) == (409, 14)
    lease = {"pipeline": ada.pipeline, "key": ada.lease, "seconds": 9}
    assert ada.ask("POST", "/leases/renew", json=lease).json() == {"held": False}
    assert other.ask("POST", "/leases/renew", json={**lease, "key": other.lease}).json() == {"held": True}
    assert other.ask("POST", "/leases/release", json={**lease, "key": other.lease}).json() == {"held": False}
    assert ada.hold().status_code == 200


def test_a_run_is_cancelled_by_those_who_see_it(admin: Runner, ada: Runner) -> None:
    done = ada.run()
    key = str(uuid.uuid4())
    ada.record(key, "begin", full=False, graph={"nodes": []})
    bob = user(admin)
    assert refused(bob.ask("POST", f"/runs/{key}/cancel", json={})) == (404, 13)
    assert ada.get(f"/runs/{key}")["state"] == "running"
    for _ in range(2):  # the answer to the first may be lost
        answer = admin.ask("POST", f"/runs/{key}/cancel", json={}).json()
        assert (answer["state"], answer["error"]) == ("stopped", "Cancelled by admin.")
    refusal = ada.tell(key, "end", state="done")
    assert refused(refusal) == (409, 14)
    assert "Cancelled by admin." in refusal.json()["error"]
    lease = {"pipeline": ada.pipeline, "key": ada.lease, "seconds": 9}
    assert ada.ask("POST", "/leases/renew", json=lease).json() == {"held": False}
    assert refused(ada.ask("POST", f"/runs/{done}/cancel", json={})) == (400, 13)
    assert refused(ada.ask("POST", f"/runs/{uuid.uuid4()}/cancel", json={})) == (404, 13)
    assert ada.hold().status_code == 200
    resumed = ada.record(key, "resume", attempts=2, graph={"nodes": []})
    assert (resumed["state"], resumed["error"]) == ("running", None)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/runs", {"state": "asleep"}),
        ("/runs", {"limit": 0}),
        ("/runs", {"page_token": "x"}),
        ("/pipelines", {"page_token": "x"}),
        ("/lineage", {}),
        ("/lineage", {"table": "a", "location": "b"}),
        ("/lineage", {"table": "a\x00b"}),
        ("/lineage", {"table": "a", "depth": 0}),
        ("/lineage", {"table": "a", "direction": "sideways"}),
        ("/lineage", {"table": "a", "format": "pdf"}),
    ],
)
def test_a_bad_query(ada: Runner, path: str, query: dict[str, Any]) -> None:
    assert refused(ada.ask("GET", path, params=query)) == (400, 13)


@pytest.mark.parametrize(
    ("record", "values"),
    [
        ("dance", {}),
        ("end", {"state": "asleep"}),
        ("end", {"state": "failed", "error": "a\x00b"}),
        ("begin step", {"step": "nowhere", "changes": {}}),
        ("end step", {"step": "out", "state": "done", "changes": {"version": -1}}),
        ("end step", {"step": "out", "state": "done", "changes": {"rows": 10**30}}),
        ("plan", {"steps": [{"name": "x"}]}),
    ],
)
def test_a_bad_record_changes_nothing(ada: Runner, record: str, values: dict[str, Any]) -> None:
    key = ada.run()
    before = ada.get(f"/runs/{key}")
    assert refused(ada.tell(key, record, **values)) == (400, 13)
    assert refused(ada.tell("no-uuid", "end", state="done")) == (400, 13)
    assert refused(ada.hold(key="short")) == (400, 13)
    assert ada.get(f"/runs/{key}") == before
