"""A transaction committed to a table: through its catalog where that manages the versions, else in storage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lanceway.tables.dataset import is_main

if TYPE_CHECKING:
    import lance
    from lance.dataset import Transaction

    from lanceway.tables.dataset import StoredTable
    from lanceway.tables.storage.store import Store


# How often pylance by itself tries a commit again on top of others.
RETRIES = 20


def commit(
    table: StoredTable, transaction: Transaction, *, retries: int, opened: lance.LanceDataset | None = None
) -> int:
    """Commit a transaction and return its version; through a dataset that is open, maybe on a branch, if one is given.

    Whatever pylance raises comes out as it is.
    """
    import lance

    if opened is not None:
        return int(lance.LanceDataset.commit(opened, transaction, max_retries=retries).version)
    committed = lance.LanceDataset.commit(
        table.path,
        transaction,
        storage_options=table.options,
        max_retries=retries,
        namespace_client=table.client,
        table_id=list(table.id) if table.client else None,
        namespace_client_managed_versioning=table.client is not None,
    )
    return int(committed.version)


_SUFFIX = ".lance"


def data_key(file: str, branch: str | None) -> str:
    """Return the path in the table's folder of a data file that was written to it, or to the branch."""
    return f"data/{file}" if is_main(branch) else f"tree/{branch}/data/{file}"


def remove(store: Store, files: Iterable[str]) -> None:
    """Remove files by their paths in the table's folder; large blobs are in a folder with the name of their file."""
    gone = list(files)
    for folder in (file.removesuffix(_SUFFIX) for file in gone if file.endswith(_SUFFIX)):
        store.delete(*store.keys(folder))
        store.remove_empty_folders(folder)
    store.delete(*gone)
