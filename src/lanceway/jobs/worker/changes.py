"""What became of a source's rows between two versions: some were only added, or keys came, changed and went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lanceway.errors import TableVersionNotFoundError
from lanceway.jobs import job_table
from lanceway.jobs.job_table import Held
from lanceway.jobs.worker import shares
from lanceway.jobs.worker.shares import Share
from lanceway.jobs.worker.write import Shown, leaves_rows, states, transaction
from lanceway.spark.read.literals import literal
from lanceway.tables.errors import translated
from lanceway.tables.schema import fields
from lanceway.tables.schema.views import View, scan

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

# More keys than these are not worth a condition that names each.
_MOST_GONE = 10_000


def is_still_there(source: Held, opened: lance.LanceDataset, known: Shown) -> bool:
    """Whether a version of the source is the one that it was: a table may have been made anew."""
    if known.version > int(opened.version):
        return False
    try:
        found = transaction(source, opened, known.version)
    except TableVersionNotFoundError:  # cleaned up
        return False
    return found is not None and str(found.uuid) == known.transaction


def added(source: Held, opened: lance.LanceDataset, after: int) -> list[tuple[int, int]] | None:
    """The versions after another that added rows, each with how many fragments; None where rows were changed."""
    found: list[tuple[int, int]] = []
    for version in range(after + 1, int(opened.version) + 1):
        try:
            operation: Any = getattr(transaction(source, opened, version), "operation", None)
            if type(operation).__name__ == "Append":
                found.append((version, len(list(operation.fragments))))
            elif not leaves_rows(source, version, operation):
                return None
        except TableVersionNotFoundError:  # cleaned up
            return None
    return found


def shares_added(source: Held, found: Sequence[tuple[int, int]]) -> list[Share]:
    """The rows of versions that only added some."""
    made: list[Share] = []
    for version, count in found:
        # The ids of fragments grow, so what was added last comes last.
        fragments = job_table.fragments(source.open(version))
        made += shares.of(version, fragments[len(fragments) - count :]) if count else []
    return made


class Keyed:
    """The changes of a view whose rows have keys."""

    def __init__(self, source: Held, view: View, old: lance.LanceDataset, new: lance.LanceDataset) -> None:
        self._source, self._view, self._new = source, view, new
        before, after = states(old), states(new)
        self._gone = [one for one in old.get_fragments() if before[one.fragment_id] != after.get(one.fragment_id)]
        self._come = [one for one in new.get_fragments() if after[one.fragment_id] != before.get(one.fragment_id)]
        self._old = old

    def removed(self) -> str | None:
        """A condition for the view's rows that go; empty where none do. None where it is better made anew."""
        before = self._keys(self._old, self._gone, where=False)
        after = self._keys(self._new, self._come, where=True)
        if any(column.null_count for table in (before, after) for column in table.columns):
            return None
        gone = before.join(after, keys=list(self._view.key), join_type="left anti") if after.num_rows else before
        if gone.num_rows > _MOST_GONE:
            return None
        return _condition(gone)

    def rows(self) -> Iterable[pa.RecordBatch]:
        """The rows that came or may have changed, as the view takes them."""
        if not self._come:
            return
        with translated(self._source.handle(), "Reading what has changed"):
            yield from scan(self._view, self._new, list(self._come)).to_batches()

    def _keys(self, dataset: lance.LanceDataset, fragments: Sequence[Any], *, where: bool) -> pa.Table:
        reads = self._view.reads or {name: fields.quoted(name) for name in dataset.schema.names}
        columns = {name: reads[name] for name in self._view.key}
        with translated(self._source.handle(), "Reading keys"):
            if not fragments:
                return dataset.scanner(columns=columns, limit=0).to_table()
            condition = self._view.where if where else None
            return dataset.scanner(columns=columns, filter=condition, fragments=list(fragments)).to_table()


def _condition(keys: pa.Table) -> str | None:
    texts = [{name: _literal(value, keys.field(name).type) for name, value in row.items()} for row in keys.to_pylist()]
    if any(text is None for row in texts for text in row.values()):
        return None
    if len(keys.column_names) == 1:
        name = keys.column_names[0]
        listed = ", ".join(str(row[name]) for row in texts)
        return f"{fields.quoted(name)} IN ({listed})" if listed else ""
    return " OR ".join(
        "(" + " AND ".join(f"{fields.quoted(name)} = {text}" for name, text in row.items()) + ")" for row in texts
    )


def _literal(value: object, type_: pa.DataType) -> str | None:
    # A view with keys of another type is made anew.
    return literal(value, type_) if isinstance(value, int | str) else None
