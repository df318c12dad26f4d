"""Metadata of Iceberg tables: built, read, changed and checked, on pyiceberg's models.

Format versions 1 and 2 are kept; pyiceberg cannot write version 3 yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import TypeAdapter, ValidationError

from lanceway.errors import ConcurrentModificationError, InvalidInputError
from lanceway.tables.iceberg import properties as table_properties

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement

FORMAT_VERSION = "format-version"
FORMATS = (1, 2)
_LONGEST_REASON = 400  # characters
FIRST_FIELD = 1000  # the lowest id of a partition field
# Each is compared with all that there are. A commit of a client adds one or two.
_ADDED, _MOST_ADDED = ("add-schema", "add-spec", "add-sort-order", "add-view-version"), 100
# Of a file, in memory hundreds of megabytes. A table with a hundred thousand snapshots has half as many.
_MOST_VALUES = 5_000_000

Json = Mapping[str, Any]


def build(
    schema: Json,
    *,
    location: str,
    partition_spec: Json | None = None,
    sort_order: Json | None = None,
    properties: Mapping[str, str] | None = None,
) -> TableMetadata:
    """Return the metadata of a new table. Raises InvalidInputError for what the format does not allow."""
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import new_table_metadata
    from pyiceberg.table.sorting import SortOrder

    chosen = table_properties.checked(properties or {})
    version = kept_format(chosen.get(FORMAT_VERSION, "2"))
    if not isinstance(schema, Mapping) or not isinstance(schema.get("fields"), Sequence):
        raise InvalidInputError("The table cannot be created: its schema is not a JSON object with a list of fields.")
    checked_json("The table cannot be created", schema, partition_spec, sort_order, chosen)
    with valid("The table cannot be created"):
        columns = Schema.model_validate(schema)
        spec = PartitionSpec.model_validate(numbered(partition_spec or {"spec-id": 0, "fields": []}, FIRST_FIELD))
        order = SortOrder.model_validate(sort_order or {"order-id": 0, "fields": []})
        return new_table_metadata(columns, spec, order, location, {**chosen, FORMAT_VERSION: str(version)})


def read(data: bytes) -> TableMetadata:
    """Return the metadata that a file holds. Raises InvalidInputError for a file that holds none, or too new one."""
    from pyiceberg.table.metadata import TableMetadataUtil

    with valid("The metadata cannot be read"):
        document = decoded(data)
        if FORMAT_VERSION not in document:
            raise ValueError("it is not a JSON object with a format-version")
    kept_format(document[FORMAT_VERSION])
    with valid("The metadata cannot be read"):
        metadata = TableMetadataUtil.parse_obj(document)
        metadata.schema(), metadata.spec(), metadata.sort_order()
        return metadata


def write(metadata: TableMetadata) -> bytes:
    return metadata.model_dump_json().encode()


def decoded(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises ValueError for what other clients could not read: NaN, broken Unicode, a byte order mark, another encoding
    than UTF-8; and for so many values that they would fill the memory, which a small file can have once it is unpacked.
    """
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        raise ValueError(f"it has more than {_MOST_VALUES:,} values. Expire snapshots, or remove properties")
    document = msgspec.json.decode(data)
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    return document


def checked_file(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a file that others may have written, if clients may be given it.

    Raises InvalidInputError for one that cannot be read, or has properties that would redirect clients.
    """
    with valid("The metadata cannot be read"):
        document = decoded(data)
        found = document.get("properties")
        if not isinstance(found, dict | None):
            raise ValueError("its properties are not a JSON object")
    table_properties.checked(found or {})
    return document


def checked_json(what: str, *values: object) -> None:
    """Refuse JSON of a client that no other client could read again: numbers beyond 64 bits, broken Unicode.

    pyiceberg's models take both. Raises InvalidInputError.
    """
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, str):
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                raise InvalidInputError(f"{what}: {value[:40]!r} is not Unicode text.")
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise InvalidInputError(f"{what}: the number {str(value)[:25]}… does not fit into 64 bits.")
        elif isinstance(value, Sequence):
            left += value


def rows_of(what: str, rows: Sequence[Json]) -> list[dict[str, Any]]:
    """Return the requirements or updates of a commit.

    Raises InvalidInputError for what is not a JSON object, and for updates that would be compared for minutes.
    """
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInputError(f"{what}: each must be a JSON object.")
    added = sum(row.get("action") in _ADDED for row in rows)
    if added > _MOST_ADDED:
        raise InvalidInputError(
            f"The commit adds {added:,} schemas, partition specs, sort orders or versions, and may add {_MOST_ADDED}. "
            "Make several commits of it."
        )
    checked_json(what, rows)
    return [dict(row) for row in rows]


def parse_requirements(rows: Sequence[Json]) -> Sequence[TableRequirement]:
    """Return the requirements of a commit. Raises InvalidInputError for one that is unknown or not well formed."""
    what = "A requirement of the commit cannot be checked"
    with valid(what):
        return _requirements().validate_python(rows_of(what, rows))


def require(requirements: Sequence[TableRequirement], metadata: TableMetadata | None) -> None:
    """Raise ConcurrentModificationError for a requirement that does not hold; there may be no table yet."""
    for requirement in requirements:
        reason = _broken(requirement, metadata)
        if reason is not None:
            raise ConcurrentModificationError(f"Requirement failed: {reason}. Load the table again, and repeat.")


def kept_format(value: object) -> int:
    try:
        version = int(str(value))
    except ValueError:
        version = None
    if version not in FORMATS:
        raise InvalidInputError(
            f"Tables of format version {str(value)[:20]!r} are not kept here: this server reads and writes versions 1 "
            "and 2 of Iceberg's format. Use version 2."
        )
    return version


def numbered(spec: Json, first: int) -> dict[str, Any]:
    """Return a partition spec as JSON whose fields have ids: the protocol lets a client leave them to the server."""
    fields = spec.get("fields")
    if not isinstance(fields, Sequence) or not all(isinstance(field, Mapping) for field in fields):
        return dict(spec)
    return {**spec, "fields": [{"field-id": first + place, **field} for place, field in enumerate(fields)]}


def _broken(requirement: TableRequirement, metadata: TableMetadata | None) -> str | None:
    """Return why a requirement does not hold, None if it does; in the words of the reference implementation."""
    if requirement.type == "assert-create":
        return None if metadata is None else "table already exists"
    if metadata is None:
        return "the table does not exist"
    if requirement.type == "assert-ref-snapshot-id":
        return _broken_ref(requirement.ref, requirement.snapshot_id, metadata)
    what, field, actual = _FACTS[requirement.type]
    expected, value = getattr(requirement, field), actual(metadata)
    return None if expected == value else f"{what}: expected {expected} != {value}"


def _broken_ref(name: str, expected: int | None, metadata: TableMetadata) -> str | None:
    ref = metadata.refs.get(name)
    if ref is None:
        return None if expected is None else f"branch or tag {name} is missing, expected {expected}"
    kind = str(ref.snapshot_ref_type.value)
    if expected is None:
        return f"{kind} {name} was created concurrently"
    return (
        None
        if expected == ref.snapshot_id
        else f"{kind} {name} has changed: expected id {expected} != {ref.snapshot_id}"
    )


_FACTS: Mapping[str, tuple[str, str, Callable[[TableMetadata], object]]] = {
    "assert-table-uuid": ("UUID does not match", "uuid", lambda metadata: metadata.table_uuid),
    "assert-last-assigned-field-id": (
        "last assigned field id changed",
        "last_assigned_field_id",
        lambda metadata: metadata.last_column_id,
    ),
    "assert-current-schema-id": (
        "current schema changed",
        "current_schema_id",
        lambda metadata: metadata.current_schema_id,
    ),
    "assert-last-assigned-partition-id": (
        "last assigned partition id changed",
        "last_assigned_partition_id",
        lambda metadata: metadata.last_partition_id,
    ),
    "assert-default-spec-id": (
        "default partition spec changed",
        "default_spec_id",
        lambda metadata: metadata.default_spec_id,
    ),
    "assert-default-sort-order-id": (
        "default sort order changed",
        "default_sort_order_id",
        lambda metadata: metadata.default_sort_order_id,
    ),
}


@cache
def _requirements() -> TypeAdapter[list[TableRequirement]]:
    from pyiceberg.table.update import TableRequirement

    return TypeAdapter(list[TableRequirement])


@contextmanager
def valid(what: str) -> Iterator[None]:
    """Translate what pyiceberg and pydantic raise for JSON that Iceberg's format does not allow."""
    from pyiceberg import exceptions

    try:
        yield
    except ValidationError as error:
        raise InvalidInputError(f"{what}: {_first(error)}") from error
    except (exceptions.ValidationError, exceptions.CommitFailedException) as error:
        cause = error.__cause__ or (error.args[0] if error.args else error)
        reason = _first(cause) if isinstance(cause, ValidationError) else str(error)
        raise InvalidInputError(f"{what}: {reason[:_LONGEST_REASON]}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{what}: it is nested too deeply.") from error
    # A value of a wrong kind somewhere inside: pyiceberg reads some fields before it has checked them.
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, OverflowError) as error:
        reason = str(error) or type(error).__name__
        raise InvalidInputError(f"{what}: {reason[:_LONGEST_REASON]}") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place + ': ' if place else ''}{first['msg']}"[:_LONGEST_REASON]
