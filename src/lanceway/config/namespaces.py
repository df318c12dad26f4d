"""`[namespaces.NAME]`: root namespaces under the names that a tool gives them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from lanceway.config.connections import saved as saved_connections
from lanceway.config.files import (
    FILE_NAME,
    NAMESPACES,
    config_file,
    document,
    override_named,
    sections,
    user_config_folder,
)
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError

_PATHS = frozenset({"path", "root", "token_file"})


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """A root namespace under the name this tool gives it."""

    name: str
    type: str
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    at: str | None = None
    jobs: str | None = field(default=None, repr=False)  # may hold a password


def namespaces(file: str | Path | None = None) -> dict[str, NamespaceSettings]:
    """Return every root namespace that the configuration file and the environment name."""
    path, content = document(file)
    entries = sections(path, content, NAMESPACES, "local")
    override_named(entries, NAMESPACES)
    return {name: _namespace(name, entry) for name, entry in entries.items()}


def namespace(name: str, file: str | Path | None = None) -> NamespaceSettings:
    """Return the root namespace called `name`, or the saved connection; an error lists the names there are."""
    configured = namespaces(file)
    if name in configured:
        return configured[name]
    saved = saved_connections()
    if name in saved:
        return NamespaceSettings(name, "rest", MappingProxyType(saved[name].settings))
    path = file or config_file()
    where = f"in {path}" if path else f"because there is no {FILE_NAME} here nor in {user_config_folder()}"
    names = f"{nearest(name, {*configured, *saved})}"
    names += f" It has: {', '.join(sorted(configured))}." if configured else ""
    names += f" Saved connections: {', '.join(sorted(saved))}." if saved else ""
    raise InvalidInputError(
        f"No namespace is called {name!r} {where}.{names} Add a section [namespaces.{name}] with its type and settings."
    )


def _namespace(name: str, entry: Mapping[str, str]) -> NamespaceSettings:
    settings = dict(entry)
    kind = settings.pop("type", None)
    if not kind:
        raise InvalidInputError(f"[namespaces.{name}] has no type. Set type to dir, rest or another catalog's name.")
    # No shell has read the file: its author means the home folder all the same.
    settings |= {key: os.path.expanduser(settings[key]) for key in _PATHS & settings.keys()}
    at, jobs = settings.pop("at", None), settings.pop("jobs", None)
    return NamespaceSettings(name, kind, MappingProxyType(settings), at or None, jobs or None)
