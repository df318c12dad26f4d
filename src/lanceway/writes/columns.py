"""Columns that a table has at two versions, and what tells whether a fragment's values of them are still the same.

A column may be written anew for a fragment that stays: the fragment then has another file for it. What the table
keeps of when a row was last updated does not help: it is not set by all who write a column anew, and is set by those
who only add one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import lance


def carried(old: lance.LanceDataset, new: lance.LanceDataset, *, renamed: bool = True) -> dict[str, str]:
    """The columns that both have, each with the name that it has in `old`.

    With `renamed`, one whose name only `new` has may be a column of `old` by another name. That holds as long as the
    table was not overwritten in between: then columns are counted from the beginning.
    """
    before = {field.id(): field.name() for field in old.lance_schema.fields()}
    held, holds = set(before.values()), set(new.schema.names)
    found: dict[str, str] = {}
    for field in new.lance_schema.fields():
        name, former = field.name(), before.get(field.id())
        if name in held:
            found[name] = name
        elif renamed and former is not None and former not in holds:
            found[name] = former
    return found


def made_anew(old: lance.LanceDataset, new: lance.LanceDataset) -> bool:
    """Whether a column of the same name is another one: it was given another type, or dropped and added."""
    before = {field.name(): field.id() for field in old.lance_schema.fields()}
    return any(before.get(field.name(), field.id()) != field.id() for field in new.lance_schema.fields())


def states(dataset: lance.LanceDataset, columns: Iterable[str], *, rows: bool = True) -> dict[int, str]:
    """Each fragment with what tells where it has its values of columns, and with `rows` which rows were deleted."""
    fields = {field.name(): list(_ids(field)) for field in dataset.lance_schema.fields()}
    ids = [id_ for name in columns for id_ in fields[name]]
    found: dict[int, str] = {}
    for fragment in dataset.get_fragments():
        told = fragment.metadata.to_json()
        files = _files(told)
        state = [told["deletion_file"] if rows else None, told.get("overlays"), [(id_, files.get(id_)) for id_ in ids]]
        found[fragment.fragment_id] = json.dumps(state, sort_keys=True)
    return found


def rewritten(old: lance.LanceDataset, new: lance.LanceDataset) -> bool:
    """Whether fragments that both have got other values in columns that both have.

    A column that was given another type has the same values, cast.
    """
    names = carried(old, new)
    same = [name for name, before in names.items() if _type(old, before) == _type(new, name)]
    before = states(old, [names[name] for name in same], rows=False)
    after = states(new, same, rows=False)
    return any(after[id_] != state for id_, state in before.items() if id_ in after)


def _type(dataset: lance.LanceDataset, name: str) -> Any:
    return dataset.schema.field(name).type


def _ids(field: Any) -> Iterator[int]:
    yield field.id()
    for child in field.children():
        yield from _ids(child)


def _files(fragment: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    """Where each field of a fragment is: one that was written anew has a negative id in its former file."""
    return {
        id_: (file["base_id"], file["path"], column)
        for file in fragment["files"]
        for id_, column in zip(file["fields"], file["column_indices"], strict=True)
    }
