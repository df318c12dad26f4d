"""Spark's own daemon, which forks Python workers, with the modules imported that each worker would import first.

The models of the contract are hundreds of modules: a worker that is forked after they are imported starts in half the
time. Nothing that has threads of its own may be imported before a fork (numpy, pyarrow and pylance have).
"""

from __future__ import annotations

import gc


def main() -> None:
    """Import the modules, then run Spark's daemon."""
    import lance_namespace  # noqa: F401
    import pyspark.worker  # noqa: F401
    from pyspark.daemon import manager

    import lanceway.identifiers  # noqa: F401

    gc.freeze()  # or the first collection of every worker would copy all of it
    manager()


if __name__ == "__main__":
    main()
