"""Rows written down as deleted, in files beside the fragments that they are part of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceway.tables import dataset
from lanceway.tables.errors import translated
from lanceway.writes import journal, stage
from lanceway.writes.plan import WritePlan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ANSWER = "fragment bigint, left string"


@dataclass(frozen=True)
class Gone:
    """Which rows go, as offsets in their fragments; and whether one was named twice."""

    offsets: Mapping[int, bytes]
    twice: bool


def by_fragment(addresses: Sequence[pa.Array]) -> Iterator[tuple[int, bytes]]:
    """Addresses of rows as offsets in each fragment: of the 64 bits, the upper half is the fragment."""
    import numpy as np

    if not addresses:
        return
    every = np.concatenate([one.to_numpy(zero_copy_only=False).astype(np.uint64) for one in addresses])
    fragments = (every >> np.uint64(32)).astype(np.int64)
    offsets = (every & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    for fragment in np.unique(fragments):
        yield int(fragment), offsets[fragments == fragment].tobytes()


def united(parts: Iterable[tuple[int, bytes]]) -> Gone:
    import numpy as np

    found: dict[int, list[Any]] = {}
    for fragment, offsets in parts:
        found.setdefault(fragment, []).append(np.frombuffer(offsets, np.uint32))
    joined = {fragment: np.concatenate(offsets) for fragment, offsets in found.items()}
    twice = any(len(np.unique(offsets)) < len(offsets) for offsets in joined.values())
    return Gone({fragment: offsets.tobytes() for fragment, offsets in joined.items()}, twice)


def write(spark: SparkSession, plan: WritePlan, offsets: Mapping[int, bytes]) -> tuple[list[str], list[int]]:
    """Fragments as they are without those rows, and the ids of those of which nothing is left."""
    if not offsets:
        return [], []
    rows = spark.createDataFrame(list(offsets.items()), "fragment bigint, offsets binary")
    answers = rows.repartition(min(len(offsets), 64)).mapInArrow(partial(_write, plan), _ANSWER).collect()
    updated = [row.left for row in answers if row.left is not None]
    return updated, [row.fragment for row in answers if row.left is None]


def _write(plan: WritePlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import numpy as np
    import pyarrow as pa

    table, opened = plan.destination.current().reading, None
    for batch in batches:
        opened = opened or dataset.open_at(table, version=plan.version)
        left = []
        for row in batch.to_pylist():
            with translated(table, "Deleting rows"):
                fragment = opened.get_fragment(row["fragment"])
                assert fragment is not None, "a version keeps its fragments"
                rest = fragment.delete_rows(np.frombuffer(row["offsets"], np.uint32))
            told = None if rest is None else stage.written(rest)
            if told is not None and plan.write is not None:
                journal.note(plan.destination, plan.write, files([told]))
            left.append(told)
        yield pa.RecordBatch.from_arrays([batch.column("fragment"), pa.array(left, pa.string())], ["fragment", "left"])


def files(fragments: Iterable[str]) -> list[str]:
    """The files in which rows of fragments are written down as deleted, as paths in the table's folder."""
    return [
        fragment.deletion_file.path(fragment.id)
        for fragment in stage.read(fragments)
        if fragment.deletion_file is not None
    ]
