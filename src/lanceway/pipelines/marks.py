"""Marks that a pipeline leaves in the tables that it writes: which output wrote, and what it had read by then.

Each commit carries one. The newest of each output also stands in a file in the table's folder, since commits go when
versions are cleaned up. So a pipeline recognises what it has written where nothing is recorded of that.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lanceway.errors import LanceNamespaceError
from lanceway.pipelines import outputs
from lanceway.tables import dataset
from lanceway.writes import commit
from lanceway.writes.commit import WriteId

if TYPE_CHECKING:
    from lanceway.writes.table_ref import TableRef

# Among the properties of a commit.
MARK = "lanceway.pipeline"
# Out of sight of every reader of the format, and gone with the table.
FOLDER = ".lanceway/pipelines"


@dataclass(frozen=True, slots=True)
class SourceRead:
    """Up to which version a source was read: a table's at a location, or, for files, a run's number and their place."""

    place: str | None
    version: int
    transaction: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a commit says of the pipeline that made it."""

    pipeline: str
    output: str
    run: str
    reads: Mapping[str, SourceRead]

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Mark | None:
        """Return the mark among the properties of a commit, None if there is no readable one."""
        try:
            values = json.loads(properties.get(MARK, ""))
            reads = {name: SourceRead(**read) for name, read in values["reads"].items()}
            return cls(values["pipeline"], values["output"], values["run"], reads)
        except (ValueError, TypeError, KeyError, AttributeError):  # another program's property of that name
            return None


@dataclass(frozen=True)
class OutputWriteId(WriteId):
    """The id of an output's write, with the mark that its commit carries."""

    mark: Mark | None = None

    @property
    def properties(self) -> dict[str, str]:
        marked = {} if self.mark is None else {MARK: json.dumps(asdict(self.mark), sort_keys=True)}
        return {**super().properties, **marked}


def marks(target: TableRef, *, after: int = 0) -> Iterator[Mark]:
    """Yield the marks of the commits after a version, newest first; if some were cleaned up, those in files follow."""
    if not outputs.version_of(target):
        return
    table = target.table()
    latest = dataset.open_at(table)
    is_complete = True
    for version in range(int(latest.version), after, -1):
        transaction = commit.transaction_of(table, latest, version)
        is_complete = is_complete and transaction is not None
        mark = None if transaction is None else Mark.parse(transaction.transaction_properties or {})
        if mark is not None:
            yield mark
    if not is_complete:
        yield from _kept(target)


def keep(target: TableRef, mark: Mark) -> None:
    """Keep the mark of a commit in a file, in place of the output's former one. It may fail: the commit has it too."""
    name = hashlib.sha256(json.dumps([mark.pipeline, mark.output]).encode()).hexdigest()[:32]
    with suppress(LanceNamespaceError):
        target.table().store().put(f"{FOLDER}/{name}.json", json.dumps(asdict(mark)).encode())


def _kept(target: TableRef) -> Iterator[Mark]:
    store = target.table().store()
    for key in sorted(store.keys(FOLDER)):
        content = store.read(key) if key.endswith(".json") else None
        mark = Mark.parse({MARK: content.decode(errors="replace")}) if content else None
        if mark is not None:
            yield mark
