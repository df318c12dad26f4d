"""Rows that an index finds at once: looked up while a scan is planned, so that one task reads where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lance

# More rows than that are worth more tasks, and are not looked for twice.
_FEW = 10_000
# So many rows that no index has yet may be searched while a scan is planned.
_UNINDEXED = 100_000
# Those that know rows one by one. Others know where rows may be, which then have to be read.
_EXACT = ("BTreeIndexDetails", "BitmapIndexDetails", "LabelListIndexDetails")


def fragments(dataset: lance.LanceDataset, condition: str | None, few: int = _FEW) -> tuple[int, ...] | None:
    """The fragments with the rows of a condition. None where no index answers it alone, or where they are many."""
    if condition is None or not _is_answered(dataset, condition):
        return None
    rows = dataset.scanner(columns=[], filter=condition, with_row_address=True, limit=few).to_table()
    if rows.num_rows == few:
        return None
    return tuple(sorted({address >> 32 for address in rows["_rowaddr"].to_pylist()}))


def _is_answered(dataset: lance.LanceDataset, condition: str) -> bool:
    indices = dataset.describe_indices()
    if not indices:
        return False
    # pylance tells by its plan alone which indices it asks, and whether rows are left to be looked at.
    plan = dataset.scanner(columns=[], filter=condition, with_row_address=True).explain_plan()
    asked = [index for index in indices if f"@{index.name}(" in plan]
    total = dataset.count_rows()
    return (
        bool(asked)
        and "refine_filter=--" in plan
        and all(index.type_url.endswith(_EXACT) and total - index.num_rows_indexed <= _UNINDEXED for index in asked)
    )
