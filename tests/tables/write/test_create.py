from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    TableAlreadyExistsError,
    TableSchemaValidationError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.read import ipc
from lanceway.tables.write import create as creation
from lanceway.tables.write.create import CreateClaim, CreatedFiles
from tests.tables import table_helpers as samples


def ids(table: StoredTable) -> list[int]:
    return sorted(open_at(table).to_table(columns=["id"])["id"].to_pylist())


def test_the_first_version_is_written(tmp_path: Path) -> None:
    made = creation.create(StoredTable("t", str(tmp_path / "t")), samples.rows().to_reader(), None)
    assert made.version == 1
    assert open_at(made.table).to_table() == samples.rows()


def test_a_second_create_loses_and_leaves_nothing(table: StoredTable) -> None:
    before = samples.files(table.location)
    with pytest.raises(TableAlreadyExistsError, match="things cannot be created"):
        creation.create(table, samples.rows(50).to_reader(), None)
    assert samples.files(table.location) == before
    assert ids(table) == list(range(10))


def test_of_many_creators_one_wins(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        table = StoredTable("t", str(tmp_path / str(number)))
        barrier = threading.Barrier(12)

        def create(first: int, table: StoredTable = table, barrier: threading.Barrier = barrier) -> str:
            barrier.wait()
            try:
                creation.create(table, samples.rows(first).to_reader(), None)
            except TableAlreadyExistsError:
                return "lost"
            return "won"

        with ThreadPoolExecutor(12) as pool:
            results = list(pool.map(create, range(0, 1200, 100)))
        assert sorted(results) == ["lost"] * 11 + ["won"]
        assert ids(table) == list(range(100 * results.index("won"), 100 * results.index("won") + 10))
        # One manifest with its hint, one transaction, one data file: the losers' are gone.
        assert len(samples.files(table.location)) == 4


def test_a_create_whose_data_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    table = StoredTable("t", str(tmp_path / "t"))
    with pytest.raises(InvalidInputError, match=r"the line went dead.*Nothing was changed"):
        creation.create(table, samples.breaking(samples.rows()), None)
    assert not (tmp_path / "t").exists()


def test_a_failed_create_keeps_the_folder_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / ".lance-reserved").touch()
    with pytest.raises(InvalidInputError):
        creation.create(StoredTable("t", str(tmp_path / "t")), ipc.read(samples.stream(samples.rows())[:-300]), None)
    assert samples.files(tmp_path) == ["t/.lance-reserved"]


@pytest.mark.parametrize(
    "data",
    [
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        pa.table({"a.b": [1]}),
        pa.table({"u": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}),
    ],
    ids=["twice", "dotted", "union"],
)
def test_a_schema_that_lance_cannot_keep_is_refused(tmp_path: Path, data: pa.Table) -> None:
    with pytest.raises(TableSchemaValidationError):
        creation.create(StoredTable("t", str(tmp_path / "t")), data.to_reader(), None)
    assert not (tmp_path / "t").exists()


def test_discarding_removes_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine").touch()
    made = creation.create(StoredTable("t", str(tmp_path / "t")), samples.rows().to_reader(), None)
    creation.discard(made)
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["mine"]


def test_discarding_spares_a_version_of_somebody_else(tmp_path: Path) -> None:
    table = StoredTable("t", str(tmp_path / "t"))
    made = creation.create(table, samples.rows().to_reader(), None)
    creation.discard(made)
    creation.create(table, samples.rows(50).to_reader(), None)
    creation.discard(made)
    assert ids(table) == list(range(50, 60))


def test_storage_options_of_the_request_are_used_alone(tmp_path: Path) -> None:
    table = StoredTable("t", str(tmp_path / "t"), {"a": "1"})
    made = creation.create(table, samples.rows().to_reader(), {"b": "2"})
    assert made.table.storage_options == {"b": "2"}


# -- claims --------------------------------------------------------------------------------------


def always() -> bool:
    return True


def answering(*answers: bool | Callable[[], bool]) -> Callable[[], bool]:
    """Whether a claim stands: asked before the commit, whenever a step is taken anew, and at the end."""
    left = iter(answers)

    def stands() -> bool:
        answer = next(left)
        return answer if isinstance(answer, bool) else answer()

    return stands


def declared(folder: Path) -> StoredTable:
    (folder / "t").mkdir()
    (folder / "t" / ".lance-reserved").touch()
    return StoredTable("t", str(folder / "t"))


def create(table: StoredTable, first: int, claim: CreateClaim) -> CreatedFiles:
    return creation.create(table, samples.rows(first).to_reader(), None, claim)


@pytest.mark.parametrize("answers", [(False, False), (True, False)], ids=["before the commit", "after it"])
def test_a_claim_that_is_lost_leaves_nothing(tmp_path: Path, answers: tuple[bool, ...]) -> None:
    with pytest.raises(ConcurrentModificationError, match="t was dropped while it was being created"):
        create(StoredTable("t", str(tmp_path / "t")), 0, CreateClaim("mine", answering(*answers)))
    assert not (tmp_path / "t").exists()


def test_of_one_claim_the_first_to_write_wins(tmp_path: Path) -> None:
    table = declared(tmp_path)
    create(table, 0, CreateClaim("ours", always))
    with pytest.raises(TableAlreadyExistsError):
        create(table, 50, CreateClaim("ours", always))
    assert ids(table) == list(range(10))


def test_who_lost_its_claim_does_not_beat_the_next(tmp_path: Path) -> None:
    """The version of the first claim is there when the second wants to write its own, and is then taken back."""
    table, met = declared(tmp_path), threading.Event()

    def again() -> bool:
        met.set()
        return True

    second: list[Future[CreatedFiles]] = []
    with ThreadPoolExecutor(1) as pool:

        def dropped_and_claimed_anew() -> bool:
            second.append(pool.submit(create, table, 50, CreateClaim("second", answering(again, *[True] * 20))))
            assert met.wait(60)
            return False

        with pytest.raises(ConcurrentModificationError):
            create(table, 0, CreateClaim("first", answering(True, dropped_and_claimed_anew)))
        assert second[0].result().version == 1
    assert ids(table) == list(range(50, 60))
    # The marker, and one manifest with its hint, one transaction, one data file.
    assert len(samples.files(table.location)) == 5


def test_what_somebody_else_wrote_into_a_declared_table_stays(tmp_path: Path) -> None:
    """A declared table is there to be filled, by a client that knows of no claims too."""
    table = declared(tmp_path)
    creation.create(table, samples.rows().to_reader(), None)
    with pytest.raises(TableAlreadyExistsError):
        create(table, 50, CreateClaim("mine", always))
    assert ids(table) == list(range(10))


@pytest.mark.slow
def test_a_stray_that_nobody_takes_back_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    table = declared(tmp_path)
    create(table, 0, CreateClaim("first", always))  # whose writer was killed before it could look again
    before = samples.files(table.location)
    with pytest.raises(ConcurrentModificationError, match="Drop it and create it again"):
        create(table, 50, CreateClaim("second", always))
    assert samples.files(table.location) == before
