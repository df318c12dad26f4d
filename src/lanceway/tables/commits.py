"""A transaction committed to a table: through its catalog where that manages the versions, else in storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lance.dataset import Transaction

    from lanceway.tables.dataset import Table


def commit(table: Table, transaction: Transaction, *, retries: int) -> int:
    """The version that it made. Whatever pylance raises comes out as it is."""
    import lance

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
