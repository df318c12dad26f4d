"""A table's fragments shared out among tasks, by their sizes in the manifest. Nothing but the manifest is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lance

# A task costs some tenths of a second however little it reads, and a failed one is read again as a whole.
_SMALLEST, _LARGEST = 8 * 2**20, 256 * 2**20
_TASKS_PER_CORE = 2


def shares(dataset: lance.LanceDataset, count: int | None) -> list[tuple[int, ...]]:
    """The ids of the fragments that each task reads, in the table's order: about `count` tasks, at least one."""
    weights = _weights(dataset)
    wanted = count or _tasks(sum(size for _, size in weights))
    return split(weights, wanted)


def split(weights: Sequence[tuple[int, int]], count: int) -> list[tuple[int, ...]]:
    """Neighbours stay together; each part has about the same weight, and none is empty but where there is nothing."""
    total = sum(weight for _, weight in weights)
    parts: dict[int, list[int]] = {}
    for (id_, weight), end in zip(weights, accumulate(weight for _, weight in weights), strict=True):
        middle = end - weight / 2
        parts.setdefault(int(middle * count / total) if total else 0, []).append(id_)
    return [tuple(parts[part]) for part in sorted(parts)] or [()]


def _weights(dataset: lance.LanceDataset) -> list[tuple[int, int]]:
    """Each fragment's id and size: in bytes, or in rows where an older writer has not noted them."""
    found = [fragment.metadata for fragment in dataset.get_fragments()]
    sizes = [[file.file_size_bytes or 0 for file in fragment.files] for fragment in found]
    if all(min(files, default=0) for files in sizes):
        return [(fragment.id, sum(files)) for fragment, files in zip(found, sizes, strict=True)]
    return [(fragment.id, int(fragment.physical_rows)) for fragment in found]


def _tasks(size: int) -> int:
    """Two for each core of this machine, but no task without some work, nor one with very much."""
    cores = os.cpu_count() or 1
    by_cores = min(_TASKS_PER_CORE * cores, -(-size // _SMALLEST))
    return max(1, by_cores, -(-size // _LARGEST))
