"""How large a table is, and how its rows are spread over fragments."""

from __future__ import annotations

import math

from lance_namespace import GetTableStatsRequest, GetTableStatsResponse
from lance_namespace_urllib3_client.models.fragment_stats import FragmentStats
from lance_namespace_urllib3_client.models.fragment_summary import FragmentSummary

from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated

# A fragment with fewer rows than this is worth compacting.
SMALL_FRAGMENT = 100_000


def describe(table: StoredTable, request: GetTableStatsRequest) -> GetTableStatsResponse:
    """Describe the latest version; `total_bytes` are those of its data files."""
    dataset = open_at(table, branch=request.branch)
    with translated(table, "get_table_stats"):
        lengths = sorted(fragment.count_rows() for fragment in dataset.get_fragments())
        return GetTableStatsResponse(
            total_bytes=int(dataset.get_version()["metadata"].get("total_files_size", 0)),
            num_rows=sum(lengths),
            num_indices=len(dataset.describe_indices()),
            fragment_stats=FragmentStats(
                num_fragments=len(lengths),
                num_small_fragments=sum(length < SMALL_FRAGMENT for length in lengths),
                lengths=_summary(lengths),
            ),
        )


def _summary(lengths: list[int]) -> FragmentSummary:
    if not lengths:
        return FragmentSummary(min=0, max=0, mean=0, p25=0, p50=0, p75=0, p99=0)
    return FragmentSummary(
        min=lengths[0],
        max=lengths[-1],
        mean=sum(lengths) // len(lengths),
        p25=_percentile(lengths, 25),
        p50=_percentile(lengths, 50),
        p75=_percentile(lengths, 75),
        p99=_percentile(lengths, 99),
    )


def _percentile(lengths: list[int], percent: int) -> int:
    """Return the smallest length that at least `percent` of all do not exceed."""
    return lengths[max(math.ceil(len(lengths) * percent / 100) - 1, 0)]
