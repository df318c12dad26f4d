"""Mounted catalogs: each under its name, opened when it is first needed, and tried again after a failure.

Those of the configuration stay as they are while a process runs. Those that were made through an interface come and go
(`made.py`).
"""

from __future__ import annotations

import os
import threading
import time
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.connect import connect
from lanceway.catalogs.contract import capabilities
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.catalogs.registry import catalog_class
from lanceway.config import CatalogSettings, Setting, is_secret, read_settings
from lanceway.errors import InvalidInputError, LanceNamespaceError, ServiceUnavailableError
from lanceway.tables.errors import FOREIGN

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

# The property that says of which type a catalog is, beside its own properties.
TYPE = "lanceway.type"
# The settings that name the root of a catalog's tables, by type.
_ROOTS = ("path", "root")
# After a failure a catalog is not opened again for so long: many requests may wait for it at once.
_PAUSE = 1.0  # seconds


class CatalogDisabledError(InvalidInputError):
    """The catalog is there, but switched off."""

    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The catalog {name!r} is disabled. Its owner or an administrator can enable it: lanceway catalogs enable "
            f"{name}"
        )


class Mount(ABC):
    """A catalog in the tree. `threads` and `deadline` say how much of a server it may take.

    `foreign` ones are catalogs of other services; the others are those of the tree's own lake.
    """

    foreign = True
    # What tells one that was made through an interface from a later one of its name; those of the configuration have
    # their names alone.
    key = ""
    # The locations of its tables, according to the configuration.
    roots: tuple[str, ...] = ()

    def __init__(self, name: str, type_: str, threads: int, deadline: float) -> None:
        self.name, self.type, self.threads, self.deadline = name, type_, threads, deadline

    @property
    def takes(self) -> str:
        """Return the type as its class has it, also where that is named by its import path."""
        return str(getattr(catalog_class(self.type), "TYPE", self.type))

    @property
    @abstractmethod
    def catalog(self) -> LanceNamespace:
        """Return the catalog, opened if it is not yet, which may take a while and fail."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type!r})"


class ServiceMount(Mount):
    """A catalog of another service, and whether it could be opened."""

    # What a description of it has, without asking it. No secrets.
    properties: Mapping[str, str]

    def __init__(self, name: str, type_: str, threads: int, deadline: float) -> None:
        super().__init__(name, type_, threads, deadline)
        self._opened: LanceNamespace | None = None
        self._failure: tuple[float, str] | None = None
        # By process: a fork may come while another thread holds the parent's.
        self._locks: dict[int, threading.Lock] = {}

    @abstractmethod
    def section(self) -> CatalogSettings:
        """Return how it is connected to, secrets included. Raises LanceNamespaceError if that cannot be known."""

    @property
    def catalog(self) -> LanceNamespace:
        opened = self._opened
        if opened is not None:
            return opened
        with self._locks.setdefault(os.getpid(), threading.Lock()):
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> LanceNamespace:
        if self._failure is not None and time.monotonic() < self._failure[0]:
            raise self._unavailable(self._failure[1])
        try:
            return open_section(self.section())
        except (LanceNamespaceError, *FOREIGN) as error:
            reason = reason_of(error)
            self._failure = (time.monotonic() + _PAUSE, reason)
            raise self._unavailable(reason) from error

    def _unavailable(self, reason: str) -> ServiceUnavailableError:
        return ServiceUnavailableError(f"The catalog {self.name!r} cannot be opened: {reason}")

    def refuse_disabled(self) -> None:
        """Raise CatalogDisabledError if it is switched off, which one of the configuration never is."""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep it open for a request, whatever happens to it meanwhile."""
        yield

    def close(self) -> None:
        opened, self._opened = self._opened, None
        capabilities.close(opened)


class ConfiguredMount(ServiceMount):
    """A catalog from the configuration."""

    def __init__(self, name: str, section: CatalogSettings) -> None:
        super().__init__(name, section.type, section.threads, section.deadline)
        self._section = section
        self.properties = {TYPE: self.type, **_public_settings(name, section)}
        self.roots = roots_of(section.settings)

    def section(self) -> CatalogSettings:
        return self._section

    def identity(self) -> tuple[object, ...]:
        """Return what makes two mounts the same one, secrets included."""
        return self.type, sorted(self._section.settings.items()), self._section.at

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "section": self._section}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


@dataclass(frozen=True, slots=True)
class Mounted:
    """What is mounted at one revision: catalogs of the configuration and made ones, by name.

    `disabled` are the lake's own catalogs that are switched off.
    """

    revision: str | None = None
    mounts: Mapping[str, ServiceMount] = field(default_factory=dict)
    disabled: frozenset[str] = frozenset()


def in_use(mount: Mount) -> AbstractContextManager[None]:
    """Keep a catalog open for a request; those of the lake share its database, and need nothing."""
    return mount.in_use() if isinstance(mount, ServiceMount) else nullcontext()


def open_section(section: CatalogSettings) -> LanceNamespace:
    """Connect to a catalog. Raises LanceNamespaceError, or what is foreign to it: see `FOREIGN`."""
    return connect(section.type, settings={**section.settings, **({"at": section.at} if section.at else {})})


def reason_of(error: BaseException) -> str:
    """Return why a catalog cannot be used. What is not ours may have a secret in its words."""
    return str(error) if isinstance(error, LanceNamespaceError) else f"it fails with {type(error).__name__}."


def roots_of(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the roots of a catalog's tables that its settings name."""
    return tuple(settings[key] for key in _ROOTS if settings.get(key))


def canonical(name: str) -> str:
    """Return the one spelling of a catalog's name."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def check_name(name: str) -> None:
    """Refuse the name of a catalog that would be ambiguous in a list of all tables."""
    if WIRE_DELIMITER in name:
        raise InvalidInputError(
            f"A catalog cannot be called {name!r}: {WIRE_DELIMITER!r} joins the names of an identifier. Use "
            f"{name.replace(WIRE_DELIMITER, '_')!r} or {name.replace(WIRE_DELIMITER, '-')!r}."
        )


def begin_with_a_catalog(name: str) -> str:
    """Return a sentence for an identifier without a catalog, or with all of its names in one."""
    names = [part for part in name.split(".") if part]
    whole = names if len(names) > 1 else ["lake", name]
    return f"Identifiers begin with a catalog: write {whole!r}, or {WIRE_DELIMITER.join(whole)} over HTTP."


def _public_settings(name: str, section: CatalogSettings) -> Mapping[str, str]:
    """Check a catalog's settings, without connecting to it, and return those that are not secret."""
    try:
        check_name(name)
        return public_settings(section.type, section.settings)
    except InvalidInputError as error:
        raise InvalidInputError(f"[catalogs.{name}]: {error}") from error


def public_settings(type_: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Check the settings of a type of catalog, and return those that are known to be no secrets."""
    cls = catalog_class(type_)
    if not issubclass(cls, CatalogHooks):
        return {}  # which of its settings are secret is not known
    read_settings(cls._owner(), cls.SETTINGS, settings)
    return public_entries(cls.SETTINGS, settings)


def public_entries(rows: Sequence[Setting], settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that rows know and that are no secrets."""
    names = {key for row in rows if row.prefix is None for key in (row.name, *row.aliases)}
    return {
        key: value
        for key, value in settings.items()
        if key in names and not is_secret(rows, key) and not _holds_a_password(value)
    }


def _holds_a_password(value: str) -> bool:
    """Return whether one of the addresses in a value, such as those of several metastores, names a user."""
    return any("@" in address.partition("/")[0] for address in value.split("://")[1:])
