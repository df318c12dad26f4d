"""The lake from the command line: made, looked at, checked, saved and brought back."""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import lance
import pytest

from lanceway.catalogs import LakeCatalog
from lanceway.identifiers import Identifier, parse
from lanceway.lake.store.database import LakeStore, open_store
from lanceway.lake.store.schema import VERSION
from lanceway.lake.tree import catalogs, lookups, namespaces, tables
from lanceway.lake.versions import versions
from lanceway.lake.versions.versions import VersionClaim
from lanceway.tables.versions import manifests
from tests.catalogs.lake.iceberg_helpers import create as create_iceberg
from tests.cli.conftest import Ended, Run
from tests.servers.postgres import Postgres

SECRET = "hunter2-hunter2"


@pytest.fixture(autouse=True)
def _no_lake_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE", "WAREHOUSE", "SEPARATOR", "SEPARATOR_POLICY"):
        monkeypatch.delenv(f"LANCEWAY_{name}", raising=False)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/lake.db"


@pytest.fixture
def lake(bare: Run, uri: str) -> Run:
    """`lanceway lake …` on the test's own lake, which must succeed."""

    def run(*arguments: str) -> Ended:
        ended = bare("lake", *arguments, "--uri", uri)
        assert ended.code == 0, ended
        return ended

    run("create", "--root", "warehouse")
    return run


@pytest.fixture
def store(lake: Run, uri: str) -> Iterator[LakeStore]:
    opened = open_store(uri)
    yield opened
    opened.close()


def catalog(store: LakeStore, name: str = "lake") -> catalogs.CatalogRow:
    return store.read(lambda connection: catalogs.load(connection, "lanceway", name))


def make(store: LakeStore, name: str, *numbers: int) -> Path:
    """A managed table with these versions, whose manifests are there."""
    made = store.transact(lambda connection: tables.create(connection, catalog(store).id, parse(name), by="me"))
    folder = Path(str(made.location))
    for number in numbers:
        key = manifests.key(number)
        claim = VersionClaim(number, f"{folder}/{key}-staged", f"{folder}/{key}")
        store.transact(lambda connection, claim=claim: _claim(connection, store, name, claim))
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(b"manifest")
    return folder


def _claim(connection, store: LakeStore, name: str, claim: VersionClaim) -> None:  # type: ignore[no-untyped-def]
    held = lookups.hold(connection, catalog(store).id, parse(name))
    versions.mark_copied(connection, versions.claim(connection, held, claim, by="me"))


# -- which lake ----------------------------------------------------------------------------------


def test_a_lake_must_be_named(bare: Run) -> None:
    ended = bare("lake", "status")
    assert ended.code == 2
    assert "LANCEWAY_DATABASE" in ended.err
    ended = bare("lake", "create", "--uri", "sqlite:///lake.db")
    assert ended.code == 2
    assert "LANCEWAY_WAREHOUSE" in ended.err


def test_the_environment_names_it(bare: Run, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCEWAY_DATABASE", uri)
    monkeypatch.setenv("LANCEWAY_WAREHOUSE", "wh")
    monkeypatch.setenv("LANCEWAY_SEPARATOR", "~")
    created = bare("lake", "create", "--json").json
    assert created == {
        "metalake": "lanceway",
        "catalog": "lake",
        "nested": True,
        "versioning": "managed",
        "root": str(tmp_path / "wh"),
        "owner": getpass.getuser(),
    }
    assert bare("lake", "separator", "show", "--json").json == {"separator": "~", "policy": "restricted"}
    monkeypatch.setenv("LANCEWAY_SEPARATOR", ":")
    ended = bare("lake", "check")
    assert (ended.code, "has the separator '~', and this process wants ':'" in ended.err) == (1, True)


def test_an_option_wins_over_the_namespace_and_that_over_the_environment(
    bare: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("option", "section", "variable"):
        bare("lake", "create", "--uri", f"sqlite:///{name}.db", "--root", "wh", "--catalog", name)
    (tmp_path / "lanceway.toml").write_text('[namespaces.mine]\ntype = "lake"\nuri = "sqlite:///section.db"\n')
    monkeypatch.setenv("LANCEWAY_DATABASE", "sqlite:///variable.db")

    def shown(*arguments: str, before: tuple[str, ...] = ()) -> list[str]:
        return list(bare(*before, "lake", "status", "--json", *arguments).json["catalogs"])

    assert shown() == ["lanceway/variable"]
    assert shown(before=("--in", "mine")) == ["lanceway/section"]
    assert shown(before=("--type", "lake", "--set", "uri=sqlite:///section.db")) == ["lanceway/section"]
    assert shown("--uri", "sqlite:///option.db", before=("--in", "mine")) == ["lanceway/option"]


def test_another_kind_of_namespace_is_no_lake(bare: Run) -> None:
    ended = bare("--path", "wh", "lake", "status")
    assert (ended.code, "type dir, and no lake" in ended.err) == (2, True)


@pytest.mark.parametrize("verb", [("status",), ("create", "--root", "wh"), ("backup", "b"), ("check",), ("upgrade",)])
def test_a_password_is_never_shown(
    bare: Run, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    monkeypatch.setenv("LANCEWAY_DATABASE", f"postgresql://nobody:{SECRET}@127.0.0.1:{postgres.port}/postgres")
    ended = bare("lake", *verb)
    assert (ended.code, "code 16" in ended.err) == (1, True)
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize("verb", [("status",), ("check",), ("backup", "b"), ("upgrade",), ("enable-nested",)])
def test_looking_makes_no_database(bare: Run, tmp_path: Path, verb: tuple[str, ...]) -> None:
    ended = bare("lake", *verb, "--uri", "sqlite:///lake.db")
    assert (ended.code, "the file is missing" in ended.err) == (1, True)
    assert list(tmp_path.iterdir()) == []


# -- making --------------------------------------------------------------------------------------


def test_create(bare: Run, lake: Run, uri: str) -> None:
    again = bare("lake", "create", "--uri", uri, "--root", "warehouse")
    assert (again.code, "code 2" in again.err) == (1, True)
    lake("create", "--root", "s3://bucket/wh", "--catalog", "flat", "--flat", "--versioning", "storage")
    lake("create", "--root", "other", "--metalake", "second")
    status = lake("status", "--json").json
    assert list(status["catalogs"]) == ["lanceway/flat", "lanceway/lake", "second/lake"]
    assert status["catalogs"]["lanceway/flat"] == {
        "nested": False,
        "versioning": "storage",
        "root": "s3://bucket/wh",
        "owner": getpass.getuser(),
    }


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--separator", "/"), 1, "The separator '/' is not allowed because it separates the parts of a route"),
        (("--separator", ""), 1, "The separator '' is not allowed because"),
        (("--policy", "any"), 1, "The separator policy 'any' is unknown"),
        (("--catalog", ""), 1, "at least one character"),
        (("--versioning", "git"), 2, "neither managed nor storage"),
    ],
)
def test_a_bad_lake_is_not_made(bare: Run, uri: str, options: tuple[str, ...], code: int, message: str) -> None:
    ended = bare("lake", "create", "--uri", uri, "--root", "wh", *options)
    assert (ended.code, message in " ".join(ended.err.split())) == (code, True), ended
    status = bare("lake", "status", "--uri", uri, "--json")
    assert status.code == 1 or status.json["catalogs"] == {}


@pytest.mark.parametrize("options", [("--separator", ""), ("--separator", "/"), ("--policy", "any")])
def test_a_bad_separator_leaves_no_database(bare: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    database = tmp_path / "new.db"
    assert bare("lake", "create", "--uri", f"sqlite:///{database}", "--root", "wh", *options).code == 1
    assert not database.exists()


def test_status_for_people(lake: Run, store: LakeStore) -> None:
    make(store, "t", 1, 2)
    lines = [line.split() for line in lake("status").out.splitlines()]
    assert ["versions", "2"] in lines
    assert lines[-1][:5] == ["catalog", "lanceway/lake", "nested,", "managed", "versions,"]


def test_upgrade(bare: Run, tmp_path: Path, lake: Run) -> None:
    assert lake("upgrade", "--json").json == {"from_version": VERSION, "version": VERSION}
    sqlite3.connect(tmp_path / "new.db").close()
    os.truncate(tmp_path / "new.db", 0)
    uri = "sqlite:///new.db"
    assert bare("lake", "status", "--uri", uri, "--json").json["database_version"] == 0
    assert "Upgrade it: lanceway lake upgrade" in bare("lake", "check", "--uri", uri).err
    assert bare("lake", "upgrade", "--uri", uri).out == f"The database was upgraded from version 0 to {VERSION}.\n"
    assert bare("lake", "upgrade", "--uri", uri).out == f"The database is at version {VERSION} already.\n"


# -- nested names --------------------------------------------------------------------------------


def test_nested_mode_and_what_stands_in_its_way(bare: Run, uri: str) -> None:
    where = ("--uri", uri)
    bare("lake", "create", *where, "--root", "wh", "--flat", "--policy", "unrestricted")
    store = open_store(uri)
    for name in ("a:b", "c:d", "e;f", "plain"):
        store.transact(lambda c, name=name: namespaces.create(c, catalog(store).id, Identifier([name]), by="me"))

    scan = bare("lake", "enable-nested", *where, "--dry-run", "--json")
    free = ["$", "~", "|", "!", "@", "^"]
    assert (scan.code, scan.json) == (1, {"separator": ":", "conflicts": [["a:b"], ["c:d"]], "alternatives": free})
    people = bare("lake", "enable-nested", *where, "--dry-run")
    assert people.out.splitlines() == [
        "['a:b'] holds :",
        "['c:d'] holds :",
        "2 in the way. Separators that no name holds: $ ~ | ! @ ^",
    ]
    refused = bare("lake", "enable-nested", *where)
    assert refused.code == 1
    assert "['a:b'], ['c:d']. Rename them or choose a separator that no name holds: '$'" in refused.err
    assert not catalog(store).nested

    fixed = bare("lake", "separator", "fix", ":", "_", *where, "--json")
    assert fixed.json == [{"from": ["a:b"], "to": ["a_b"]}, {"from": ["c:d"], "to": ["c_d"]}]
    assert bare("lake", "enable-nested", *where, "--dry-run").code == 0
    assert not catalog(store).nested
    assert bare("lake", "enable-nested", *where).code == 0
    assert catalog(store).nested
    store.close()


def test_the_separator(bare: Run, lake: Run, uri: str, store: LakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.transact(lambda c: namespaces.create(c, catalog(store).id, Identifier(["a~b"]), by="me"))
    scan = bare("lake", "separator", "set", "~", "--dry-run", "--uri", uri, "--json")
    assert (scan.code, scan.json["conflicts"]) == (1, [["a~b"]])
    refused = bare("lake", "separator", "set", "~", "--uri", uri)
    assert (refused.code, "['a~b']" in refused.err) == (1, True)
    unsafe = bare("lake", "separator", "set", "/", "--uri", uri)
    assert (unsafe.code, "Try ':', ';' or '$'" in unsafe.err) == (1, True)
    assert lake("separator", "show").out.split() == ["separator", ":", "policy", "restricted"]
    # The variable still has the old one when it is changed.
    monkeypatch.setenv("LANCEWAY_SEPARATOR", ":")
    lake("separator", "set", "§", "--policy", "unrestricted")
    monkeypatch.delenv("LANCEWAY_SEPARATOR")
    assert lake("separator", "show", "--json").json == {"separator": "§", "policy": "unrestricted"}


def test_a_catalog_that_is_missing(bare: Run, lake: Run, uri: str) -> None:
    ended = bare("lake", "enable-nested", "--catalog", "none", "--uri", uri)
    assert (ended.code, "code 1" in ended.err) == (1, True)


# -- checking ------------------------------------------------------------------------------------


def found(ended: Ended) -> list[tuple[str, str, bool]]:
    return [(finding["kind"], finding["where"], finding["wrong"]) for finding in ended.json]


def test_a_sound_lake(lake: Run, store: LakeStore) -> None:
    make(store, "t", 1, 2, 3)
    make(store, "empty")
    assert lake("check", "--strict").out == "No problems found.\n"
    assert lake("check", "--json").json == []


def test_a_lost_manifest_is_wrong(bare: Run, lake: Run, uri: str, store: LakeStore) -> None:
    folder = make(store, "t", 1, 2, 3)
    (folder / manifests.key(3)).unlink()
    ended = bare("lake", "check", "--uri", uri)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "table t of lake: error: lost manifest: There is no manifest for version 3 in its folder.",
        "1 error, 0 warnings.",
    ]
    assert lake("check", "--no-storage", "--json").json == []


def test_what_a_clean_up_took_is_noted(lake: Run, store: LakeStore) -> None:
    folder = make(store, "t", 1, 2, 3)
    for number in (1, 2):
        (folder / manifests.key(number)).unlink()
    assert found(lake("check", "--json")) == [("vanished", "table t of lake", False)]


def test_a_stray_manifest_and_a_strange_folder_are_noted(bare: Run, lake: Run, uri: str, store: LakeStore) -> None:
    folder = make(store, "t", 1)
    (folder / manifests.key(2)).write_bytes(b"by somebody else")
    (folder.parent / "nobody's").mkdir()
    notes = [("stray", "table t of lake", False), ("folder", f"{folder.parent}/nobody's", False)]
    assert found(lake("check", "--json")) == notes
    assert bare("lake", "check", "--strict", "--uri", uri).code == 1
    assert found(lake("check", "--json", "--root", str(folder.parent))) == notes
    assert found(lake("check", "--json", "--root", "elsewhere")) == []


def test_a_claim_whose_manifest_is_nowhere_is_wrong(bare: Run, lake: Run, uri: str, store: LakeStore) -> None:
    folder = make(store, "t", 1)
    staged = folder / f"{manifests.key(2)}-staged"

    def claim(connection) -> None:  # type: ignore[no-untyped-def]
        held = lookups.hold(connection, catalog(store).id, parse("t"))
        versions.claim(connection, held, VersionClaim(2, str(staged), "f"), by="me")

    store.transact(claim)
    kinds = {kind: wrong for kind, _, wrong in found(bare("lake", "check", "--json", "--uri", uri))}
    assert kinds == {"uncopied": False, "lost manifest": True}
    staged.write_bytes(b"manifest")
    assert found(lake("check", "--json")) == [("uncopied", "table t of lake", False)]


def test_broken_rows_are_wrong(bare: Run, lake: Run, uri: str, store: LakeStore, tmp_path: Path) -> None:
    store.transact(lambda c: namespaces.create(c, catalog(store).id, parse("a.b.c"), by="me", parents=True))
    with sqlite3.connect(tmp_path / "lake.db") as file:
        file.execute("DELETE FROM objects WHERE physical = 'a.b'")
    file.close()
    ended = bare("lake", "check", "--uri", uri, "--json")
    assert ended.code == 1
    assert {kind for kind, _, _ in found(ended)} == {"orphan", "half chain"}


# -- backups -------------------------------------------------------------------------------------


def test_backup_and_restore(bare: Run, lake: Run, uri: str, store: LakeStore, tmp_path: Path) -> None:
    make(store, "t", 1, 2)
    saved = lake("backup", "lake.backup", "--json").json
    assert saved["rows"]["versions"] == 2
    again = bare("lake", "backup", "lake.backup", "--uri", uri)
    assert (again.code, "is there already" in again.err) == (1, True)
    lake("backup", "lake.backup", "--overwrite")
    ended = bare("lake", "restore", "lake.backup", "--uri", "sqlite:///second.db")
    assert ended.out == f"Restored {sum(saved['rows'].values())} rows from lake.backup.\n"
    assert bare("lake", "check", "--uri", "sqlite:///second.db", "--strict").code == 0
    ended = bare("lake", "restore", "lake.backup", "--uri", "sqlite:///revoked.db", "--revoke-tokens")
    assert ended.out.endswith("All tokens are revoked; make new ones with lanceway tokens create.\n")
    full = bare("lake", "restore", "lake.backup", "--uri", uri)
    assert (full.code, "holds a lake already" in full.err) == (1, True)
    assert bare("lake", "restore", "none", "--uri", "sqlite:///third.db").code == 1
    assert not (tmp_path / "third.db").exists()


def test_a_lake_moves_to_postgresql_and_back(bare: Run, lake: Run, store: LakeStore, postgres: Postgres) -> None:
    make(store, "t", 1, 2)
    lake("backup", "lake.backup")
    schema = postgres.schema()
    server = ("--uri", postgres.uri(schema))
    assert bare("lake", "restore", "lake.backup", *server).code == 0
    assert bare("lake", "check", "--strict", *server).code == 0
    assert bare("lake", "backup", "again.backup", *server).code == 0
    assert bare("lake", "restore", "again.backup", "--uri", "sqlite:///home.db").code == 0
    status = bare("lake", "status", "--uri", "sqlite:///home.db", "--json").json
    assert status == lake("status", "--json").json
    postgres.execute(f"DROP SCHEMA {schema} CASCADE")


# -- tables of a lake ----------------------------------------------------------------------------


@pytest.fixture
def inside(bare: Run, lake: Run, uri: str) -> Run:
    """The program in the lake, for what must succeed."""

    def run(*arguments: str) -> Ended:
        ended = bare("--type", "lake", "--set", f"uri={uri}", *arguments)
        assert ended.code == 0, ended
        return ended

    return run


def test_a_stray_is_found_and_adopted(inside: Run, lake: Run, people: Path) -> None:
    inside("tables", "create", "people", str(people))
    location = inside("tables", "describe", "people", "--json").json["location"]
    lance.write_dataset(lance.dataset(location).to_table(), location, mode="append")
    assert [kind for kind, _, _ in found(lake("check", "--json"))] == ["stray"]
    assert inside("tables", "count", "people").out == "3\n"
    [stray] = inside("tables", "reconcile", "people", "--json").json
    assert (stray["kind"], stray["version"], stray["fixed"]) == ("stray", 2, False)
    [adopted] = inside("tables", "reconcile", "people", "--adopt", "--json").json
    assert (adopted["kind"], adopted["version"], adopted["fixed"]) == ("stray", 2, True)
    assert inside("tables", "count", "people").out == "6\n"
    assert inside("tables", "reconcile", "people").out == "Nothing found.\n"
    assert lake("check", "--strict").out == "No problems found.\n"


def test_stray_tags_are_found_and_removed(inside: Run, lake: Run, people: Path) -> None:
    inside("tables", "create", "people", str(people))
    location = inside("tables", "describe", "people", "--json").json["location"]
    lance.dataset(location).tags.create("rogue", 1)
    assert inside("tables", "tags", "list", "people", "--json").json == []
    assert [kind for kind, _, _ in found(lake("check", "--json"))] == ["stray tag"]
    [stray] = inside("tables", "reconcile", "people", "--remove", "--json").json
    assert (stray["kind"], stray["name"], stray["fixed"]) == ("stray tag", "rogue", True)
    assert lance.dataset(location).tags.list() == {}


def test_definitions(inside: Run, people: Path) -> None:
    inside("tables", "create", "people", str(people))
    inside("tables", "columns", "add", "people", "--computed", "twice=id * 2")
    [column] = inside("tables", "definitions", "list", "people", "--json").json
    assert (column["name"], column["definition"]) == ("twice", {"expression": "id * 2"})
    assert inside("tables", "definitions", "drop", "people", "twice").out == (
        "Dropped the definition of the column twice of people.\n"
    )
    assert inside("tables", "definitions", "list", "people", "--json").json == []
    [adopted] = inside("tables", "definitions", "adopt", "people", "--json").json
    assert adopted["name"] == "twice"


def test_who_keeps_the_versions(bare: Run, inside: Run, lake: Run, people: Path) -> None:
    inside("tables", "create", "people", str(people))
    assert (
        inside("tables", "versioning", "people", "storage").out == "The versions of people are kept by storage alone.\n"
    )
    assert lake("status", "--json").json["versions"] == 0
    inside("tables", "delete", "people", "--where", "id = 1")
    assert inside("tables", "versioning", "people", "managed", "--json").json == {"versioning": "managed"}
    assert lake("status", "--json").json["versions"] == 2
    assert inside("tables", "count", "people").out == "2\n"
    assert lake("check", "--strict").out == "No problems found.\n"
    wrong = bare("tables", "versioning", "people", "git")
    assert (wrong.code, "neither managed nor storage" in wrong.err) == (2, True)


def test_only_a_lake_keeps_versions(cli: Run, table: str) -> None:
    ended = cli("tables", "reconcile", table)
    assert (ended.code, "Only a lake keeps versions" in ended.err) == (1, True)


def test_tidy(lake: Run, store: LakeStore, tmp_path: Path) -> None:
    folder = make(store, "t", 1)
    store.transact(lambda connection: tables.drop(connection, catalog(store).id, parse("t"), by="me"))
    assert found(lake("check", "--json")) == [("removal", str(folder), False)]
    assert lake("tidy", "--json").json == {"removed": [str(folder)], "orphans": []}
    assert not folder.exists()
    assert lake("check", "--strict").out == "No problems found.\n"
    assert lake("tidy").out == "Deleted the data of 0 dropped tables.\n"


def test_tidy_and_check_know_files_of_iceberg_commits(bare: Run, lake: Run, store: LakeStore, uri: str) -> None:
    iceberg = LakeCatalog.over(store, catalog(store))
    made = create_iceberg(iceberg, ["t"])
    folder = Path(made.location.removeprefix("file://"), "metadata")
    orphan = folder / "00001-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    orphan.write_bytes(b"{}")
    assert lake("tidy", "--json").json == {"removed": [], "orphans": []}  # a commit may be under way
    assert lake("check", "--strict").out == "No problems found.\n"
    os.utime(orphan, (0, 0))
    assert [kind for kind, _, wrong in found(lake("check", "--json")) if not wrong] == ["orphan metadata"]
    assert lake("tidy", "--orphans-older-than", "7d", "--json").json == {"removed": [], "orphans": [str(orphan)]}
    assert lake("check", "--strict").out == "No problems found.\n"
    Path(str(made.metadata_location).removeprefix("file://")).unlink()
    kinds = [kind for kind, _, wrong in found(bare("lake", "check", "--json", "--uri", uri)) if wrong]
    assert kinds == ["lost metadata"]
