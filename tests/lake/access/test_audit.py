"""The audit trail as rows: newest first, by page, by time, by object and all inside it, and only so old."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from lanceway.access.records import audit
from lanceway.access.records.audit import AuditTrail, LineSink, RowSink, object_path
from lanceway.errors import InvalidInputError, ServiceUnavailableError
from lanceway.lake.access.audit import DENIED, DONE, AuditEvent, AuditFilter, page, write
from lanceway.lake.store.database import LakeStore

EVENT = AuditEvent("r1", "ada", "Lance REST", "drop_table", object_path(["lake", "team", "orders"]), DONE)
HOUR = 3_600_000


def fill(store: LakeStore, *events: tuple[AuditEvent, int]) -> None:
    store.transact(write, events)


def test_rows_come_newest_first_page_by_page(store: LakeStore) -> None:
    fill(store, *((replace(EVENT, request_id=f"r{number}"), number * 1000) for number in range(7)))
    pages, token = [], None
    while True:
        items, token = audit.described_page(store, AuditFilter(), limit=3, page_token=token)
        pages.append([item["request_id"] for item in items])
        if token is None:
            break
    assert pages == [["r0", "r1", "r2"], ["r3", "r4", "r5"], ["r6"]]


def test_an_object_is_found_with_all_inside_it_and_nothing_beside_it(store: LakeStore) -> None:
    paths = [["lake"], ["lake", "team"], ["lake", "team", "a"], ["lake", "team", "a", "b"], ["lake", "team-2"], ["la"]]
    fill(store, *((replace(EVENT, object=object_path(path)), 0) for path in paths))
    found = store.read(page, AuditFilter(below=object_path(["lake", "team"])))
    assert {row.event.object for row in found} == {object_path(path) for path in paths[1:4]}


def test_filters_narrow_the_list(store: LakeStore) -> None:
    old = replace(EVENT, user="bob", outcome=DENIED, code=15, reason="no", operation="create_table", request_id="r2")
    fill(store, (EVENT, 0), (old, 2 * HOUR))
    now = round(time.time() * 1000)
    for wanted, expected in (
        (AuditFilter(user="bob"), [old]),
        (AuditFilter(outcome=DONE), [EVENT]),
        (AuditFilter(operation="create_table"), [old]),
        (AuditFilter(request_id="r1"), [EVENT]),
        (AuditFilter(since=now - HOUR), [EVENT]),
        (AuditFilter(until=now - HOUR), [old]),
        (AuditFilter(user="bob", outcome=DONE), []),
    ):
        assert [row.event for row in store.read(page, wanted)] == expected
    with pytest.raises(InvalidInputError, match="attempted, done, denied, failed"):
        audit.described_page(store, AuditFilter(outcome="lost"), limit=None, page_token=None)


def test_old_rows_are_deleted(store: LakeStore) -> None:
    fill(store, (EVENT, 0), (EVENT, 48 * HOUR), (EVENT, 72 * HOUR))
    sink = RowSink(store, retention_days=1)
    sink.write([(EVENT, 0)])
    assert len(store.read(page, AuditFilter())) == 2
    kept = RowSink(store, retention_days=0)
    kept.write([(EVENT, 96 * HOUR)])
    assert len(store.read(page, AuditFilter())) == 3


def test_what_is_recorded_is_there_when_its_future_is_done(store: LakeStore) -> None:
    trail = AuditTrail([RowSink(store, 0)])
    futures = [trail.record(replace(EVENT, request_id=f"r{number}")) for number in range(50)]
    for future in futures:
        future.result(30)
    assert len(store.read(page, AuditFilter())) == 50
    last = trail.record(EVENT)
    trail.close()
    assert last.done()


def test_a_trail_that_cannot_be_written_says_so(store: LakeStore, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trail")
    trail = AuditTrail([LineSink(folder / "missing" / "audit.jsonl")])
    with pytest.raises(ServiceUnavailableError, match="audit trail cannot be written"):
        trail.record(EVENT).result(30)
    (folder / "missing").mkdir()
    trail.record(EVENT).result(30)
    trail.close()
    written = folder / "missing" / "audit.jsonl"
    line = json.loads(written.read_text())
    assert (line["user"], line["operation"], line["outcome"]) == ("ada", "drop_table", "done")
    assert written.stat().st_mode & 0o777 == 0o600


def test_a_path_that_nothing_can_have_is_cut() -> None:
    """Who may do nothing could fill the disk with what it was refused."""
    assert object_path(["lake", "A", "t"]) == '["lake","A","t"]'
    for names in (["a"] * 300_000, ["lake", "a" * 600_000]):
        path = object_path(names)
        assert len(path) < 10_000
        assert path.endswith(',"…"]')
