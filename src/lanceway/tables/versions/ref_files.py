"""The files in storage that are a table's tags and branches, as pylance writes and reads them.

Where a lake manages a table, its rows are the tags and branches, and these files follow them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from lanceway.errors import InvalidInputError
from lanceway.tables.storage.store import Store
from lanceway.tables.versions import manifests

TAGS, BRANCHES = "_refs/tags", "_refs/branches"
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class TagFile:
    """What the file of a tag says; the `branch` is empty for the main one. Version 0 stands for a broken file."""

    name: str
    branch: str
    version: int
    size: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)

    def content(self, created_at: int, changed_at: int) -> bytes:
        """Return the file as it is written. Times are epoch milliseconds."""
        return _written(
            {
                "branch": self.branch or None,
                "version": self.version,
                "createdAt": _time(created_at),
                "updatedAt": _time(changed_at),
                "manifestSize": self.size or 0,
                "metadata": dict(self.metadata),
            }
        )


@dataclass(frozen=True, slots=True)
class BranchFile:
    """What the file of a branch says; the `parent` is empty for the main one. Version 0 stands for a broken file."""

    name: str
    parent: str
    parent_version: int
    size: int | None = None
    lineage: Sequence[Any] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    def content(self, created_at: int) -> bytes:
        """Return the file as it is written. The time is in epoch milliseconds."""
        return _written(
            {
                "parentBranch": self.parent or None,
                "identifier": {"version_mapping": list(self.lineage)},
                "parentVersion": self.parent_version,
                "createAt": created_at // 1000,
                "manifestSize": self.size or 0,
                "metadata": dict(self.metadata),
            }
        )


def tag_key(name: str) -> str:
    """Return the key of a tag's file. Raises InvalidInputError for what can be no tag: here a name becomes a path."""
    check_tag(name)
    return tag_path(name)


def tag_path(name: str) -> str:
    """Return the key of a file in the folder of tags, which may be no tag."""
    return f"{TAGS}/{quote(name, safe='')}{_SUFFIX}"


def branch_key(name: str) -> str:
    """Return the key of a branch's file. Raises InvalidInputError for what can be no branch."""
    manifests.check_branch(name)
    return f"{BRANCHES}/{quote(name, safe='')}{_SUFFIX}"


def check_tag(name: str) -> None:
    """Refuse what can be no name of a tag, by pylance's own rules: it is that of a branch without a '/'.

    pylance also takes letters beyond ASCII, but fails to list any tag of a table afterwards.
    """
    allowed = name.isascii() and manifests.is_branch(name) and "/" not in name
    if not allowed or name.startswith(".") or name.endswith("."):
        raise InvalidInputError(
            f"{name!r} is not a name of a tag. It has letters (a to z), digits, '.', '-' and '_', does not begin or "
            "end with a dot, has no two dots in a row, and does not end with '.lock'."
        )


def tags(store: Store) -> dict[str, TagFile]:
    """Return every tag in storage by its name."""
    return {name: _tag(name, store.read(key)) for name, key in _names(store, TAGS)}


def branches(store: Store) -> dict[str, BranchFile]:
    """Return every branch in storage by its name."""
    return {name: _branch(name, store.read(key)) for name, key in _names(store, BRANCHES)}


def tag(store: Store, name: str) -> TagFile | None:
    """Return a tag in storage, None if there is no file of it."""
    data = store.read(tag_key(name))
    return None if data is None else _tag(name, data)


def branch(store: Store, name: str) -> BranchFile | None:
    """Return a branch in storage, None if there is no file of it."""
    data = store.read(branch_key(name))
    return None if data is None else _branch(name, data)


def new_lineage(parent: Sequence[Any], version: int) -> list[Any]:
    """Return what tells a branch that leaves its parent at a version from others that had its name."""
    return [*parent, [version, uuid.uuid4().hex]]


def _names(store: Store, folder: str) -> Iterator[tuple[str, str]]:
    for key in sorted(store.keys(folder)):
        name = unquote(key.removeprefix(f"{folder}/").removesuffix(_SUFFIX))
        if key.endswith(_SUFFIX) and manifests.is_branch(name):
            yield name, key


def _tag(name: str, data: bytes | None) -> TagFile:
    try:
        values = json.loads(data or b"{}")
        branch, version = values.get("branch") or "", int(values["version"])
        return TagFile(name, branch, version, values.get("manifestSize"), dict(values.get("metadata") or {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        return TagFile(name, "", 0)


def _branch(name: str, data: bytes | None) -> BranchFile:
    try:
        values = json.loads(data or b"{}")
        parent, version = values.get("parentBranch") or "", int(values["parentVersion"])
        lineage = list((values.get("identifier") or {}).get("version_mapping") or ())
        metadata = dict(values.get("metadata") or {})
        return BranchFile(name, parent, version, values.get("manifestSize"), lineage, metadata)
    except (ValueError, KeyError, TypeError, AttributeError):
        return BranchFile(name, "", 0)


def _written(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=2).encode()


def _time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat().replace("+00:00", "Z")
