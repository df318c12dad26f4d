"""Lance tables in Spark, by name: sessions, the data source, the SQL catalog, merges and streams.

    import lanceway.spark

    spark = lanceway.spark.session()

Importing it loads neither Spark nor Lance: what is heavy is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanceway.lazy import front

if TYPE_CHECKING:
    from lanceway.spark.sessions import install as install
    from lanceway.spark.sessions import session as session
    from lanceway.spark.write.changes import read_changes as read_changes
    from lanceway.spark.write.merge import delete as delete
    from lanceway.spark.write.merge import merge as merge
    from lanceway.spark.write.merge import merge_batches as merge_batches
    from lanceway.spark.write.merge import update as update

__all__, __getattr__ = front(
    __name__,
    {
        "delete": "lanceway.spark.write.merge",
        "install": "lanceway.spark.sessions",
        "merge": "lanceway.spark.write.merge",
        "merge_batches": "lanceway.spark.write.merge",
        "read_changes": "lanceway.spark.write.changes",
        "session": "lanceway.spark.sessions",
        "update": "lanceway.spark.write.merge",
    },
)
