"""Runs a pipeline in a process of its own, which may kill itself once a table is written and not yet recorded."""

import os
import signal
import sys

from lanceway import pipelines
from lanceway.pipelines import Event

CONF = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
file, state, config, when = sys.argv[1:]


def listen(event: Event) -> None:
    if event.moment == when and event.step.kind == "output":
        os.kill(os.getpid(), signal.SIGKILL)


import lanceway.spark  # noqa: E402

spark = lanceway.spark.session("local[1]", conf=CONF, config=config)
spark.sparkContext.setLogLevel("OFF")
pipelines.run(file, state=state, config=config, listen=listen, spark=spark, threads=1)
