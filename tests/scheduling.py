"""Which tests a worker of pytest-xdist runs together: those that share what takes long to start."""

from __future__ import annotations

import re
from typing import Any

from xdist.scheduler import LoadScopeScheduling

# By how a test's identifier begins; the first that fits counts. Most jobs need no session, and are many;
# those that do are named for it, so that only one worker has a session of Spark.
_SHARED = (
    (r"tests/jobs/(test_parts|\w+/test_spark_|\w+/\w+\.py::test_spark_)", "spark"),
    (r"tests/jobs/", None),
    (r"tests/(spark|pipelines)/", "spark"),
    (r"tests/test_docs\.py::test_the_examples_run\[docs/guide/(spark|pipeline)", "spark"),
    (r"tests/clients/(served/)?test_lance_ray\.py", "ray"),
)


class Together(LoadScopeScheduling):
    """A module's functions, or a class's, one after the other on one worker, and on the same one what is shared."""

    def _split_scope(self, nodeid: str) -> str:
        shared = next((group for beginning, group in _SHARED if re.match(beginning, nodeid)), None)
        return shared or scope(nodeid)


def scope(nodeid: str) -> str:
    """The module or class of a test; what stands in brackets may look like more of the identifier."""
    return nodeid.partition("[")[0].rpartition("::")[0]


def scheduler(config: Any, log: Any) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # the order of the tests says what is long, better than their number
    return Together(config, log)
