"""The table that a job works on: where it lies, its fragments, and the files that a job made for nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanceway.errors import TableNotFoundError
from lanceway.tables import dataset
from lanceway.tables.versions import commit
from lanceway.writes import destination
from lanceway.writes import table_ref as tables
from lanceway.writes.destination import Destination

if TYPE_CHECKING:
    import lance
    from lance.fragment import FragmentMetadata


@dataclass(frozen=True)
class JobTable:
    """A table that is there, or a branch of it. Picklable: workers open it anew."""

    place: Destination
    branch: str | None = None

    @classmethod
    def of(cls, name: tables.TableName, branch: str | None = None, *, reading: bool = False) -> JobTable:
        """Raises TableNotFoundError where there is no such table, or it has no version yet.

        Raises InvalidTableStateError, unless it is for `reading` alone, where only a lake elsewhere may change it.
        """
        target = tables.target(name)
        place = destination.find(target)
        if place is None or not place.has_data():
            raise TableNotFoundError(f"There is no table {target.name} with data to work on.")
        if not reading:
            place.require_writable()
        return cls(place, branch)

    @property
    def name(self) -> str:
        return self.place.target.name

    def handle(self) -> dataset.Table:
        """Where the table lies, with credentials of now; commits go through its catalog where that manages it."""
        return self.place.current().reading

    def open(self, version: int | None = None) -> lance.LanceDataset:
        return dataset.open_at(self.handle(), version=version, branch=self.branch)

    def key(self, file: str) -> str:
        """Where a data file lies below the table that was written for it, or for the branch."""
        return f"data/{file}" if self.branch is None else f"tree/{self.branch}/data/{file}"

    def discard(self, unused_fragments: Iterable[FragmentMetadata]) -> None:
        """Remove the data files of fragments that a job made for nothing; never those that the table has."""
        files = {str(file.path) for fragment in unused_fragments for file in fragment.files}
        if files:
            unused = files - self.files()
            commit.remove(self.handle().store(), (f"data/{file}" for file in unused))

    def files(self) -> set[str]:
        """The names of the latest version's data files."""
        return {str(file.path) for fragment in fragments(self.open()) for file in fragment.files}


def fragments(opened: lance.LanceDataset) -> list[FragmentMetadata]:
    """What makes up a version, oldest first."""
    return sorted((fragment.metadata for fragment in opened.get_fragments()), key=lambda fragment: fragment.id)


def rows(fragment: FragmentMetadata) -> int:
    return int(fragment.num_rows)


def size(fragment: FragmentMetadata) -> int:
    return sum(int(file.file_size_bytes or 0) for file in fragment.files)


def identity(fragment: FragmentMetadata) -> str:
    """The same for as long as the values in a fragment's rows are: rows may be deleted from it, none may change."""
    files = sorted((file.path, list(map(int, file.fields))) for file in fragment.files)
    return hashlib.sha256(json.dumps([fragment.id, files]).encode()).hexdigest()[:24]


def grouped(present: Sequence[FragmentMetadata], parts: int) -> Iterator[list[FragmentMetadata]]:
    """Neighbours together, in at most so many groups of about as many rows."""
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
