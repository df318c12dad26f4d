"""Run the suite on a catalog, and look at the storage below it without the catalog.

    scratch = sandbox.make_scratch(catalog)
    report = inspect(Subject(catalog, scratch))
    left_behind = clear(catalog, scratch)

pytest runs in this process, without the plugins that happen to be installed and without files of its own.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lance_namespace import DeclareTableRequest, DeclareTableResponse, DropTableRequest, LanceNamespace

from lanceway.errors import InternalError, LanceNamespaceError, UnsupportedOperationError
from lanceway.identifiers import Identifier
from lanceway.tables.storage.store import Store, open_store
from lanceway.testing import rewrite_assertions, sandbox
from lanceway.testing.plugin import LEFT_OUT
from lanceway.testing.sandbox import Id, Sandbox, fresh

if TYPE_CHECKING:
    import lance


@dataclass(frozen=True)
class Raw:
    """Opens a table's location with the storage options that the catalog describes, or with the given ones."""

    space: Sandbox
    storage_options: Mapping[str, str] | None = None

    def place(self, id_: Id) -> TablePlace:
        described = self.space.describe(id_)
        assert described.location, "describe_table gives no location"
        options = self.storage_options or described.storage_options
        client = self.space.catalog if described.managed_versioning else None
        return TablePlace(described.location, dict(options) if options else None, client, tuple(id_))


@dataclass(frozen=True)
class TablePlace:
    """One table's location. A managed table also has the catalog through which its clients write."""

    location: str
    storage_options: dict[str, str] | None
    client: LanceNamespace | None = None
    id: tuple[str, ...] = ()

    def open(self) -> lance.LanceDataset:
        import lance

        return lance.dataset(self.location, storage_options=self.storage_options)

    def write(self, data: pa.Table) -> None:
        """Write the first version of a declared table, as a client does that knows the location."""
        import lance

        if self.client is None:
            lance.write_dataset(data, self.location, mode="create", storage_options=self.storage_options)
        else:
            lance.write_dataset(data, namespace_client=self.client, table_id=list(self.id), mode="append")

    def append(self, data: pa.Table) -> None:
        """Write another version to storage, even if the catalog owns the versions."""
        import lance

        lance.write_dataset(data, self.location, mode="append", storage_options=self.storage_options)

    def ids(self) -> list[int]:
        row_ids: list[int] = sorted(self.open().to_table(columns=["id"])["id"].to_pylist())
        return row_ids

    def store(self) -> Store:
        return open_store(self.location, self.storage_options)

    def is_empty(self) -> bool:
        return not self.store().has_any()


# Longer messages say no more, and a report is read by people.
_LONGEST_REASON = 300
_ERRORS_OF_PYTEST = frozenset({pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR})


@dataclass(frozen=True)
class Subject:
    """The catalog under inspection, and the namespace in it that belongs to the inspection."""

    catalog: LanceNamespace
    scratch: Sequence[str]
    # How to reach the tables' storage without the catalog. None: the tests that look there are left out.
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    # Whether names such as `..` and empty locations are tried. Dropping such a table made a server delete all it had.
    strange_paths: bool = False


SUBJECT = pytest.StashKey[Subject]()


class TestOutcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"  # the server says that it has no such operation


@dataclass(frozen=True)
class Result:
    """One behaviour, and whether the server has it."""

    group: str
    test: str
    outcome: TestOutcome
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """Return the test's name as a sentence."""
        name, _, parameter = self.test.removeprefix("test_").partition("[")
        return name.replace("_", " ") + (f" ({parameter.removesuffix(']')})" if parameter else "")


@dataclass(frozen=True)
class InspectionReport:
    """The results of an inspection."""

    results: tuple[Result, ...]
    left_out: Mapping[str, tuple[str, int]]  # what was not looked at: the reason, and how many tests
    seconds: float

    def count(self, outcome: TestOutcome, group: str | None = None) -> int:
        return sum(result.outcome is outcome for result in self.results if group in (None, result.group))

    @property
    def failed(self) -> int:
        return self.count(TestOutcome.FAILED)

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(result.group for result in self.results))

    def as_dict(self) -> dict[str, Any]:
        totals = Counter(result.outcome.value for result in self.results)
        return {
            "totals": {outcome.value: totals[outcome.value] for outcome in TestOutcome},
            "groups": [
                {"group": group, **{outcome.value: self.count(outcome, group) for outcome in TestOutcome}}
                for group in self.groups
            ],
            "results": [
                {**asdict(result), "outcome": result.outcome.value, "sentence": result.sentence}
                for result in self.results
            ],
            "left_out": [
                {"flag": flag, "reason": reason, "tests": tests} for flag, (reason, tests) in self.left_out.items()
            ],
            "seconds": round(self.seconds, 1),
        }


def inspect(
    subject: Subject,
    *,
    only: str | None = None,
    watch: Callable[[int, int], None] = lambda done, total: None,
) -> InspectionReport:
    """Run the suite. `only` selects tests as pytest's `-k` does; `watch` gets the number of finished tests and of all.

    Ctrl-C ends it with KeyboardInterrupt after the test that is running has cleaned up.
    """
    recorder = _Recorder(subject, watch)
    suite = Path(__file__).with_name("remote_suite.py")
    arguments = [
        str(suite),
        *("--disable-plugin-autoload", "-p", "lanceway.testing.plugin"),
        *("-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:faulthandler"),
        *("-c", os.devnull, "--rootdir", str(suite.parent), "--import-mode=importlib"),
        *(("-k", only) if only else ()),
    ]
    begun = time.monotonic()
    with redirect_stdout(StringIO()):
        ended = pytest.main(arguments, plugins=[recorder])
    if ended in _ERRORS_OF_PYTEST:
        raise InternalError(f"The inspection could not run: pytest ended with {ended}. {recorder.problem}".strip())
    if ended == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return InspectionReport(tuple(recorder.results), recorder.left_out, time.monotonic() - begun)


def capabilities_missing(subject: Subject) -> dict[str, str]:
    """Return the capabilities that the server or the caller says are missing, with the reasons."""
    missing: dict[str, str] = {}
    if subject.storage_options is None:
        missing["storage_access"] = "no credentials for the storage were given"
    if not subject.strange_paths:
        missing["strange_paths"] = "a server that takes names for paths may lose data; ask for them where none is kept"
    with _declared(subject) as probe:
        if not _is_managed(probe):
            missing["managed_versions"] = "the server says that its tables' versions live in storage"
        if not _takes_locations(subject, probe):
            missing["chosen_location"] = "the server chooses the locations of its tables"
    return missing


@contextmanager
def _declared(subject: Subject, location: str | None = None) -> Iterator[DeclareTableResponse | None]:
    """Declare a table for the duration of the block; yield None if the server refuses it."""
    probe = [*subject.scratch, fresh("probe")]
    try:
        declared = subject.catalog.declare_table(DeclareTableRequest(id=probe, location=location))
    except LanceNamespaceError:
        yield None
        return
    yield declared
    # What cannot be dropped goes with the scratch namespace.
    with suppress(LanceNamespaceError):
        subject.catalog.drop_table(DropTableRequest(id=probe))


def _is_managed(probe: DeclareTableResponse | None) -> bool:
    return probe is not None and bool(probe.managed_versioning)


def _takes_locations(subject: Subject, probe: DeclareTableResponse | None) -> bool:
    if probe is None or not probe.location:
        return False
    with _declared(subject, f"{probe.location.rstrip('/')}_chosen") as chosen:
        return chosen is not None


def clear(catalog: LanceNamespace, namespace: list[str]) -> list[str]:
    """Remove a namespace with all that is in it; return what the server failed to remove, and why."""
    return [f"{Identifier(id_)}: {_shortened(str(error))}" for id_, error in sandbox.clear(catalog, namespace)]


class _Recorder:
    """A pytest plugin that hands the subject to the tests and records their outcomes."""

    def __init__(self, subject: Subject, watch: Callable[[int, int], None]) -> None:
        self._subject, self._watch = subject, watch
        self._total = 0
        self._config: pytest.Config | None = None
        self._unsupported: set[str] = set()
        self._groups: dict[str, str] = {}
        self.results: list[Result] = []
        self.problem = ""

    @property
    def left_out(self) -> Mapping[str, tuple[str, int]]:
        suites = self._config.stash[LEFT_OUT] if self._config else {}
        return {flag: row for rows in suites.values() for flag, row in sorted(rows.items()) if row[1]}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[SUBJECT] = self._subject
        rewrite_assertions()  # this package was imported before pytest began
        self._config = config

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        missing = capabilities_missing(self._subject)
        for item in items:
            cls = item.getparent(pytest.Class)
            assert cls is not None, "every test of the suite stands in its class"
            cls.obj.without = missing
            self._groups[item.nodeid] = _group(cls.obj, item)
        # Last what may leave a server the worse for it.
        items.sort(key=lambda item: self._groups[item.nodeid] == "concurrency")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._total = len(session.items)

    def pytest_internalerror(self, excrepr: object) -> None:
        self.problem = str(excrepr).splitlines()[-1]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.excinfo is not None and call.excinfo.errisinstance(UnsupportedOperationError):
            self._unsupported.add(item.nodeid)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not report.failed:
            return
        if report.passed:
            outcome, reason = TestOutcome.PASSED, None
        else:
            outcome = TestOutcome.UNSUPPORTED if report.nodeid in self._unsupported else TestOutcome.FAILED
            reason = _reason(report)
        self.results.append(Result(self._groups[report.nodeid], report.nodeid.rsplit("::", 1)[-1], outcome, reason))
        self._watch(len(self.results), self._total)


def _group(suite: type, item: pytest.Item) -> str:
    """Return the group that a test belongs to: `NewNamespaceTests` becomes `new namespace`."""
    name = getattr(item, "originalname", item.name)
    owner = next(cls.__name__ for cls in suite.__mro__ if name in vars(cls))
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in owner.removesuffix("Tests"))
    return words.strip()


def _reason(report: pytest.TestReport) -> str:
    """Return the last line of a failure: the error itself."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return _shortened(text)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"
