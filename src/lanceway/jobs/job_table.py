"""The table that a job works on, and its fragments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import TableNotFoundError
from lanceway.tables import dataset
from lanceway.tables.versions import commit
from lanceway.writes import table_ref as tables
from lanceway.writes.table_ref import Destination

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata


@dataclass(frozen=True)
class JobTable:
    """A table with data, or a branch of it. Picklable: each worker opens it again."""

    place: Destination
    branch: str | None = None

    @classmethod
    def of(cls, name: tables.TableName, branch: str | None = None, *, reading: bool = False) -> JobTable:
        """Find a table. Raises TableNotFoundError where there is no such table, or it has no version yet.

        Raises InvalidTableStateError where only another lake may change it, unless it is for `reading` alone.
        """
        target = tables.resolve(name)
        place = target.destination()
        if place is None or not place.has_data():
            raise TableNotFoundError(f"There is no table {target.name} with data to work on.")
        if not reading:
            place.require_writable()
        return cls(place, branch)

    @property
    def name(self) -> str:
        return self.place.ref.name

    def handle(self) -> dataset.StoredTable:
        """Return the table's location with current credentials. Commits go through the catalog that manages it."""
        return self.place.current().reading

    def open(self, version: int | None = None) -> lance.LanceDataset:
        return dataset.open_at(self.handle(), version=version, branch=self.branch)

    def key(self, file: str) -> str:
        """Return the key below the table of a data file that was written for it, or for the branch."""
        return commit.data_key(file, self.branch)

    def discard(self, unused_fragments: Iterable[FragmentMetadata]) -> None:
        """Remove the data files of fragments that were not committed, but never those that the table has."""
        files = {str(file.path) for fragment in unused_fragments for file in fragment.files}
        if files:
            unused = files - self.files()
            commit.remove(self.handle().store(), map(self.key, unused))

    def files(self) -> set[str]:
        """Return the names of the latest version's data files."""
        return {str(file.path) for fragment in fragments(self.open()) for file in fragment.files}


def fragments(opened: lance.LanceDataset) -> list[FragmentMetadata]:
    """Return the fragments of a version, oldest first."""
    return sorted((fragment.metadata for fragment in opened.get_fragments()), key=lambda fragment: fragment.id)


def rows(fragment: FragmentMetadata) -> int:
    return int(fragment.num_rows)


def size(fragment: FragmentMetadata) -> int:
    return sum(int(file.file_size_bytes or 0) for file in fragment.files)


def identity(fragment: FragmentMetadata) -> str:
    """Return a hash of a fragment that stays while no value changes. Rows may be deleted from it."""
    files = sorted((file.path, list(map(int, file.fields))) for file in fragment.files)
    return hashlib.sha256(json.dumps([fragment.id, files]).encode()).hexdigest()[:24]


def grouped(present: Sequence[FragmentMetadata], parts: int) -> Iterator[list[FragmentMetadata]]:
    """Group neighbours, in at most `parts` groups of about as many rows each."""
    most = max(1, -(-sum(map(rows, present)) // max(1, parts)))
    group: list[FragmentMetadata] = []
    count = 0
    for fragment in present:
        group.append(fragment)
        count += rows(fragment)
        if count >= most:
            yield group
            group, count = [], 0
    if group:
        yield group
