"""What every test may ask for, and what a whole run shares."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, TypeVar

# pylance's Rust side writes warnings to the terminal; it reads this when it is first imported.
os.environ.setdefault("LANCE_LOG", "error")

import hypothesis
import pytest

from tests.servers import postgres as postgres_server
from tests.servers import seaweedfs
from tests.servers.postgres import Postgres
from tests.servers.run import Run
from tests.servers.seaweedfs import S3

REQUIRE_ALL = "LANCEWAY_REQUIRE_ALL"
# A slow machine is no failure.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

CLIENTS = Path(__file__).with_name("clients")
DOCS = Path(__file__).with_name("test_docs.py")
RUN = pytest.StashKey[Run]()
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=5, help="How often a race is run (make drill: often).")


def pytest_configure(config: pytest.Config) -> None:
    given = getattr(config, "workerinput", None)
    config.stash[RUN] = Run(Path(given["folder"]), given["owner"]) if given else Run.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[RUN].end()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist which run it belongs to."""
    run = node.config.stash[RUN]
    node.workerinput |= {"folder": str(run.folder), "owner": run.owner}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test by what it needs, so that `make check` and `make drill` can choose."""
    for item in items:
        asked = getattr(item, "fixturenames", ())
        if "s3" in asked:
            item.add_marker("s3")
        if "postgres" in asked or "postgresql" in getattr(getattr(item, "callspec", None), "params", {}).values():
            item.add_marker("postgres")
        if "rounds" in asked or item.path.stem.endswith("_races"):
            item.add_marker("race")
        if CLIENTS in item.path.parents:
            item.add_marker("clients")
        if "CatalogTests" in (base.__name__ for base in getattr(getattr(item, "cls", None), "__mro__", ())):
            item.add_marker("conformance")
        if item.path == DOCS:
            item.add_marker("docs")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _require((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _require((yield))


def _require(report: Report) -> Report:
    """A skipped test proves nothing: where everything is required, it is a failure."""
    if os.environ.get(REQUIRE_ALL) == "1" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{REQUIRE_ALL}=1 allows no skip, but: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def s3(request: pytest.FixtureRequest) -> S3:
    """A bucket on a real S3 server that the whole run shares."""
    return seaweedfs.start(request.config.stash[RUN])


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Postgres:
    """A real PostgreSQL server that the whole run shares."""
    return postgres_server.start(request.config.stash[RUN])


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> int:
    """How often a test that races repeats its race."""
    return int(request.config.getoption("--rounds"))
