"""What `why` says about jobs, runs, leases and clones, beside what the API then answers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import pytest

from lanceway.access.operations import (
    JOBS,
    METALAKE,
    OPERATIONS,
    OWN,
    PARENT,
    RUNS,
    SOURCES,
    TARGET,
    Demand,
    Operation,
)
from lanceway.lake import users
from lanceway.lake.access.securables import Securable
from lanceway.lake.store.database import open_store
from lanceway.lake.store.schema import TABLE
from tests.access.sufficient_helpers import Right, attempts, place
from tests.server.api.test_runs import Runner
from tests.server.lance.test_rights import REQUESTS, SOURCE, VIEW, Asked, Site, T
from tests.servers import lanceway as lanceway_server
from tests.servers.run import Run

API = "/lanceway/v1"
RUN = Right("privilege", "RUN_JOB", place())


@dataclass
class Desk:
    """A server with tables, jobs and runs, some of them those of the user `me`, others the administrator's."""

    site: Site
    mine: Runner
    others: Runner
    runs: Mapping[str, str] = field(default_factory=dict)  # by whose they are
    jobs: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.site.user.request(method, f"{API}{path}", **options)

    def why(self, action: str, names: tuple[str, ...], *, by_admin: bool = False) -> dict[str, Any]:
        """What `me` is told, or the administrator about it."""
        asker = self.site.admin if by_admin else self.site.user
        query = {"action": action, "object": "$".join(names), **({"user": "me"} if by_admin else {})}
        found: dict[str, Any] = asker.get(f"{API}/access/why", params=query).raise_for_status().json()
        return found


@pytest.fixture(scope="module")
def desk(whole_run: Run) -> Iterator[Desk]:
    server = lanceway_server.start(whole_run, name="why")
    store = open_store(f"sqlite:///{server.home}/lake.db", upgrade=False)
    site = Site(server, store)
    site.make()
    made = Desk(site, Runner(server, site.user.headers["x-api-key"]), Runner(server, server.token))
    site.rights.give([RUN, *whole("refresh", VIEW)])
    made.runs = {"me": made.mine.run(), "admin": made.others.run()}
    made.jobs = {
        who: site.ask("refresh_materialized_view", Asked(VIEW, body), client).raise_for_status().json()["job_id"]
        for who, client, body in (("me", site.user, {}), ("admin", site.admin, {"src_version": 1}))
    }
    yield made
    site.admin.close()
    site.user.close()
    store.close()
    server.stop()


def whole(action: str, names: tuple[str, ...]) -> frozenset[Right]:
    """All rights that an action needs of an object, by privileges."""
    demands = ACTIONS[action].demands
    of = partial(asked_of, names)
    return frozenset(
        each for one in demands for each in list(attempts(demands, of, one, one.rule.sufficient[-1]))[-1].rights
    )


def asked_of(names: tuple[str, ...], demand: Demand) -> Securable:
    if demand.of == SOURCES:
        return place(*SOURCE, kind=TABLE)
    return {METALAKE: place(), PARENT: place(*names[:-1]), TARGET: place(*names, kind=TABLE)}[demand.of]


ACTIONS: Mapping[str, Operation] = {**JOBS, **RUNS, "clone_table": OWN["clone_table"]}
# The requests by which a job carries out what it does: those that it is asked for by, or that it sends itself.
CARRIED_OUT: Mapping[str, str] = {
    "backfill": "alter_table_backfill_columns",
    "compact": "create_table_version",
    "index": "create_table_index",
    "refresh_index": "create_table_scalar_index",
    "dedupe": "delete_from_table",
    "clean": "batch_delete_table_versions",
    "import": "create_table_version",
    "refresh": "refresh_materialized_view",
    "auto_refresh": "refresh_materialized_view",
    "export": "query_table",
    "crawl": "register_table",
    "sync": "declare_table",
    "migrate": "create_table",
}


def _lease(desk: Desk, path: str, runner: str = "mine") -> httpx.Response:
    asker: Runner = getattr(desk, runner)
    body = {"pipeline": asker.pipeline, "key": asker.lease, "seconds": 60}
    return desk.ask("POST", f"/leases{path}", json=body)


def _clone(desk: Desk) -> httpx.Response:
    return desk.ask("POST", "/tables/clone", json={"source": list(SOURCE), "target": list(T)})  # which is there


def _of_run(path: str, **query: str) -> Callable[[Desk, str], httpx.Response]:
    return lambda desk, whose: desk.ask("GET", f"/runs/{desk.runs[whose]}{path}", params=query)


# Requests about what is the caller's own or another's, by whose it is.
WHOSE: Mapping[str, Callable[[Desk, str], httpx.Response]] = {
    "describe_job": lambda desk, whose: desk.ask("GET", f"/jobs/{desk.jobs[whose]}"),
    "cancel_job": lambda desk, whose: desk.ask("POST", f"/jobs/{desk.jobs[whose]}/cancel"),
    "get_run": _of_run(""),
    "get_had": _of_run("/had"),
    "get_last_steps": _of_run("/last-steps"),
    "get_files": _of_run("/files", source="in"),
    "get_changed": _of_run("/changed", source="in"),
    "cancel_run": lambda desk, whose: desk.ask("POST", f"/runs/{desk.runs[whose]}/cancel"),
    "take_lease": lambda desk, whose: _lease(desk, "", "mine" if whose == "me" else "others"),
    "get_pipeline": lambda desk, whose: desk.ask(
        "GET", f"/pipelines/{(desk.mine if whose == 'me' else desk.others).pipeline}"
    ),
}
OTHERS: Mapping[str, Callable[[Desk], httpx.Response]] = {
    "renew_lease": lambda desk: _lease(desk, "/renew"),
    "release_lease": lambda desk: _lease(desk, "/release"),
    "record_run": lambda desk: desk.mine.tell(str(uuid.uuid4()), "begin", full=False, graph={"nodes": []}),
    "list_jobs": lambda desk: desk.ask("GET", "/jobs"),
    "list_runs": lambda desk: desk.ask("GET", "/runs"),
    "list_pipelines": lambda desk: desk.ask("GET", "/pipelines"),
    "get_lineage": lambda desk: desk.ask("GET", "/lineage", params={"table": "none"}),
    "clone_table": _clone,
}


def names_of(action: str) -> tuple[str, ...]:
    operation = CARRIED_OUT.get(action)
    return (REQUESTS[operation].id or T) if operation else T


def answered(desk: Desk, action: str) -> httpx.Response:
    if action in CARRIED_OUT:
        return desk.site.ask(CARRIED_OUT[action], REQUESTS[CARRIED_OUT[action]])
    return WHOSE[action](desk, "me") if action in WHOSE else OTHERS[action](desk)


def test_every_entry_is_asked_for() -> None:
    assert set(ACTIONS) == {*CARRIED_OUT, *WHOSE, *OTHERS}
    for action, operation in CARRIED_OUT.items():
        wanted = {(each.of, each.rule) for each in OPERATIONS[operation].demands}
        assert {(each.of, each.rule) for each in JOBS[action].demands if each.of != SOURCES} <= wanted, action


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_why_says_what_the_api_answers(desk: Desk, action: str) -> None:
    names, demands = names_of(action), ACTIONS[action].demands
    of = partial(asked_of, names)
    # Sources are named by a request alone, and so are not looked at by `why`: the rights on them are always there.
    asked = [each for each in demands if each.of != SOURCES]
    sources = [each for each in demands if each.of == SOURCES]
    besides = {each for one in sources for each in list(attempts(sources, of, one, one.rule.sufficient[-1]))[-1].rights}
    given = [
        frozenset[Right](),
        *(each.rights for one in asked for needs in one.rule.sufficient for each in attempts(asked, of, one, needs)),
    ]
    verdicts = set()
    for rights in given:
        desk.site.rights.give({*rights, *besides})
        answer, told = answered(desk, action), desk.why(action, names, by_admin=True)
        assert answer.status_code not in (401, 500), answer.text
        refusals = (403, 404) if action in WHOSE else (403,)
        assert told["allowed"] is (answer.status_code not in refusals), f"{told} {answer.text}"
        assert desk.why(action, names)["allowed"] is told["allowed"]
        assert len(told["not_asked"]) == len(sources)
        verdicts.add(told["allowed"])
    needs_a_right = any(all(one.rule.sufficient) for one in asked)
    assert verdicts == ({True, False} if needs_a_right else {True})


@pytest.mark.parametrize("action", sorted(WHOSE))
def test_of_what_is_anothers_why_promises_nothing(desk: Desk, action: str) -> None:
    """No right on a table, nor that to run pipelines, opens the jobs and runs of others."""
    desk.site.rights.give([RUN, *whole("refresh", VIEW), Right("owner", "", place(*VIEW, kind=TABLE))])
    assert WHOSE[action](desk, "admin").status_code in (403, 404)
    text = desk.why(action, T)["text"]
    assert "that it asked for itself" in text or "that it began" in text


def test_a_lease_ends_with_the_right_to_run(desk: Desk) -> None:
    desk.site.rights.give([RUN])
    assert _lease(desk, "").json() == _lease(desk, "/renew").json() == {"held": True}
    desk.site.rights.give([])
    answer = _lease(desk, "/renew")
    assert (answer.status_code, answer.json()["code"]) == (403, 15)
    assert "RUN_JOB is missing" in answer.json()["error"]
    assert _lease(desk, "/release").json() == {"held": False}, "what is held is free again at once"
    desk.site.rights.give([RUN])
    assert _lease(desk, "/renew").json() == {"held": False}


def test_of_a_disabled_user_why_allows_nothing(desk: Desk) -> None:
    user = desk.site.store.read(users.find, "me")
    assert user is not None
    desk.site.store.transact(users.disable, user, by="admin")
    try:
        for action in ACTIONS:
            assert desk.why(action, names_of(action), by_admin=True)["reason"] == "disabled", action
    finally:
        desk.site.store.transact(users.enable, user, by="admin")
