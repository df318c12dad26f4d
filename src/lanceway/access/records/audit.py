"""The audit trail: every change and every denial, written before and after, as rows, as lines of JSON, or both.

A change is recorded before it is made. If that fails nothing is changed, so that no crash and no full disk makes a
change that is nowhere to be seen. How it ended is recorded a moment later: an attempt without an end is one whose
server died in between, or whose end could not be written, which the server's log then has.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from lanceway.catalogs.contract.requests import page_limit, page_of, page_start
from lanceway.errors import InvalidInputError, LanceNamespaceError, ServiceUnavailableError
from lanceway.lake.access import audit
from lanceway.lake.access.audit import OUTCOMES, AuditEvent, AuditFilter, AuditRow
from lanceway.lake.store.database import LakeStore
from lanceway.lake.tree.names import checked_text

FILE = "audit.jsonl"

_LOG = logging.getLogger(__name__)
_MOST_AT_ONCE = 500
_PAUSE = 0.1  # seconds
_PURGE_SECONDS = 600.0
_PURGED_AT_ONCE = 10_000
_DAY = 24 * 3600 * 1000  # milliseconds
_GRACE = 10.0  # seconds
_LONGEST = 1_000  # characters of a text that others choose
_LONGEST_PATH = 3_000


class AuditSettings(Protocol):
    """The settings of a server that matter here."""

    @property
    def home(self) -> Path: ...
    @property
    def audit(self) -> str: ...
    @property
    def audit_retention(self) -> int: ...


class AuditSink(Protocol):
    """A place where events are written. Raises LanceNamespaceError or OSError if they are not."""

    def write(self, events: Sequence[tuple[AuditEvent, int]]) -> None: ...


class _Entry(NamedTuple):
    event: AuditEvent
    moment: float
    is_urgent: bool
    written: Future[None]


class AuditTrail:
    """Writes events on one thread, those that come at the same time together."""

    def __init__(self, sinks: Sequence[AuditSink]) -> None:
        self._sinks = sinks
        self._queue: SimpleQueue[_Entry | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    @classmethod
    def from_settings(cls, store: LakeStore, settings: AuditSettings) -> AuditTrail | None:
        """Return the trail that a server keeps, None where it keeps none."""
        sinks: list[AuditSink] = []
        if settings.audit in ("rows", "both"):
            sinks.append(RowSink(store, settings.audit_retention))
        if settings.audit in ("lines", "both"):
            sinks.append(LineSink(settings.home / FILE))
        return cls(sinks) if sinks else None

    def record(self, event: AuditEvent, *, urgent: bool = True) -> Future[None]:
        """Write an event. The future is done when it is written, and has a ServiceUnavailableError if it cannot be.

        One that is not urgent waits a moment for others, to be written together with them.
        """
        entry = _Entry(event, time.monotonic(), urgent, Future())
        with self._lock:  # the thread starts with the first event, so after any fork
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="lanceway-audit", daemon=True)
                self._thread.start()
        self._queue.put(entry)
        return entry.written

    def close(self) -> None:
        """Write what waits, for some seconds at most."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join(_GRACE)

    def _serve(self) -> None:
        while True:
            entries = self._next()
            waiting = [entry for entry in entries if entry is not None]
            if waiting:
                self._write(waiting)
            if len(waiting) < len(entries):
                return

    def _next(self) -> list[_Entry | None]:
        """Wait for an event, and return it with those behind it; None among them is the end."""
        entries = [self._queue.get()]
        until = time.monotonic() + _PAUSE
        while (last := entries[-1]) is not None and len(entries) < _MOST_AT_ONCE:
            if last.is_urgent:
                until = 0.0
            try:
                entries.append(self._queue.get(timeout=max(until - time.monotonic(), 0.0)))
            except Empty:
                break
        return entries

    def _write(self, entries: Sequence[_Entry]) -> None:
        moment = time.monotonic()
        events = [(entry.event, round((moment - entry.moment) * 1000)) for entry in entries]
        failure: ServiceUnavailableError | None = None
        for sink in self._sinks:
            try:
                sink.write(events)
            except (LanceNamespaceError, OSError) as error:
                failure = ServiceUnavailableError("The audit trail cannot be written at present. Try again later.")
                failure.__cause__ = error
                for event, _ in events:
                    _LOG.error("An audit event was not written: %s", error, extra={"facts": event.known()})
        for entry in entries:
            if failure is None:
                entry.written.set_result(None)
            else:
                entry.written.set_exception(failure)


class RowSink:
    """Rows of the lake. Old ones are deleted now and then, by whichever process writes."""

    def __init__(self, store: LakeStore, retention_days: int) -> None:
        self._store, self._retention = store, retention_days * _DAY
        self._next_purge = 0.0  # at once: a machine that has just started has a small monotonic clock

    def write(self, events: Sequence[tuple[AuditEvent, int]]) -> None:
        self._store.transact_together(audit.write, events)
        if self._retention and time.monotonic() >= self._next_purge:
            self._next_purge = time.monotonic() + _PURGE_SECONDS
            self._store.transact(audit.purge, retention=self._retention, most=_PURGED_AT_ONCE)


class LineSink:
    """A file with one JSON object a line. It may be moved away at any time, and is then made again."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, events: Sequence[tuple[AuditEvent, int]]) -> None:
        now = time.time()
        text = "".join(f"{_line(event, now - age / 1000)}\n" for event, age in events)
        # Opened each time, so that the file may be rotated; one write, so that lines of other processes stay whole.
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def _line(event: AuditEvent, moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": at, **event.known()}, ensure_ascii=False)


def purge(store: LakeStore, older_than: timedelta) -> int:
    """Delete the rows that are older than this, some at a time, and return how many those were."""
    retention, deleted = older_than // timedelta(milliseconds=1), 0
    while count := store.transact(audit.purge, retention=retention, most=_PURGED_AT_ONCE):
        deleted += count
    return deleted


def plain(text: str) -> str:
    """Return a text of bounded length that no terminal takes for a command."""
    return "".join(character if character.isprintable() else " " for character in text[:_LONGEST])


def object_path(names: Iterable[str]) -> str:
    """Return the path of an object as the trail has it. One that is longer than any that is stored is cut."""
    kept, room = list[str](), _LONGEST_PATH
    for name in names:
        kept.append(name[:room])
        room -= len(name) + 1
        if room < 0:
            kept.append("…")
            break
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def described_page(
    store: LakeStore, wanted: AuditFilter, *, limit: int | None, page_token: str | None
) -> tuple[list[dict[str, object]], str | None]:
    """Return a page of rows, the newest first, and the token of the page that follows, if one does."""
    if wanted.outcome is not None and wanted.outcome not in OUTCOMES:
        raise InvalidInputError(f"The outcome {wanted.outcome!r} is unknown. Choose one of {', '.join(OUTCOMES)}.")
    for value in (wanted.user, wanted.below, wanted.operation, wanted.request_id):
        checked_text("The filter", value)
    list_ = f"audit\0{wanted!r}"
    start, limit = page_start(list_, page_token), page_limit(limit)
    before = None
    if start is not None:
        at, _, number = start.partition(".")
        before = int(at), int(number)
    rows = store.read(audit.page, wanted, before=before, limit=limit and limit + 1)
    items, token = page_of(rows, limit, list_, _position)
    return [row.described() for row in items], token


def _position(row: AuditRow) -> str:
    return f"{row.at}.{row.id}"
