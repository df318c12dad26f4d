"""Settings: rows that say what may be set, and the files and variables they come from.

A value comes from `lanceway.toml`, is overridden by the environment, and that by an argument.
Nothing else in the package reads `os.environ`.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lanceway.errors import InvalidInputError

FILE_NAME = "lanceway.toml"
_ENVIRONMENT_PREFIX = "LANCEWAY_NAMESPACES__"
# Where a lake is, and how it is made, for those who name none: a password in a variable is in no list of processes.
LAKE_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "uri": "LANCEWAY_DATABASE",
        "root": "LANCEWAY_WAREHOUSE",
        "separator": "LANCEWAY_SEPARATOR",
        "policy": "LANCEWAY_SEPARATOR_POLICY",
    }
)
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

    @property
    def prefix(self) -> str | None:
        return self.name[:-1] if self.name.endswith(".*") else None


def read_settings(owner: str, rows: Sequence[Setting], given: Mapping[str, object]) -> Mapping[str, Any]:
    """The value of every setting in `rows`, converted and complete with defaults.

    A prefix row `storage.*` becomes one dictionary under `storage`. What is unknown, missing or
    of the wrong type is refused with an error that says what `owner` knows.
    """
    values: dict[str, Any] = {row.name: row.default for row in rows if row.prefix is None}
    values |= {row.prefix.removesuffix("."): {} for row in rows if row.prefix is not None}
    for key, value in given.items():
        row = _find(rows, key)
        if row is None:
            raise InvalidInputError(_unknown(owner, rows, key))
        if value is None:
            continue
        if row.prefix is not None:
            values[row.prefix.removesuffix(".")][key.removeprefix(row.prefix)] = _text(value)
        else:
            values[row.name] = _convert(owner, row, value)
    missing = [row.name for row in rows if row.required and values[row.name] is None]
    if missing:
        raise InvalidInputError(
            f"{owner} needs the setting {missing[0]!r}: {_row(rows, missing[0]).help} Known settings: {_known(rows)}."
        )
    return MappingProxyType(values)


def redacted(rows: Iterable[Setting], given: Mapping[str, object]) -> dict[str, str]:
    """What was given, fit for a message: secrets are replaced by asterisks."""
    rows = tuple(rows)
    return {key: "***" if is_secret(rows, key) else _text(value) for key, value in given.items()}


def is_secret(rows: Sequence[Setting], key: str) -> bool:
    row = _find(rows, key)
    if row is None or row.prefix is not None:
        return bool(_SECRET_WORDS.search(key))
    return row.secret


def _find(rows: Sequence[Setting], key: str) -> Setting | None:
    for row in rows:
        if key == row.name or key in row.aliases or (row.prefix and key.startswith(row.prefix) and key != row.prefix):
            return row
    return None


def _row(rows: Sequence[Setting], name: str) -> Setting:
    return next(row for row in rows if row.name == name)


def _known(rows: Iterable[Setting]) -> str:
    return ", ".join(sorted(row.name for row in rows))


def _unknown(owner: str, rows: Sequence[Setting], key: str) -> str:
    near = difflib.get_close_matches(key, [row.name for row in rows], n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"{owner} has no setting {key!r}.{hint} Known settings: {_known(rows)}."


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _convert(owner: str, row: Setting, value: object) -> str | bool | int | float:
    text = _text(value).strip() if row.kind is not str else _text(value)
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


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """A root namespace under the name this tool gives it."""

    name: str
    type: str
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    at: str | None = None


def config_file() -> Path | None:
    """`$LANCEWAY_CONFIG`, else `./lanceway.toml`, else the one in the user's configuration folder."""
    named = os.environ.get("LANCEWAY_CONFIG")
    if named:
        if not Path(named).is_file():
            raise InvalidInputError(f"LANCEWAY_CONFIG names {named!r}, but there is no such file. Mend it or unset it.")
        return Path(named)
    candidates = (Path(FILE_NAME), user_config_folder() / FILE_NAME)
    return next((path for path in candidates if path.is_file()), None)


def user_config_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "lanceway"


def namespaces(file: str | Path | None = None) -> dict[str, NamespaceSettings]:
    """Every root namespace that the configuration file and the environment name."""
    path = Path(file) if file is not None else config_file()
    in_file = _namespaces_in(path) if path else {}
    tables = {name: dict(entry) for name, entry in in_file.items()}
    _override_from_environment(tables)
    # A variable alone, such as the token of a namespace that this file does not have, makes none.
    return {name: _namespace(name, entry) for name, entry in tables.items() if name in in_file or "type" in entry}


def namespace(name: str, file: str | Path | None = None) -> NamespaceSettings:
    """The root namespace called `name`; an error lists the names there are."""
    known = namespaces(file)
    if name in known:
        return known[name]
    path = file or config_file()
    where = f"in {path}" if path else f"because there is no {FILE_NAME} here nor in {user_config_folder()}"
    names = f" It has: {', '.join(sorted(known))}." if known else ""
    raise InvalidInputError(
        f"No namespace is called {name!r} {where}.{names} Add a section [namespaces.{name}] with its type and settings."
    )


def _namespaces_in(path: Path) -> Mapping[str, Mapping[str, str]]:
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except OSError as error:
        raise InvalidInputError(f"Cannot read {path}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is not valid TOML: {error}.") from error
    sections = document.get("namespaces", {})
    if not isinstance(sections, dict) or not all(isinstance(entry, dict) for entry in sections.values()):
        raise InvalidInputError(f"{path}: 'namespaces' must hold sections such as [namespaces.local].")
    return {name: dict(_flatten(entry)) for name, entry in sections.items()}


def _flatten(entry: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, str]]:
    """`[namespaces.x.storage] region = "…"` and `"storage.region" = "…"` mean the same."""
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", _text(value)


def _override_from_environment(tables: dict[str, dict[str, str]]) -> None:
    """`LANCEWAY_NAMESPACES__LAKE__TOKEN` sets `token` of `lake`; further `__` stand for dots."""
    for variable, value in os.environ.items():
        if not variable.upper().startswith(_ENVIRONMENT_PREFIX):
            continue
        name, _, key = variable[len(_ENVIRONMENT_PREFIX) :].partition("__")
        if not name or not key:
            raise InvalidInputError(
                f"The variable {variable} must name a namespace and a setting: {_ENVIRONMENT_PREFIX}<NAME>__<SETTING>."
            )
        known = next((known for known in tables if known.lower() == name.lower()), name.lower())
        tables.setdefault(known, {})[key.lower().replace("__", ".")] = value


def _namespace(name: str, entry: Mapping[str, str]) -> NamespaceSettings:
    settings = dict(entry)
    kind = settings.pop("type", None)
    if not kind:
        raise InvalidInputError(f"[namespaces.{name}] has no type. Set type to dir, rest or another catalog's name.")
    at = settings.pop("at", None)
    return NamespaceSettings(name, kind, MappingProxyType(settings), at or None)


def lake() -> dict[str, str]:
    """What the environment says of the lake, under the names that its settings have."""
    found = {name: os.environ.get(variable, "") for name, variable in LAKE_VARIABLES.items()}
    return {name: value for name, value in found.items() if value}


def quiet_lance() -> None:
    """Keep pylance's warnings off the terminal, unless `LANCE_LOG` is set. It reads this when first imported."""
    os.environ.setdefault("LANCE_LOG", "error")
