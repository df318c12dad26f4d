"""Shallow clones in storage: a manifest that leads to the files of another table."""

from __future__ import annotations

from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated


def clone(source: StoredTable, version: int, target: StoredTable) -> None:
    """Write a table whose one version has the files of a version of another one, and none of its own.

    It gets the number of that version. The source is read as storage has it, and its base paths must be allowed.
    """
    opened = open_at(source, version=version)
    with translated(source, f"Cloning version {version}"):
        opened.shallow_clone(target.path, version, storage_options=target.options)
