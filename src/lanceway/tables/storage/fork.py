"""Questions to obstore and pylance, asked from a forked process.

Both do their work in threads that they start once. A fork copies the process without them, and a
forked child that asks obstore for anything waits for ever; pylance may crash. So such a child starts a
fresh process, which has threads of its own, and hands every question over to it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from lanceway.errors import InternalError, LanceNamespaceError
from lanceway.tables.storage.store import Object, Store

_COMMAND = "from lanceway.tables.storage.fork import serve; serve()"


class RelayedStore(Store):
    """A bucket through this process's helper. Lists come as a whole."""

    def __init__(self, location: str, storage_options: Mapping[str, str]) -> None:
        self._store = (location, dict(storage_options))

    def _ask(self, question: str, *arguments: object) -> Any:
        return ask(_answer, *self._store, question, arguments)

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


def _answer(location: str, options: dict[str, str], question: str, arguments: tuple[object, ...]) -> object:
    from lanceway.tables.storage.bucket import BucketStore

    result: object = getattr(BucketStore(location, options), question)(*arguments)
    return list(result) if isinstance(result, Iterator) else result


def ask(function: Callable[..., object], *arguments: object) -> Any:
    """Call a function of a module in this process's helper and return its result; raise the contract's errors here.

    Arguments and answer are pickled.
    """
    return _helper().ask((function, arguments))


def is_needed() -> bool:
    """Return whether this process was forked from one that had loaded pylance, and should leave it alone."""
    return _forked


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
                result = pickle.load(self._process.stdout)  # type: ignore[arg-type]
            except (OSError, EOFError) as error:
                raise InternalError("The helper process that reads storage after a fork has died.") from error
        if isinstance(result, LanceNamespaceError):
            raise result
        return result

    def _end(self) -> None:
        if self._owner == os.getpid():  # not in a child that was forked after the helper had started
            self._process.communicate()


_helpers: dict[int, _Helper] = {}
_starting = threading.Lock()
_forked = False


def _helper() -> _Helper:
    with _starting:
        helper = _helpers.get(os.getpid())
        if helper is None:
            _helpers.clear()  # those of the processes that this one was forked from
            helper = _helpers[os.getpid()] = _Helper()
        return helper


def _reset_child() -> None:
    """Start with a new lock in a child: one that a thread held at the moment of the fork would stay locked."""
    global _starting, _forked
    _starting = threading.Lock()
    _forked = _forked or "lance" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_child)


def serve() -> None:
    """Answer questions from standard input until it ends."""
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    while True:
        try:
            function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            result = function(*arguments)
        except LanceNamespaceError as error:
            result = error
        pickle.dump(result, answers)
        answers.flush()
