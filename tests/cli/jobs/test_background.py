"""Background jobs from the command line: asked for, shown, cancelled, waited for, and carried out by a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Run

PEOPLE = '{"id": 1, "name": "Ada"}\n{"id": 2, "name": "Grace"}\n'


@pytest.fixture
def lake(bare: Run, tmp_path: Path) -> Run:
    """The program over a lake with one table, which has a computed column."""
    where = ("--type", "lake", "--set", f"uri=sqlite:///{tmp_path}/lake.db", "--set", f"root={tmp_path}/data")

    def run(*arguments: str) -> Ended:
        return bare(*where, *arguments)

    (tmp_path / "people.ndjson").write_text(PEOPLE)
    assert run("tables", "create", "people", "people.ndjson").code == 0
    assert run("tables", "columns", "add", "people", "--computed", "twice=id * 2").code == 0
    return run


def work(lake: Run) -> int:
    ended = lake("--json", "jobs", "worker", "--once")
    assert ended.code == 0, ended
    return int(ended.json["jobs"])


def rows(lake: Run, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = lake("--json", "tables", "query", table).json
    return sorted(found, key=json.dumps)


def test_a_backfill(lake: Run) -> None:
    asked = lake("--json", "tables", "columns", "backfill", "people", "twice", "--where", "id = 2")
    job = asked.json["job_id"]
    shown = lake("jobs", "show", job)
    assert "queued" in shown.out
    assert "people" in shown.out
    assert lake("jobs", "wait", job, "--timeout", "0").code == 1
    assert work(lake) == 1
    waited = lake("jobs", "wait", job)
    assert (waited.code, waited.out) == (0, f"The job {job} is done.\n")
    assert [row["twice"] for row in rows(lake, "people")] == [None, 4]


def test_the_one_lake_of_the_configuration_is_that_of_its_worker_too(lake: Run, bare: Run, tmp_path: Path) -> None:
    assert lake("tables", "columns", "backfill", "people", "twice").code == 0
    place = f'uri = "sqlite:///{tmp_path}/lake.db"\nroot = "{tmp_path}/data"\n'
    (tmp_path / "lanceway.toml").write_text(f'[namespaces.mine]\ntype = "lake"\n{place}')
    assert bare("lake", "status", "--json").json["catalogs"].keys() == {"lanceway/lake"}
    assert [job["state"] for job in bare("jobs", "list", "--json").json] == ["queued"]
    assert bare("jobs", "worker", "--once", "--json").json == {"jobs": 1}
    assert [row["twice"] for row in rows(lake, "people")] == [2, 4]


def test_jobs_are_listed_and_cancelled(lake: Run) -> None:
    job = lake("--json", "tables", "columns", "backfill", "people", "twice").json["job_id"]
    (listed,) = lake("--json", "jobs", "list", "--table", "people", "--state", "queued").json
    assert (listed["id"], listed["table"], listed["kind"]) == (job, ["people"], "backfill")
    assert job in lake("jobs", "list", "--limit", "1").out
    assert lake("jobs", "cancel", job).out == f"The job {job} is cancelled.\n"
    assert work(lake) == 0
    assert lake("jobs", "wait", job).code == 1
    gone = lake("jobs", "show", "job-none")
    assert (gone.code, "no job 'job-none'" in gone.err) == (1, True)
    assert lake("jobs", "list", "--state", "gone").code == 2


def test_a_view(lake: Run, tmp_path: Path) -> None:
    made = lake("views", "create", "names", "--source", "people", "--column", "id", "--column", "loud=upper(name)")
    assert made.code == 0, made
    assert work(lake) == 1
    assert rows(lake, "names") == [{"id": 1, "loud": "ADA"}, {"id": 2, "loud": "GRACE"}]
    (tmp_path / "more.ndjson").write_text('{"id": 3, "name": "Alan", "twice": 0}\n')
    assert lake("tables", "insert", "people", "more.ndjson").code == 0
    asked = lake("--json", "views", "refresh", "names")
    assert work(lake) == 1
    assert lake("--json", "jobs", "show", asked.json["job_id"]).json["result"]["refreshed"] == "added"
    assert len(rows(lake, "names")) == 3


def test_a_view_by_a_function(lake: Run) -> None:
    function = ("--function", "tests.jobs.worker.functions:letters", "--type", "id=int64", "--type", "letter=utf8")
    made = lake("--json", "views", "create", "letters", "--source", "people", *function)
    assert made.code == 0, made
    assert work(lake) == 1
    job = lake("jobs", "wait", made.json["job_id"])
    assert (job.code, "--functions tests.jobs.worker.functions" in job.out) == (1, True)
    lake("views", "refresh", "letters")
    allowed = lake("jobs", "worker", "--once", "--functions", "tests.jobs.worker")
    assert (allowed.code, allowed.out) == (0, "Carried out 1 job.\n")
    assert "refresh of lake.letters is done" in allowed.err
    assert len(rows(lake, "letters")) == 8


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("views", "create", "v"), 2, "say what it is made of"),
        (("views", "create", "v", "--sql", "SELECT 1"), 2, "name the view's columns"),
        (("views", "create", "v", "--source", "people", "--partition-by", "id"), 2, "for a view with --function"),
        (("views", "create", "v", "--source", "none"), 1, "none"),
        (("views", "refresh", "people"), 1, "no materialized view"),
        (("tables", "columns", "backfill", "people", "name"), 1, "neither computed nor virtual"),
    ],
    ids=str,
)
def test_what_cannot_be(lake: Run, arguments: tuple[str, ...], code: int, words: str) -> None:
    ended = lake(*arguments)
    assert (ended.code, words in ended.err) == (code, True), ended


def test_an_empty_view(lake: Run) -> None:
    made = lake("views", "create", "later", "--source", "people", "--empty")
    assert made.out == "Created view later, which is empty until it is refreshed.\n"
    assert work(lake) == 0


def test_views_are_listed_described_and_dropped(lake: Run) -> None:
    lake("views", "create", "big", "--source", "people", "--column", "id", "--where", "id > 1", "--empty")
    assert [line.split() for line in lake("views", "list").out.splitlines()[2:]] == [
        ["big", "query", "people", "id", ">", "1"]
    ]
    assert [view["name"] for view in lake("--json", "views", "list").json] == ["big"]
    described = lake("--json", "views", "describe", "big").json
    assert (described["where"], described["source"][-1]) == ("id > 1", "people")
    for verb in (("describe", "people"), ("drop", "people", "--yes")):
        refused = lake("views", *verb)
        assert (refused.code, "people" in refused.err) == (1, True)
    assert lake("views", "drop", "big").code == 2, "it asks first"
    assert lake("views", "drop", "big", "--yes").out == "Dropped view big.\n"
    assert lake("tables", "list").out == "people\n"


def test_a_folder_has_no_jobs(done: Run, cli: Run) -> None:
    ended = cli("jobs", "list")
    assert (ended.code, "lanceway up" in ended.err) == (1, True)


def test_the_jobs_of_a_folder(bare: Run, tmp_path: Path) -> None:
    """The database is the one that its section names; a worker that is told the same name takes them."""
    folder = f'[namespaces.local]\ntype = "dir"\npath = "{tmp_path}/tables"\n'
    file = tmp_path / "lanceway.toml"
    file.write_text(folder)

    def local(*arguments: str) -> Ended:
        return bare("--in", "local", *arguments)

    refused = local("jobs", "worker", "--once")
    assert (refused.code, "Set jobs in it to 'home', or to a database." in refused.err) == (2, True)
    file.write_text(f'{folder}jobs = "sqlite:///{tmp_path}/jobs.db"\n')
    (tmp_path / "people.ndjson").write_text(PEOPLE)
    assert local("tables", "create", "people", "people.ndjson").code == 0
    assert local("tables", "columns", "add", "people", "--computed", "twice=id * 2").code == 0
    job = local("--json", "tables", "columns", "backfill", "people", "twice").json["job_id"]
    assert work(local) == 1
    assert local("jobs", "wait", job).out == f"The job {job} is done.\n"
    assert [row["twice"] for row in rows(local, "people")] == [2, 4]
    assert local("views", "create", "copy", "--source", "people", "--column", "id").code == 0
    assert work(local) == 1
    assert rows(local, "copy") == [{"id": 1}, {"id": 2}]


def test_a_worker_reads_no_files_elsewhere(lake: Run, bare: Run, tmp_path: Path) -> None:
    """Others may have asked for a job, and have written the manifest that leads elsewhere."""
    import lance
    from lance import DatasetBasePath

    job = lake("--json", "tables", "columns", "backfill", "people", "twice").json["job_id"]
    location = lake("--json", "tables", "describe", "people").json["location"]
    assert lake("tables", "versioning", "people", "storage").code == 0
    bases = [DatasetBasePath(str(tmp_path / "elsewhere"), name="base", is_dataset_root=True)]
    lance.dataset(location).add_bases(bases)
    by_uri = bare("--json", "jobs", "worker", "--once", "--uri", f"sqlite:///{tmp_path}/lake.db")
    assert by_uri.code == 0, by_uri
    shown = lake("--json", "jobs", "show", job).json
    assert (shown["state"], "base paths outside" in shown["error"]) == ("failed", True), shown
    again = lake("--json", "tables", "columns", "backfill", "people", "twice").json["job_id"]
    assert work(lake) == 1
    assert lake("--json", "jobs", "show", again).json["state"] == "failed"


def test_a_worker_reads_clones(lake: Run) -> None:
    assert lake("tables", "clone", "people", "copy").code == 0
    made = lake("views", "create", "names", "--source", "copy", "--column", "id")
    assert made.code == 0, made
    assert work(lake) == 1
    assert rows(lake, "names") == [{"id": 1}, {"id": 2}]
