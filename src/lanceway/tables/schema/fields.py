"""Field paths as Lance writes them: `a`, `a.b`, and backticks around a name that holds a dot.

A backtick inside a quoted name is doubled. A path is an exact, full path from the top.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lanceway.errors import InvalidInputError, TableColumnNotFoundError

if TYPE_CHECKING:
    import pyarrow as pa

    from lanceway.tables.dataset import StoredTable

_SEGMENT = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_PLAIN = re.compile(r"[^.`]+")


def parse(path: str) -> tuple[str, ...]:
    """Return the names in a field path. Raises InvalidInputError where it is malformed."""
    names, at = [], 0
    while True:
        segment = _SEGMENT.match(path, at)
        if segment is None:
            raise _malformed(path)
        inside, plain = segment.groups()
        names.append(inside.replace("``", "`") if inside is not None else plain)
        at = segment.end()
        if at == len(path):
            return tuple(names)
        if path[at] != ".":
            raise _malformed(path)
        at += 1


def _malformed(path: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path!r} is not a valid field path. Names are separated by single dots; put backticks around a name that "
        "holds a dot, and double a backtick inside them."
    )


def format_(names: Iterable[str]) -> str:
    """Return the canonical path of names: quoted only where that is needed."""
    return ".".join(name if _PLAIN.fullmatch(name) else quoted(name) for name in names)


def quoted(name: str) -> str:
    """Return a whole column in an SQL expression, of Lance or of Spark, whatever its name holds."""
    return f"`{name.replace('`', '``')}`"


def find(schema: pa.Schema, path: str) -> pa.Field | None:
    """Return the field that a path leads to, None if there is none."""
    children: Iterable[pa.Field] = schema
    field = None
    for name in parse(path):
        field = next((child for child in children if child.name == name), None)
        if field is None:
            return None
        children = _children(field.type)
    return field


def require(table: StoredTable, schema: pa.Schema, path: str, operation: str) -> pa.Field:
    """Return the field that a path leads to. Raises TableColumnNotFoundError, naming what there is."""
    field = find(schema, path)
    if field is None:
        paths = ", ".join(path for path, _ in walk(schema))
        raise TableColumnNotFoundError(f"{operation}: {table.name} has no column {path}. It has: {paths}.")
    return field


def require_top(table: StoredTable, schema: pa.Schema, path: str, operation: str) -> str:
    """Return the name of a column that must not be nested, because Lance cannot do this inside a struct."""
    names = parse(path)
    require(table, schema, path, operation)
    if len(names) > 1:
        raise InvalidInputError(
            f"{operation}: {path} is inside {names[0]}, and Lance does this only with whole columns. Name {names[0]}."
        )
    return names[0]


def walk(schema: pa.Schema) -> Iterator[tuple[str, pa.Field]]:
    """Yield every field with its canonical path, those inside structs after their parent."""
    yield from _walk((), schema)


def _walk(above: tuple[str, ...], fields: Iterable[pa.Field]) -> Iterator[tuple[str, pa.Field]]:
    import pyarrow as pa

    for field in fields:
        names = (*above, field.name)
        yield format_(names), field
        if pa.types.is_struct(field.type):
            yield from _walk(names, field.type)


def _children(type_: pa.DataType) -> Iterable[pa.Field]:
    import pyarrow as pa

    if pa.types.is_struct(type_):
        return list(type_)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        return [type_.value_field, *_children(type_.value_type)]
    return []


EXTENSION = "lance.blob.v2"
ENCODING = b"lance-encoding:blob"


def is_blob_type(type_: pa.DataType) -> bool:
    return getattr(type_, "extension_name", None) == EXTENSION


def is_blob(field: pa.Field) -> bool:
    return is_blob_type(field.type) or ENCODING in (field.metadata or {})
