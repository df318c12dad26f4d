"""Who runs a pipeline: one at a time, also after one of them is gone."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.lake import leases
from lanceway.lake.schema import pipelines
from lanceway.lake.store import LakeStore
from lanceway.spark.pipeline import states
from tests.processes import WARM


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/state.db"


def test_the_second_is_refused_with_who_holds_it_and_since_when(uri: str) -> None:
    with states.opened(uri) as store, states.held(store, "p") as first:
        told = rf"p is being run by .*{os.getpid()}\) since 20.* UTC"
        with pytest.raises(ConcurrentModificationError, match=told), states.held(store, "p"):
            pass
        with states.held(store, "other"):
            first.record(lambda connection: None)
    with states.opened(uri) as store, states.held(store, "p"):
        pass


def test_what_lost_its_lease_can_record_nothing_more(uri: str) -> None:
    with states.opened(uri) as store, states.held(store, "p") as first:
        lapse(store)
        with states.held(store, "p") as second:
            with pytest.raises(ConcurrentModificationError, match="taken over by another run"):
                first.record(lambda connection: None)
            second.record(lambda connection: None)


def test_a_lease_is_renewed_while_the_run_lasts_and_its_loss_is_noticed(uri: str) -> None:
    with states.opened(uri) as store, states.held(store, "p", lease=0.2) as held:
        assert not held.lost.wait(1)  # five times as long as the lease
        held.record(lambda connection: None)
        store.run(lambda connection: connection.execute(update(pipelines).values(holder="somebody/1/2/3")))
        assert held.lost.wait(10)


def hold(uri: str, ready: Any) -> None:
    with states.opened(uri) as store, states.held(store, "p"):
        ready.set()
        signal.pause()


def test_a_run_that_was_killed_on_this_machine_is_taken_over_at_once(uri: str) -> None:
    with states.opened(uri) as store:
        ready = WARM.Event()
        process = WARM.Process(target=hold, args=(uri, ready))
        process.start()
        assert ready.wait(60)
        with pytest.raises(ConcurrentModificationError), states.held(store, "p"):
            pass
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with states.held(store, "p"):
            pass


def lapse(store: LakeStore) -> None:
    store.run(lambda connection: connection.execute(update(pipelines).values(held_until=leases.now() - 1)))


def test_the_state_is_the_homes_unless_another_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANCEWAY_SERVER__HOME", str(tmp_path / "home"))
    assert states.uri(None) == f"sqlite:///{tmp_path}/home/lake.db"
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("LANCEWAY_DATABASE", "postgresql://me@host/db")
    assert states.uri(None) == "postgresql://me@host/db"
    assert states.uri("sqlite:///x.db") == "sqlite:///x.db"
    with pytest.raises(InvalidInputError, match="cannot be kept by the server http://localhost:8400"):
        states.uri("http://localhost:8400")
