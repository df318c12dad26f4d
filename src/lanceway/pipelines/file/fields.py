"""The keys of one mapping of a pipeline's file: each read by its kind, and what is wrong becomes a problem."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lanceway import config
from lanceway.config.settings import as_text, unknown
from lanceway.pipelines.file.problems import Problems
from lanceway.pipelines.file.yaml import Value

_VARIABLE = re.compile(r"\$\{(\w+)\}")


class Fields:
    """What stands under one key. A value of the wrong kind is told, and counts as not given."""

    def __init__(self, owner: str, value: Value, known: Iterable[str], problems: Problems) -> None:
        self.owner, self.problems, self.at = owner, problems, value.line
        self._value = value
        self._found: Mapping[str, Value] = {}
        if not isinstance(value.data, dict):
            problems.add(value.line, f"{owner} must be a mapping, but it is {value.kind}.")
            return
        self._found, names = value.data, tuple(known)
        for key, line in value.lines.items():
            if key not in names:
                problems.add(line, unknown(owner, names, key, "key"), "unknown key")

    def has(self, key: str) -> bool:
        return key in self._found

    def line(self, key: str) -> int:
        return self._value.lines.get(key, self.at)

    def first(self, key: str) -> int:
        """The line that a text itself begins in."""
        return self._found[key].first if key in self._found else self.at

    def get(self, key: str) -> Value | None:
        found = self._found.get(key)
        return None if found is None or found.data is None else found

    def wrong(self, key: str, message: str) -> None:
        self.problems.add(self.line(key), f"{self.owner}: {message}")

    def require(self, key: str, what: str) -> None:
        if self.get(key) is None:
            self.problems.add(self.at, f"{self.owner} needs {key}: {what}.", "missing")

    def text(self, key: str) -> str | None:
        found = self.get(key)
        if found is None:
            return None
        if isinstance(found.data, dict | list) or not str(found.data).strip():
            self.wrong(key, f"{key} must be a text, but it is {found.kind if found.data != '' else 'empty'}.")
            return None
        return as_text(found.data)

    def texts(self, key: str) -> tuple[str, ...]:
        """One text or several."""
        found = self.get(key)
        if found is None:
            return ()
        items = found.data if isinstance(found.data, list) else [found]
        if not all(isinstance(item.data, str | int | float) for item in items):
            self.wrong(key, f"{key} must be a text or a list of texts.")
            return ()
        return tuple(as_text(item.data) for item in items)

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        given = self.text(key)
        if given is None:
            return default
        if given.lower() not in choices:
            self.wrong(key, f"{key} is {given!r}, but must be one of {', '.join(choices)}.")
            return default
        return given.lower()

    def flag(self, key: str, default: bool) -> bool:
        found = self.get(key)
        if found is None:
            return default
        if not isinstance(found.data, bool):
            self.wrong(key, f"{key} must be true or false, but it is {found.kind}.")
            return default
        return found.data

    def number(self, key: str, least: int = 1) -> int | None:
        found = self.get(key)
        if found is None:
            return None
        if type(found.data) is not int or found.data < least:
            self.wrong(key, f"{key} must be a whole number of at least {least}.")
            return None
        return found.data

    def mapping(self, key: str) -> Mapping[str, Value]:
        found = self.get(key)
        if found is None:
            return {}
        if not isinstance(found.data, dict):
            self.wrong(key, f"{key} must be a mapping, but it is {found.kind}.")
            return {}
        return found.data

    def items(self, key: str) -> list[Value]:
        found = self.get(key)
        if found is None:
            return []
        if not isinstance(found.data, list):
            self.wrong(key, f"{key} must be a list, but it is {found.kind}.")
            return []
        return found.data

    def options(self, key: str) -> dict[str, str]:
        """Texts by their names; `${NAME}` in one stands for a variable of the environment."""
        found = {name: (value, as_text(value.data)) for name, value in self.mapping(key).items()}
        return {name: self.filled(text, value.line) for name, (value, text) in found.items()}

    def filled(self, text: str, line: int) -> str:
        def value(match: re.Match[str]) -> str:
            found = config.variable(match[1])
            if found is None:
                self.problems.add(line, f"{self.owner}: the variable {match[1]} is not set in the environment.")
            return found or ""

        return _VARIABLE.sub(value, text)

    def arguments(self, key: str) -> dict[str, Any]:
        return {name: value.plain() for name, value in self.mapping(key).items()}
