"""What a job leaves on a table that it made, so that it knows the table again: properties, and nothing else.

A table without the mark, or with that of another source, is somebody else's and never touched.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lance_namespace import LanceNamespace

from lanceway.catalogs.contract import limits
from lanceway.identifiers import Identifier

SOURCE = "lanceway.source"
DIGEST = "lanceway.source-digest"
# Says to a lake who keeps the versions of a new table; no lake keeps it.
VERSIONING = "lanceway.versioning"
# For a table whose versions another catalog keeps: a lake must not begin to.
FOLLOWS: Mapping[str, str] = {VERSIONING: "storage"}
# Why a table can only be read in the target.
ELSEWHERE = "its versions are another lake's to keep: write to it there"
# What services say of themselves in a table's properties.
_NOT_CARRIED = frozenset({SOURCE, DIGEST, VERSIONING, "table_type"})


@dataclass(frozen=True, slots=True)
class Mark:
    """Which table of which catalog a table was made from."""

    catalog: str
    table: Identifier

    @classmethod
    def of(cls, source: LanceNamespace, table: Identifier) -> Mark:
        return cls(limits.place(source), table)

    @classmethod
    def read(cls, properties: Mapping[str, str] | None) -> Mark | None:
        """The mark among a table's properties, None if there is none that could be read."""
        try:
            found = json.loads((properties or {}).get(SOURCE, ""))
            return cls(str(found["catalog"]), Identifier(found["id"]))
        except (ValueError, TypeError, KeyError):  # somebody else's property of that name
            return None

    def write(self) -> dict[str, str]:
        return {SOURCE: json.dumps({"catalog": self.catalog, "id": list(self.table)})}


def carried(properties: Mapping[str, str] | None) -> dict[str, str]:
    """The properties that go with a table into another catalog."""
    return {key: value for key, value in (properties or {}).items() if key not in _NOT_CARRIED}


def digest(location: str, properties: Mapping[str, str]) -> str:
    """Tells whether what a source says of a table has changed."""
    text = json.dumps([location, sorted(properties.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Seen:
    """Identifiers that were met, at some hundred bytes each."""

    def __init__(self, tables: Iterable[Identifier] = ()) -> None:
        self._keys = {_key(table) for table in tables}

    def add(self, table: Identifier) -> bool:
        """Whether it is met for the first time."""
        before = len(self._keys)
        self._keys.add(_key(table))
        return len(self._keys) > before

    def __contains__(self, table: Identifier) -> bool:
        return _key(table) in self._keys


def _key(table: Identifier) -> bytes:
    return hashlib.blake2b("\x00".join(table).encode(), digest_size=12).digest()
