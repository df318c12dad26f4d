"""What every test may ask for, and what a whole run shares."""

from __future__ import annotations

import gc
import os
import secrets
import signal
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

# pylance's Rust side writes warnings to the terminal; it reads this when it is first imported.
os.environ.setdefault("LANCE_LOG", "error")

import hypothesis
import pytest

from tests.drilling import DrillProgress, teller
from tests.servers import hive as hive_server
from tests.servers import iceberg as iceberg_server
from tests.servers import lanceway as lanceway_server
from tests.servers import nessie as nessie_server
from tests.servers import postgres as postgres_server
from tests.servers import seaweedfs
from tests.servers.hive import Hive
from tests.servers.iceberg import Iceberg
from tests.servers.lanceway import Lanceway
from tests.servers.nessie import Nessie
from tests.servers.postgres import Postgres
from tests.servers.run import Run
from tests.servers.seaweedfs import S3

pytest_plugins = ["tests.spark_fixtures"]

REQUIRE_ALL = "LANCEWAY_REQUIRE_ALL"
# Spark's own processes live for minutes, with little data: what Java does to be fast later costs more than it gains.
for variable in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(variable, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# A slow machine is not a failure.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

CLIENTS = Path(__file__).with_name("clients")
SERVER = Path(__file__).with_name("server")
# Folders whose tests need a Spark session, or belong to those that do.
SPARK = tuple(Path(__file__).with_name(room) for room in ("spark", "jobs", "pipelines"))
WORKER = Path(__file__).with_name("jobs") / "worker"
RUNS_SPARK = (
    *("test_the_examples_run[docs/guide/spark", "test_the_examples_run[docs/guide/pipeline"),
    "test_the_tutorial",
)
DOCS = Path(__file__).with_name("test_docs.py")
RUN = pytest.StashKey[Run]()
# Servers, by their fixtures and markers, that only a target of their own asks for.
APART = ("gravitino", "lakekeeper", "nessie", "polaris")
ROUNDS = 5
Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=ROUNDS, help="How often a race is run (make drill: often).")
    parser.addoption("--seed", default="1", help="What random tests begin with: a number, or `new` (make drill).")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell, and so in what tests start
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.seed == "new":  # before workers of pytest-xdist are started, which get the number
        config.option.seed = str(secrets.randbelow(10**9))
    if config.option.rounds > ROUNDS and config.option.timeout is None:  # more of them take longer than a test may
        config.option.timeout = 0
    given = getattr(config, "workerinput", None)
    config.stash[RUN] = Run(Path(given["folder"]), given["owner"]) if given else Run.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    gc.unfreeze()  # frozen by `pytest_collection`; Python ends in good order only if it may collect all
    if not hasattr(config, "workerinput"):
        config.stash[RUN].end()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a worker of pytest-xdist which run it belongs to."""
    run = node.config.stash[RUN]
    node.workerinput |= {"folder": str(run.folder), "owner": run.owner}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from tests.scheduling import scheduler

    return scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Tests are many and stay: the garbage collector looks at them neither while they are found nor ever after."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test by what it needs, so that `make check` and `make drill` can choose."""
    needed = {item: frozenset(_needs(item)) for item in items}
    for item, names in needed.items():
        for name in names:
            item.add_marker(name)
    # They need what not every machine has: `make test-nessie` and so on.
    apart = {name for name in APART if name not in config.option.markexpr}
    config.hook.pytest_deselected(items=[item for item in items if apart & needed[item]])
    items[:] = [item for item in items if not apart & needed[item]]
    # They take long, and most of Spark's are one worker's: it had better begin with them.
    items.sort(key=lambda item: not needed[item] & {"spark", "docs"})


def _needs(item: pytest.Item) -> Iterator[str]:
    asked = getattr(item, "fixturenames", ())
    yield from _lies_in(item.path)
    yield from {"s3", "postgres", "hive", "iceberg", "server", *APART}.intersection(asked)
    if "postgresql" in getattr(getattr(item, "callspec", None), "params", {}).values():
        yield "postgres"
    if {"older_hive", "oldest_hive"}.intersection(asked):
        yield "hive"
    if "older_iceberg" in asked:
        yield "iceberg"
    if "rounds" in asked:
        yield "race"
    if item.name.startswith(RUNS_SPARK):
        yield "spark"
    if _is_conformance(getattr(item, "cls", None)):
        yield "conformance"


@cache
def _lies_in(path: Path) -> frozenset[str]:
    """What the tests of a file need by where it lies."""
    rooms = {"server": SERVER, "clients": CLIENTS}
    found = {name for name, room in rooms.items() if room in path.parents}
    if WORKER not in path.parents or path.stem.startswith("test_spark_"):
        found |= {"spark" for room in SPARK if room in path.parents}
    found |= {"docs"} if path == DOCS else set()
    return frozenset(found | {"race"} if path.stem.endswith("_races") else found)


@cache
def _is_conformance(class_: type | None) -> bool:
    """Whether it is the suite that is shipped, or some of its parts."""
    return any(base.__module__.startswith("lanceway.testing.") for base in getattr(class_, "__mro__", ()))


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
def whole_run(request: pytest.FixtureRequest) -> Run:
    """What starts servers that end with the whole run."""
    return request.config.stash[RUN]


@pytest.fixture(scope="session")
def server(whole_run: Run) -> Lanceway:
    """A real `lanceway up` that the whole run shares: it has the catalog `lake`."""
    return lanceway_server.shared(whole_run)


@pytest.fixture(scope="session")
def iceberg(whole_run: Run) -> Iceberg:
    """Iceberg's reference server, of the newer version in the suite."""
    return iceberg_server.start(whole_run, "1.11.0")


@pytest.fixture(scope="session")
def older_iceberg(whole_run: Run) -> Iceberg:
    """Iceberg's reference server, of the older version in the suite."""
    return iceberg_server.start(whole_run, "1.10.1")


@pytest.fixture(scope="session")
def hive(whole_run: Run) -> Hive:
    """A real Hive Metastore, of the newest version that the suite can have."""
    return hive_server.start(whole_run, "4.0.1")


@pytest.fixture(scope="session")
def older_hive(whole_run: Run) -> Hive:
    """A real Hive Metastore of version 3, the first with catalogs."""
    return hive_server.start(whole_run, "3.1.3")


@pytest.fixture(scope="session")
def oldest_hive(whole_run: Run) -> Hive:
    """A real Hive Metastore of version 2, without catalogs."""
    return hive_server.start(whole_run, "2.3.9")


@pytest.fixture(scope="session")
def nessie(whole_run: Run, s3: S3) -> Nessie:
    """A real Nessie, which needs a newer Java than the rest: `make test-nessie`."""
    return nessie_server.start(whole_run, s3)


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> int:
    """How often a test that races repeats its race."""
    return int(request.config.getoption("--rounds"))


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> str:
    """What a random test begins with. Unless it is always the same, it is printed."""
    number = str(request.config.getoption("--seed"))
    if number != "1":
        teller(request.config)(f"--seed {number}")
    return number


@pytest.fixture
def progress(request: pytest.FixtureRequest, rounds: int, seed: str) -> DrillProgress:
    """What a drill tells while it runs."""
    return DrillProgress(teller(request.config), request.node.name, seed, is_drill=rounds > ROUNDS)
