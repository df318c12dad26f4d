"""The log for people who watch a server in a terminal: a short line for each record, in colours."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TextIO
from urllib.parse import unquote

from lanceway.config.files import shows_colours

_BOLD_RED, _RED, _GREEN, _YELLOW, _DIM = "1;31", "31", "32", "33", "2"
_LEVELS: Mapping[int, str] = {logging.WARNING: _YELLOW, logging.ERROR: _RED, logging.CRITICAL: _BOLD_RED}
# What a line of a request shows by itself, and what is of use to programs alone.
_APART = frozenset({"method", "path", "status", "ms", "user", "operation", "bytes", "client", "request_id"})
_FEWEST_ERRORS, _FEWEST_FAILURES = 400, 500


def is_watched(stream: TextIO) -> bool:
    """Return whether a stream ends in a terminal that shows colours or at least lines."""
    return stream.isatty()


class TerminalFormatter(logging.Formatter):
    """Format a record as a line for a terminal. Whatever others chose in it cannot control the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._colours = shows_colours()

    def format(self, record: logging.LogRecord) -> str:
        facts = dict(getattr(record, "facts", {}))
        level = self._in(_LEVELS.get(record.levelno, _GREEN), f"{record.levelname.lower():7}")
        details = " ".join(f"{key}={value}" for key, value in facts.items() if value is not None and key not in _APART)
        parts = [self._time(record.created), level, _printable(record.getMessage())]
        line = " ".join([*parts, self._in(_DIM, _printable(details))] if details else parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line

    def request(self, moment: float, facts: Mapping[str, Any]) -> str:
        """Format what is known of a request that has been answered."""
        status = facts["status"]
        colour = _RED if status >= _FEWEST_FAILURES else _YELLOW if status >= _FEWEST_ERRORS else _GREEN
        what = _printable(f"{facts['method']} {unquote(facts['path'])}")
        more = _printable(f"{facts['ms']:.0f} ms {facts['user'] or '-'} {facts['operation']}")
        return " ".join([self._time(moment), self._in(colour, str(status)), what, self._in(_DIM, more)])

    def _time(self, moment: float) -> str:
        return self._in(_DIM, f"{datetime.fromtimestamp(moment):%H:%M:%S}")

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours else text


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
