"""Names of tables and namespaces in a folder: which may be given, and which folder belongs to which."""

from __future__ import annotations

import re

from lanceway.catalogs.contract.names import DELIMITER, MANIFEST, SUFFIX, check_known, check_new
from lanceway.identifiers import Identifier

__all__ = [
    "DELIMITER",
    "MANIFEST",
    "SUFFIX",
    "check_known",
    "check_new",
    "folders_of",
    "looks_like_manifest_folder",
    "manifest_folder",
    "table_of",
]

_OF_THE_MANIFEST = re.compile(r"[0-9a-f]{8}_")


def table_of(folder: str, *, manifest: bool) -> str | None:
    """The table whose folder this is, None for a folder that is no table's.

    Beside a manifest, folders that begin with eight hexadecimal digits and `_` are its own.
    """
    if folder.startswith(".") or folder == MANIFEST:
        return None
    if folder.endswith(SUFFIX):
        name = folder.removesuffix(SUFFIX)
        return None if name.endswith(SUFFIX) else name
    return None if manifest and _OF_THE_MANIFEST.match(folder) else folder


def folders_of(name: str, *, manifest: bool = False) -> tuple[str, ...]:
    """The folders in which a table of the root may lie, the likelier one first."""
    both = (name + SUFFIX, name)
    return both if table_of(name, manifest=manifest) else both[:1]


def looks_like_manifest_folder(name: str) -> bool:
    return table_of(name, manifest=True) is None


def manifest_folder(identifier: Identifier, digits: str) -> str:
    """A folder for a table that only the manifest knows: `1a2b3c4d_team$orders`, as pylance has it.

    The manifest holds the whole name; here what is unsafe in a path becomes `-`.
    """
    return f"{digits[:8]}_{re.sub(r'[^A-Za-z0-9_.$-]', '-', DELIMITER.join(identifier))[:200]}"
