"""What is done to a catalog while `bench/lake.py` looks at the clock."""

from __future__ import annotations

import random
import uuid
from pathlib import Path
from typing import Any

from lance_namespace import LanceNamespace

from lake_filling import WIDE
from lanceway.catalogs.contract.hooks import REQUESTS
from lanceway.tables.versions import manifests

PAGE = 50


def ask(catalog: LanceNamespace, operation: str, **fields: object) -> Any:
    return getattr(catalog, operation)(REQUESTS[operation](**fields))


class Subject:
    """A catalog with its tables: each operation is done once for each call, on something new or at random."""

    def __init__(self, catalog: LanceNamespace, paths: list[list[str]]) -> None:
        self.catalog, self.paths = catalog, paths
        self.chance, self.number = random.Random(7), 0
        self.new: list[list[str]] = []
        self.end = self._token_of_the_last_page()

    def _token_of_the_last_page(self) -> str | None:
        wide = sum(path[0] == WIDE for path in self.paths)
        if wide <= PAGE:
            return None
        token: str | None = ask(self.catalog, "list_tables", id=[WIDE], limit=wide - PAGE).page_token
        return token

    def describe(self) -> None:
        ask(self.catalog, "describe_table", id=self.chance.choice(self.paths))

    def exists(self) -> None:
        ask(self.catalog, "table_exists", id=self.chance.choice(self.paths))

    def first_page(self) -> None:
        ask(self.catalog, "list_tables", id=[WIDE], limit=PAGE)

    def last_page(self) -> None:
        ask(self.catalog, "list_tables", id=[WIDE], limit=PAGE, page_token=self.end)

    def create(self) -> None:
        self.number += 1
        path = [*self.chance.choice(self.paths)[:-1], f"new_{self.number}"]
        ask(self.catalog, "declare_table", id=path)
        self.new.append(path)

    def drop(self) -> None:
        ask(self.catalog, "drop_table", id=self.new.pop())

    def rename(self) -> None:
        self.number += 1
        path = self.new[self.number % len(self.new)]
        ask(self.catalog, "rename_table", id=path, new_table_name=f"other_{self.number}")
        self.new[self.number % len(self.new)] = [*path[:-1], f"other_{self.number}"]


class Committer:
    """Commits versions to tables of its own, as pylance does: a staged manifest, then the claim."""

    def __init__(self, catalog: LanceNamespace, paths: list[list[str]]) -> None:
        self.catalog = catalog
        self.latest = [1] * len(paths)
        self.places = [(path, self._folder(path)) for path in paths]
        self.number = 0

    def _folder(self, path: list[str]) -> Path:
        folder = Path(ask(self.catalog, "describe_table", id=path).location) / manifests.FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def stage(self) -> tuple[int, dict[str, Any]]:
        which = self.number = (self.number + 1) % len(self.places)
        path, folder = self.places[which]
        version = self.latest[which] + 1
        staged = folder.parent / f"{manifests.key(version)}-{uuid.uuid4()}"
        staged.write_bytes(b"manifest")
        claim = {"version": version, "manifest_path": str(staged)[1:], "manifest_size": 8, "naming_scheme": "V2"}
        return which, {"id": path, **claim}

    def commit(self, which: int, claim: dict[str, Any]) -> None:
        ask(self.catalog, "create_table_version", **claim)
        self.latest[which] += 1

    def __call__(self) -> None:
        self.commit(*self.stage())
