"""One request and its response, as the log and the metrics record it.

With several processes each writes its numbers to a folder that they share, and the one that is asked adds them up.
The folder is chosen by `run.py` before this module is first imported, which is when prometheus_client looks for it.

Every line of a request has its id. Of a path the query is left out, and of headers all are: credentials stand there.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import getrandbits
from typing import Any, TextIO

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from lanceway.access.tokens import without_secrets
from lanceway.server.http import terminal
from lanceway.wire.lance import REQUEST_ID

CONTEXT_KEY = "lanceway.exchange"  # in an ASGI scope
_HEADER = REQUEST_ID.encode()
# What a caller may choose: it stands in log lines and headers.
_SAFE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")


@dataclass(slots=True)
class RequestContext:
    request_id: str
    operation: str = "unknown"
    user: str | None = None
    status: int = 0
    sent: int = 0  # bytes
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started


def of(scope: Any) -> RequestContext:
    context: RequestContext = scope[CONTEXT_KEY]
    return context


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the caller's id for the request if it is a safe one, else a new one."""
    for name, value in headers:
        if name == _HEADER and _SAFE.fullmatch(value):
            return value.decode()
    return f"{getrandbits(128):032x}"  # unique, but not a secret


CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_LABELS = ("operation", "status")


class Metrics:
    """The metrics of one application."""

    def __init__(self, *, shared: bool = False) -> None:
        self._shared = shared
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "lanceway_requests", "Requests, by operation and status.", _LABELS, registry=self._registry
        )
        self._seconds = Histogram(
            "lanceway_request_seconds",
            "Seconds until the last byte of the answer, by operation.",
            _LABELS[:1],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._bytes = Counter(
            "lanceway_response_bytes", "Bytes of answers, by operation.", _LABELS[:1], registry=self._registry
        )
        self._running = Gauge(
            "lanceway_requests_in_flight",
            "Requests that run.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        # A label is looked up under a lock; these are not.
        self._counters: dict[tuple[str, int], tuple[Counter, Histogram, Counter]] = {}

    def begin(self) -> None:
        self._running.inc()

    def end(self, context: RequestContext) -> None:
        self._running.dec()
        key = (context.operation, context.status)
        counters = self._counters.get(key)
        if counters is None:
            operation = context.operation
            counters = self._counters[key] = (
                self._requests.labels(operation, str(context.status)),
                self._seconds.labels(operation),
                self._bytes.labels(operation),
            )
        requests, seconds, sent = counters
        requests.inc()
        seconds.observe(context.seconds)
        sent.inc(context.sent)

    def page(self) -> bytes:
        """Return all metrics in the text format."""
        if not self._shared:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


ACCESS = logging.getLogger("lanceway.access")
_SERVER = logging.getLogger("lanceway.server")

_REQUEST = "request"
_PAUSE = 0.2  # seconds
_MOST_LINES = 1000

_TO_STDERR: dict[str, Any] = {"handlers": ["stderr"], "propagate": False, "level": "INFO"}


def settings() -> dict[str, Any]:
    """Return the settings of logging, in the form that `logging.config` takes: lines of JSON, but in a terminal short
    ones for people.
    """
    formatter = "terminal.TerminalFormatter" if terminal.is_watched(sys.stderr) else "log.JsonFormatter"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": f"lanceway.server.http.{formatter}"}},
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
                    self.stream.write("\n".join(map(self._written, lines)) + "\n")
                    self.stream.flush()

    def _written(self, line: str | Line) -> str:
        if isinstance(line, Line) and isinstance(self.formatter, terminal.TerminalFormatter):
            return self.formatter.request(line.moment, line.facts())
        return str(line)


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
    """Log why the server refused a request. The answer says less: it names no address behind the server."""
    facts = {"request_id": context.request_id, "operation": context.operation, "error": str(error)}
    if error.__cause__ is not None:
        facts["cause"] = without_secrets(str(error.__cause__))
    _SERVER.warning(message, extra={"facts": facts})


def restarted(dead: int | None, status: int | None, process: int | None) -> None:
    """Log that a process which served has died, and that another one takes its place."""
    facts = {"pid": dead, "status": status, "new_pid": process}
    _SERVER.error("A process of the server died, and was started again.", extra={"facts": facts})
