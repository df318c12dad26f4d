"""Lance tables in Spark, by name: sessions, the data source, the SQL catalog, merges and streams.

    import lanceway.spark

    spark = lanceway.spark.session()

Importing it loads neither Spark nor Lance: what is heavy is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanceway.spark.changes import read_changes
    from lanceway.spark.changing import delete, update
    from lanceway.spark.merging import merge, merge_batches
    from lanceway.spark.sessions import install, session

__all__ = ["delete", "install", "merge", "merge_batches", "read_changes", "session", "update"]

# Where what is offered here is defined.
_DEFINED = {
    "delete": "changing",
    "install": "sessions",
    "merge": "merging",
    "merge_batches": "merging",
    "read_changes": "changes",
    "session": "sessions",
    "update": "changing",
}


def __getattr__(name: str) -> object:
    if name in _DEFINED:
        return getattr(importlib.import_module(f"{__name__}.{_DEFINED[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
