"""Jobs that a server recorded for a user: they need the user's rights once more, when they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lanceway.access.records.audit import AuditTrail, RowSink, object_path
from lanceway.access.rights import switch
from lanceway.access.rights.actor import Actor
from lanceway.access.rights.places import PlaceFinder
from lanceway.catalogs.contract.jobs import Job
from lanceway.identifiers import Identifier
from lanceway.lake import users
from lanceway.lake.access import audit, grants, owners, roles
from lanceway.lake.access.audit import AuditEvent, AuditFilter
from lanceway.lake.access.facts import Caller
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.runs import jobs
from lanceway.lake.store.schema import TABLE
from lanceway.lake.tree import settings
from tests.jobs.worker.conftest import Bench, people, view_request

SCHEMA = people(1).schema
METALAKE, CATALOG = "lanceway", "lake"
USE = ("USE_CATALOG", "USE_SCHEMA")


@pytest.fixture
def site(bench: Bench) -> Bench:
    bench.create("people", people(1, 2, 3))
    bench.lake.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "x", "computed": "id * 2"}]})
    store = bench.worker.places.store
    store.transact(roles.create, METALAKE, "r", by="admin")
    store.transact(roles.give, METALAKE, "r", "bob", by="admin")
    return bench


def grant(bench: Bench, *privileges: str, table: str | None = None, revoke: bool = False) -> None:
    place = Securable(METALAKE, CATALOG, Identifier((table,)), TABLE) if table else Securable(METALAKE, CATALOG)
    changes = [GrantChange("r", place, privilege, revoke=revoke) for privilege in privileges]
    bench.worker.places.store.transact(grants.apply, METALAKE, changes, by="admin")


def backfill(bench: Bench, groups: Sequence[str] | None = ()) -> Job:
    """A backfill that a server recorded for bob, as it was let through then."""
    bob = bench.lake.acting_as("bob", None if groups is None else tuple(groups))
    return bench.done(bob.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id)


def test_a_backfill_needs_the_right_to_change_the_table(site: Bench) -> None:
    job = backfill(site)
    assert (job.state, job.attempts) == ("failed", 1)
    assert "bob may not change a table (the table people of the catalog lake)" in str(job.error)
    grant(site, *USE)
    grant(site, "MODIFY_TABLE", table="people")
    assert backfill(site).state == "done"
    grant(site, "MODIFY_TABLE", table="people", revoke=True)
    assert backfill(site).state == "failed"
    assert site.rows("people", "x") == [(2,), (4,), (6,)]


def test_who_has_the_database_is_an_administrator(site: Bench) -> None:
    assert backfill(site, groups=None).state == "done"


def test_groups_are_those_of_the_request(site: Bench) -> None:
    store = site.worker.places.store
    grant(site, *USE, "MODIFY_TABLE")
    store.transact(roles.take, METALAKE, "r", "bob")
    store.transact(roles.give, METALAKE, "r", "team@acme", "group", by="admin")
    assert backfill(site).state == "failed"
    assert backfill(site, groups=("team@acme",)).state == "done"


def test_a_refresh_needs_the_right_to_read_the_source(site: Bench) -> None:
    grant(site, *USE)
    bob = site.lake.acting_as("bob", ())
    request = view_request(["copy"], SCHEMA, {"source": ["people"], "columns": SCHEMA.names})
    made = bob.create_materialized_view({**request, "with_no_data": True})
    assert made.job_id is None
    refresh = site.done(bob.refresh_materialized_view({"id": ["copy"]}).job_id)
    assert refresh.state == "failed"
    assert "bob may not read a table (the table people" in str(refresh.error)
    grant(site, "SELECT_TABLE", table="people")
    assert site.done(bob.refresh_materialized_view({"id": ["copy"]}).job_id).state == "done"
    assert site.rows("copy", "id") == [(1,), (2,), (3,)]


def test_sql_may_read_the_whole_catalog_and_needs_its_owner(site: Bench) -> None:
    grant(site, *USE, "SELECT_TABLE", "MODIFY_TABLE")
    bob = site.lake.acting_as("bob", ())
    request = view_request(["copy"], SCHEMA, {"sql": "SELECT * FROM people"})
    bob.create_materialized_view({**request, "with_no_data": True})
    job = site.done(bob.refresh_materialized_view({"id": ["copy"]}).job_id)
    assert "may not change or drop a catalog (the catalog lake): only the owner of the catalog" in str(job.error)
    owner = Owner("bob")
    site.worker.places.store.transact(owners.change_owner, Securable(METALAKE, CATALOG), owner, by="admin")
    job = site.done(bob.refresh_materialized_view({"id": ["copy"]}).job_id)
    assert "may not be refreshed by this worker" in str(job.error), "it allows no SQL, whoever asks"


def test_jobs_from_before_access_control_need_rights_with_it(site: Bench) -> None:
    store = site.worker.places.store
    store.transact(users.create, "admin", by="admin", admin=True)
    bob = site.lake.acting_as("bob")
    waiting = bob.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id
    switch.enable(store, Actor(Caller("admin"), METALAKE), PlaceFinder(METALAKE), confirm=True)
    row = store.read(jobs.find, waiting)
    assert row is not None
    assert row.requested_groups == []
    assert site.done(waiting).state == "failed"


@pytest.mark.parametrize("enabled", [settings.ON, settings.OFF])
def test_a_user_who_was_disabled_meanwhile_is_refused(site: Bench, enabled: str) -> None:
    store = site.worker.places.store
    grant(site, *USE, "MODIFY_TABLE")
    store.transact(settings.store, {settings.ACCESS_CONTROL: enabled})
    bob = site.lake.acting_as("bob", ())
    waiting = bob.alter_table_backfill_columns({"id": ["people"], "column": "x"}).job_id
    user = store.read(users.find, "bob")
    assert user is not None
    store.transact(users.disable, user, by="admin")
    job = site.done(waiting)
    assert job.state == "failed"
    assert "the user 'bob' is disabled" in str(job.error)
    store.transact(users.enable, user, by="admin")
    assert backfill(site).state == "done"


def test_a_denial_is_audited_with_its_reason(site: Bench) -> None:
    places = site.worker.places
    trail = AuditTrail([RowSink(places.store, retention_days=90)])
    site.worker.places = replace(places, trail=trail)
    grant(site, *USE)
    denied = backfill(site)
    grant(site, "MODIFY_TABLE")
    assert backfill(site).state == "done"
    broken = site.lake.acting_as("bob", ()).alter_table_backfill_columns({"id": ["people"], "column": "x"})
    site.lake.alter_table_drop_columns({"id": ["people"], "columns": ["x"]})
    assert site.done(broken.job_id).state == "failed"
    trail.close()
    (row,) = places.store.read(audit.page, AuditFilter())
    assert row.event == AuditEvent(
        request_id=denied.id,
        user="bob",
        via="worker",
        operation="backfill",
        object=object_path(["lake", "people"]),
        outcome="denied",
        code=15,
        reason=denied.error,
    )
