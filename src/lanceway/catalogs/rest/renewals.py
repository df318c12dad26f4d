"""Renewals of credentials that end, shared by all datasets of one table that a process has open.

Each dataset of pylance renews by itself, by describing its table, and of many that were opened together all do so at
once: the tasks of a Spark worker, for example. Here one asks the server, and the others get its answer.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from lance_namespace import DescribeTableResponse

from lanceway.tables.storage.store import EXPIRES

_REFRESH = "refresh_offset_millis"
_MOST = 1000
_FIELDS = frozenset({"id", "vend_credentials"})


def is_renewal(request: object) -> bool:
    """Return whether pylance asks for credentials alone: with a dictionary of its own kind, and these fields.

    All others who describe a table want to know where it is now.
    """
    if not isinstance(request, dict) or type(request) is dict:
        return False
    return request.keys() == _FIELDS and request["vend_credentials"] is True and bool(request["id"])


class Renewals:
    """What was renewed last, by table. Safe to use from several threads, and after a fork."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, ...], DescribeTableResponse] = {}
        # By process: a fork may come while another thread holds the parent's.
        self._locks: dict[tuple[int, tuple[str, ...]], threading.Lock] = {}

    def renew(self, request: Mapping[str, Any], ask: Callable[[Any], DescribeTableResponse]) -> DescribeTableResponse:
        """Return credentials that another dataset has just renewed, if they need not be renewed yet; else ask."""
        table = tuple(request["id"])
        with self._locks.setdefault((os.getpid(), table), threading.Lock()):
            answer = self._answers.get(table)
            if answer is None or not _is_fresh(answer):
                if len(self._answers) >= _MOST:
                    self._answers.clear()
                answer = self._answers[table] = ask(request)
            return answer.model_copy(deep=True)


def _is_fresh(answer: DescribeTableResponse) -> bool:
    options = answer.storage_options or {}
    try:
        until = int(options[EXPIRES]) - int(options[_REFRESH])
    except (KeyError, ValueError):
        return False  # it does not say when pylance renews
    return time.time() * 1000 < until
