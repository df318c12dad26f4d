"""The lake's database: engines, schema, transactions, migrations and backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.lake.store.database import LakeStore as LakeStore
    from lanceway.lake.store.database import open_store as open_store

__all__, __getattr__ = front(
    __name__, {"LakeStore": "lanceway.lake.store.database", "open_store": "lanceway.lake.store.database"}
)
