"""Every change leaves an event, with the change or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select

from lanceway.identifiers import parse
from lanceway.lake import tokens, users
from lanceway.lake.access import grants, groups, owners, roles, securables
from lanceway.lake.access.grants import GrantChange
from lanceway.lake.access.owners import Owner
from lanceway.lake.access.securables import Securable
from lanceway.lake.feed import reading
from lanceway.lake.feed.reading import START, FeedFilter, FeedRow
from lanceway.lake.feed.types import TYPES
from lanceway.lake.runs import jobs, leases, runs
from lanceway.lake.secrets import SecretKeys
from lanceway.lake.store.database import LakeStore
from lanceway.lake.store.schema import GROUP, TABLE, VIEW, feed
from lanceway.lake.tree import catalogs, definitions, lookups, metalakes, mounts, namespaces, nesting, tables
from lanceway.lake.tree.definitions import COLUMN, NewDefinition
from lanceway.lake.tree.mounts import MountSettings
from lanceway.lake.versions import refs, versions
from lanceway.lake.versions.refs import NewBranch, NewTag
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import Lake

ME = "me"
PLACE = Securable("m", "lake", parse("team.renamed"), TABLE)
MOUNTED = Securable("m", "aws", parse("db.events"), TABLE, mounted=True)
Step = tuple[list[str], Callable[[Connection], object]]


class UndoneError(Exception):
    """Raised to roll a transaction back."""


def undo(store: LakeStore, change: Callable[[Connection], object]) -> None:
    with store.transaction() as connection:
        change(connection)
        raise UndoneError


def everything(store: LakeStore) -> list[FeedRow]:
    rows = store.read(lambda connection: connection.execute(select(feed).order_by(feed.c.id)).all())
    return [FeedRow.of(row) for row in rows]


def _table(connection: Connection, catalog: int, name: str) -> lookups.TableRow:
    return lookups.lock(connection, catalog, parse(name))


def _user(connection: Connection, name: str) -> users.User:
    return groups.load_user(connection, name)


def _run(connection: Connection) -> int:
    return next(iter(runs.page(connection, leases.ensure(connection, "p").id))).id


def _token(connection: Connection, prefix: str) -> tokens.Token:
    stored = tokens.find(connection, prefix)
    assert stored is not None
    return stored.token


def _job(connection: Connection, **options: Any) -> jobs.JobRow:
    return jobs.record(connection, "compact", "m", "lake", ["team", "t"], options, by=ME)


def _claimed_job(connection: Connection) -> jobs.JobRow:
    row = jobs.claim(connection, "m", "holder", by="worker", lifetime=60_000)
    assert row is not None
    return row


def of_tree(catalog: int) -> Iterator[Step]:
    c, t = catalog, "team.renamed"
    yield ["metalake.created"], lambda k: metalakes.create(k, "other", by=ME)
    yield ["metalake.altered"], lambda k: metalakes.alter(k, "other", by=ME, comment="new")
    yield ["metalake.dropped"], lambda k: metalakes.drop(k, "other", by=ME)
    yield ["catalog.created"], lambda k: catalogs.create(k, "m", "flat", by=ME, location="/flat")
    yield ["catalog.altered"], lambda k: catalogs.alter(k, "m", "flat", by=ME, comment="new")
    yield ["catalog.altered"], lambda k: nesting.enable(k, catalogs.load(k, "m", "flat").id, by=ME)
    yield ["catalog.altered"], lambda k: catalogs.set_enabled(k, "m", "flat", False, by=ME)
    yield ["catalog.renamed"], lambda k: catalogs.rename(k, "m", "flat", "even", by=ME)
    yield ["catalog.dropped"], lambda k: catalogs.drop(k, "m", "even", by=ME)
    folder, keys = MountSettings("dir", {"path": "/folder"}), SecretKeys()
    yield ["catalog.created"], lambda k: mounts.create(k, "m", "folder", folder, keys=keys, by=ME)
    yield ["catalog.altered"], lambda k: mounts.alter(k, "m", "folder", by=ME, keys=keys, comment="new")
    yield ["catalog.altered"], lambda k: mounts.set_enabled(k, "m", "folder", False, by=ME)
    yield ["catalog.renamed"], lambda k: mounts.rename(k, "m", "folder", "archive", by=ME)
    yield ["catalog.dropped"], lambda k: mounts.drop(k, "m", "archive", by=ME)
    yield ["namespace.created"] * 2, lambda k: namespaces.create(k, c, parse("team.deep"), by=ME, parents=True)
    yield ["namespace.altered"], lambda k: namespaces.alter(k, c, parse("team"), by=ME, comment="new")
    yield ["namespace.renamed"], lambda k: nesting.rename(k, c, parse("team.deep"), "low", by=ME)
    yield ["table.created"], lambda k: tables.create(k, c, parse("team.t"), by=ME)
    yield ["table.registered"], lambda k: tables.create(k, c, parse("team.r"), by=ME, location="/r", event="registered")
    yield ["table.cloned"], lambda k: tables.create(k, c, parse("team.c"), by=ME, location="/c", event="cloned")
    yield ["table.altered"], lambda k: tables.alter(k, c, parse("team.t"), by=ME, comment="new")
    yield ["table.renamed"], lambda k: tables.rename(k, c, parse("team.t"), parse(t), by=ME)
    yield ["table.deregistered"], lambda k: tables.deregister(k, c, parse("team.r"), by=ME)
    yield ["view.created"], lambda k: tables.create(k, c, parse("team.v"), by=ME, kind=VIEW)
    yield ["view.altered"], lambda k: tables.alter(k, c, parse("team.v"), by=ME, kind=VIEW, comment="new")
    yield ["view.renamed"], lambda k: tables.rename(k, c, parse("team.v"), parse("team.w"), by=ME, kind=VIEW)
    yield ["view.dropped"], lambda k: tables.drop(k, c, parse("team.w"), by=ME, kind=VIEW)
    yield ["namespace.dropped"], lambda k: namespaces.drop(k, c, parse("team.low"), by=ME)


def of_versions(catalog: int) -> Iterator[Step]:
    def at(connection: Connection) -> lookups.TableRow:
        return _table(connection, catalog, "team.renamed")

    def claim(connection: Connection, number: int) -> object:
        row = versions.claim(connection, at(connection), VersionClaim(number, f"s{number}", f"f{number}"), by=ME)
        versions.mark_copied(connection, row)
        return row

    quick = VersionClaim(2, "s2", "f2")
    yield ["version.created"], lambda k: claim(k, 1)
    yield ["version.created"], lambda k: versions.claim_in_one_statement(k, catalog, at(k), quick, by=ME)
    yield [], lambda k: versions.claim_in_one_statement(k, catalog, at(k), quick, by=ME)
    yield ["version.adopted"], lambda k: versions.adopt(k, at(k).id, [VersionClaim(3, "f3", "f3")], by=ME)
    yield ["version.deleted"], lambda k: versions.remove(k, at(k), [(1, 2)], by=ME)
    yield [], lambda k: versions.remove(k, at(k), [(1, 2)], by=ME)
    yield ["tag.created"], lambda k: refs.create_tag(k, at(k).id, NewTag("one", "", 2), by=ME)
    yield [], lambda k: refs.create_tag(k, at(k).id, NewTag("one", "", 2), by=ME)
    yield ["tag.moved"], lambda k: refs.move_tag(k, at(k).id, NewTag("one", "", 3), by=ME)
    yield ["tag.deleted"], lambda k: refs.remove_tag(k, at(k).id, "one", by=ME)
    yield ["branch.created"], lambda k: refs.begin_branch(k, at(k).id, NewBranch("b", "", 2), by=ME)
    yield ["branch.deleted"], lambda k: refs.remove_branch(k, at(k).id, "b", by=ME)
    yield ["branch.created"], lambda k: refs.ensure_branch(k, at(k).id, "d", 2, None, by=ME)
    yield ["branch.deleted"], lambda k: refs.drop_branch(k, at(k).id, "d", by=ME)
    column = NewDefinition(COLUMN, "x", {"expression": "1"})
    yield ["definition.changed"], lambda k: definitions.record(k, at(k).id, [column], by=ME)
    yield ["definition.changed"], lambda k: definitions.rename(k, at(k).id, "", {"x": "y"}, by=ME)
    yield ["definition.changed"], lambda k: definitions.drop(k, at(k).id, "", COLUMN, "y", by=ME)
    yield [], lambda k: definitions.remove(k, at(k).id, "", by=ME)


def of_rights(catalog: int) -> Iterator[Step]:
    allow = GrantChange("r", PLACE, "SELECT_TABLE")
    yield ["user.created"], lambda k: users.create(k, "ada", by=ME)
    yield ["user.promoted"], lambda k: users.promote(k, _user(k, "ada"), by=ME)
    yield ["user.created"], lambda k: users.create(k, "root", by=ME, admin=True)
    yield ["user.demoted"], lambda k: users.demote(k, _user(k, "ada"), by=ME)
    yield ["user.disabled"], lambda k: users.disable(k, _user(k, "ada"), by=ME)
    yield [], lambda k: users.disable(k, _user(k, "ada"), by=ME)
    yield ["user.enabled"], lambda k: users.enable(k, _user(k, "ada"), by=ME)
    yield ["user.renamed"], lambda k: users.rename(k, _user(k, "ada"), "bea", by=ME)
    new = {"by": ME, "label": None, "lifetime": None}
    yield ["token.created"], lambda k: tokens.create(k, _user(k, "bea"), "lw_1", "hash", **new)
    yield ["token.revoked"], lambda k: tokens.revoke(k, _token(k, "lw_1"), by=ME)
    yield ["token.created"], lambda k: tokens.create(k, _user(k, "bea"), "lw_2", "hash", **new)
    yield ["token.revoked"], lambda k: tokens.revoke_all(k, "bea", by=ME)
    yield ["group.created"], lambda k: groups.create(k, "g", by=ME)
    yield ["group.joined"], lambda k: groups.add(k, "g", "bea", by=ME)
    yield ["group.left"], lambda k: groups.discard(k, "g", "bea", by=ME)
    yield ["role.created"], lambda k: roles.create(k, "m", "r", by=ME)
    yield ["role.given"], lambda k: roles.give(k, "m", "r", "bea", by=ME)
    yield [], lambda k: roles.give(k, "m", "r", "bea", by=ME)
    yield ["role.given"], lambda k: roles.give(k, "m", "r", "g", GROUP, by=ME)
    yield ["role.taken"], lambda k: roles.take(k, "m", "r", "g", GROUP, by=ME)
    yield ["grant.made"], lambda k: grants.apply(k, "m", [allow], by=ME)
    yield [], lambda k: grants.apply(k, "m", [allow], by=ME)
    taken = GrantChange("r", PLACE, "SELECT_TABLE", revoke=True)
    yield ["grant.revoked"], lambda k: grants.apply(k, "m", [taken], by=ME)
    yield ["grant.made"], lambda k: grants.apply(k, "m", [GrantChange("r", MOUNTED, "SELECT_TABLE")], by=ME)
    yield [], lambda k: securables.lapse(k, MOUNTED)
    yield ["grant.revoked"], lambda k: grants.purge_dangling(k, "m", by=ME)
    yield ["owner.changed"], lambda k: owners.change_owner(k, PLACE, Owner("bea"), by=ME)
    yield ["owner.changed"], lambda k: owners.change_owner(k, Securable("m"), Owner("root"), by=ME)
    yield ["role.deleted"], lambda k: roles.remove(k, "m", "r", by=ME)
    yield ["group.deleted"], lambda k: groups.remove(k, "g", by=ME)
    yield ["owner.changed", "user.deleted"], lambda k: users.remove(k, _user(k, "bea"), by=ME)


def of_work(catalog: int) -> Iterator[Step]:
    yield ["job.queued"], _job
    yield [], _job  # the same one waits already
    yield ["job.started"], _claimed_job
    yield ["job.released"], lambda k: jobs.release(k, _held(k))
    yield ["job.started"], _claimed_job
    yield ["job.ended"], lambda k: jobs.end(k, _held(k), "done")
    yield ["job.queued"], lambda k: _job(k, other=True)
    yield ["job.cancelled", "job.ended"], lambda k: jobs.cancel(k, _job(k, other=True).key, by=ME)
    yield ["run.started"], lambda k: runs.create(k, leases.ensure(k, "p").id, "k1", by=ME, full=False, graph={})
    yield ["run.resumed"], lambda k: runs.resume(k, _run(k), 2, {})
    yield ["run.ended"], lambda k: runs.end(k, _run(k), runs.DONE)
    yield ["table.dropped"], lambda k: tables.drop(k, catalog, parse("team.renamed"), by=ME)
    yield ["table.dropped", "namespace.dropped"], lambda k: nesting.drop(k, catalog, parse("team"), by=ME)
    yield ["catalog.dropped"], lambda k: catalogs.drop_tree(k, "m", "lake", by=ME)


def _held(connection: Connection) -> jobs.JobRow:
    return next(row for row in jobs.page(connection, "m", state="running") if row.holder)


def test_every_change_leaves_its_events_and_a_change_that_is_undone_none(lake: Lake) -> None:
    store, catalog = lake.store, lake.catalog.id
    seen = {row.type for row in everything(store)}
    for steps in (of_tree, of_versions, of_rights, of_work):
        for number, (expected, change) in enumerate(steps(catalog)):
            before = everything(store)
            with pytest.raises(UndoneError):
                undo(store, change)
            assert everything(store) == before
            store.transact(change)
            new = everything(store)[len(before) :]
            assert [row.type for row in new] == expected, (steps.__name__, number)
            assert {row.actor for row in new} <= {ME, None}
            seen |= {row.type for row in new}
    assert seen == set(TYPES)


def test_an_event_has_the_names_of_its_object(lake: Lake) -> None:
    lake.do(namespaces.create, parse("a"), by=ME)
    lake.do(namespaces.create, parse("b"), by=ME)
    lake.do(tables.create, parse("a.t"), by=ME)
    lake.do(tables.rename, parse("a.t"), parse("b.u"), by="you")
    created, renamed = everything(lake.store)[-2:]
    assert (created.names, renamed.names, renamed.actor) == (["lake", "a", "t"], ["lake", "b", "u"], "you")
    assert renamed.data["previous"] == ["a", "t"]
    lake.do(nesting.drop, parse("b"), by=ME)
    assert [(row.type, row.names) for row in everything(lake.store)[-2:]] == [
        ("table.dropped", ["lake", "b", "u"]),
        ("namespace.dropped", ["lake", "b"]),
    ]


def test_filters(lake: Lake) -> None:
    for name in ("a", "ab", "a.c"):
        lake.do(namespaces.create, parse(name), by=ME)
    for name in ("a.t", "ab.t", "a.c.t"):
        lake.do(tables.create, parse(name), by=ME)

    def read(types: list[str], under: str | None) -> list[list[str]]:
        path = None if under is None else parse(f"lake.{under}")
        rows, _ = lake.store.snapshot(reading.page, FeedFilter.of("m", types, path), START, 100)
        return [row.names[1:] for row in rows]

    assert read(["table"], "a") == [["a", "t"], ["a", "c", "t"]]
    assert read(["io.lanceway.namespace.created"], "a") == [["a"], ["a", "c"]]
    assert read([], "a.c.t") == [["a", "c", "t"]]
    assert read(["table.created", "namespace.*"], None)[-1] == ["a", "c", "t"]
