"""Old versions go, and nothing else: not the latest, not a tagged one, not what somebody is writing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import pytest

from lanceway import jobs
from lanceway.errors import InvalidInputError
from tests.jobs import move_helpers as moves
from tests.jobs import upkeep_helpers as upkeep
from tests.jobs.upkeep_helpers import Kept

ALL = timedelta(0)


@pytest.fixture
def table(lakes: Path) -> Kept:
    made = upkeep.make(lakes, fragments=4, each=10)
    jobs.compact(made.options)
    return made


def test_versions_go_with_the_files_that_only_they_need(table: Kept) -> None:
    before = moves.versions(table.catalog, table.name)
    planned = jobs.clean(table.options, older_than=ALL, dry_run=True)
    assert planned.facts["versions"] == before[:-1]
    assert planned.facts["data_files_removed"] == 4
    assert moves.versions(table.catalog, table.name) == before
    done = jobs.clean(table.options, older_than=ALL)
    assert (done.bytes, done.facts) == (planned.bytes, planned.facts)
    assert moves.versions(table.catalog, table.name) == before[-1:]
    assert len(list(table.handle.store().keys("data"))) == 1
    assert table.ids() == list(range(40))
    assert table.catalog.reconcile([table.name]) == []  # the lake has forgotten them, too
    assert not jobs.clean(table.options, older_than=ALL).changed
    table.append(40, 1)
    assert table.ids() == list(range(41))


def test_a_tagged_version_stays_with_its_files(table: Kept) -> None:
    table.catalog.create_table_tag({"id": [table.name], "tag": "kept", "version": 2})  # type: ignore[arg-type]
    done = jobs.clean(table.options, older_than=ALL)
    assert 2 not in done.facts["versions"]
    assert moves.versions(table.catalog, table.name) == [2, table.version]
    assert table.open().checkout_version("kept").count_rows() == 20


def test_retention_is_by_age_and_by_number(table: Kept) -> None:
    before = moves.versions(table.catalog, table.name)
    assert jobs.clean(table.options).facts["versions"] == []  # two weeks
    assert jobs.clean(table.options, older_than=timedelta(days=1), keep=1).facts["versions"] == []
    assert jobs.clean(table.options, keep=2).facts["versions"] == before[:-2]
    assert moves.versions(table.catalog, table.name) == before[-2:]


def test_the_lake_forgets_a_version_that_grew_old_while_the_clean_up_was_planned(
    table: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = moves.versions(table.catalog, table.name)
    explain = lance.LanceDataset.explain_cleanup_old_versions

    def explain_beside_a_writer(dataset: lance.LanceDataset, **options: Any) -> Any:
        plan = explain(dataset, **options)
        table.append(40, 1)  # now the last two are others
        return plan

    monkeypatch.setattr(lance.LanceDataset, "explain_cleanup_old_versions", explain_beside_a_writer)
    done = jobs.clean(table.options, keep=2)
    left = moves.versions(table.catalog, table.name)
    assert len(left) == 2
    assert done.facts["versions"] == before[:-1]
    assert table.catalog.reconcile([table.name]) == []
    assert table.ids() == list(range(41))


def test_files_of_a_write_under_way_stay_unless_they_are_asked_for(table: Kept) -> None:
    table.handle.store().put("data/somebody-writes.lance", b"rows")
    jobs.clean(table.options, older_than=ALL)
    assert table.handle.store().exists("data/somebody-writes.lance")
    jobs.clean(table.options, older_than=ALL, uncommitted=True)
    assert not table.handle.store().exists("data/somebody-writes.lance")
    assert table.ids() == list(range(40))


def test_bad_input_is_refused(table: Kept) -> None:
    with pytest.raises(InvalidInputError, match="keep is 0"):
        jobs.clean(table.options, keep=0)
    with pytest.raises(InvalidInputError, match="older_than is -1 day"):
        jobs.clean(table.options, older_than=timedelta(days=-1))
