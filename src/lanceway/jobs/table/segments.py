"""Segments of an index: each covers some fragments of a table, is built by itself, and unused until a commit."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lanceway.jobs.job_table import JobTable
from lanceway.tables.errors import translated
from lanceway.tables.indices import Prepared

if TYPE_CHECKING:
    import pyarrow as pa
    from lance.dataset import Index

FOLDER = "_indices"
# How often a k-means may go over its sample, unless the request says; as pylance has it.
_ITERATIONS = 50
# A partition has about so many rows, unless the request says, and so many of them are looked at to find its centre.
_PARTITION, _SAMPLE = 8192, 256
_BITS = 8


@dataclass(frozen=True)
class Builder:
    """Builds the segment over some fragments, wherever it runs. `model` is what all segments of vectors share."""

    table: JobTable
    version: int
    column: str
    index: Prepared
    model: Mapping[str, pa.Array]

    def __call__(self, fragments: Sequence[int]) -> dict[str, Any]:
        opened = self.table.open(self.version)
        options = {key: value for key, value in self.index.options.items() if key != "target_partition_size"}
        with translated(self.table.handle(), f"Building the index {self.index.name!r}"):
            segment = opened.create_index_uncommitted(
                self.column,
                self.index.kind,
                name=self.index.name,
                replace=True,  # nothing is replaced before the commit, and whether that may be was asked before
                fragment_ids=list(fragments),
                **{**options, **self.model},
            )
        return encode(segment)


def train(table: JobTable, version: int, column: str, index: Prepared) -> dict[str, Any]:
    """Train the centres, and the codes of a product quantizer, once on a sample of the table.

    Return nothing for an index that is not over vectors, or over those inside of other columns, which train their own.
    """
    opened = table.open(version)
    if not index.is_vector or column not in opened.schema.names:
        return {}
    from lance.indices import IndicesBuilder

    with translated(table.handle(), f"Training the index {index.name!r}"):
        rows, options = opened.count_rows(), index.options
        partitions = _partitions(rows, options)
        sample, iterations = options.get("sample_rate", _SAMPLE), options.get("max_iters", _ITERATIONS)
        builder = IndicesBuilder(opened, column)
        centres = builder.train_ivf(
            partitions,
            distance_type=options["metric"],
            sample_rate=max(2, min(sample, rows // partitions)),
            max_iters=iterations,
        )
        model: dict[str, Any] = {"num_partitions": partitions, "ivf_centroids": centres.centroids}
        if index.kind.endswith("PQ"):
            bits = options.get("num_bits", _BITS)
            codes = builder.train_pq(
                centres,
                options["num_sub_vectors"],
                sample_rate=max(2, min(sample, rows // 2**bits)),
                max_iters=iterations,
                num_bits=bits,
            )
            model["pq_codebook"] = codes.codebook
    return model


def _partitions(rows: int, options: Mapping[str, Any]) -> int:
    size = options.get("target_partition_size", _PARTITION)
    return int(options.get("num_partitions") or max(1, -(-rows // size)))


def encode(index: Index) -> dict[str, Any]:
    """Return a segment as plain data."""
    kind, details = index.index_details or ("", b"")
    return {
        "uuid": index.uuid,
        "name": index.name,
        "fields": list(index.fields),
        "dataset_version": index.dataset_version,
        "fragment_ids": sorted(index.fragment_ids),
        "index_version": index.index_version,
        "created_at": index.created_at.isoformat() if index.created_at else None,
        "base_id": index.base_id,
        "files": [[file.path, file.size_bytes] for file in index.files or ()],
        "index_details": [kind, base64.b64encode(details).decode()],
        "covering_fields": list(index.covering_fields),
    }


def decode(data: Mapping[str, Any]) -> Index:
    from lance.bitmap import Bitmap
    from lance.dataset import Index, IndexFile

    kind, details = data["index_details"]
    parsed = {
        "fragment_ids": Bitmap(data["fragment_ids"]),
        "created_at": datetime.fromisoformat(data["created_at"]) if data["created_at"] else None,
        "files": [IndexFile(path, size) for path, size in data["files"]],
        "index_details": (kind, base64.b64decode(details)),
    }
    return Index(**{**data, **parsed})


def keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a segment's files below the table."""
    return [f"{FOLDER}/{data['uuid']}/{path}" for path, _ in data["files"]]
