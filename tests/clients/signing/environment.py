"""The environment of pyiceberg with s3fs, which wants an older botocore than the suite has.

`python -m tests.clients.signing.environment` makes it ahead of the tests; the second time it does nothing.
"""

from __future__ import annotations

from pathlib import Path

from tests import environments

PINS = Path(__file__).with_name("requirements.txt")


def python() -> str:
    """The interpreter that imports pyiceberg and s3fs."""
    return environments.python("signing", PINS)


if __name__ == "__main__":
    python()
