"""Pipelines, runs, jobs and lineage in a browser, while they are going on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from lanceway.lake.runs import jobs
from lanceway.lake.runs.jobs import JobRow
from lanceway.lake.store.database import LakeStore, open_store
from tests.console.console_helpers import Person
from tests.server.api.test_runs import Runner
from tests.server.server_helpers import Id, ask, stream, table
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run

SCRIPT = "<img src=x onerror=alert(1)>"
MANY = 1_500


@pytest.fixture
def runner(server: Lanceway) -> Runner:
    return Runner(server, server.token)


def begin(runner: Runner, *steps: str) -> str:
    """A run that has begun, and waits with all of its steps."""
    key = str(uuid.uuid4())
    assert runner.hold().status_code == 200
    runner.record(key, "begin", full=False, graph={"nodes": []})
    planned = [{"name": name, "kind": "output", "position": number} for number, name in enumerate(steps)]
    runner.record(key, "plan", steps=planned)
    return key


def end_step(runner: Runner, key: str, step: str, reads: list[dict[str, Any]], **changes: Any) -> None:
    runner.record(key, "begin step", step=step, changes={"table_name": step})
    own = {"table_name": step, "location": f"/{runner.pipeline}/{step}", "version": 1, "rows": 5}
    full = [{"step": step, "kind": "table", "after": 0, "version": 3, **read} for read in reads]
    runner.record(key, "end step", step=step, state="done", reads=full, changes=own | changes)


def read_of(runner: Runner, name: str) -> dict[str, Any]:
    return {"source": name, "table_name": name, "location": f"/{runner.pipeline}/{name}"}


# -- runs ------------------------------------------------------------------------------------------


def test_a_run_is_followed_while_it_goes_on(person: Person, runner: Runner) -> None:
    key = begin(runner, "clean", "report")
    page = person.open("activity", ["runs", key])
    expect(page.get_by_role("heading", name=f"{runner.pipeline}, run 1")).to_be_visible()
    steps = page.get_by_role("region", name="Steps")
    expect(steps.get_by_role("row").nth(1)).to_contain_text("waiting")
    rules = {"price is positive": {"broken": 3, "otherwise": "drop"}, "has an id": {"broken": 0, "otherwise": "fail"}}
    details = {"expectations": {"rows": {"rows": 8, "expectations": rules}}, "warnings": [f"2 rows {SCRIPT}"]}
    end_step(runner, key, "clean", [read_of(runner, "raw")], details=details)
    # Without a click.
    expect(steps.get_by_role("row").nth(1)).to_contain_text("done")
    expectations = page.get_by_role("region", name="Expectations")
    expect(expectations.get_by_role("row", name="price is positive")).to_contain_text("3 rows broke it")
    expect(expectations.get_by_role("row", name="has an id")).to_contain_text("held")
    expect(page.get_by_text(f"2 rows {SCRIPT}").first).to_be_visible()
    assert page.locator("main img").count() == 0
    runner.record(key, "begin step", step="report", changes={})
    runner.record(key, "end step", step="report", state="failed", changes={"error": "a column is missing"})
    runner.record(key, "end", state="failed", error="report: a column is missing")
    expect(page.get_by_text("report: a column is missing")).to_be_visible()
    expect(page.get_by_text("lanceway pipeline run FILE")).to_be_visible()


def test_a_run_is_cancelled(person: Person, runner: Runner) -> None:
    key = begin(runner, "clean")
    page = person.open("activity", ["runs", key])
    person.press("Cancel")
    person.press("Cancel the run")
    expect(page.get_by_text("stopped", exact=True)).to_be_visible()
    expect(page.get_by_text("Cancelled by admin.")).to_be_visible()
    assert page.get_by_role("button", name="Cancel").count() == 0
    assert runner.tell(key, "end", state="done").status_code == 409


def test_pipelines_lead_to_their_runs(person: Person, runner: Runner) -> None:
    runner.run()
    runner.run(state="failed")
    page = person.open("activity")
    page.get_by_role("link", name=runner.pipeline, exact=True).click()
    person.wait()
    rows = page.get_by_role("region", name="Runs").get_by_role("row")
    expect(rows).to_have_count(3)
    page.get_by_label("State").select_option("failed")
    person.wait()
    expect(rows).to_have_count(2)
    assert "state=failed" in person.hash
    page.reload()
    expect(rows).to_have_count(2)


def test_runs_of_others_are_not_there(browser: Browser, server: Lanceway, runner: Runner) -> None:
    key = runner.run()
    token = server.token_for(f"reader-{uuid.uuid4().hex[:8]}", "USE_CATALOG")
    with Person(browser, server.address, token) as other:
        other.expected = ("404",)
        page = other.open("activity")
        expect(page.get_by_text("No pipeline was run yet")).to_be_visible()
        other.open("activity", ["runs", key])
        assert "There is no run" in other.refusal()


# -- lineage ---------------------------------------------------------------------------------------


def test_lineage_is_opened_one_hop_at_a_time(person: Person, runner: Runner) -> None:
    key = begin(runner, "middle", "report", "model")
    end_step(runner, key, "middle", [read_of(runner, "raw"), {"source": "files", "kind": "files"}])
    end_step(runner, key, "report", [read_of(runner, "middle")])
    end_step(runner, key, "model", [read_of(runner, "report")])
    page = person.open("activity", ["lineage"], location=f"/{runner.pipeline}/middle")
    used, made = (page.get_by_role("region", name=name) for name in ("Used by", "Made from"))
    expect(made.get_by_role("link", name="raw")).to_be_visible()
    expect(made.get_by_text("files")).to_be_visible()
    expect(used.get_by_role("link", name="report")).to_be_visible()
    expect(used.get_by_role("link", name="model")).to_have_count(0)
    # How many there are further on is known before it is opened.
    further = used.get_by_role("button", name="report: 1 user")
    further.focus()
    page.keyboard.press("Enter")
    expect(used.get_by_role("link", name="model")).to_be_visible()
    expect(further).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Enter")
    expect(used.get_by_role("link", name="model")).to_have_count(0)
    used.get_by_role("link", name="report").click()
    expect(page.get_by_role("region", name="Made from").get_by_role("link", name="middle")).to_be_visible()


def test_a_table_of_fifteen_hundred_sources_is_readable(person: Person, runner: Runner) -> None:
    key = begin(runner, "wide")
    end_step(runner, key, "wide", [read_of(runner, f"source{number:04}") for number in range(MANY)])
    person.expected = ("400",)  # two hops are too much, and one is asked for instead
    page = person.open("activity", ["lineage"], location=f"/{runner.pipeline}/wide")
    made = page.get_by_role("region", name="Made from")
    expect(made.get_by_role("listitem")).to_have_count(25)
    made.get_by_role("button", name="1,475 more").click()
    expect(made.get_by_role("listitem")).to_have_count(50)
    expect(made.get_by_role("button", name="1,450 more")).to_be_visible()


# -- jobs ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Desk:
    """A server whose jobs wait until the test takes them, as a worker does."""

    server: Lanceway
    store: LakeStore
    table: Id

    def backfill(self) -> str:
        answer = ask(self.server, "table", self.table, "backfill_column", {"column": "twice"})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["job_id"])

    def take(self) -> JobRow:
        row = self.store.transact(jobs.claim, "lanceway", "h" * 32, by="a test", lifetime=60_000)
        assert row is not None
        return row


@pytest.fixture(scope="module")
def desk(whole_run: Run) -> Iterator[Desk]:
    server = lanceway_server.start(whole_run, name="desk", settings="[server]\nworker = false\n")
    id_ = ["lake", "numbers"]
    assert ask(server, "table", id_, "create", content=stream(table(1, 2))).status_code == 200
    new = {"new_columns": [{"name": "twice", "computed": "id * 2"}]}
    answer = ask(server, "table", id_, "add_columns", new)
    assert answer.status_code == 200, answer.text
    store = open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)
    yield Desk(server, store, id_)
    store.close()
    server.stop()


def test_a_job_is_followed_and_asked_for_again_when_it_failed(browser: Browser, desk: Desk) -> None:
    id_ = desk.backfill()
    with Person(browser, desk.server.address, desk.server.token) as person:
        page = person.open("activity", ["jobs"])
        page.locator(f'a[href$="{id_}"]').click()
        # The list before it has these words too, as choices.
        status = page.get_by_role("main").get_by_role("status")
        expect(status).to_have_text("queued")
        row = desk.take()
        progress = {"done": 3, "total": 8, "rows": 1200, "message": "fragment 3"}
        desk.store.transact(jobs.renew, row, lifetime=60_000, progress=progress)
        bar = page.get_by_role("progressbar")
        expect(bar).to_have_accessible_name("3 of 8 parts, 1,200 rows, fragment 3")
        assert bar.evaluate("node => node.value / node.max") == 3 / 8
        desk.store.transact(jobs.end, row, "failed", error=f"The column is gone {SCRIPT}")
        expect(page.get_by_text(f"The column is gone {SCRIPT}")).to_be_visible()
        assert page.get_by_role("button", name="Cancel").count() == 0
        person.open("")
        failed = page.get_by_role("region", name="What went wrong").get_by_role("row", name="backfill of numbers")
        expect(failed).to_contain_text("The column is gone")
        failed.get_by_role("link").click()
        person.press("Retry")
        person.press("Retry")
        expect(status).to_have_text("queued")
        assert id_ not in person.hash
        again = person.hash.rpartition("/")[2]
        with desk.server.client() as client:
            job = client.get(f"/lanceway/v1/jobs/{again}").raise_for_status().json()
        assert (job["kind"], job["request"]["column"]) == ("backfill", "twice")
        person.press("Cancel")
        person.press("Cancel the job")
        expect(status).to_have_text("cancelled")
        expect(page.get_by_text("Cancelled by")).to_be_visible()


def test_jobs_are_filtered_by_state(browser: Browser, desk: Desk) -> None:
    desk.backfill()
    with Person(browser, desk.server.address, desk.server.token) as person:
        page = person.open("activity", ["jobs"], state="queued", all="true")
        expect(page.get_by_role("region", name="Background jobs").get_by_role("row")).to_have_count(2)
        page.get_by_label("State").select_option("done")
        expect(page.get_by_text("No jobs", exact=True)).to_be_visible()
        assert "state=done" in person.hash


@pytest.mark.parametrize("part", ["", "runs", "jobs", "lineage"])
def test_every_control_has_a_name_and_nothing_is_wider_than_a_telephone(
    browser: Browser, server: Lanceway, runner: Runner, part: str
) -> None:
    runner.run()
    with Person(browser, server.address, server.token, width=360) as person:
        person.open("activity", [part] if part else [])
        person.check_access()
