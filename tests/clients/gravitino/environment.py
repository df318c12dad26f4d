"""The environment of the stock Gravitino client: it wants versions of pyarrow and others that the suite cannot have.

`python -m tests.clients.gravitino.environment` makes it ahead of the tests; the second time it does nothing.
"""

from __future__ import annotations

from pathlib import Path

from tests import environments

PINS = Path(__file__).with_name("requirements.txt")


def python() -> str:
    """The interpreter that imports the client."""
    return environments.python("gravitino", PINS)


if __name__ == "__main__":
    python()
