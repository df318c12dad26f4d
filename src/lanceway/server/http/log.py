"""The log: one JSON object to a line, on standard error.

Every line of a request has its id. Of a path the query is left out, and of headers all are: credentials stand there.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from lanceway.access.tokens import without_secrets
from lanceway.server.http.request_context import RequestContext

ACCESS = logging.getLogger("lanceway.access")
_SERVER = logging.getLogger("lanceway.server")

_REQUEST = "request"
_PAUSE = 0.2  # seconds
_MOST_LINES = 1000

_TO_STDERR: dict[str, Any] = {"handlers": ["stderr"], "propagate": False, "level": "INFO"}


def settings() -> dict[str, Any]:
    """Return the settings of logging, in the form that `logging.config` takes."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "lanceway.server.http.log.JsonFormatter"}},
        "handlers": {
            "stderr": {
                "()": "lanceway.server.http.log.BufferedHandler",
                "formatter": "lines",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            "lanceway": _TO_STDERR,
            # What uvicorn says about its own start and stop helps only those who debug it.
            "uvicorn": {**_TO_STDERR, "level": "WARNING"},
            "uvicorn.error": {"level": "WARNING"},
        },
    }


class BufferedHandler(logging.StreamHandler[TextIO]):
    """Write lines a few times a second instead of one by one; warnings and errors at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._gathered: list[str | Line] = []
        self._alarm: threading.Timer | None = None
        atexit.register(self.flush)

    def emit(self, record: logging.LogRecord) -> None:
        # The lock is held: `handle` took it.
        try:
            self._gathered.append(self.format(record))
        except (TypeError, ValueError):  # a record that cannot be formatted is no reason to fail
            self.handleError(record)
        if record.levelno >= logging.WARNING or len(self._gathered) >= _MOST_LINES:
            self.flush()
        elif self._alarm is None:
            self._set_alarm()

    def gather(self, line: Line) -> None:
        """Add the line of a request, which is formatted when it is written."""
        assert self.lock is not None
        with self.lock:
            self._gathered.append(line)
            is_much = len(self._gathered) >= _MOST_LINES
            if self._alarm is None and not is_much:
                self._set_alarm()
        if is_much:
            self.flush()

    def _set_alarm(self) -> None:
        self._alarm = threading.Timer(_PAUSE, self.flush)
        self._alarm.daemon = True
        self._alarm.start()

    def flush(self) -> None:
        assert self.lock is not None
        with self.lock:
            lines, self._gathered = self._gathered, []
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if lines:
                with suppress(OSError, ValueError):  # the reader has gone
                    self.stream.write("\n".join(map(str, lines)) + "\n")
                    self.stream.flush()


class JsonFormatter(logging.Formatter):
    """Format a record as a JSON object; `extra={"facts": …}` of a record stands beside its message."""

    def format(self, record: logging.LogRecord) -> str:
        facts = dict(getattr(record, "facts", {}))
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        return _encode(record.created, record.levelname.lower(), record.getMessage(), facts)


def _encode(created: float, level: str, message: str, facts: Mapping[str, Any]) -> str:
    moment = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
    line = {"time": moment, "level": level, "message": message, **facts}
    return msgspec.json.encode(line, enc_hook=str).decode()


@dataclass(slots=True)
class Line:
    """The facts about a request until its line is written."""

    moment: float
    seconds: float
    method: str
    path: str
    client: str | None
    context: RequestContext

    def facts(self) -> dict[str, Any]:
        context = self.context
        facts = {
            "method": self.method,
            "path": without_secrets(self.path),
            "operation": context.operation,
            "status": context.status,
            "ms": round(self.seconds * 1000, 2),
            "bytes": context.sent,
            "user": context.user,
            "request_id": context.request_id,
        }
        return facts if self.client is None else {**facts, "client": self.client}

    def __str__(self) -> str:
        return _encode(self.moment, "info", _REQUEST, self.facts())


def access(scope: Any, context: RequestContext, path: str) -> None:
    """Write the line of a request. A record of `logging` for each would cost more than many answers."""
    if not ACCESS.isEnabledFor(logging.INFO):
        return
    client = scope.get("client")
    line = Line(time.time(), context.seconds, scope["method"], path, client[0] if client else None, context)
    handlers = ACCESS.handlers or (ACCESS.parent.handlers if ACCESS.parent else [])
    if len(handlers) == 1 and isinstance(handlers[0], BufferedHandler):
        handlers[0].gather(line)
    else:  # logging was set up in another way
        ACCESS.info(_REQUEST, extra={"facts": line.facts()})


def failed(message: str, context: RequestContext, error: BaseException) -> None:
    """Log an unexpected error with its traceback."""
    facts = {"request_id": context.request_id, "operation": context.operation}
    _SERVER.error(message, exc_info=error, extra={"facts": facts})


def refused(message: str, context: RequestContext, error: BaseException) -> None:
    """Log why the server refused a request, where the answer says it too."""
    facts = {"request_id": context.request_id, "operation": context.operation, "error": str(error)}
    _SERVER.warning(message, extra={"facts": facts})
