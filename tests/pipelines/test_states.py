"""Who runs a pipeline: one at a time, also after one of them is gone; kept in a database, or by a server."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    UnauthenticatedError,
)
from lanceway.lake.runs import leases
from lanceway.lake.runs.runs import Read, Run, StepRow
from lanceway.lake.runs.source_files import File
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import pipelines
from lanceway.pipelines.runs import store as states
from lanceway.pipelines.runs.http import Server
from lanceway.pipelines.runs.protocol import RunStore
from lanceway.pipelines.runs.store import PipelineLease, State
from tests.processes import WARM
from tests.servers.cutting import Cutting
from tests.servers.lanceway import Lanceway


@dataclass
class Place:
    """Where a pipeline's runs are kept, and the database behind it."""

    state: State
    store: LakeStore
    run_store: RunStore
    name: str  # of a pipeline that nobody else runs

    def change(self, **values: Any) -> None:
        change = update(pipelines).where(pipelines.c.name == self.name).values(**values)
        self.store.transact(lambda connection: connection.execute(change))


@pytest.fixture(params=["database", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    uri, state = f"sqlite:///{tmp_path}/state.db", None
    if request.param == "server":
        server: Lanceway = request.getfixturevalue("server")
        uri, state = f"sqlite:///{server.home}/lake.db", Server(server.address, token=server.token)
    store = LakeStore(uri)
    with states.open_run_store(state or uri) as run_store:
        yield Place(state or uri, store, run_store, f"p-{uuid.uuid4().hex}")
    store.close()


def begin(lease: PipelineLease, *, full: bool = False) -> Run:
    return lease.begin(str(uuid.uuid4()), full=full, graph={"nodes": []})


def test_the_second_is_refused_with_who_holds_it_and_since_when(place: Place) -> None:
    with states.hold(place.run_store, place.name) as first:
        message = rf"{place.name} is being run by .*{os.getpid()}\) since 20.* UTC"
        with pytest.raises(ConcurrentModificationError, match=message), states.hold(place.run_store, place.name):
            pass
        with states.hold(place.run_store, f"{place.name}/other"):
            begin(first)
    with states.hold(place.run_store, place.name):
        pass


def test_what_lost_its_lease_can_record_nothing_more(place: Place) -> None:
    with states.hold(place.run_store, place.name) as first:
        run = begin(first)
        place.change(held_until=leases.now() - 1)
        with states.hold(place.run_store, place.name) as second:
            for record in (lambda: first.end(run, "done"), lambda: begin(first), lambda: first.plan(run, [])):
                with pytest.raises(ConcurrentModificationError, match="taken over by another run"):
                    record()
            assert second.resume(run, {}).attempts == 2
    newest = place.run_store.newest(place.name)
    assert newest is not None
    assert (newest.key, newest.state) == (run.key, "killed")


def test_a_lease_is_renewed_while_the_run_lasts_and_its_loss_is_noticed(place: Place) -> None:
    with states.hold(place.run_store, place.name, lease=0.4) as lease:
        assert not lease.lost.wait(1.2)  # three times as long as the lease
        begin(lease)
        place.change(holder="somebody/1/2/3")
        assert lease.lost.wait(10)


def hold(state: State, name: str, ready: Any) -> None:
    with states.open_run_store(state) as run_store, states.hold(run_store, name):
        ready.set()
        signal.pause()


def test_a_run_that_was_killed_on_this_machine_is_taken_over_at_once(place: Place) -> None:
    ready = WARM.Event()
    process = WARM.Process(target=hold, args=(place.state, place.name, ready))
    process.start()
    assert ready.wait(60)
    with pytest.raises(ConcurrentModificationError), states.hold(place.run_store, place.name):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with states.hold(place.run_store, place.name):
        pass


def test_a_run_is_recorded_from_its_beginning_to_its_end(place: Place) -> None:
    files, read = [File("a", 1, 10), File("b", 2, 20)], Read("out", "raw", "files", 0, 1, "data")
    with states.hold(place.run_store, place.name) as lease:
        assert place.run_store.newest(place.name) is None
        run = begin(lease)
        assert lease.begin(run.key, full=True, graph={}) == run  # asked again, nothing more happens
        for _ in range(2):
            lease.pin(run, {"raw": {"version": 1}}, {"raw": files})
        assert lease.plan(run, [StepRow("out", "output")])[0].state == "waiting"
        begun = lease.begin_step(run, "out", base=0, table_name="here.out")
        assert (begun.state, begun.base, begun.table_name) == ("running", 0, "here.out")
        assert lease.plan(run, [StepRow("out", "output")]) == [begun]
        assert place.run_store.versions_read(run) == {}
        details = {"mode": "append", "expectations": {"raw": {"rows": 2}}}
        for _ in range(2):
            ended = lease.end_step(run, "out", "done", [read], details=details, version=1, rows=2, location="/out")
        late = lease.begin_step(run, "out", base=7)
        assert (ended.details, ended.rows, late.state, late.base) == (details, 2, "done", 0)
        lease.end(run, "failed", f"a\x00b\ud800{'!' * 200_000}")
        error = place.run_store.report(run.key).run.error
        assert error is not None
        assert (error[:5], len(error)) == ("a\ufffdb?!", 100_000)
        lease.end(run, "done")
        assert place.run_store.versions_read(run) == {("out", "raw", None): 1}
        assert place.run_store.files(run, "raw", after=0, until=1) == files
        assert place.run_store.has_changed(run, "raw", after=0, until=1)
        assert not place.run_store.has_changed(run, "raw", after=1, until=1)
        with pytest.raises(InvalidInputError, match="has no step nowhere"):
            lease.begin_step(run, "nowhere")
        report = place.run_store.report(run.key)
        assert (report.ok, report.rows, report.reads, report.run.pins) == (True, 2, [read], {"raw": {"version": 1}})
        second = begin(lease, full=True)
        assert (run.number, second.number, second.full) == (1, 2, True)
    history = place.run_store.history(place.name, limit=None)
    assert [(run_["number"], run_["state"], run_["written"]) for run_ in history] == [
        (2, "killed", []),
        (1, "done", ["here.out 1"]),
    ]
    assert len(place.run_store.history(place.name, limit=1)) == 1
    (edge,) = place.run_store.lineage(["/out"], depth=None, every=False)
    assert (edge.source, edge.table, edge.version, edge.pipeline) == ("data", "here.out", 1, place.name)


def test_the_state_is_the_homes_unless_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANCEWAY_SERVER__HOME", str(tmp_path / "home"))
    assert states.uri(None) == f"sqlite:///{tmp_path}/home/lake.db"
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("LANCEWAY_DATABASE", "postgresql://me@host/db")
    assert states.uri(None) == "postgresql://me@host/db"
    monkeypatch.setenv("LANCEWAY_STATE", "http://localhost:8400")
    assert states.uri(None) == "http://localhost:8400"
    assert states.uri("sqlite:///x.db") == "sqlite:///x.db"


# -- a server ------------------------------------------------------------------------------------


def test_a_token_comes_from_a_file_or_the_environment_and_is_never_shown(
    server: Lanceway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(state: State) -> None:
        with states.open_run_store(state) as run_store:
            assert run_store.newest("nobody's") is None

    (tmp_path / "token").write_text(f"{server.token}\n")
    ask(Server(server.address, token_file=str(tmp_path / "token")))
    for wrong in (Server(server.address), server.address, Server(server.address, token="lw_wrong")):
        with pytest.raises(UnauthenticatedError):
            ask(wrong)
    monkeypatch.setenv("LANCEWAY_STATE_TOKEN_FILE", str(tmp_path / "token"))
    ask(server.address)
    monkeypatch.setenv("LANCEWAY_STATE_TOKEN", server.token)
    monkeypatch.delenv("LANCEWAY_STATE_TOKEN_FILE")
    ask(server.address)
    assert server.token not in repr(Server(server.address, token=server.token))


def test_a_pipeline_is_whose_ran_it_first(server: Lanceway) -> None:
    name = f"p-{uuid.uuid4().hex}"
    ada, bob = (server.token_for(f"{who}-{name}", "RUN_JOB") for who in ("ada", "bob"))
    with states.open_run_store(Server(server.address, token=ada)) as run_store, states.hold(run_store, name) as lease:
        run = begin(lease)
        assert run.started_by == f"ada-{name}"
    with states.open_run_store(Server(server.address, token=bob)) as run_store:
        assert run_store.newest(name) is None
        with pytest.raises(PermissionDeniedError, match="another user's"), states.hold(run_store, name):
            pass
    with (
        states.open_run_store(Server(server.address, token=server.token)) as run_store,
        states.hold(run_store, name) as lease,
    ):
        assert lease.resume(run, {}).started_by == f"ada-{name}"


def test_answers_that_are_lost_are_asked_for_again(server: Lanceway) -> None:
    name, read = f"p-{uuid.uuid4().hex}", Read("out", "raw", "files", 0, 1)
    with Cutting([server.address], rate=0.3, seed=7) as network:
        with (
            states.open_run_store(Server(network.endpoint, token=server.token)) as run_store,
            states.hold(run_store, name) as lease,
        ):
            run = begin(lease)
            run = lease.resume(run, {})
            lease.pin(run, {"raw": {"version": 1}}, {"raw": [File("a", 1, 10)]})
            lease.plan(run, [StepRow("out", "output")])
            lease.begin_step(run, "out", base=0)
            lease.end_step(run, "out", "done", [read], version=1, rows=2)
            lease.end(run, "done")
            report = run_store.report(run.key)
        assert network.cuts["Lose"] + network.cuts["Leave"] > 0
    assert (report.ok, report.run.number, report.run.attempts, report.rows, report.reads) == (True, 1, 2, 2, [read])


def test_what_is_no_server_of_ours_is_told(server: Lanceway) -> None:
    with (
        states.open_run_store(f"{server.address}/nowhere") as run_store,
        pytest.raises(LanceNamespaceError, match="a Lanceway server"),
    ):
        run_store.newest("p")
    with pytest.raises(InvalidInputError), states.open_run_store("http://me:secret@localhost:1"):
        pass
