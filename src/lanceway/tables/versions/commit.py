"""A transaction committed to a table: through its catalog where that manages the versions, else in storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lance
    from lance.dataset import Transaction

    from lanceway.tables.dataset import Table


def commit(table: Table, transaction: Transaction, *, retries: int, branch: lance.LanceDataset | None = None) -> int:
    """The version that it made; of a branch, where the table is given as it is open there.

    Whatever pylance raises comes out as it is.
    """
    import lance

    if branch is not None:
        return int(lance.LanceDataset.commit(branch, transaction, max_retries=retries).version)
    made = lance.LanceDataset.commit(
        table.path,
        transaction,
        storage_options=table.options,
        max_retries=retries,
        namespace_client=table.client,
        table_id=list(table.id) if table.client else None,
        namespace_client_managed_versioning=table.client is not None,
    )
    return int(made.version)
