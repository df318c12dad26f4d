"""A writer with stock pylance on a bad network, who looks before it appends again."""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Callable
from typing import TypeVar

import lance
import lance_namespace
import pyarrow as pa

from tests.clients import writer

Answer = TypeVar("Answer")
# What pylance raises for what happened to a request.
FAILURES = (OSError, RuntimeError, ValueError, lance_namespace.LanceNamespaceError)


class Appender:
    """Appends rows to one table until each of them is known to be there.

    Whatever pylance does not report as done is in doubt. It is settled by the next append that is reported as done: no
    version up to that one can be claimed any more, so that a row in doubt is there by now, or never will be.
    """

    def __init__(self, client: str, properties: dict[str, str], table: list[str], numbers: range) -> None:
        self._waiting, self._doubtful, self._further = deque(numbers), list[int](), itertools.count(numbers.stop)
        self._table = {"namespace_client": lance_namespace.connect("rest", properties), "table_id": table}
        self.done, self.found, self.repeated = list[int](), list[int](), 0
        self.failures: Counter[str] = Counter()
        self._append = self._until_answered(lambda: getattr(writer, client)(properties, table))

    def work(self) -> None:
        while self._waiting or self._doubtful:
            number = self._waiting.popleft() if self._waiting else next(self._further)
            try:
                self._append(pa.table({"id": pa.array([number], pa.int64())}))
            except FAILURES as error:
                self._count("append", error)
                self._doubtful.append(number)
            else:
                self.done.append(number)
                self._settle()

    def _settle(self) -> None:
        if self._doubtful:
            there = set(self._until_answered(self._look))
            missing = [number for number in self._doubtful if number not in there]
            self.found += [number for number in self._doubtful if number in there]
            self.repeated += len(missing)
            self._waiting.extend(missing)
            self._doubtful.clear()

    def _look(self) -> list[int]:
        found: list[int] = lance.dataset(**self._table).to_table()["id"].to_pylist()
        return found

    def _until_answered(self, ask: Callable[[], Answer]) -> Answer:
        while True:
            try:
                return ask()
            except FAILURES as error:
                self._count("look", error)

    def _count(self, what: str, error: Exception) -> None:
        unknown = ", unknown" if "is unknown" in str(error) else ""
        self.failures[f"{what}: {type(error).__name__}{unknown}"] += 1
