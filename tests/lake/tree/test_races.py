"""Many at once, in threads and in processes: one winner each, no orphan, nothing half done, nothing lost."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from lanceway.identifiers import HierarchicalName, Identifier, parse
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import NAMESPACE, objects
from lanceway.lake.tree import catalogs, lookups, namespaces, nesting, tables
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import VersionClaim
from tests.lake.conftest import Lake, make_lake
from tests.processes import WARM

pytestmark = pytest.mark.slow


def at_once(actions: Sequence[Callable[[], Any]]) -> list[Any]:
    """What each answered or raised, begun together."""
    barrier = threading.Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        barrier.wait()
        try:
            return action()
        except LanceNamespaceError as error:
            return error

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def check_tree(store: LakeStore) -> None:
    """Every object hangs on a namespace of its own catalog, and every path is made of the names above it."""
    rows = {row.id: row for row in store.read(lambda connection: connection.execute(objects.select()).all())}
    for row in rows.values():
        if row.parent_id is None:
            assert row.physical == ""
            continue
        parent = rows[row.parent_id]
        assert (parent.kind, parent.catalog_id) == (NAMESPACE, row.catalog_id)
        if row.kind == NAMESPACE:
            path = HierarchicalName.from_physical(parent.physical).child(row.name)
            assert row.physical == HierarchicalName(path).physical


def create(lake: Lake, path: str, **options: Any) -> Any:
    return lake.do(namespaces.create, parse(path), by=options.pop("by", "me"), **options)


def test_fifty_clients_make_overlapping_chains(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        paths = [f"r{number}.{a}.{b}.{c}" for a in "xy" for b in "xyz" for c in "abcd"]
        paths = [*paths, *paths, f"r{number}.x", f"r{number}.x.y"]
        answers = at_once(
            [
                lambda path=path, who=who: create(lake, path, parents=True, by=f"u{who}")
                for who, path in enumerate(paths)
            ]
        )
        assert {type(each) for each in answers} <= {namespaces.Namespace, NamespaceAlreadyExistsError}
        made = Counter(each.identifier for each in answers if isinstance(each, namespaces.Namespace))
        assert set(made.values()) == {1}
        assert lake.see(namespaces.children, parse(f"r{number}.x")) == ["x", "y", "z"]
        assert lake.see(namespaces.children, parse(f"r{number}.y.z")) == list("abcd")

    for number in range(rounds):
        race(number)
    check_tree(lake.store)


def _make_chains(uri: str, catalog: int, seed: int, answers: Any) -> None:
    store, choice = open_store(uri), random.Random(seed)
    made = []
    for _ in range(30):
        path = Identifier(choice.choice("abc") for _ in range(choice.randint(1, 5)))
        with contextlib.suppress(NamespaceAlreadyExistsError):
            store.transact(lambda c, p=path: namespaces.create(c, catalog, p, by=f"u{seed}", parents=True))
            made.append(tuple(path))
    answers.put(made)
    store.close()


def test_processes_make_overlapping_chains(lake: Lake, uri: str) -> None:
    answers = WARM.Queue()
    processes = [WARM.Process(target=_make_chains, args=(uri, lake.catalog.id, seed, answers)) for seed in range(4)]
    for process in processes:
        process.start()
    made = [path for _ in processes for path in answers.get(timeout=120)]
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert max(Counter(made).values()) == 1
    for path in made:
        assert lake.see(namespaces.load, Identifier(path))
    check_tree(lake.store)


def test_a_drop_racing_creates_leaves_no_orphan(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        create(lake, f"n{number}")
        answers = at_once(
            [
                *(lambda i=i: lake.do(tables.create, parse(f"n{number}.t{i}"), by="me") for i in range(4)),
                *(lambda i=i: create(lake, f"n{number}.s{i}") for i in range(4)),
                *(lambda: lake.do(namespaces.drop, parse(f"n{number}")) for _ in range(4)),
            ]
        )
        inside, drops = answers[:8], answers[8:]
        assert {type(each) for each in inside} <= {lookups.TableRow, namespaces.Namespace, NamespaceNotFoundError}
        assert {type(each) for each in drops} <= {
            namespaces.Namespace,
            NamespaceNotEmptyError,
            NamespaceNotFoundError,
        }
        dropped = sum(isinstance(each, namespaces.Namespace) for each in drops)
        created = sum(isinstance(each, lookups.TableRow | namespaces.Namespace) for each in inside)
        assert (dropped, created) in {(1, 0), (0, 8)}

    for number in range(rounds):
        race(number)
    check_tree(lake.store)


def test_a_catalog_dropped_while_others_make_namespaces_in_it(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        made = lake.store.transact(catalogs.create, "m", f"c{number}", by="me", nested=True)
        other = Lake(lake.store, made)
        answers = at_once(
            [
                lambda: lake.store.transact(catalogs.drop, "m", f"c{number}"),
                *(lambda i=i: create(other, f"n{i}.a", parents=True) for i in range(6)),
            ]
        )
        created = sum(isinstance(each, namespaces.Namespace) for each in answers[1:])
        assert created == (0 if isinstance(answers[0], catalogs.CatalogRow) else 6)
        assert {type(each) for each in answers} <= {
            catalogs.CatalogRow,
            namespaces.Namespace,
            NamespaceNotEmptyError,
            NamespaceNotFoundError,
        }

    for number in range(rounds):
        race(number)
    check_tree(lake.store)


def test_a_cascade_racing_creates_leaves_no_orphan(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        create(lake, f"n{number}.a.b", parents=True)
        answers = at_once(
            [
                *(lambda i=i: lake.do(tables.create, parse(f"n{number}.a.b.t{i}"), by="me") for i in range(4)),
                *(lambda i=i: create(lake, f"n{number}.a.b.s{i}.u", parents=True) for i in range(4)),
                *(lambda: lake.do(nesting.drop, parse(f"n{number}"), by="me") for _ in range(3)),
            ]
        )
        errors = {type(each) for each in answers if isinstance(each, LanceNamespaceError)}
        assert errors <= {NamespaceNotFoundError}
        assert any(isinstance(each, list) for each in answers[8:])

    for number in range(rounds):
        race(number)
    check_tree(lake.store)


def test_a_rename_racing_creates_keeps_paths_and_names_together(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        create(lake, f"n{number}.a", parents=True)
        answers = at_once(
            [
                lambda: lake.do(nesting.rename, parse(f"n{number}"), f"m{number}", by="me"),
                *(lambda i=i: create(lake, f"n{number}.a.s{i}") for i in range(6)),
            ]
        )
        assert {type(each) for each in answers} <= {namespaces.Namespace, NamespaceNotFoundError}
        made = sum(isinstance(each, namespaces.Namespace) for each in answers[1:])
        assert len(lake.see(namespaces.children, parse(f"m{number}.a"))) == made

    for number in range(rounds):
        race(number)
    check_tree(lake.store)


def test_one_of_many_gets_a_name(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        lake.do(tables.create, parse(f"old{number}"), by="me")
        answers = at_once(
            [
                *(lambda: lake.do(tables.create, parse(f"n{number}"), by="me") for _ in range(5)),
                *(lambda: create(lake, f"n{number}") for _ in range(5)),
                lambda: lake.do(tables.rename, parse(f"old{number}"), parse(f"n{number}"), by="me"),
            ]
        )
        winners = [each for each in answers if not isinstance(each, LanceNamespaceError)]
        assert len(winners) == 1
        errors = {type(each) for each in answers} - {type(winners[0])}
        assert errors <= {TableAlreadyExistsError, NamespaceAlreadyExistsError}

    for number in range(rounds):
        race(number)


def test_two_renames_across_each_other_end(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        one, other = parse(f"a{number}"), parse(f"b{number}")
        ids = {lake.do(tables.create, each, by="me").id for each in (one, other)}
        answers = at_once(
            [
                lambda: lake.do(tables.rename, one, other, by="me"),
                lambda: lake.do(tables.rename, other, one, by="me"),
            ]
        )
        assert {type(each) for each in answers} == {TableAlreadyExistsError}
        assert {lake.see(lookups.find, each).id for each in (one, other)} == ids

    for number in range(rounds):
        race(number)


def test_locations_that_meet_are_given_to_one(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        wanted = [f"s3://b/{number}/x", f"s3://b/{number}/x/y", f"s3://b/{number}", f"s3://b/{number}/x/y/z"] * 3
        answers = at_once(
            [
                lambda i=i, at=at: lake.do(tables.create, parse(f"t{number}_{i}"), by="me", location=at)
                for i, at in enumerate(wanted)
            ]
        )
        assert Counter(type(each) for each in answers) == {lookups.TableRow: 1, InvalidInputError: len(wanted) - 1}

    for number in range(rounds):
        race(number)


def test_nothing_slips_by_while_nested_mode_is_enabled(uri: str, rounds: int) -> None:
    store = open_store(uri, policy="unrestricted")
    make_lake(store)

    def race(number: int) -> None:
        made = store.transact(catalogs.create, "m", f"c{number}", by="me")
        flat = Lake(store, made)
        answers = at_once(
            [
                *(lambda i=i: flat.do(namespaces.create, Identifier([f"a:{i}"]), by="me") for i in range(6)),
                lambda: flat.do(nesting.enable, by="me"),
            ]
        )
        conflicts = flat.do(nesting.enable, by="me", dry_run=True).conflicts
        enabled = flat.see(catalogs.get).nested
        assert enabled == isinstance(answers[-1], nesting.Scan)
        assert not (enabled and conflicts)
        assert len(conflicts) == sum(isinstance(each, namespaces.Namespace) for each in answers[:-1])

    for number in range(rounds):
        race(number)
    store.close()


def claim(store: LakeStore, catalog: int, table: Identifier, number: int, who: str) -> versions.Version:
    def work(connection: Connection) -> versions.Version:
        held = lookups.hold(connection, catalog, table)
        return versions.claim(connection, held, VersionClaim(number, f"{number}-{who}", f"{number}"), by=who)

    return store.transact(work)


def numbers(lake: Lake, table: Identifier) -> list[int]:
    def read(connection: Connection) -> list[int]:
        found = lookups.find(connection, lake.catalog.id, table)
        return [version.version for version in versions.page(connection, found)]

    return lake.store.read(read)


def test_one_of_many_gets_a_version(lake: Lake, rounds: int) -> None:
    table = parse("t")
    lake.do(tables.create, table, by="me")

    def race(number: int) -> None:
        answers = at_once(
            [lambda w=who: claim(lake.store, lake.catalog.id, table, number, f"w{w % 10}") for who in range(20)]
        )
        won = [each for each in answers if isinstance(each, versions.Version)]
        assert len(won) == 2  # each asks twice, as after a lost answer
        assert won[0] == won[1]
        assert {type(each) for each in answers} == {versions.Version, ConcurrentModificationError}

    for number in range(1, rounds + 1):
        race(number)
    assert numbers(lake, table) == list(range(1, rounds + 1))


def _commit(uri: str, catalog: int, who: str, answers: Any) -> None:
    store, made = open_store(uri), []
    while len(made) < 20:
        table = store.read(lookups.find, catalog, parse("t"))
        number = (store.read(lambda c, t=table: versions.latest(c, t.id)) or 0) + 1
        with contextlib.suppress(ConcurrentModificationError):
            made.append(claim(store, catalog, parse("t"), number, who).version)
    answers.put(made)
    store.close()


def test_processes_commit_to_one_table_and_none_is_lost_or_doubled(lake: Lake, uri: str) -> None:
    lake.do(tables.create, parse("t"), by="me")
    answers = WARM.Queue()
    processes = [WARM.Process(target=_commit, args=(uri, lake.catalog.id, f"w{n}", answers)) for n in range(4)]
    for process in processes:
        process.start()
    made = sorted(number for _ in processes for number in answers.get(timeout=120))
    for process in processes:
        process.join()
    assert made == numbers(lake, parse("t")) == list(range(1, 81))


def test_batches_are_all_or_none_beside_single_claims(lake: Lake, rounds: int) -> None:
    paths = [parse(name) for name in "abc"]
    for path in paths:
        lake.do(tables.create, path, by="me")

    def batch(number: int, who: int, order: Sequence[Identifier]) -> list[versions.Version]:
        def work(connection: Connection) -> list[versions.Version]:
            held = [(lookups.hold(connection, lake.catalog.id, path), path) for path in order]
            asked = [(table, VersionClaim(number, f"{number}-batch{who}", f"{number}")) for table, _ in held]
            return list(versions.claim_all(connection, asked, by=f"batch{who}"))

        return lake.store.transact(work)

    def race(number: int) -> None:
        answers = at_once(
            [
                *(lambda w=w: batch(number, w, paths if w % 2 else paths[::-1]) for w in range(6)),
                lambda: claim(lake.store, lake.catalog.id, paths[1], number, "single"),
            ]
        )
        assert sum(not isinstance(each, LanceNamespaceError) for each in answers) == 1
        assert {type(e) for e in answers if isinstance(e, LanceNamespaceError)} == {ConcurrentModificationError}
        if isinstance(answers[-1], versions.Version):  # the others are behind; bring them up
            for path in (paths[0], paths[2]):
                claim(lake.store, lake.catalog.id, path, number, "single")
        for path in paths:
            assert numbers(lake, path) == list(range(1, number + 1))

    for number in range(1, rounds + 1):
        race(number)


def test_a_claim_never_follows_on_a_version_that_is_removed(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        path = parse(f"t{number}")
        lake.do(tables.create, path, by="me")
        claim(lake.store, lake.catalog.id, path, 1, "w")
        claim(lake.store, lake.catalog.id, path, 2, "w")

        def remove(connection: Connection) -> None:
            versions.remove(connection, lookups.lock(connection, lake.catalog.id, path), [(2, None)])

        at_once(
            [
                lambda: lake.store.transact(remove),
                *(lambda w=w: claim(lake.store, lake.catalog.id, path, 3, f"w{w}") for w in range(3)),
            ]
        )
        # The claim came first, and 3 was removed with 2; or 2 was removed first, and 3 was refused.
        assert numbers(lake, path) == [1]

    for number in range(rounds):
        race(number)


def test_a_drop_racing_claims_takes_all_versions_along(lake: Lake, rounds: int) -> None:
    def race(number: int) -> None:
        path = parse(f"t{number}")
        table = lake.do(tables.create, path, by="me")
        answers = at_once(
            [
                lambda: lake.do(tables.drop, path, by="me"),
                *(lambda w=w: claim(lake.store, lake.catalog.id, path, 1, f"w{w}") for w in range(3)),
            ]
        )
        assert isinstance(answers[0], lookups.TableRow)
        assert {type(each) for each in answers[1:]} <= {
            versions.Version,
            TableNotFoundError,
            ConcurrentModificationError,
        }
        assert lake.store.read(versions.uncopied, table.id) == []

    for number in range(rounds):
        race(number)


def _until_killed(uri: str, catalog: int, seed: int, ready: Any) -> None:
    store = open_store(uri)
    ready.put(os.getpid())
    for number in range(1_000_000):
        path = Identifier([f"s{seed}-{number}", "a", "b", "c"])
        store.transact(lambda c, p=path: namespaces.create(c, catalog, p, by="me", parents=True))
        store.transact(lambda c, p=path: tables.create(c, catalog, p.child("t"), by="me"))


def test_a_process_that_is_killed_leaves_whole_chains_only(lake: Lake, uri: str, rounds: int) -> None:
    ready = WARM.Queue()
    for seed in range(min(rounds, 3)):
        process = WARM.Process(target=_until_killed, args=(uri, lake.catalog.id, seed, ready))
        process.start()
        ready.get(timeout=60)
        while len(lake.see(namespaces.children, parse(""))) < 15 * (seed + 1):
            pass
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
    check_tree(lake.store)
    for top in lake.see(namespaces.children, parse("")):
        assert lake.see(namespaces.load, Identifier([top, "a", "b", "c"]))
    assert create(lake, "after.the.crash", parents=True)
