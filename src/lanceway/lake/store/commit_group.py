"""Commit groups: transactions of several threads that SQLite commits together.

A commit waits for the disk, and SQLite has one writer at a time: so threads that write queue, and each would wait for
the disk by itself. Here the first of the queue carries out what all of them want, one after the other, in one
transaction, also for those that come meanwhile, and commits it. Each is told when that is on the disk, and not before:
nothing that was acknowledged can be lost. Each is a savepoint, so that one that fails takes nothing of the others with
it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from lanceway.errors import ServiceUnavailableError

Answer = TypeVar("Answer")

_MOST = 100  # transactions in one commit
_SAVE, _RELEASE, _UNDO = "SAVEPOINT member", "RELEASE member", "ROLLBACK TO member"


class _Member:
    """What one thread wants done, and how it ended."""

    def __init__(self, work: Callable[[Connection], Any]) -> None:
        self.work = work
        # What the thread knows of its request goes with the work to the thread that carries it out.
        self.context: Context = copy_context()
        self.woken = threading.Event()
        self.leads = self.is_committed = self.is_undone = False
        self.answer: Any = None
        self.error: Exception | None = None

    def run(self, connection: Connection) -> None:
        """Carry it out between savepoints, and keep the error of one that fails."""
        connection.exec_driver_sql(_SAVE)
        try:
            self.answer = self.context.run(self.work, connection)
        except Exception as error:  # noqa: BLE001 - it is raised in the thread that it belongs to
            connection.exec_driver_sql(_UNDO)
            self.error = error
        connection.exec_driver_sql(_RELEASE)


class CommitGroup:
    """The threads of one process that write to one database.

    `writing` opens a transaction when no one else writes, `commit` commits it. No thread waits longer for the others
    than `patience`, in seconds.
    """

    def __init__(
        self,
        writing: Callable[[], AbstractContextManager[Connection]],
        commit: Callable[[Connection], None],
        patience: float,
    ) -> None:
        self._writing, self._commit, self._patience = writing, commit, patience
        self._lock = threading.Lock()
        self._queue: deque[_Member] = deque()
        self._is_led = False  # by the first of the queue, until its group has ended

    def run(self, work: Callable[[Connection], Answer]) -> Answer:
        """Return what `work(connection)` returns, once it is committed. It may run on another thread."""
        member = _Member(work)
        with self._lock:
            self._queue.append(member)
            member.leads, self._is_led = not self._is_led, True
        if not member.leads:
            self._wait(member)
        if member.leads:
            self._lead(member)
        if member.is_undone:  # with the whole group: by itself, each succeeds or finds out why not
            return self._run_alone(work)
        if not member.is_committed:
            raise ServiceUnavailableError(
                "The thread that was writing to the lake was interrupted: the change is made as a whole or not at all, "
                "but which is not known. Look before you ask again."
            )
        if member.error is not None:
            raise member.error
        answer: Answer = member.answer
        return answer

    def _wait(self, member: _Member) -> None:
        if member.woken.wait(self._patience):
            return
        with self._lock:
            if member in self._queue and not member.leads:
                self._queue.remove(member)
                raise ServiceUnavailableError("Others have been writing to the lake all the time. Try again later.")
        member.woken.wait()  # it is being carried out

    def _run_alone(self, work: Callable[[Connection], Answer]) -> Answer:
        with self._writing() as connection:
            answer = work(connection)
            self._commit(connection)
        return answer

    # -- the one that leads ----------------------------------------------------------------------

    def _lead(self, own: _Member) -> None:
        """Carry out what waits by now, and let the next one lead."""
        members: list[_Member] = []
        try:
            with self._writing() as connection:
                self._carry_out(connection, members)
        finally:
            if not members:  # it did not get that far; the others may
                with self._lock:
                    self._queue.remove(own)
            self._hand_on()
            for member in members:
                member.woken.set()

    def _take_into(self, members: list[_Member]) -> list[_Member]:
        """Add to a group those that wait by now, and return them."""
        with self._lock:
            waiting = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST - len(members)))]
        members += waiting
        return waiting

    def _carry_out(self, connection: Connection, members: list[_Member]) -> None:
        """Carry out what waits and what comes meanwhile, commit it, and add each to `members`."""
        waiting = self._take_into(members)
        if len(waiting) == 1:  # as any transaction: there is nothing else to keep if it fails
            waiting[0].answer = waiting[0].work(connection)
            waiting = self._take_into(members)
        try:
            while waiting:
                for member in waiting:
                    member.run(connection)
                waiting = self._take_into(members)
            self._commit(connection)
        except DBAPIError:  # such as a full disk, which ends the whole transaction
            if len(members) == 1:
                raise
            for member in members:
                member.is_undone = True
        else:
            for member in members:
                member.is_committed = True

    def _hand_on(self) -> None:
        with self._lock:
            self._is_led = bool(self._queue)
            if self._is_led:
                self._queue[0].leads = True
                self._queue[0].woken.set()
