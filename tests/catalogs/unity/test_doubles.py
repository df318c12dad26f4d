"""Two who create one name at once: the open-source server stores both, and then fails on the name.

On the fake, which lets them meet between its look and its insert: a real server does so now and then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceway.errors import (
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    TableAlreadyExistsError,
)
from tests.catalogs.unity.unity_helpers import Home, count, create, declare, describe, home, tables
from tests.servers.unity import Fault, Unity

WORDS = "Query did not return a unique result: 2 results were returned"


@pytest.fixture
def fake(fake_unity: Unity) -> Iterator[Home]:
    with home(fake_unity.endpoint) as place:
        place.schema()
        fake_unity.seen.clear()
        yield place
        fake_unity.twins.clear()


def meet(server: Unity) -> None:
    """Let the next two creations look before either inserts. One that comes alone goes on after a while."""
    server.race = threading.Barrier(2)


def together(*calls: Callable[[], object]) -> list[LanceNamespaceError | None]:
    """Return what each raises, all of them at the same time."""

    def run(call: Callable[[], object]) -> LanceNamespaceError | None:
        try:
            call()
        except LanceNamespaceError as error:
            return error
        return None

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@pytest.mark.slow
def test_in_one_process_one_of_two_creates_the_table(fake: Home, fake_unity: Unity, tmp_path: Path) -> None:
    table = [fake.catalog, "s", "t"]
    first, second = fake.connect(tmp_path / "a"), fake.connect(tmp_path / "b")
    meet(fake_unity)
    errors = together(lambda: create(first, table), lambda: create(second, table))
    assert [type(error) for error in errors if error] == [TableAlreadyExistsError]
    assert (fake_unity.twins, count(first, table)) == ({}, 3)


@pytest.mark.slow
def test_in_one_process_one_of_two_creates_the_schema(fake: Home, fake_unity: Unity) -> None:
    first, second = fake.connect(), fake.connect()
    meet(fake_unity)
    request = {"id": [fake.catalog, "new"]}
    errors = together(lambda: first.create_namespace(request), lambda: second.create_namespace(request))
    assert [type(error) for error in errors if error] == [NamespaceAlreadyExistsError]
    assert fake_unity.twins == {}


def test_a_double_of_another_process_is_noticed_and_said(fake: Home, fake_unity: Unity, tmp_path: Path) -> None:
    table, catalog = [fake.catalog, "s", "t"], fake.connect(tmp_path)
    meet(fake_unity)
    (error, _) = together(lambda: create(catalog, table), lambda: fake.table("t"))
    assert len(fake_unity.twins) == 1
    assert isinstance(error, InvalidTableStateError)
    assert "two rows" in str(error)
    for ask in (lambda: describe(catalog, table), lambda: declare(catalog, table), lambda: count(catalog, table)):
        with pytest.raises(InvalidTableStateError, match="two rows"):
            ask()
    with pytest.raises(InvalidTableStateError, match="Unity's own database"):
        catalog.drop_namespace({"id": table[:2], "behavior": "cascade"})
    assert tables(catalog, table[:2], include_declared=True) == ["t"]


def test_a_double_is_not_created_again_without_columns(fake: Home, fake_unity: Unity, tmp_path: Path) -> None:
    failure = {"error_code": "INTERNAL", "message": f"Failed to create table: {WORDS}"}
    fake_unity.will(Fault(500, failure, method="POST"))
    with pytest.raises(InvalidTableStateError, match="two rows"):
        create(fake.connect(tmp_path), [fake.catalog, "s", "t"])
    assert [seen.method for seen in fake_unity.seen].count("POST") == 1


@pytest.mark.parametrize("fault", [Fault(503), Fault(429)], ids=str)
def test_a_look_that_fails_does_not_undo_the_table(fake: Home, fake_unity: Unity, fault: Fault, tmp_path: Path) -> None:
    fake_unity.will(Fault(fault.status, method="GET"))
    catalog = fake.connect(tmp_path, max_retries=0)
    assert declare(catalog, [fake.catalog, "s", "t"]).location
    assert tables(catalog, [fake.catalog, "s"], include_declared=True) == ["t"]


@pytest.mark.parametrize("status", [429, 503])
def test_a_creation_that_the_server_has_no_time_for_is_sent_again(
    fake: Home, fake_unity: Unity, status: int, tmp_path: Path
) -> None:
    fake_unity.will(Fault(status, headers={"Retry-After": "0"}, method="POST"))
    assert declare(fake.connect(tmp_path), [fake.catalog, "s", "t"]).location
