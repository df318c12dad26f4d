"""Rows to delete: by their offsets in the fragments of a version, and the files that list them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.writes import stage

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DeletedRows:
    """The rows to delete, as offsets in each fragment; and whether a row was named twice."""

    offsets: Mapping[int, bytes]
    twice: bool


def by_fragment(addresses: Sequence[pa.Array]) -> Iterator[tuple[int, bytes]]:
    """Yield each fragment with the offsets of its rows. Of an address's 64 bits, the upper half is the fragment."""
    import numpy as np

    if not addresses:
        return
    every = np.concatenate([part.to_numpy(zero_copy_only=False).astype(np.uint64) for part in addresses])
    fragments = (every >> np.uint64(32)).astype(np.int64)
    offsets = (every & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    for fragment in np.unique(fragments):
        yield int(fragment), offsets[fragments == fragment].tobytes()


def united(parts: Iterable[tuple[int, bytes]]) -> DeletedRows:
    """Join the offsets that several tasks name."""
    import numpy as np

    parts_of: dict[int, list[Any]] = {}
    for fragment, offsets in parts:
        parts_of.setdefault(fragment, []).append(np.frombuffer(offsets, np.uint32))
    joined = {fragment: np.concatenate(offsets) for fragment, offsets in parts_of.items()}
    twice = any(len(np.unique(offsets)) < len(offsets) for offsets in joined.values())
    return DeletedRows({fragment: offsets.tobytes() for fragment, offsets in joined.items()}, twice)


def files(fragments: Iterable[str]) -> list[str]:
    """Return the files that list the deleted rows of fragments, as paths in the table's folder."""
    return [
        fragment.deletion_file.path(fragment.id)
        for fragment in stage.from_json(fragments)
        if fragment.deletion_file is not None
    ]
