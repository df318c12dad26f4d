"""Commit groups: what several threads write is committed together, and each is told of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from lanceway.errors import NamespaceAlreadyExistsError, ServiceUnavailableError
from lanceway.identifiers import Identifier
from lanceway.lake.store.commit_group import CommitGroup
from lanceway.lake.store.engines import TO_WRITE, open_engine, read_uri
from lanceway.lake.tree import namespaces
from tests.lake.conftest import Lake

THREADS = 8
WHO: ContextVar[str] = ContextVar("who", default="no one")


class GroupedFile:
    """A table in an SQLite file, which threads write through a group. `events` says what happened, in order."""

    def __init__(self, path: Path, patience: float = 30.0) -> None:
        self.engine: Engine = open_engine(read_uri(f"sqlite:///{path}"), 30.0)
        self.group = CommitGroup(self.writing, self.commit, patience)
        self.events: list[str] = []
        self.turn = threading.Lock()
        with self.writing() as connection:
            connection.exec_driver_sql("CREATE TABLE names (name TEXT PRIMARY KEY)")
            connection.commit()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        with self.turn, self.engine.connect() as connection:
            connection.exec_driver_sql(TO_WRITE["sqlite"])
            yield connection

    def commit(self, connection: Connection) -> None:
        connection.commit()
        self.events.append("commit")

    def names(self) -> list[str]:
        with self.engine.connect() as connection:
            return [row[0] for row in connection.exec_driver_sql("SELECT name FROM names ORDER BY name")]

    def at_once(self, *works: Callable[[Connection], object]) -> list[object]:
        """Carry out works of as many threads, which all wait when the first of them begins; what each came to."""
        with ThreadPoolExecutor(len(works)) as pool:
            with self.turn:  # so that the one that leads waits, and the others queue behind it
                futures: list[Future[object]] = []
                for work in works:
                    futures.append(pool.submit(self.run, work))
                    self.wait_for(len(futures))
            return [future.exception() or future.result() for future in futures]

    def run(self, work: Callable[[Connection], object]) -> object:
        answer = self.group.run(work)
        self.events.append("answer")
        return answer

    def wait_for(self, waiting: int) -> None:
        while len(self.group._queue) < waiting:
            threading.Event().wait(0.001)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[GroupedFile]:
    opened = GroupedFile(tmp_path / "names.db")
    yield opened
    opened.engine.dispose()


def insert(name: str, connection: Connection, *, otherwise: str = "") -> str:
    connection.exec_driver_sql(f"INSERT {otherwise} INTO names VALUES (?)", (name,))
    return name


def test_what_waits_is_committed_at_once_and_answered_after_that(file: GroupedFile) -> None:
    names = [f"n{number}" for number in range(THREADS)]
    assert file.at_once(*(partial(insert, name) for name in names)) == names
    assert file.names() == names
    assert file.events == ["commit", *(["answer"] * THREADS)]
    assert file.run(partial(insert, "one more")) == "one more"
    assert file.events[-2:] == ["commit", "answer"]


def test_what_comes_while_the_first_works_is_committed_with_it(file: GroupedFile) -> None:
    """The first began alone, so without a savepoint; what comes after it has one."""

    def first(connection: Connection) -> str:
        insert("a", connection)
        began.set()
        file.wait_for(3)
        return "a"

    def fail(connection: Connection) -> None:
        insert("half", connection)
        raise NamespaceAlreadyExistsError("no")

    began = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        leading = pool.submit(file.run, first)
        assert began.wait(30)
        others = [pool.submit(file.run, work) for work in (partial(insert, "b"), fail, partial(insert, "a"))]
        assert leading.result() == "a"
        ended = [future.exception() or future.result() for future in others]
    assert "b" in ended
    assert sorted(type(end).__name__ for end in ended) == ["IntegrityError", "NamespaceAlreadyExistsError", "str"]
    assert file.names() == ["a", "b"]
    assert file.events.count("commit") == 1
    assert file.events[0] == "commit"


def test_one_that_comes_later_and_ends_the_whole_transaction_fails_alone(file: GroupedFile) -> None:
    def first(connection: Connection) -> str:
        insert("a", connection)
        if not began.is_set():  # not when it is carried out again
            began.set()
            file.wait_for(1)
        return "a"

    file.run(partial(insert, "taken"))
    began = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        leading = pool.submit(file.run, first)
        assert began.wait(30)
        failed = pool.submit(file.run, partial(insert, "taken", otherwise="OR ROLLBACK"))
        assert leading.result() == "a"
        assert isinstance(failed.exception(), IntegrityError)
    assert file.names() == ["a", "taken"]


def test_one_that_fails_takes_nothing_of_the_others_with_it(file: GroupedFile) -> None:
    def fail(connection: Connection) -> None:
        insert("half", connection)
        raise NamespaceAlreadyExistsError("no")

    first, failed, twice, last = file.at_once(partial(insert, "a"), fail, partial(insert, "a"), partial(insert, "b"))
    assert (first, last) == ("a", "b")
    assert isinstance(failed, NamespaceAlreadyExistsError)
    assert isinstance(twice, IntegrityError)
    assert file.names() == ["a", "b"]
    assert file.events.count("commit") == 1


def test_what_ends_the_whole_transaction_fails_alone(file: GroupedFile) -> None:
    file.run(partial(insert, "taken"))
    worst = partial(insert, "taken", otherwise="OR ROLLBACK")
    first, failed, last = file.at_once(partial(insert, "a"), worst, partial(insert, "b"))
    assert (first, last) == ("a", "b")
    assert isinstance(failed, IntegrityError)
    assert file.names() == ["a", "b", "taken"]


def test_the_first_one_may_fail_to_begin_and_the_next_leads(file: GroupedFile) -> None:
    """As where another process has locked the file for too long."""
    begin, refused = file.group._writing, ServiceUnavailableError("locked")

    @contextmanager
    def refuse() -> Iterator[Connection]:
        file.group._writing = begin
        with file.turn:
            raise refused
        yield

    file.group._writing = refuse
    assert file.at_once(partial(insert, "a"), partial(insert, "b"), partial(insert, "c")) == [refused, "b", "c"]
    assert file.names() == ["b", "c"]


def test_no_one_waits_for_ever(tmp_path: Path) -> None:
    file = GroupedFile(tmp_path / "names.db", patience=0.05)
    with ThreadPoolExecutor(2) as pool:
        with file.turn:
            first = pool.submit(file.run, partial(insert, "a"))
            file.wait_for(1)
            with pytest.raises(ServiceUnavailableError, match="Try again later"):
                file.run(partial(insert, "b"))
        assert first.result() == "a"
    assert file.run(partial(insert, "c")) == "c"
    assert file.names() == ["a", "c"]
    file.engine.dispose()


def test_work_knows_what_its_own_thread_knows(file: GroupedFile) -> None:
    def ask(name: str) -> object:
        WHO.set(name)
        return file.group.run(lambda connection: insert(WHO.get(), connection))

    names = [f"n{number}" for number in range(4)]
    with ThreadPoolExecutor(len(names)) as pool:
        with file.turn:
            futures = [pool.submit(ask, name) for name in names]
            file.wait_for(len(names))
        assert [future.result() for future in futures] == names
    assert file.names() == names


def test_namespaces_of_many_threads_are_all_made_once(lake: Lake) -> None:
    """On both databases: each is made by one of the threads, with everything above it, and refused to the others."""
    paths = [Identifier([f"team{number % 3}", f"space{number}"]) for number in range(20)]

    def make(path: Identifier) -> bool:
        try:
            lake.store.transact_together(namespaces.create, lake.catalog.id, path, by="me", parents=True)
        except NamespaceAlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        is_first = list(pool.map(make, paths * 2))
    assert sum(is_first) == len(paths)
    for number in range(3):
        children = lake.see(namespaces.children, Identifier([f"team{number}"]))
        assert set(children) == {path.name for path in paths if path[0] == f"team{number}"}
