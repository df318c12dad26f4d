"""Which columns two versions of a table have in common, and which rows were added between them.

A column may be rewritten for a fragment that stays: the fragment then has another file for it. The time at which a row
was last updated does not help: not every writer that rewrites a column sets it, and writers that only add one do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceway.errors import InvalidTableStateError, TableVersionNotFoundError
from lanceway.tables.errors import translated

if TYPE_CHECKING:
    import lance

    from lanceway.writes.table_ref import TableRef


def unchanged(old: lance.LanceDataset, new: lance.LanceDataset, *, renamed: bool = True) -> dict[str, str]:
    """Return the columns that both have, each with the name that it has in `old`.

    With `renamed`, one whose name only `new` has may be a column of `old` by another name: it has the same id. Ask for
    that only where the table was not overwritten in between, since then ids are counted from the beginning again.
    """
    before = {field.id(): field.name() for field in old.lance_schema.fields()}
    old_names = set(before.values())
    new_names = set(new.schema.names)
    former_names: dict[str, str] = {}
    for field in new.lance_schema.fields():
        name, former = field.name(), before.get(field.id())
        if name in old_names:
            former_names[name] = name
        elif renamed and former is not None and former not in new_names:
            former_names[name] = former
    return former_names


def recreated(old: lance.LanceDataset, new: lance.LanceDataset) -> bool:
    """Return whether a column of the same name is another one: it was given another type, or dropped and added."""
    before = {field.name(): field.id() for field in old.lance_schema.fields()}
    return any(before.get(field.name(), field.id()) != field.id() for field in new.lance_schema.fields())


def fragment_states(dataset: lance.LanceDataset, columns: Iterable[str], *, rows: bool = True) -> dict[int, str]:
    """Return for each fragment where its values of columns are stored, and with `rows` which rows were deleted.

    Two equal states have the same values.
    """
    fields = {field.name(): list(_ids(field)) for field in dataset.lance_schema.fields()}
    ids = [id_ for name in columns for id_ in fields[name]]
    states: dict[int, str] = {}
    for fragment in dataset.get_fragments():
        metadata = fragment.metadata.to_json()
        files = _files(metadata)
        deleted = metadata["deletion_file"] if rows else None
        state = [deleted, metadata.get("overlays"), [(id_, files.get(id_)) for id_ in ids]]
        states[fragment.fragment_id] = json.dumps(state, sort_keys=True)
    return states


def rewritten(old: lance.LanceDataset, new: lance.LanceDataset) -> bool:
    """Return whether fragments that both have hold other values in columns that both have.

    A column that was given another type has the same values, cast.
    """
    names = unchanged(old, new)
    same = [name for name, before in names.items() if _type(old, before) == _type(new, name)]
    before = fragment_states(old, [names[name] for name in same], rows=False)
    after = fragment_states(new, same, rows=False)
    return any(after[id_] != state for id_, state in before.items() if id_ in after)


def _type(dataset: lance.LanceDataset, name: str) -> Any:
    return dataset.schema.field(name).type


def _ids(field: Any) -> Iterator[int]:
    yield field.id()
    for child in field.children():
        yield from _ids(child)


def _files(fragment: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    """Return the file and column of each field. A field that was rewritten has a negative id in its former file."""
    return {
        id_: (file["base_id"], file["path"], column)
        for file in fragment["files"]
        for id_, column in zip(file["fields"], file["column_indices"], strict=True)
    }


# Operations that change or replace rows that were there. All others add rows, remove some, or leave them as they are;
# but one that adds columns may rewrite others as well.
_CHANGES = frozenset({"DataReplacement", "Overwrite", "Restore", "Update"})
_COLUMNS = "Merge"


@dataclass(frozen=True)
class Addition:
    """A fragment that a version adds; `number` counts those of one version."""

    version: int
    number: int
    fragment: int
    rows: int


@dataclass(frozen=True)
class Additions:
    """The additions to one table. All fragments of the version `whole` count as added by it."""

    ref: TableRef
    whole: int | None = None
    skip_changes: bool = False

    def between(self, first: int, last: int) -> Iterator[Addition]:
        """Yield the fragments that the versions from `first` to `last` add.

        Raises TableVersionNotFoundError for one that is gone, and InvalidTableStateError for one that changes rows.
        """
        for version in range(first, last + 1):
            fragments = self._added(version)
            for number, fragment in enumerate(fragments):
                yield Addition(version, number, fragment.id, fragment.num_rows)

    def _added(self, version: int) -> list[Any]:
        try:
            dataset = self.ref.open(version=version)
        except TableVersionNotFoundError as error:
            raise TableVersionNotFoundError(
                f"Version {version} of {self.ref.name} was cleaned up before the stream has read it. Begin a new "
                "stream (with a new checkpoint) at a later version, or with all that is there, and keep versions "
                "longer than a stream may rest."
            ) from error
        fragments = [fragment.metadata for fragment in dataset.get_fragments()]
        if version == self.whole:
            return fragments
        count = self._count(dataset, version, len(fragments))
        # The ids of fragments grow, so what was added last comes last.
        return sorted(fragments, key=lambda fragment: int(fragment.id))[len(fragments) - count :]

    def _count(self, dataset: lance.LanceDataset, version: int, fragments: int) -> int:
        """Return how many of its fragments a version adds."""
        with translated(self.ref.table(), f"Reading the transaction of version {version}"):
            transaction = dataset.read_transaction(version)
        operation: Any = None if transaction is None else transaction.operation
        kind = type(operation).__name__
        if kind == "Append":
            return len(list(operation.fragments))
        if kind == "Overwrite" and transaction and not transaction.read_version:  # the table's creation
            return fragments
        if not self.skip_changes and (kind in _CHANGES or (kind == _COLUMNS and self._rewrites(dataset, version))):
            raise InvalidTableStateError(
                f"Version {version} of {self.ref.name} does not only add rows, it changes some ({kind}); a stream "
                "has the rows that are added. Set skip_changes to true to pass over such versions, or use "
                "lanceway.spark.read_changes."
            )
        return 0

    def _rewrites(self, dataset: lance.LanceDataset, version: int) -> bool:
        """Return whether a version changes values of columns that were there: assumed where the one before is gone."""
        try:
            return rewritten(self.ref.open(version=version - 1), dataset)
        except TableVersionNotFoundError:
            return True
