"""pyiceberg's own tests of catalogs, from its source distribution, in an environment with what they need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from tests import environments
from tests.judges.judged import Judged
from tests.judges.outcomes import Outcome, from_junit

VERSION = "0.12.0"
PINS = Path(__file__).with_name("requirements.txt")
FIXTURES = Path(__file__).with_name("fixtures.py")
CACHE = Path(sys.prefix) / "judges"
# Each part has a server of its own. What needs tables that pyiceberg's containers hold, or Spark, is left out.
PARTS = ("catalog", "integration")
FILES = {
    "catalog": ("test_catalog_behaviors.py",),
    "integration": (
        "test_catalog.py",
        "test_partition_evolution.py",
        "test_rest_catalog.py",
        "test_rest_schema.py",
        "test_snapshot_operations.py",
        "test_sort_order_update.py",
        "test_statistics_operations.py",
    ),
}
# A fixture that names the container's address, in a module of tests, where no other fixture can stand in for it.
CONTAINER = ('RestCatalog("rest", uri="http://localhost:8181")', 'load_catalog("judged")')


def prepare() -> None:
    environments.python("judges", PINS)
    _source()


def judge(judged: Judged, part: str) -> Iterator[Outcome]:
    folder = judged.folder / "pyiceberg"
    shutil.copytree(_source(), folder)
    tests = folder / "tests" / part
    shutil.copyfile(FIXTURES, tests / "conftest.py")
    for file in (tests / name for name in FILES[part]):
        file.write_text(file.read_text().replace(*CONTAINER))
    report = judged.folder / "report.xml"
    settings = {"URI": judged.uri, "TYPE": "rest", "WAREHOUSE": judged.warehouse}
    if judged.token:
        settings["TOKEN"] = judged.token
    environment = {f"PYICEBERG_CATALOG__JUDGED__{name}": value for name, value in settings.items()}
    environment |= {"PYICEBERG_TEST_CATALOG": "judged", "HOME": str(judged.folder)}  # no settings of the user's own
    command = [environments.python("judges", PINS), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    command += [
        f"--junitxml={report}",
        f"--basetemp={judged.folder / 'temporary'}",
        *(str(tests / name) for name in FILES[part]),
    ]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if not report.exists() or done.returncode not in (0, 1):
        raise RuntimeError(f"pyiceberg's tests did not run:\n{(done.stdout + done.stderr)[-4000:]}")
    yield from from_junit(report)


def _source() -> Path:
    """The folder of its tests, fetched if it is not there. The library itself is the environment's."""
    folder = CACHE / f"pyiceberg-{VERSION}"
    CACHE.mkdir(exist_ok=True)
    with FileLock(CACHE / f"{folder.name}.lock"):
        if not folder.exists():
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pyiceberg"]
            fetched = CACHE / "download"
            subprocess.run([*command, f"pyiceberg=={VERSION}", "--dest", str(fetched)], check=True)
            with tarfile.open(fetched / f"{folder.name}.tar.gz") as archive:
                wanted = (f"{folder.name}/tests/", f"{folder.name}/pyproject.toml")
                members = [member for member in archive.getmembers() if member.name.startswith(wanted)]
                archive.extractall(fetched, members, filter="data")
            (fetched / folder.name).rename(folder)
            shutil.rmtree(fetched)
    return folder
