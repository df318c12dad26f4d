"""A setting as a row, and given values read by such rows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from lanceway.errors import InvalidInputError

_SECRET_WORDS = re.compile(r"secret|token|password|passphrase|key|credential|signature|sas", re.IGNORECASE)
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that may be set. A name ending in `.*` takes every key with that prefix."""

    name: str
    help: str
    kind: type[str] | type[bool] | type[int] | type[float] = str
    default: str | bool | int | float | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    secret: bool = False
    internal: bool = False  # set by programs, and so in no message

    @property
    def prefix(self) -> str | None:
        return self.name[:-1] if self.name.endswith(".*") else None


def read_settings(owner: str, rows: Sequence[Setting], given: Mapping[str, object]) -> Mapping[str, Any]:
    """Return the value of every setting in `rows`, converted and complete with defaults.

    A prefix row `storage.*` becomes one dictionary under `storage`. What is unknown, missing or
    of the wrong type is refused with an error that says what `owner` knows.
    """
    values: dict[str, Any] = {row.name: row.default for row in rows if row.prefix is None}
    values |= {row.prefix.removesuffix("."): {} for row in rows if row.prefix is not None}
    for key, value in given.items():
        row = _find(rows, key)
        if row is None:
            raise InvalidInputError(unknown(owner, [row.name for row in rows if not row.internal], key))
        if value is None:
            continue
        if row.prefix is not None:
            values[row.prefix.removesuffix(".")][key.removeprefix(row.prefix)] = as_text(value)
        else:
            values[row.name] = _convert(owner, row, value)
    missing = [row.name for row in rows if row.required and values[row.name] is None]
    if missing:
        raise InvalidInputError(
            f"{owner} needs the setting {missing[0]!r}: {_row(rows, missing[0]).help} Known settings: {_known(rows)}."
        )
    return MappingProxyType(values)


def redacted(rows: Iterable[Setting], given: Mapping[str, object]) -> dict[str, str]:
    """Return settings fit for a message: secrets are replaced by asterisks."""
    rows = tuple(rows)
    return {key: "***" if is_secret(rows, key) else as_text(value) for key, value in given.items()}


def is_secret(rows: Sequence[Setting], key: str) -> bool:
    row = _find(rows, key)
    if row is not None and (row.secret or row.prefix is None):
        return row.secret
    return bool(_SECRET_WORDS.search(key))


def _find(rows: Sequence[Setting], key: str) -> Setting | None:
    for row in rows:
        if key == row.name or key in row.aliases or (row.prefix and key.startswith(row.prefix) and key != row.prefix):
            return row
    return None


def _row(rows: Sequence[Setting], name: str) -> Setting:
    return next(row for row in rows if row.name == name)


def _known(rows: Iterable[Setting]) -> str:
    return ", ".join(sorted(row.name for row in rows if not row.internal))


def unknown(owner: str, choices: Iterable[str], key: str, what: str = "setting") -> str:
    """Return the message for an unknown key."""
    names = sorted(choices)
    return f"{owner} has no {what} {key!r}.{nearest(key, names)} Known {what}s: {', '.join(names)}."


def nearest(name: str, choices: Iterable[str]) -> str:
    """Return a sentence that suggests the nearest of the choices, after a space; empty if none is near."""
    near = difflib.get_close_matches(name, sorted(choices), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def as_text(value: object) -> str:
    """Write a value as an environment variable would have it."""
    if isinstance(value, list | tuple):
        return ",".join(as_text(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _convert(owner: str, row: Setting, value: object) -> str | bool | int | float:
    text = as_text(value).strip() if row.kind is not str else as_text(value)
    if row.choices:
        chosen = {choice.lower(): choice for choice in row.choices}.get(text.lower())
        if chosen is None:
            raise InvalidInputError(f"{owner}: {row.name} is {text!r}, but must be one of {', '.join(row.choices)}.")
        return chosen
    if row.kind is bool:
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
    else:
        convert: Callable[[str], str | int | float] = row.kind
        try:
            return convert(text)
        except ValueError:
            pass
    shown = "***" if row.secret else repr(text)
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    raise InvalidInputError(f"{owner}: {row.name} is {shown}, but must be {words[row.kind]}.")
