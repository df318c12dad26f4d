"""Objects in a bucket, asked for from a forked process.

obstore does its work in threads that it starts once. A fork copies the process without them, and a
forked child that asks obstore for anything waits for ever. So such a child starts a
fresh process, which has threads of its own, and hands every question over to it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

from lanceway.errors import InternalError, LanceNamespaceError
from lanceway.tables.storage import Object, Store

_COMMAND = "from lanceway.tables.relay import serve; serve()"


class RelayedStore(Store):
    """A bucket through this process's helper. Lists come as a whole."""

    def __init__(self, location: str, storage_options: Mapping[str, str]) -> None:
        self._store = (location, dict(storage_options))

    def _ask(self, question: str, *arguments: object) -> Any:
        return _helper().ask((*self._store, question, arguments))

    def put_if_absent(self, key: str, data: bytes) -> bool:
        return cast("bool", self._ask("put_if_absent", key, data))

    def put(self, key: str, data: bytes) -> None:
        self._ask("put", key, data)

    def read(self, key: str) -> bytes | None:
        return cast("bytes | None", self._ask("read", key))

    def head(self, key: str) -> Object | None:
        return cast("Object | None", self._ask("head", key))

    def names(self, prefix: str = "") -> list[str]:
        return cast("list[str]", self._ask("names", prefix))

    def level(self, prefix: str = "") -> tuple[list[str], list[str]]:
        return cast("tuple[list[str], list[str]]", self._ask("level", prefix))

    def objects(self, prefix: str = "") -> Iterator[Object]:
        return iter(cast("list[Object]", self._ask("objects", prefix)))

    def has_any(self, prefix: str = "") -> bool:
        return cast("bool", self._ask("has_any", prefix))

    def delete(self, *keys: str) -> None:
        self._ask("delete", *keys)

    def copy_if_absent(self, source: str, target: str) -> bool:
        return cast("bool", self._ask("copy_if_absent", source, target))


class _Helper:
    """A fresh process at the other end of two pipes. It ends when this process does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        atexit.register(self._end)

    def ask(self, question: object) -> Any:
        with self._lock:
            try:
                pickle.dump(question, self._process.stdin)  # type: ignore[arg-type]
                self._process.stdin.flush()  # type: ignore[union-attr]
                answer = pickle.load(self._process.stdout)  # type: ignore[arg-type]
            except (OSError, EOFError) as error:
                raise InternalError("The helper process that reads buckets after a fork has died.") from error
        if isinstance(answer, LanceNamespaceError):
            raise answer
        return answer

    def _end(self) -> None:
        if self._owner == os.getpid():  # not in a child that was forked after the helper had started
            self._process.communicate()


_helpers: dict[int, _Helper] = {}
_starting = threading.Lock()


def _helper() -> _Helper:
    with _starting:
        helper = _helpers.get(os.getpid())
        if helper is None:
            _helpers.clear()  # those of the processes that this one was forked from
            helper = _helpers[os.getpid()] = _Helper()
        return helper


def _forget_starting() -> None:
    """A lock that some thread held at the moment of a fork would stay locked in the child."""
    global _starting
    _starting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_starting)


def serve() -> None:
    """Answer questions from standard input until it ends."""
    from lanceway.tables.bucket import BucketStore

    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            location, options, question, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = getattr(BucketStore(location, options), question)(*arguments)
            answer = list(answer) if question == "objects" else answer
        except LanceNamespaceError as error:
            answer = error
        pickle.dump(answer, answers)
        answers.flush()
