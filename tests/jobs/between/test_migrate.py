"""Tables moved with their data: the same rows on the other side, once, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lance.namespace import DirectoryNamespace
from lance_namespace import DescribeTableRequest, LanceNamespace, ListTablesRequest

import lanceway
from lanceway import jobs
from lanceway.catalogs import DirectoryCatalog
from lanceway.errors import ConcurrentModificationError, InvalidInputError, TableNotFoundError
from lanceway.identifiers import Identifier
from lanceway.jobs.between import register
from lanceway.jobs.between.checksums import pin
from lanceway.jobs.executor import never_stop
from lanceway.jobs.state import Journal
from lanceway.tables.storage.store import open_store
from tests.jobs import move_helpers as moves
from tests.jobs.move_helpers import Heard, states
from tests.servers.restadapter import adapters


def checksum(catalog: LanceNamespace, name: str) -> tuple[int, str]:
    found = pin(catalog, Identifier(name.split("."))).checksum(never_stop)
    return found.rows, found.hex


def test_rows_of_every_kind_arrive_as_they_were(tmp_path: Path) -> None:
    source, target = moves.folder(tmp_path / "source"), moves.lake(tmp_path)
    moves.make(source, "team.motley", moves.motley(), properties={"owner": "red"})
    heard = Heard()
    assert jobs.migrate(source, target, listen=heard).ok
    found = heard["team.motley"]
    assert (found.state, found.rows) == ("new", 50)
    assert (found.rows, found.checksum) == checksum(source, "team.motley") == checksum(target, "team.motley")
    copied, original = (pin(catalog, Identifier(("team", "motley"))).read() for catalog in (target, source))
    assert copied.schema.equals(original.schema, check_metadata=True)
    assert str(copied.read_all().to_pylist()) == str(original.read_all().to_pylist())  # a NaN is equal to none
    described = moves.describe(target, "team.motley")
    assert described.properties["owner"] == "red"
    assert not described.location.startswith(str(tmp_path / "source"))


def test_a_server_that_loses_a_name_says_so_and_the_others_arrive(tmp_path: Path) -> None:
    """pylance's server writes such a table to one folder and looks for it in another, as its own catalog does."""
    source, served = moves.lake(tmp_path), tmp_path / "served"
    served.mkdir()
    for name in ("plain", "a b", "#hash"):
        moves.make(source, name)
    with adapters() as servers:
        target = lanceway.connect("rest", uri=servers.serve(served))
        heard = Heard()
        report = jobs.migrate(source, target, listen=heard)
        assert states(report) == {"new": 2, "failed": 1}
        assert "The target took #hash, and does not find it afterwards" in str(heard["#hash"].reason)
        assert checksum(target, "plain") == checksum(target, "a b") == checksum(source, "plain")
    alone = DirectoryNamespace(root=str(served))
    assert "#hash" in alone.list_tables(ListTablesRequest(id=[])).tables
    with pytest.raises(TableNotFoundError):
        alone.describe_table(DescribeTableRequest(id=["#hash"]))


def test_there_and_back_over_three_types_of_catalog(tmp_path: Path, rest: LanceNamespace) -> None:
    first, lake, last = moves.folder(tmp_path / "first"), moves.lake(tmp_path), moves.folder(tmp_path / "last")
    data = moves.motley().drop_columns("blob")
    moves.make(first, "team.deep.motley", data)
    moves.make(first, "empty", data.slice(0, 0))
    for source, target in ((first, lake), (lake, rest), (rest, last)):
        report = jobs.migrate(source, target)
        assert states(report) == {"new": 2}, report.problems
        assert states(jobs.migrate(source, target)) == {"known": 2}
    assert checksum(first, "team.deep.motley") == checksum(last, "team.deep.motley")
    assert moves.count(last, "empty") == 0
    # Managed by the lake: its first version was claimed there, and once.
    assert moves.versions(lake, "team.deep.motley") == [1]


def test_what_is_there_and_verified_is_not_read_again(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    jobs.migrate(source, target)
    store = open_store(moves.describe(source, "events").location)
    store.delete(*store.keys("data"))  # whoever reads it now fails
    assert states(jobs.migrate(source, target)) == {"known": 2}
    assert states(jobs.migrate(source, target, state=tmp_path / "another")) == {"known": 1, "failed": 1}


def test_without_the_journal_tables_are_compared_and_known_again(source: DirectoryCatalog, tmp_path: Path) -> None:
    target, heard = moves.lake(tmp_path), Heard()
    jobs.migrate(source, target)
    assert states(jobs.migrate(source, target, state=tmp_path / "another", listen=heard)) == {"known": 2}
    assert heard["events"].checksum is not None
    assert moves.versions(target, "events") == [1]


def test_a_catalog_of_every_type_takes_copies(team: DirectoryCatalog, target: LanceNamespace) -> None:
    assert states(jobs.migrate(team, target)) == {"new": 2}
    assert moves.tables_of(target) == {"team.orders", "team.events"}
    for name in ("team.orders", "team.events"):
        assert checksum(target, name) == checksum(team, name)
        assert moves.describe(target, name).location != moves.describe(team, name).location
    assert moves.describe(target, "team.orders").properties["owner"] == "red"
    assert states(jobs.migrate(team, target)) == {"known": 2}
    team.insert_into_table_stream({"id": ["team", "events"]}, moves.numbers(6).to_reader())  # type: ignore[arg-type]
    assert states(jobs.migrate(team, target, replace=True)) == {"known": 1, "changed": 1}
    assert moves.count(target, "team.events") == 3


def test_a_source_that_has_changed_is_told_and_replaced_where_that_is_asked_for(
    source: DirectoryCatalog, tmp_path: Path
) -> None:
    target, heard = moves.lake(tmp_path), Heard()
    jobs.migrate(source, target)
    source.insert_into_table_stream({"id": ["events"]}, moves.numbers(6).to_reader())  # type: ignore[arg-type]
    report = jobs.migrate(source, target, listen=heard)
    assert states(report) == {"known": 1, "collision": 1}
    assert "--replace copies it again" in (heard["events"].reason or "")
    assert moves.count(target, "events") == 2
    assert states(jobs.migrate(source, target, replace=True)) == {"known": 1, "changed": 1}
    assert checksum(target, "events") == checksum(source, "events")
    assert states(jobs.migrate(source, target, replace=True)) == {"known": 2}


def test_somebody_elses_table_is_never_replaced(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    moves.make(target, "events", moves.numbers(1))
    target.create_namespace({"id": ["team"]})  # type: ignore[arg-type]
    target.create_namespace({"id": ["team", "sales"]})  # type: ignore[arg-type]
    target.declare_table({"id": ["team", "sales", "orders"]})  # type: ignore[arg-type]
    for _ in range(2):
        report = jobs.migrate(source, target, replace=True)
        assert states(report) == {"collision": 2}
    assert moves.count(target, "events") == 1
    assert moves.describe(target, "team.sales.orders", check_declared=True).is_only_declared


def test_one_tables_failure_does_not_stop_the_others(source: DirectoryCatalog, tmp_path: Path) -> None:
    broken = open_store(moves.describe(source, "events").location)
    broken.delete(*broken.keys("data"))
    target = moves.lake(tmp_path)
    report = jobs.migrate(source, target)
    assert states(report) == {"failed": 1, "new": 1}
    assert [problem.table for problem in report.problems] == ["events"]
    assert moves.names(target) == {"team.sales.orders"}
    with pytest.raises(Exception, match="There is no table events"):  # nothing of it is left, not even its name
        moves.describe(target, "events")


def test_a_table_that_is_written_to_meanwhile_is_copied_at_one_version(
    source: DirectoryCatalog, tmp_path: Path
) -> None:
    rows = pin(source, Identifier(("events",)))
    source.insert_into_table_stream({"id": ["events"]}, moves.numbers(6).to_reader())  # type: ignore[arg-type]
    assert rows.version == 1
    assert rows.read().read_all()["id"].to_pylist() == [4, 5]


def test_a_copy_that_does_not_hold_what_was_read_is_taken_back(source: DirectoryCatalog, tmp_path: Path) -> None:
    class Losing(type(moves.lake(tmp_path))):  # type: ignore[misc]
        """A fake of a storage that loses rows, which no real one does when it is asked to."""

        def create_table_stream(self, request: Any, data: pa.RecordBatchReader) -> Any:
            rows = data.read_all()
            return super().create_table_stream(request, rows.slice(1).to_reader())

    target = Losing(uri=f"sqlite:///{tmp_path}/losing.db", root=str(tmp_path / "losing"))
    report = jobs.migrate(source, target, only=["events"])
    assert "2 rows with the checksum" in (report.problems[0].reason or "")
    assert "events holds 1 rows" in (report.problems[0].reason or "")
    assert moves.names(target) == set()


def test_tables_may_keep_their_data_where_it_is(source: DirectoryCatalog, tmp_path: Path) -> None:
    target, heard = moves.lake(tmp_path), Heard()
    assert jobs.migrate(source, target, data="keep", listen=heard).ok
    assert heard["events"].rows == 2
    assert moves.describe(target, "events").location == moves.describe(source, "events").location
    assert states(jobs.migrate(source, target, data="keep")) == {"known": 2}
    with pytest.raises(InvalidInputError, match="data is 'move', but must be copy or keep"):
        jobs.migrate(source, target, data="move")


def test_a_dry_run_makes_nothing(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    assert states(jobs.migrate(source, target, dry_run=True)) == {"new": 2}
    assert target.list_namespaces({}).namespaces == []  # type: ignore[arg-type]
    assert states(jobs.migrate(source, target)) == {"new": 2}


def test_two_runs_between_the_same_catalogs_do_not_meet(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    from lanceway.catalogs.contract import limits

    with (
        Journal(limits.address(source), limits.address(target)).locked(),
        pytest.raises(ConcurrentModificationError, match=f"by process {os.getpid()} since"),
    ):
        jobs.migrate(source, target)
    assert jobs.migrate(source, target).ok


def test_a_stopped_copy_leaves_nothing_half_done(tmp_path: Path) -> None:
    source, target = moves.folder(tmp_path / "source"), moves.lake(tmp_path)
    moves.make(source, "big", pa.table({"id": range(200_000)}))
    asked = iter([False] * 4)
    report = jobs.migrate(source, target, threads=1, stop=lambda: next(asked, True))
    assert report.stopped
    assert [problem.state for problem in report.problems] == ["failed"]
    assert "Run it again to resume" in (report.problems[0].reason or "")
    assert moves.names(target) == set()
    assert states(jobs.migrate(source, target)) == {"new": 1}


def test_many_tables_find_their_way_into_one_manifest_at_once(tmp_path: Path) -> None:
    source, target = moves.lake(tmp_path), moves.folder(tmp_path / "target")
    for number in range(12):
        moves.make(source, f"n{number % 3}.t{number:02}", properties={"number": str(number)})
    report = jobs.migrate(source, target, threads=4)
    assert states(report) == {"new": 12}, report.problems
    assert [moves.describe(target, f"n{n % 3}.t{n:02}").properties["number"] for n in range(12)] == [
        *map(str, range(12))
    ]


# -- killed ------------------------------------------------------------------------------------------

_KILLED = """
import sys
import lanceway
from lanceway import jobs
source = lanceway.connect("dir", path=sys.argv[1], layout="manifest")
target = lanceway.connect("lake", uri=sys.argv[2], root=sys.argv[3])
jobs.migrate(source, target, threads=2, listen=lambda outcome: print(outcome.state, outcome.table, flush=True))
"""


@pytest.fixture
def many(tmp_path: Path) -> DirectoryCatalog:
    """Tables of some size, so that a kill meets one on its way."""
    source = moves.folder(tmp_path / "source")
    data = pa.table({"id": range(100_000), "text": [f"row {i}" for i in range(100_000)]})
    for number in range(8):
        moves.make(source, f"team.t{number:02}", data.slice(number, 100_000 - 20 * number))
    return source


def test_a_killed_migration_goes_on_where_it_stopped(many: DirectoryCatalog, tmp_path: Path, rounds: int) -> None:
    target = moves.lake(tmp_path)
    told: list[str] = []
    for number in range(min(2, rounds)):
        told += _run_and_kill(many, target, after=2 * number + 1)
    assert len(told) == len(set(told)), "a table was copied twice"
    heard = Heard()
    report = jobs.migrate(many, target, listen=heard)
    assert report.ok
    assert report.tables == 8
    assert {name for name, outcome in heard.items() if outcome.state == "known"} >= set(told)
    for table in moves.names(many):
        assert checksum(target, table) == checksum(many, table)
        assert moves.versions(target, table) == [1]
        assert register.SOURCE in moves.describe(target, table).properties
    # Nothing of the runs that were killed lies about: one folder for each table, with the files of its one version.
    folders = list((tmp_path / "lake-root").iterdir())
    assert {str(folder) for folder in folders} == {moves.describe(target, name).location for name in moves.names(many)}
    assert all(len(list(folder.glob("data/*"))) == 1 for folder in folders)


def _run_and_kill(source: DirectoryCatalog, target: Any, after: int) -> list[str]:
    """Run in a process of its own, and kill that when so many tables are told and the next ones are on their way.

    The tables that it said it had copied.
    """
    arguments = [str(source._settings["path"]), str(target._settings["uri"]), str(target._settings["root"])]
    with subprocess.Popen([sys.executable, "-c", _KILLED, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(after)]
        time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        lines += process.stdout  # before the kill arrived
    return [table for state, table in map(str.split, lines) if state == "new"]
