"""The setting `jobs`: a catalog without a database of its own records background jobs in one."""

from __future__ import annotations

import pickle
from getpass import getuser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lanceway
from lanceway.catalogs import DirectoryCatalog
from lanceway.config import CatalogSettings
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.jobs.worker.catalogs import Places
from lanceway.jobs.worker.loop import Worker

SECRET = "hidden-in-no-database"
NEW = [{"name": "twice", "computed": "id * 2"}]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, and a working folder with a configuration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LANCEWAY_CONFIG", raising=False)
    monkeypatch.setenv("LANCEWAY_SERVER__HOME", str(tmp_path / "home"))
    section("local", path=str(tmp_path / "tables"), jobs="home")
    return tmp_path / "home"


def section(name: str, **settings: str) -> None:
    lines = "".join(f'{key} = "{value}"\n' for key, value in {"type": "dir", **settings}.items())
    Path("lanceway.toml").write_text(f"[namespaces.{name}]\n{lines}")


def connected(name: str = "local", **settings: Any) -> Any:
    return lanceway.connect(name=name, **settings)


def backfill(catalog: Any, *names: str) -> str:
    """Make a table with a computed column, and ask for its backfill."""
    catalog.create_table_stream({"id": [*names]}, pa.table({"id": [1, 2]}).to_reader())
    catalog.alter_table_add_columns({"id": [*names], "new_columns": NEW})
    return str(catalog.alter_table_backfill_columns({"id": [*names], "column": "twice"}).job_id)


def test_jobs_are_recorded_in_the_home_and_found_by_whoever_has_the_same_section(home: Path) -> None:
    with connected(storage_options={"aws_secret_access_key": SECRET}) as local:
        assert isinstance(local, DirectoryCatalog)
        assert not home.exists(), "a database that nobody needs was opened"
        job = backfill(local, "orders")
        (listed,), _ = local.list_jobs(table=["orders"])
        assert (listed.id, listed.table, listed.state) == (job, ["orders"], "queued")
        copy = pickle.loads(pickle.dumps(local))
        assert copy.cancel_job(job).state == "cancelled"
    assert connected().describe_job(job).state == "cancelled"
    assert not any(SECRET.encode() in file.read_bytes() for file in home.iterdir())


def test_another_catalog_of_the_same_name_has_other_jobs(home: Path, tmp_path: Path) -> None:
    job = backfill(connected(), "orders")
    section("local", path=str(tmp_path / "others"), jobs="home")
    other = connected()
    assert other.list_jobs() == ([], None)
    with pytest.raises(InvalidInputError, match="no job"):
        other.describe_job(job)


def test_a_namespace_inside_has_jobs_under_its_own_names(home: Path, tmp_path: Path) -> None:
    settings = {"path": str(tmp_path / "tables"), "layout": "manifest"}
    section("team", **settings, jobs=f"sqlite:///{tmp_path}/jobs.db", at="team")
    lanceway.connect("dir", **settings).create_namespace({"id": ["team"]})  # type: ignore[arg-type]
    team = connected("team")
    job = backfill(team, "orders")
    desk = team._inner._desk()
    mounted = {"team": CatalogSettings("dir", settings, at="team")}
    worker = Worker(
        Places(desk.store, desk.metalake, mounted=mounted, operator=getuser()), state=str(tmp_path / "parts.sqlite")
    )
    assert worker.run(once=True) == 1
    described = team.describe_job(job)
    assert (described.state, described.error, described.table) == ("done", None, ["orders"])
    assert team.count_table_rows({"id": ["orders"], "predicate": "twice = id * 2"}).count == 2


def test_where_jobs_cannot_be_set(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match=r"has a name, which a worker connects to it with too: add a section"):
        lanceway.connect("dir", path="tables", jobs="home")
    for type_, settings in (
        ("lake", {"uri": "sqlite:///l.db", "root": "data"}),
        ("rest", {"uri": "http://127.0.0.1:1"}),
    ):
        section("own", **{**settings, "type": type_, "jobs": "home"})
        with pytest.raises(InvalidInputError, match=r"\[namespaces.own\] has the setting jobs, but .* Leave jobs out"):
            connected("own")
    section("local", path="tables")
    with pytest.raises(UnsupportedOperationError, match='Set jobs to "home", or to a database, in its section'):
        connected().list_jobs()
    monkeypatch.setenv("LANCEWAY_STATE", "http://127.0.0.1:1")
    with pytest.raises(InvalidInputError, match=r"cannot live in 'http'. Use sqlite:///lake.db or postgresql"):
        connected(jobs="home").list_jobs()
