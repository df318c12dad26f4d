"""Lance tables found in folders and buckets, and registered under the names that their paths give them."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import lance
import pytest
from lance_namespace import LanceNamespace

from lanceway import jobs
from lanceway.errors import InvalidInputError
from tests.jobs import move_helpers as moves
from tests.jobs.move_helpers import Heard, states
from tests.servers.seaweedfs import S3


def write(*path: Path | str) -> str:
    location = "/".join(map(str, path))
    lance.write_dataset(moves.numbers(1, 2), location)
    return location


def test_tables_are_found_at_any_depth_and_registered_once(tmp_path: Path) -> None:
    root = tmp_path / "bucket"
    write(root, "orders.lance")
    write(root, "team", "sales", "events.lance")
    write(root, "team", "plain")
    target = moves.lake(tmp_path)
    assert states(jobs.crawl(str(root), target, dry_run=True)) == {"new": 3}
    assert moves.names(target) == set()
    assert target.list_namespaces({}).namespaces == []  # type: ignore[arg-type]
    heard = Heard()
    report = jobs.crawl(str(root), target, listen=heard)
    assert report.ok
    assert {path: outcome.target for path, outcome in heard.items()} == {
        "orders.lance": "orders",
        "team/sales/events.lance": "team.sales.events",
        "team/plain": "team.plain",
    }
    assert moves.count(target, "team.sales.events") == 2
    assert states(jobs.crawl(str(root), target)) == {"known": 3}


def test_a_catalog_of_every_type_takes_what_is_found(target: LanceNamespace, tmp_path: Path) -> None:
    root = tmp_path / "source"
    for table in ("orders.lance", "events"):
        write(root, "team", table)
    assert states(jobs.crawl(str(root), target, dry_run=True)) == {"new": 2}
    assert moves.tables_of(target) == set()
    assert states(jobs.crawl(str(root), target)) == {"new": 2}
    for name in ("orders", "events"):
        assert moves.count(target, f"team.{name}") == 2
        assert Path(urlsplit(moves.describe(target, f"team.{name}").location).path).parent == root / "team"
    assert states(jobs.crawl(str(root), target)) == {"known": 2}


def test_what_is_no_table_or_hidden_is_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "bucket"
    outer = write(root, "outer")
    write(outer, "inner")  # what is inside of a table is the table's
    write(root, ".hidden", "t")
    (Path(write(root, "let-go")) / ".lance-deregistered").touch()
    (root / "empty").mkdir()
    (root / "notes.txt").write_text("no table")
    (root / "loop").symlink_to(root)
    target, heard = moves.lake(tmp_path), Heard()
    jobs.crawl(str(root), target, listen=heard)
    assert set(heard) == {"outer"}


def test_a_folder_with_a_manifest_is_asked_for_its_names(tmp_path: Path) -> None:
    source = moves.folder(tmp_path / "bucket" / "warehouse")
    moves.make(source, "team.orders")
    target = moves.lake(tmp_path)
    assert jobs.crawl(str(tmp_path / "bucket"), target).ok
    assert moves.names(target) == {"warehouse.team.orders"}


def test_a_single_table_may_be_the_root(tmp_path: Path) -> None:
    target = moves.lake(tmp_path)
    jobs.crawl(write(tmp_path, "orders.lance"), target)
    assert moves.names(target) == {"orders"}


def test_a_name_that_is_taken_by_another_table_is_told_and_left(tmp_path: Path) -> None:
    target, heard = moves.lake(tmp_path), Heard()
    moves.make(target, "orders", moves.numbers(7))
    write(tmp_path / "bucket", "orders")
    write(tmp_path / "bucket", "others")
    report = jobs.crawl(str(tmp_path / "bucket"), target, listen=heard)
    assert states(report) == {"collision": 1, "new": 1}
    assert not report.ok
    assert "orders is in the target already" in (heard["orders"].reason or "")
    assert moves.count(target, "orders") == 1


def test_what_the_target_cannot_hold_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "bucket", "team", "orders")
    target = moves.folder(tmp_path / "elsewhere")
    for dry_run in (True, False):
        heard = Heard()
        assert states(jobs.crawl(str(tmp_path / "bucket"), target, dry_run=dry_run, listen=heard)) == {"refused": 1}
        assert "below its own folder" in (heard["team/orders"].reason or "")
    assert target.list_namespaces({}).namespaces == []  # type: ignore[arg-type]


def test_a_namespace_that_was_made_for_a_table_which_is_refused_goes_again(tmp_path: Path) -> None:
    location, target = write(tmp_path / "bucket", "team", "orders"), moves.lake(tmp_path)
    target.register_table({"id": ["mine"], "location": location})  # type: ignore[arg-type]
    report = jobs.crawl(str(tmp_path / "bucket"), target)
    assert [problem.state for problem in report.problems] == ["refused"]
    assert target.list_namespaces({}).namespaces == []  # type: ignore[arg-type]


def test_a_bucket_is_crawled_as_a_folder_is(tmp_path: Path, s3: S3) -> None:
    root = s3.prefix()
    for name in ("a.lance", "team/b.lance"):
        lance.write_dataset(moves.numbers(1), f"{root}/{name}", storage_options=s3.storage_options)
    target = moves.lake(tmp_path, **{f"storage.{key}": value for key, value in s3.storage_options.items()})
    assert jobs.crawl(root, target, storage_options=s3.storage_options).ok
    assert moves.names(target) == {"a", "team.b"}
    assert moves.count(target, "team.b") == 1


def test_nothing_to_crawl_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="There is nothing at"):
        jobs.crawl(str(tmp_path / "missing"), moves.lake(tmp_path))


def test_a_folder_that_cannot_be_looked_into_stops_no_other(tmp_path: Path) -> None:
    write(tmp_path / "bucket", "orders")
    (tmp_path / "bucket" / "/".join(["deep"] * 40)).mkdir(parents=True)
    report = jobs.crawl(str(tmp_path / "bucket"), moves.lake(tmp_path))
    assert states(report) == {"new": 1, "refused": 1}
    assert "more than 32 folders deep" in (report.problems[0].reason or "")
