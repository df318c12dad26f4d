"""A correction of pyiceberg 0.12: lists and maps of structs that are null stay null.

As rows are brought to a table's schema, when they are read and when they are written, pyiceberg makes such a list again
from its offsets, and so an empty one of a null (apache/iceberg-python#3833). Nothing tells afterwards which it was.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.types import ListType, MapType


@cache
def keep_nulls() -> None:
    """Put the correction into pyiceberg, for this process."""
    import pyarrow as pa
    from pyiceberg.io import pyarrow as arrow_io

    class NullKeepingVisitor(arrow_io.ArrowProjectionVisitor):
        def list(self, list_type: ListType, list_array: Any, value_array: Any) -> Any:
            projected = super().list(list_type, list_array, value_array)
            if projected is None or projected.null_count == list_array.null_count:
                return projected
            values = projected.values
            kind = pa.LargeListArray if isinstance(projected, pa.LargeListArray) else pa.ListArray
            return kind.from_arrays(_own(projected.offsets), values, type=projected.type, mask=list_array.is_null())

        def map(self, map_type: MapType, map_array: Any, key_result: Any, value_result: Any) -> Any:
            projected = super().map(map_type, map_array, key_result, value_result)
            if projected is None or projected.null_count == map_array.null_count:
                return projected
            offsets, nulls = _own(projected.offsets), map_array.is_null()
            return pa.MapArray.from_arrays(offsets, projected.keys, projected.items, projected.type, mask=nulls)

    arrow_io.ArrowProjectionVisitor = NullKeepingVisitor  # type: ignore[misc]


def _own(offsets: pa.Array) -> pa.Array:
    """Return offsets that begin their buffer: Arrow takes nulls beside no others."""
    import pyarrow as pa

    return pa.array(offsets.to_numpy(), offsets.type)
