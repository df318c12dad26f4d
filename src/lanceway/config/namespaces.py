"""Root namespaces under the names that this tool gives them: `[namespaces.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from lanceway.config.files import FILE_NAME, config_file, document, override_named, sections, user_config_folder
from lanceway.config.settings import nearest
from lanceway.errors import InvalidInputError

NAMESPACES = "namespaces"


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
    """Return the root namespace called `name`; an error lists the names there are."""
    configured = namespaces(file)
    if name in configured:
        return configured[name]
    path = file or config_file()
    where = f"in {path}" if path else f"because there is no {FILE_NAME} here nor in {user_config_folder()}"
    names = f"{nearest(name, configured)} It has: {', '.join(sorted(configured))}." if configured else ""
    raise InvalidInputError(
        f"No namespace is called {name!r} {where}.{names} Add a section [namespaces.{name}] with its type and settings."
    )


def _namespace(name: str, entry: Mapping[str, str]) -> NamespaceSettings:
    settings = dict(entry)
    kind = settings.pop("type", None)
    if not kind:
        raise InvalidInputError(f"[namespaces.{name}] has no type. Set type to dir, rest or another catalog's name.")
    at, jobs = settings.pop("at", None), settings.pop("jobs", None)
    return NamespaceSettings(name, kind, MappingProxyType(settings), at or None, jobs or None)
