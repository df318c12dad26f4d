"""Mounted catalogs: each under its name, opened when it is first needed, and again after it could not be."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lanceway.catalogs.connect import connect
from lanceway.catalogs.contract.hooks import CatalogHooks
from lanceway.catalogs.contract.metadata import WIRE_DELIMITER
from lanceway.catalogs.registry import catalog_class
from lanceway.config import CatalogSettings, is_secret, read_settings
from lanceway.errors import InvalidInputError, LanceNamespaceError, ServiceUnavailableError
from lanceway.tables.errors import FOREIGN

if TYPE_CHECKING:
    from lance_namespace import LanceNamespace

# What describes a catalog beside its own properties.
TYPE = "lanceway.type"
# The settings that say below what a catalog's tables lie, by the names that the types have for it.
_ROOTS = ("path", "root")
# A catalog that could not be opened is left alone for so long: many may be asking for it at once.
_PAUSE = 1.0  # seconds


class Mount:
    """A catalog in the tree. `threads` and `deadline` say how much of a server it may take.

    `configured` ones come from the configuration file; the others are catalogs of the tree's own lake.
    """

    configured = True
    # The locations below which the configuration says that its tables lie.
    roots: tuple[str, ...] = ()

    def __init__(self, name: str, type_: str, threads: int, deadline: float) -> None:
        self.name, self.type, self.threads, self.deadline = name, type_, threads, deadline

    @property
    def takes(self) -> str:
        """The type as its class has it, also where that is named by its import path."""
        return str(getattr(catalog_class(self.type), "TYPE", self.type))

    @property
    def catalog(self) -> LanceNamespace:
        """The catalog, opened if it is not yet, which may take a while and fail."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type!r})"


class ConfiguredMount(Mount):
    """A catalog from the configuration. Nothing about it is kept but whether it could be opened."""

    def __init__(self, name: str, given: CatalogSettings) -> None:
        super().__init__(name, given.type, given.threads, given.deadline)
        self._given = given
        self.properties = {TYPE: self.type, **_checked(name, given)}
        self.roots = tuple(given.settings[key] for key in _ROOTS if given.settings.get(key))
        self._forget()

    def _forget(self) -> None:
        self._opened: LanceNamespace | None = None
        self._failure: tuple[float, str] | None = None
        # By process: a fork may come while another thread holds the parent's.
        self._locks: dict[int, threading.Lock] = {}

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
        given = self._given
        try:
            return connect(given.type, settings={**given.settings, **({"at": given.at} if given.at else {})})
        except (LanceNamespaceError, *FOREIGN) as error:
            # What is not ours may have a secret in its words.
            reason = str(error) if isinstance(error, LanceNamespaceError) else f"it fails with {type(error).__name__}."
            self._failure = (time.monotonic() + _PAUSE, reason)
            raise self._unavailable(reason) from error

    def _unavailable(self, reason: str) -> ServiceUnavailableError:
        return ServiceUnavailableError(f"The catalog {self.name!r} cannot be opened: {reason}")

    def identity(self) -> tuple[object, ...]:
        """What makes two mounts the same one, secrets included."""
        return self.type, sorted(self._given.settings.items()), self._given.at

    def close(self) -> None:
        opened, self._opened = self._opened, None
        close = getattr(opened, "close", None)
        if close is not None:
            close()

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "given": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def check_name(name: str) -> None:
    """Refuse the name of a catalog that lists of all tables could not be told apart with."""
    if WIRE_DELIMITER in name:
        raise InvalidInputError(
            f"A catalog cannot be called {name!r}: {WIRE_DELIMITER!r} joins the names of an identifier. Use "
            f"{name.replace(WIRE_DELIMITER, '_')!r} or {name.replace(WIRE_DELIMITER, '-')!r}."
        )


def _checked(name: str, given: CatalogSettings) -> Mapping[str, str]:
    """What may be shown of a catalog's settings, which are checked without asking it anything."""
    try:
        check_name(name)
        cls = catalog_class(given.type)
        if not issubclass(cls, CatalogHooks):
            return {}  # nobody can say which of its settings are secret
        read_settings(cls._owner(), cls.SETTINGS, given.settings)
    except InvalidInputError as error:
        raise InvalidInputError(f"[catalogs.{name}]: {error}") from error
    known = {key for row in cls.SETTINGS if row.prefix is None for key in (row.name, *row.aliases)}
    return {
        key: value
        for key, value in given.settings.items()
        if key in known and not is_secret(cls.SETTINGS, key) and not _holds_a_password(value)
    }


def _holds_a_password(value: str) -> bool:
    return "@" in value.partition("://")[2].partition("/")[0]
