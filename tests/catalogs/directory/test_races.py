"""The directory catalog under several hands at once: one winner, and nothing half-done."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lance_namespace import (
    CreateNamespaceRequest,
    CreateTableRequest,
    DropNamespaceRequest,
    DropTableRequest,
    RenameTableRequest,
)

from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import (
    ConcurrentModificationError,
    LanceNamespaceError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
)
from tests.catalogs.directory.folder_helpers import (
    count,
    create,
    declare,
    is_declared,
    location,
    make_namespace,
    namespaces,
    rows,
    tables,
)
from tests.processes import WARM

pytestmark = pytest.mark.slow

RACERS = 50
LAYOUTS = pytest.mark.parametrize("layout", ["plain", "lance", "manifest"])


def outcome(work: Callable[..., object], *arguments: Any) -> str:
    """What became of one racer, by the name of its error."""
    try:
        work(*arguments)
    except LanceNamespaceError as error:
        return type(error).__name__
    return "won"


def at_once(works: list[Callable[[], object]]) -> Counter[str]:
    """All of these at the same moment, each in its thread."""
    gate = threading.Barrier(len(works))

    def race(work: Callable[[], object]) -> str:
        gate.wait()
        return outcome(work)

    with ThreadPoolExecutor(len(works)) as pool:
        return Counter(pool.map(race, works))


def one_winner(racers: int) -> Counter[str]:
    return Counter({"won": 1, TableAlreadyExistsError.__name__: racers - 1})


@LAYOUTS
@pytest.mark.parametrize("claim", [create, declare])
def test_one_of_fifty_threads_wins_a_name(tmp_path: Path, layout: str, claim: Callable[..., str]) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    assert at_once([lambda: claim(catalog, "t")] * RACERS) == one_winner(RACERS)
    assert_sound(catalog, tmp_path)
    assert tables(catalog) == ["t"]


@pytest.mark.parametrize("claim", [create, declare])
def test_one_of_many_threads_wins_a_name_in_a_namespace(tmp_path: Path, claim: Callable[..., str]) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(catalog, "n")
    assert at_once([lambda: claim(catalog, "n", "t")] * RACERS) == one_winner(RACERS)
    assert_sound(catalog, tmp_path, "n")
    assert len(folders(tmp_path)) == 1


def test_of_table_and_namespace_one_gets_the_name(tmp_path: Path, rounds: int) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    for number in range(rounds):
        name = f"x{number}"
        won = at_once([lambda name=name: declare(catalog, name), lambda name=name: make_namespace(catalog, name)] * 3)
        assert won["won"] == 1
        assert (name in tables(catalog)) != (name in namespaces(catalog))


def test_two_layouts_never_give_one_name_twice(tmp_path: Path, rounds: int) -> None:
    plain, lance = (DirectoryCatalog(path=str(tmp_path), layout=layout) for layout in ("plain", "lance"))
    for number in range(rounds):
        name = f"t{number}"
        at_once([lambda name=name: declare(plain, name), lambda name=name: declare(lance, name)] * 4)
        assert len([folder for folder in folders(tmp_path) if folder.split(".")[0] == name]) <= 1


@LAYOUTS
def test_everybody_who_keeps_what_exists_succeeds(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    assert at_once([lambda: create(catalog, "t", mode="exist_ok")] * 20) == Counter(won=20)
    assert count(catalog, "t") == 3


def create_in_process(arguments: tuple[DirectoryCatalog, list[str]]) -> str:
    catalog, table = arguments
    return outcome(catalog.create_table, CreateTableRequest(id=table), rows())


@pytest.mark.parametrize("layout", ["plain", "manifest"])
def test_one_of_fifty_creates_from_several_processes_wins(tmp_path: Path, layout: str) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    with ProcessPoolExecutor(3, WARM) as pool:
        list(pool.map(create_in_process, [(catalog, [f"warm{number}"]) for number in range(3)]))
        outcomes = Counter(pool.map(create_in_process, [(catalog, ["t"])] * RACERS))
    assert outcomes == one_winner(RACERS)
    assert_sound(catalog, tmp_path)


LOSSES = (TableAlreadyExistsError, TableNotFoundError, ConcurrentModificationError)


@pytest.mark.parametrize(("layout", "space"), [("plain", []), ("lance", []), ("manifest", []), ("manifest", ["n"])])
def test_create_and_drop_racing_leave_a_whole_table_or_none(
    tmp_path: Path, rounds: int, layout: str, space: list[str]
) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    if space:
        make_namespace(catalog, *space)
    table = [*space, "t"]
    works: list[Callable[[], object]] = [
        lambda: create(catalog, *table),
        lambda: create(catalog, *table),
        lambda: catalog.drop_table(DropTableRequest(id=table)),
        lambda: catalog.drop_table(DropTableRequest(id=table)),
    ]
    for _ in range(rounds):
        random.shuffle(works)
        outcomes = at_once(works)
        assert set(outcomes) <= {"won", *(error.__name__ for error in LOSSES)}
        assert_sound(catalog, tmp_path, *space)
        assert tables(catalog, *space) == tables(catalog, *space, include_declared=False)
    if tables(catalog, *space):
        catalog.drop_table(DropTableRequest(id=table))
    assert folders(tmp_path) == []


def create_or_drop_in_process(arguments: tuple[DirectoryCatalog, int]) -> str:
    catalog, number = arguments
    if number % 2:
        return outcome(catalog.drop_table, DropTableRequest(id=["t"]))
    return outcome(catalog.create_table, CreateTableRequest(id=["t"]), rows())


@pytest.mark.parametrize("layout", ["plain", "manifest"])
def test_create_and_drop_from_several_processes_leave_a_whole_table_or_none(
    tmp_path: Path, rounds: int, layout: str
) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout=layout)
    with ProcessPoolExecutor(4, WARM) as pool:
        outcomes = set(pool.map(create_or_drop_in_process, [(catalog, number) for number in range(8 * rounds)]))
    assert "won" in outcomes
    assert outcomes <= {"won", *(error.__name__ for error in LOSSES)}
    assert_sound(catalog, tmp_path)
    assert tables(catalog) == tables(catalog, include_declared=False)


def test_a_drop_waits_for_nobody_who_still_writes(tmp_path: Path) -> None:
    """One who had found the folder before it was dropped puts file after file into it while it is being deleted."""
    catalog, stop = DirectoryCatalog(path=str(tmp_path)), threading.Event()

    def meddle(folder: int) -> None:
        number = 0
        while not stop.is_set() and number < 10_000:
            number += 1
            try:
                os.close(os.open(f"data/{number}.lance", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
            except FileNotFoundError:
                return

    for number in range(5):
        place = Path(create(catalog, f"t{number}"))
        folder = os.open(place, os.O_RDONLY)
        try:
            with ThreadPoolExecutor(1) as pool:
                meddling = pool.submit(meddle, folder)
                catalog.drop_table(DropTableRequest(id=[f"t{number}"]))
                stop.set()
                meddling.result()
                stop.clear()
        finally:
            os.close(folder)
    assert folders(tmp_path) == []


def test_a_name_is_renamed_once(tmp_path: Path, rounds: int) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(catalog, "n")
    for number in range(rounds):
        source = f"t{number}"
        create(catalog, source)
        works = [
            lambda target=target, source=source: catalog.rename_table(
                RenameTableRequest(id=[source], new_table_name=f"{source}-{target}", new_namespace_id=["n"])
            )
            for target in "abc"
        ]
        assert at_once(works) == Counter({"won": 1, TableNotFoundError.__name__: 2})
        assert len(tables(catalog, "n")) == number + 1
        assert source not in tables(catalog)


def test_a_namespace_is_not_dropped_from_under_a_new_table(tmp_path: Path, rounds: int) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    for number in range(rounds):
        space = f"n{number}"
        make_namespace(catalog, space)
        outcomes = at_once(
            [
                lambda space=space: declare(catalog, space, "t"),
                lambda space=space: catalog.drop_namespace(DropNamespaceRequest(id=[space])),
            ]
        )
        losses = (NamespaceNotEmptyError, NamespaceNotFoundError)
        assert set(outcomes) <= {"won", *(error.__name__ for error in losses)}
        remaining = tables(catalog, space) if space in namespaces(catalog) else []
        assert len([folder for folder in folders(tmp_path) if f"_{space}$" in folder]) == len(remaining)


def test_many_changes_of_the_manifest_at_once_all_succeed(tmp_path: Path) -> None:
    catalog = DirectoryCatalog(path=str(tmp_path), layout="manifest")
    make_namespace(catalog, "n")
    works: list[Callable[[], object]] = [
        lambda number=number: declare(catalog, "n", f"t{number}") for number in range(10)
    ]
    works += [
        lambda number=number: catalog.create_namespace(CreateNamespaceRequest(id=["n", f"s{number}"]))
        for number in range(10)
    ]
    assert at_once(works) == Counter(won=20)
    assert (len(tables(catalog, "n")), len(namespaces(catalog, "n"))) == (10, 10)


def folders(root: Path) -> list[str]:
    """Every folder in the root but the manifest, hidden ones too."""
    return [entry.name for entry in root.iterdir() if entry.name != "__manifest"]


def assert_sound(catalog: DirectoryCatalog, root: Path, *space: str) -> None:
    """Every listed table can be described and read, or is only declared; every folder is a listed table's."""
    places = set()
    for name in tables(catalog, *space):
        places.add(Path(location(catalog, *space, name)).name)
        assert is_declared(catalog, *space, name) or count(catalog, *space, name) == 3
    assert set(folders(root)) == places
