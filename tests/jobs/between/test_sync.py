"""One catalog made known in another: what is new, changed and gone, and nobody else's tables touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

from lanceway import jobs
from lanceway.catalogs import DirectoryCatalog, GlueCatalog
from lanceway.errors import InvalidInputError, ServiceUnavailableError, TableNotFoundError
from tests.jobs import move_helpers as moves
from tests.jobs.move_helpers import Heard, states
from tests.servers.moto import Glue


def test_new_changed_and_gone_tables_are_brought_over_and_again_is_nothing(
    team: DirectoryCatalog, target: LanceNamespace
) -> None:
    assert states(jobs.sync(team, target, dry_run=True)) == {"new": 2}
    assert moves.tables_of(target) == set()
    assert states(jobs.sync(team, target)) == {"new": 2}
    assert moves.tables_of(target) == {"team.orders", "team.events"}
    assert moves.count(target, "team.events") == 2
    assert moves.describe(target, "team.orders").properties["owner"] == "red"
    assert states(jobs.sync(team, target)) == {"known": 2}

    for name in ("events", "orders"):  # their data stays: Iceberg keeps a file of its own beside it
        team.deregister_table({"id": ["team", name]})  # type: ignore[arg-type]
    moves.make(team, "team.orders", moves.numbers(9), properties={"owner": "blue"})
    heard = Heard()
    assert states(jobs.sync(team, target, listen=heard)) == {"changed": 1, "gone": 1}
    assert "it has moved from" in (heard["team.orders"].reason or "")
    assert moves.describe(target, "team.orders").properties["owner"] == "blue"
    assert moves.count(target, "team.orders") == 1
    assert "team.events" in moves.tables_of(target)  # for it was not asked to delete
    assert states(jobs.sync(team, target, delete=True)) == {"known": 1, "gone": 1}
    assert moves.tables_of(target) == {"team.orders"}
    assert states(jobs.sync(team, target, delete=True)) == {"known": 1}


def test_what_was_brought_over_is_brought_on_and_copied(
    team: DirectoryCatalog, target: LanceNamespace, tmp_path: Path
) -> None:
    """Every type of catalog as the source."""
    jobs.sync(team, target)
    (tmp_path / "last").mkdir()
    last, copies = moves.lake(tmp_path / "last"), moves.folder(tmp_path / "copies")
    chosen = ["team.*"]  # a directory shows more: see `moves.tables_of`
    assert states(jobs.sync(target, last, only=chosen)) == {"new": 2}
    assert states(jobs.migrate(target, copies, only=chosen)) == {"new": 2}
    for arrived in (last, copies):
        assert moves.names(arrived) == {"team.orders", "team.events"}
        assert moves.count(arrived, "team.events") == 2
    assert moves.describe(last, "team.orders").location == moves.describe(team, "team.orders").location
    assert states(jobs.sync(target, last, only=chosen)) == {"known": 2}
    assert states(jobs.migrate(target, copies, only=chosen)) == {"known": 2}


def test_nested_namespaces_come_with_their_properties(source: DirectoryCatalog, tmp_path: Path) -> None:
    source.create_namespace({"id": ["team", "web"], "properties": {"cost": "7"}})  # type: ignore[arg-type]
    moves.make(source, "team.web.clicks")
    target = moves.lake(tmp_path)
    assert jobs.sync(source, target, threads=1).ok
    assert target.describe_namespace({"id": ["team", "web"]}).properties == {"cost": "7"}  # type: ignore[arg-type]
    assert moves.count(target, "team.sales.orders") == 3


def test_the_source_goes_on_keeping_its_versions(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)  # which would claim every version of a table that it manages
    jobs.sync(source, target)
    source.insert_into_table_stream({"id": ["events"]}, moves.numbers(6).to_reader())  # type: ignore[arg-type]
    assert moves.count(target, "events") == 3


def test_nobody_elses_table_is_touched(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    moves.make(target, "events", moves.numbers(1))  # in the way
    moves.make(target, "others", moves.numbers(1))
    third = moves.folder(tmp_path / "third")
    moves.make(third, "theirs")
    jobs.sync(third, target)
    third.deregister_table({"id": ["theirs"]})  # type: ignore[arg-type]
    heard = Heard()
    report = jobs.sync(source, target, delete=True, listen=heard)
    assert states(report) == {"collision": 1, "new": 1}
    assert "was not made by a sync from this source" in (heard["events"].reason or "")
    assert {"events", "others", "theirs"} < moves.names(target)
    assert moves.count(target, "events") == 1


def test_tables_without_data_are_passed_over(source: DirectoryCatalog, tmp_path: Path, rest: LanceNamespace) -> None:
    source.declare_table({"id": ["team", "planned"]})  # type: ignore[arg-type]
    rest.declare_table({"id": ["planned"]})  # type: ignore[arg-type]
    target = moves.lake(tmp_path)
    assert states(jobs.sync(source, target, dry_run=True)) == {"new": 2}
    assert states(jobs.sync(source, target)) == {"new": 2}
    for from_, count in ((source, {"new": 2}), (rest, {})):
        target = moves.lake(tmp_path, f"copy{len(count)}")
        assert states(jobs.migrate(from_, target, dry_run=True)) == count
        assert states(jobs.migrate(from_, target)) == count
        assert states(jobs.migrate(from_, moves.lake(tmp_path, f"kept{len(count)}"), data="keep")) == count


def test_a_copy_is_no_syncs_to_deregister(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    jobs.migrate(source, target, only=["events"])
    source.drop_table({"id": ["events"]})  # type: ignore[arg-type]
    jobs.sync(source, target, delete=True)
    assert "events" in moves.names(target)


def test_only_some_tables_may_be_asked_for_and_others_are_not_gone(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    jobs.sync(source, target)
    assert states(jobs.sync(source, target, only=["team.*"], delete=True)) == {"known": 1}
    assert moves.names(target) == {"events", "team.sales.orders"}


def test_a_namespace_of_the_target_may_be_its_root_and_is_made(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    assert jobs.sync(source, moves.inside(target, "copies", "nightly")).ok
    assert moves.names(target) == {"copies.nightly.events", "copies.nightly.team.sales.orders"}


def test_nested_names_are_refused_or_joined_where_the_target_is_flat(
    source: DirectoryCatalog, unity: LanceNamespace
) -> None:
    report = jobs.sync(source, unity)
    assert states(report) == {"refused": 2}
    assert {problem.table: problem.reason for problem in report.problems} == {
        "events": "events cannot be a table in the target, which keeps tables 2 levels deep. Name the namespace "
        "that the tables go into, as in NAME:namespace.",
        "team.sales.orders": "team.sales.orders cannot be a table in the target, whose tables are at most 2 levels "
        "deep. With --flatten _ it becomes team_sales.orders; or choose a target with nested namespaces.",
    }
    assert states(jobs.sync(source, unity, flatten="_", only=["team.*"])) == {"new": 1}
    assert moves.names(unity) == {"team_sales.orders"}


def test_glue_is_not_given_a_catalog_where_a_database_is_meant(team: DirectoryCatalog, glue_server: Glue) -> None:
    report = jobs.sync(team, GlueCatalog(**glue_server.settings), threads=1)
    assert states(report) == {"refused": 2}
    assert 'Set hierarchy = "databases"' in (report.problems[0].reason or "")
    assert glue_server.client().get_databases()["DatabaseList"] == []


def test_a_catalog_cannot_be_synced_into_itself(source: DirectoryCatalog) -> None:
    with pytest.raises(InvalidInputError, match="Source and target are the same"):
        jobs.sync(source, moves.folder(Path(str(source._settings["path"]))))


def test_a_service_that_goes_away_ends_the_job(source: DirectoryCatalog, tmp_path: Path) -> None:
    for number in range(30):
        moves.make(source, f"t{number}")

    class Gone(type(moves.lake(tmp_path))):  # type: ignore[misc]
        """A fake, since no server can be told to go away between two of its answers."""

        def register_table(self, request: object) -> None:
            raise ServiceUnavailableError("The database is gone.")

    target = Gone(uri=f"sqlite:///{tmp_path}/gone.db", root=str(tmp_path / "gone"))
    with pytest.raises(ServiceUnavailableError, match=r"the last 20 could not be reached.*gone.*again to resume"):
        jobs.sync(source, target)


def test_a_table_dropped_meanwhile_is_passed_over(source: DirectoryCatalog, tmp_path: Path) -> None:
    target = moves.lake(tmp_path)

    class Dropping(DirectoryCatalog):
        """A fake of the moment between the list and the look, which cannot be met otherwise."""

        def describe_table(self, request: object) -> object:
            raise TableNotFoundError("There is no such table.")

    assert states(jobs.sync(Dropping(path=source._settings["path"], layout="manifest"), target)) == {}


def test_a_job_stops_when_it_is_told(source: DirectoryCatalog, tmp_path: Path) -> None:
    for number in range(40):
        moves.make(source, f"t{number:02}")
    heard = Heard()
    report = jobs.sync(source, moves.lake(tmp_path), threads=1, listen=heard, stop=lambda: len(heard) >= 3)
    assert report.stopped
    assert not report.ok
    assert 3 <= report.tables < 10
    assert states(jobs.sync(source, moves.lake(tmp_path))) == {"known": report.tables, "new": 42 - report.tables}
