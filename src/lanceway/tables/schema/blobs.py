"""Columns of large objects, which Lance stores apart: by their type, or, in older files, by their metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

EXTENSION = "lance.blob.v2"
ENCODING = b"lance-encoding:blob"


def is_blob_type(type_: pa.DataType) -> bool:
    return getattr(type_, "extension_name", None) == EXTENSION


def is_blob(field: pa.Field) -> bool:
    return is_blob_type(field.type) or ENCODING in (field.metadata or {})
