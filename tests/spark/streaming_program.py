"""A streaming query in a process of its own, which a test can kill: one table into another, a version at a time."""

from __future__ import annotations

import sys

import lanceway.spark


def main(source: str, sink: str, checkpoint: str) -> None:
    conf = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    spark = lanceway.spark.session("local[1]", conf=conf)
    rows = spark.readStream.format("lance").option("start", "1").option("max_versions_per_trigger", "1").load(source)
    query = rows.writeStream.format("lance").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    query.start(sink).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
