"""Catalogs that need no extra package work without the packages of the extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lanceway.catalogs.registry import CATALOGS

EXTRAS = ("alembic", "boto3", "cryptography", "duckdb", "msgspec", "pyiceberg", "pyspark", "sqlalchemy", "starlette")
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from lanceway.catalogs.registry import catalog_class
from lanceway.errors import LanceNamespaceError
catalog = catalog_class(sys.argv[1])(**dict(pair.split("=", 1) for pair in sys.argv[2:]))
try:
    catalog.list_tables({{"id": ["a", "b"]}})
except LanceNamespaceError as error:
    print(error.code.name)
"""
NOWHERE = "http://127.0.0.1:9"
SETTINGS = {
    "dir": ["path=."],
    "gravitino": [f"endpoint={NOWHERE}", "metalake=m", "max_retries=0"],
    "iceberg": [f"endpoint={NOWHERE}", "max_retries=0"],
    "polaris": [f"endpoint={NOWHERE}", "max_retries=0"],
    "rest": [f"uri={NOWHERE}", "retries=0"],
    "unity": [f"endpoint={NOWHERE}", "catalog=a", "max_retries=0"],
}


@pytest.mark.parametrize("type_", [name for name, row in CATALOGS.items() if row.extra is None and name in SETTINGS])
def test_it_asks_its_service(type_: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, type_, *SETTINGS[type_]], capture_output=True, text=True, check=False
    )
    expected = "NAMESPACE_NOT_FOUND" if type_ == "dir" else "SERVICE_UNAVAILABLE"
    assert done.stdout.split() == [expected], done.stderr[-2000:]
