"""Root namespaces under the names that this tool gives them: `[namespaces.NAME]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from lanceway.config import sources
from lanceway.config.sources import FILE_NAME, config_file, user_config_folder
from lanceway.errors import InvalidInputError

KIND = "namespaces"


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """A root namespace under the name this tool gives it."""

    name: str
    type: str
    settings: Mapping[str, str] = field(repr=False)  # may hold secrets
    at: str | None = None


def namespaces(file: str | Path | None = None) -> dict[str, NamespaceSettings]:
    """Every root namespace that the configuration file and the environment name."""
    path, content = sources.document(file)
    found = sources.sections(path, content, KIND, "local")
    sources.override_named(found, KIND)
    return {name: _namespace(name, entry) for name, entry in found.items()}


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


def _namespace(name: str, entry: Mapping[str, str]) -> NamespaceSettings:
    settings = dict(entry)
    kind = settings.pop("type", None)
    if not kind:
        raise InvalidInputError(f"[namespaces.{name}] has no type. Set type to dir, rest or another catalog's name.")
    at = settings.pop("at", None)
    return NamespaceSettings(name, kind, MappingProxyType(settings), at or None)
