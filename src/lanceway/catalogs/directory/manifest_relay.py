"""pylance's `__manifest`, asked and changed from a forked process, where pylance itself must not be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from lanceway.catalogs.directory.folder import open_folder
from lanceway.catalogs.directory.manifest import Manifest, Row
from lanceway.identifiers import Identifier
from lanceway.tables.storage import fork


class RelayedManifest(Manifest):
    """The manifest of one root through this process's helper."""

    def _ask(self, question: str, *arguments: object) -> Any:
        return fork.ask(_answer, self._folder.root, tuple(self._options.items()), question, arguments)

    def namespace_properties(self, namespace: Identifier) -> dict[str, str] | None:
        return cast("dict[str, str] | None", self._ask("namespace_properties", namespace))

    def namespaces(self, namespace: Identifier, after: str | None, limit: int | None) -> Sequence[str]:
        return cast("Sequence[str]", self._ask("namespaces", namespace, after, limit))

    def create_namespace(self, namespace: Identifier, properties: Mapping[str, str]) -> None:
        self._ask("create_namespace", namespace, dict(properties))

    def drop_namespace(self, namespace: Identifier) -> None:
        self._ask("drop_namespace", namespace)

    def tables(
        self, namespace: Identifier, after: str | None, limit: int | None, include_declared: bool
    ) -> Sequence[str]:
        return cast("Sequence[str]", self._ask("tables", namespace, after, limit, include_declared))

    def find(self, table: Identifier) -> Row:
        return cast("Row", self._ask("find", table))

    def add(self, table: Identifier, folder: str, properties: Mapping[str, str]) -> None:
        self._ask("add", table, folder, dict(properties))

    def remove(self, table: Identifier) -> None:
        self._ask("remove", table)

    def owners(self, folder: str) -> list[Identifier]:
        return cast("list[Identifier]", self._ask("owners", folder)) if self.exists() else []


def _answer(root: str, options: tuple[tuple[str, str], ...], question: str, arguments: tuple[object, ...]) -> object:
    return getattr(_manifest(root, options), question)(*arguments)


@lru_cache(maxsize=16)
def _manifest(root: str, options: tuple[tuple[str, str], ...]) -> Manifest:
    return Manifest(open_folder(root, dict(options) or None), dict(options) or None)
