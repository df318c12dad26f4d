"""UPDATE, MERGE INTO and DELETE in SQL: fragments with rows that may change are read whole and written anew.

Spark computes the new rows; Lance puts them in the place of the fragments, in one transaction. It fails where somebody
else has changed such a fragment meanwhile, and a MERGE INTO where somebody else has merged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanceway.errors import InternalError
from lanceway.spark.errors import plainly
from lanceway.spark.read import partitions
from lanceway.spark.read.reader import LanceReader, Share
from lanceway.spark.write.writer import Writer, fragments_of
from lanceway.tables.dataset import open_at
from lanceway.writes import commit as committing
from lanceway.writes import stage

if TYPE_CHECKING:
    import lance
    from pyspark.sql.datasource import InputPartition, WriterCommitMessage
    from pyspark.sql.types import StructType

    from lanceway.writes.options import ReadOptions
    from lanceway.writes.table_ref import Target

# Tells what is replaced, to readers and writers of the data source. The bridge alone sets it.
OPTION = "replacing"
_UPDATE, _MERGE = "UPDATE", "MERGE"


@dataclass(frozen=True)
class Replaced:
    """The fragments of a version that a statement replaces."""

    command: str
    version: int
    fragments: tuple[int, ...]

    @classmethod
    def taken_from(cls, options: Mapping[str, str]) -> tuple[Replaced | None, dict[str, str]]:
        """What is replaced, if anything is, and the other options."""
        others = {key: value for key, value in options.items() if key.lower() != OPTION}
        if len(others) == len(options):
            return None, others
        found = json.loads(next(value for key, value in options.items() if key.lower() == OPTION))
        return cls(found["command"], found["version"], tuple(found["fragments"])), others


def choose(dataset: lance.LanceDataset, condition: str | None) -> list[int]:
    """The fragments with rows that the condition holds for; all of them, if there is none."""
    every = [fragment.fragment_id for fragment in dataset.get_fragments()]
    if condition is None:
        return every
    found: set[int] = set()
    for batch in dataset.scanner(columns=[], filter=condition, with_row_address=True).to_batches():
        found.update(address >> 32 for address in batch["_rowaddr"].to_pylist())
        if len(found) == len(every):
            break
    return sorted(found)


class ReplacingReader(LanceReader):
    """Reads all rows of the fragments that are replaced."""

    def __init__(self, target: Target, read: ReadOptions, schema: StructType, replaced: Replaced) -> None:
        super().__init__(target, read, schema)
        self._replaced = replaced

    @plainly()
    def partitions(self) -> list[InputPartition]:
        read, dataset = self._plan()
        chosen = set(self._replaced.fragments)
        shares = [tuple(id_ for id_ in share if id_ in chosen) for share in partitions.shares(dataset, read.partitions)]
        return [Share(read, share) for share in shares if share] or [Share(read, ())]


class ReplacingWriter(Writer):
    """Writes what takes the place of the fragments that are replaced."""

    def __init__(self, options: Mapping[str, str], schema: StructType, replaced: Replaced) -> None:
        super().__init__(options, schema, overwrite=False)
        self._plan = replace(self._plan, version=replaced.version)
        self._replaced = replaced

    @plainly()
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        new = stage.read(fragments_of(messages))
        if not new and not self._replaced.fragments:
            committing.finish(self._plan, ())
            return
        self._check(sum(fragment.physical_rows for fragment in new))
        inserts = self._replaced.command == _MERGE
        committing.update(self._plan, self._replaced.fragments, [], new, self._mark, inserts=inserts)
        committing.finish(self._plan, fragments_of(messages))

    def _check(self, written: int) -> None:
        """An UPDATE keeps every row. Were some lost on their way, nothing is committed."""
        if self._replaced.command != _UPDATE:
            return
        opened = open_at(self._plan.destination.current().table, version=self._replaced.version)
        chosen = (each for each in opened.get_fragments() if each.fragment_id in self._replaced.fragments)
        read = sum(each.count_rows() for each in chosen)
        if read != written:
            raise InternalError(f"UPDATE {self._plan.destination.target.name} read {read} rows and wrote {written}.")
