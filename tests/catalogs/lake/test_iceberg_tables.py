"""Iceberg tables of a lake: made, loaded, committed to, registered, renamed and dropped, beside Lance tables."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table.metadata import TableMetadataUtil
from sqlalchemy import Connection, bindparam, event, select
from sqlalchemy.engine import Engine

from lanceway.catalogs import LakeCatalog
from lanceway.catalogs.contract.iceberg import IcebergCommit, KeepsIceberg, NewIcebergTable
from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    InvalidTableStateError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.lake.store.schema import feed
from lanceway.tables.storage.store import local_path
from tests.catalogs.lake import lake_helpers
from tests.catalogs.lake.iceberg_helpers import (
    SCHEMA,
    TABLE,
    commit,
    create,
    create_view,
    document,
    files,
    folders,
    set_properties,
    staged_updates,
    uuid_is,
)

LANCE = ["a", "lance"]
_EVENTS = (
    select(feed.c.type).where(feed.c.catalog == bindparam("name"), feed.c.kind.in_(["iceberg_table", "view"]))
).order_by(feed.c.id)


@pytest.fixture
def companion(lake: LakeCatalog) -> list[str]:
    lake.create_namespace({"id": ["a"]})  # type: ignore[arg-type]
    return lake_helpers.create(lake, *LANCE)


def test_the_lake_keeps_iceberg(lake: LakeCatalog) -> None:
    assert isinstance(lake, KeepsIceberg)


# -- making and loading ----------------------------------------------------------------------------


def test_a_table_is_made_where_the_lake_puts_it(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create(lake, properties={"owner": "me"})
    metadata = document(made)
    assert metadata["location"] == made.location
    assert made.location.startswith(f"file://{tmp_path}/warehouse/")
    assert made.metadata_location is not None
    assert made.metadata_location.startswith(f"{made.location}/metadata/00000-")
    assert metadata["format-version"] == 2
    assert metadata["properties"] == {"owner": "me"}
    assert not made.is_companion
    assert lake.load_iceberg_table(TABLE) == made
    stored = local_path(made.metadata_location)
    assert stored is not None
    assert stored.read_bytes() == made.metadata


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_table_has_the_format_that_is_asked_for(lake: LakeCatalog, number: str) -> None:
    metadata = document(create(lake, properties={"format-version": number}))
    assert metadata["format-version"] == int(number)
    assert "format-version" not in metadata["properties"]


@pytest.mark.parametrize("number", ["3", "0", "two"])
def test_other_formats_are_refused(lake: LakeCatalog, tmp_path: Path, number: str) -> None:
    with pytest.raises(InvalidInputError, match="versions 1 and 2"):
        create(lake, properties={"format-version": number})
    assert folders(tmp_path) == set()


def test_a_table_is_made_where_a_client_wants_it(lake: LakeCatalog, tmp_path: Path) -> None:
    chosen = f"file:{tmp_path}/elsewhere/t"
    made = create(lake, location=f"{chosen}/")
    assert document(made)["location"] == chosen
    assert files(made) == {str(made.metadata_location).rpartition("/")[2]}
    with pytest.raises(InvalidInputError, match="cannot be used"):
        create(lake, ["a", "inside"], location=f"{tmp_path}/elsewhere/t/inside")
    for wrong in ("relative/path", f"{tmp_path}/a/../b", "file:///a%2Fb", "s3://bucket/a?b"):
        with pytest.raises(InvalidInputError):
            create(lake, ["a", "wrong"], location=wrong)
    assert lake.list_iceberg_tables(["a"]) == ["t"]


def test_a_name_is_one_thing(lake: LakeCatalog, companion: list[str], tmp_path: Path) -> None:
    create(lake)
    create_view(lake)
    lake.create_namespace({"id": ["a", "space"]})  # type: ignore[arg-type]
    before = folders(tmp_path)
    for taken in (TABLE, ["a", "v"], companion, ["a", "space"]):
        with pytest.raises(TableAlreadyExistsError):
            create(lake, taken)
        with pytest.raises(TableAlreadyExistsError):
            create(lake, taken, staged=True)
        with pytest.raises(TableAlreadyExistsError):
            lake.create_iceberg_table(taken, _lance())
        with pytest.raises(TableAlreadyExistsError):
            create_view(lake, taken)
        with pytest.raises((TableAlreadyExistsError, InvalidInputError)):
            lake_helpers.create(lake, *taken)
    assert folders(tmp_path) == before  # nothing is left of what was refused


def test_what_is_missing_is_not_found(lake: LakeCatalog, tmp_path: Path) -> None:
    with pytest.raises(NamespaceNotFoundError):
        lake.load_iceberg_table(TABLE)
    with pytest.raises(NamespaceNotFoundError):
        lake.create_iceberg_table(TABLE, _new())
    create_view(lake)
    with pytest.raises(TableNotFoundError):
        lake.load_iceberg_table(TABLE)
    with pytest.raises(TableNotFoundError):
        lake.load_iceberg_table(["a", "v"])
    assert not lake.iceberg_table_exists(TABLE)
    with pytest.raises(TableNotFoundError):
        commit(lake, set_properties(a="b"))
    with pytest.raises(TableNotFoundError):
        lake.rename_iceberg_table(TABLE, ["a", "u"])
    with pytest.raises(TableNotFoundError):
        lake.drop_iceberg_table(TABLE)


def test_lists_have_both_worlds_in_order_and_in_pages(lake: LakeCatalog, companion: list[str]) -> None:
    create_view(lake)
    for name in ("z", "b"):
        create(lake, ["a", name])
    assert lake.list_iceberg_tables(["a"]) == ["b", "lance", "z"]
    assert lake.list_iceberg_tables(["a"], limit=2) == ["b", "lance"]
    assert lake.list_iceberg_tables(["a"], after="lance", limit=2) == ["z"]
    assert lake.list_iceberg_views(["a"]) == ["v"]
    with pytest.raises(NamespaceNotFoundError):
        lake.list_iceberg_tables(["nowhere"])


def test_a_staged_table_is_nothing_until_it_is_committed(lake: LakeCatalog, tmp_path: Path) -> None:
    staged = create(lake, staged=True)
    assert staged.metadata_location is None
    assert folders(tmp_path) == set()
    assert not lake.iceberg_table_exists(TABLE)
    creation = [{"type": "assert-create"}]
    made = commit(lake, *staged_updates(staged, {"k": "v"}), requirements=creation)
    assert document(made)["table-uuid"] == document(staged)["table-uuid"]
    assert document(made)["location"] == document(staged)["location"]
    assert document(made)["properties"] == {"k": "v"}
    assert lake.load_iceberg_table(TABLE) == made
    with pytest.raises(TableAlreadyExistsError):
        commit(lake, *staged_updates(staged), requirements=creation)


@pytest.mark.parametrize("number", ["1", "2"])
def test_a_table_that_is_made_by_a_commit_is_what_was_staged(lake: LakeCatalog, number: str) -> None:
    staged = create(lake, staged=True, properties={"format-version": number})
    made = document(commit(lake, *staged_updates(staged), requirements=[{"type": "assert-create"}]))
    same = set(made) - {"last-updated-ms"}
    assert {key: made[key] for key in same} == {key: document(staged)[key] for key in same}


@pytest.mark.parametrize(
    "other",
    [
        {"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 7},
    ],
)
def test_a_table_is_not_made_against_what_its_commit_requires(lake: LakeCatalog, tmp_path: Path, other: Any) -> None:
    staged = create(lake, staged=True)
    with pytest.raises(ConcurrentModificationError, match="Requirement failed: the table does not exist"):
        commit(lake, *staged_updates(staged), requirements=[{"type": "assert-create"}, other])
    assert not lake.iceberg_table_exists(TABLE)
    assert folders(tmp_path) == set()


# -- commits ---------------------------------------------------------------------------------------


def test_a_commit_points_to_a_new_file_and_keeps_a_log(lake: LakeCatalog) -> None:
    first = create(lake)
    second = commit(lake, set_properties(k="v"), requirements=[uuid_is(first)])
    assert str(second.metadata_location).rpartition("/")[2].startswith("00001-")
    log = document(second)["metadata-log"]
    assert [entry["metadata-file"] for entry in log] == [first.metadata_location]
    assert lake.load_iceberg_table(TABLE) == second
    assert len(files(first)) == 2
    TableMetadataUtil.parse_raw(second.metadata.decode())


def test_a_commit_of_nothing_writes_nothing(lake: LakeCatalog) -> None:
    made = create(lake)
    assert commit(lake, requirements=[uuid_is(made)]) == made
    assert commit(lake, {"action": "remove-properties", "removals": ["never-set"]}) == made
    assert len(files(made)) == 1


def test_a_requirement_that_does_not_hold_changes_nothing(lake: LakeCatalog) -> None:
    made = create(lake)
    other = {"type": "assert-table-uuid", "uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1"}
    with pytest.raises(ConcurrentModificationError, match="Requirement failed: UUID does not match"):
        commit(lake, set_properties(k="v"), requirements=[other])
    assert lake.load_iceberg_table(TABLE) == made
    assert len(files(made)) == 1


@pytest.mark.parametrize(
    ("requirements", "rows"), [([5], []), ([], [5]), ([{"type": "assert-create"}], ["x"]), ([{"type": None}], [])]
)
def test_a_commit_that_is_no_json_of_the_protocol_changes_nothing(
    lake: LakeCatalog, requirements: list[Any], rows: list[Any]
) -> None:
    made, view = create(lake), create_view(lake)
    for table in (TABLE, ["a", "new"]):
        with pytest.raises((InvalidInputError, TableNotFoundError, TableAlreadyExistsError)):
            lake.commit_iceberg_tables([IcebergCommit(table, requirements, rows)])
    with pytest.raises(InvalidInputError):
        lake.replace_iceberg_view(IcebergCommit(["a", "v"], requirements, rows))
    assert (lake.load_iceberg_table(TABLE), lake.load_iceberg_view(["a", "v"])) == (made, view)
    assert lake.list_iceberg_tables(["a"]) == ["t"]


def test_several_tables_are_changed_together_or_not_at_all(lake: LakeCatalog) -> None:
    one, other = create(lake, ["a", "one"]), create(lake, ["a", "other"])
    stale = {"type": "assert-current-schema-id", "current-schema-id": 7}
    with pytest.raises(ConcurrentModificationError, match="current schema changed"):
        lake.commit_iceberg_tables(
            [
                IcebergCommit(["a", "one"], [uuid_is(one)], [set_properties(k="v")]),
                IcebergCommit(["a", "other"], [stale], [set_properties(k="v")]),
            ]
        )
    assert lake.load_iceberg_table(["a", "one"]) == one
    assert len(files(one)) == len(files(other)) == 1
    staged = create(lake, ["a", "new"], staged=True)
    loaded = lake.commit_iceberg_tables(
        [
            IcebergCommit(["a", "new"], [{"type": "assert-create"}], staged_updates(staged)),
            IcebergCommit(["a", "one"], [uuid_is(one)], [set_properties(k="v")]),
            IcebergCommit(["a", "other"], [uuid_is(other)], []),
        ]
    )
    assert loaded == [lake.load_iceberg_table(["a", name]) for name in ("new", "one", "other")]
    assert loaded[2] == other
    with pytest.raises(InvalidInputError, match="twice"):
        lake.commit_iceberg_tables([IcebergCommit(["a", "one"], [], [set_properties(k=str(n))]) for n in range(2)])


def test_a_log_is_cut_and_its_files_go_where_that_is_asked_for(lake: LakeCatalog) -> None:
    limits = {"write.metadata.previous-versions-max": "2", "write.metadata.delete-after-commit.enabled": "true"}
    made = create(lake, properties=limits)
    for number in range(5):
        last = commit(lake, set_properties(number=str(number)))
    log = {entry["metadata-file"].rpartition("/")[2] for entry in document(last)["metadata-log"]}
    assert len(log) == 2
    assert files(made) == {*log, str(last.metadata_location).rpartition("/")[2]}


def test_a_table_moves(lake: LakeCatalog, tmp_path: Path) -> None:
    made = create(lake)
    moved = commit(lake, {"action": "set-location", "location": f"file://{tmp_path}/moved"})
    assert document(moved)["location"] == moved.location == f"file://{tmp_path}/moved"
    assert str(moved.metadata_location).startswith(f"file://{tmp_path}/moved/metadata/00001-")
    assert lake.load_iceberg_table(TABLE) == moved
    create(lake, ["a", "other"], location=f"{tmp_path}/taken")
    with pytest.raises(InvalidInputError, match="another table"):
        commit(lake, {"action": "set-location", "location": f"{tmp_path}/taken/inside"})
    assert lake.load_iceberg_table(TABLE) == moved
    assert not (tmp_path / "taken" / "inside").exists()
    assert len(files(made)) == 1


def test_ten_thousand_properties(lake: LakeCatalog) -> None:
    create(lake)
    many = {f"key-{number}": "v" * 20 for number in range(10_000)}
    assert document(commit(lake, set_properties(**many)))["properties"] == many
    removal = {"action": "remove-properties", "removals": sorted(many)[1:]}
    assert len(document(commit(lake, removal))["properties"]) == 1


def test_a_file_that_has_vanished_is_said(lake: LakeCatalog) -> None:
    made = create(lake)
    folder = local_path(made.location)
    assert folder is not None
    shutil.rmtree(folder)
    last = create(lake, ["a", "fresh"])
    shutil.rmtree(str(local_path(last.location)))
    with pytest.raises(InvalidTableStateError, match="does not exist"):
        lake.load_iceberg_table(["a", "fresh"])
    lake.drop_iceberg_table(["a", "fresh"], purge=True)


# -- registering, renaming, dropping -----------------------------------------------------------------


def test_a_dropped_table_is_registered_again(lake: LakeCatalog) -> None:
    create(lake)
    last = commit(lake, set_properties(k="v"))
    lake.drop_iceberg_table(TABLE)
    assert not lake.iceberg_table_exists(TABLE)
    assert len(files(last)) == 2
    assert lake.register_iceberg_table(["a", "again"], str(last.metadata_location)) == last
    assert lake.load_iceberg_table(["a", "again"]) == last
    with pytest.raises(InvalidInputError, match="another table"):
        lake.register_iceberg_table(["a", "twice"], str(last.metadata_location))
    with pytest.raises(TableAlreadyExistsError):
        lake.register_iceberg_table(["a", "again"], str(last.metadata_location))


def test_a_registration_overwrites_the_pointer(lake: LakeCatalog, companion: list[str]) -> None:
    first = create(lake)
    commit(lake, set_properties(k="v"))
    rolled_back = lake.register_iceberg_table(TABLE, str(first.metadata_location), overwrite=True)
    assert rolled_back == first == lake.load_iceberg_table(TABLE)
    with pytest.raises(TableAlreadyExistsError, match="Lance"):
        lake.register_iceberg_table(companion, str(first.metadata_location), overwrite=True)
    lake.drop_iceberg_table(TABLE)
    lake.register_iceberg_table(["a", "new"], str(first.metadata_location), overwrite=True)


def test_what_is_no_metadata_of_a_table_there_is_not_registered(lake: LakeCatalog, tmp_path: Path) -> None:
    metadata = document(create(lake))
    folder = tmp_path / "foreign" / "metadata"
    folder.mkdir(parents=True)

    def written(name: str, content: bytes) -> str:
        (folder / name).write_bytes(content)
        return f"file://{folder}/{name}"

    own = {**metadata, "location": f"file://{tmp_path}/foreign"}
    packed = written("00004-x.gz.metadata.json", gzip.compress(json.dumps(own).encode()))
    for wrong, reason in (
        (written("1.metadata.json", b"{"), "cannot be read"),
        (written("2.metadata.json", json.dumps(metadata).encode()), "is not there itself"),
        (written("3.metadata.json", json.dumps({**own, "format-version": 3}).encode()), "versions 1 and 2"),
        (written("4.metadata.json", json.dumps({**own, "properties": {"s3.endpoint": "x"}}).encode()), "s3.endpoint"),
        (written("5.metadata.json", json.dumps({**own, "properties": {"table_type": "LANCE"}}).encode()), "lance"),
        (written("6.metadata.json", json.dumps({**own, "current-schema-id": 5}).encode()), "current-schema-id"),
        (f"file://{folder}/missing.metadata.json", "does not exist"),
        (written("7.txt", b""), "not a metadata file"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            lake.register_iceberg_table(["a", "foreign"], wrong)
    assert lake.list_iceberg_tables(["a"]) == ["t"]
    assert document(lake.register_iceberg_table(["a", "foreign"], packed)) == own
    assert "00000-" in str(commit(lake, set_properties(k="v"), table=["a", "foreign"]).metadata_location)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda text: text.encode("utf-16"), "cannot be read"),
        (lambda text: text.encode("utf-8-sig"), "cannot be read"),
        (lambda text: text.replace('"HERE"', "NaN").encode(), "cannot be read"),
        (lambda text: text.replace('"HERE"', "1e400").encode(), "cannot be read"),
        (lambda text: text.replace("HERE", "\\ud800").encode(), "cannot be read"),
        (lambda text: text.replace("HERE", "\ud800").encode(errors="surrogatepass"), "cannot be read"),
        (lambda text: text.replace('"HERE"', str(2**64)).encode(), "64 bits"),
    ],
)
@pytest.mark.parametrize("noun", ["table", "view"])
def test_a_file_that_other_clients_cannot_read_is_not_registered(
    lake: LakeCatalog, tmp_path: Path, wrong: Callable[[str], bytes], reason: str, noun: str
) -> None:
    metadata = document(create(lake) if noun == "table" else create_view(lake))
    file = tmp_path / "foreign" / "metadata" / "00000-9c12d441-03fe-4693-9a96-a0705ddf69c1.metadata.json"
    file.parent.mkdir(parents=True)
    text = json.dumps({**metadata, "location": f"file://{tmp_path}/foreign", "unknown": "HERE"})
    file.write_bytes(wrong(text))
    register = lake.register_iceberg_table if noun == "table" else lake.register_iceberg_view
    with pytest.raises(InvalidInputError, match=reason):
        register(["a", "foreign"], f"file://{file}")
    file.write_text(text)
    register(["a", "foreign"], f"file://{file}")


def test_a_registration_that_fails_leaves_nothing(lake: LakeCatalog) -> None:
    first = create(lake)
    commit(lake, set_properties(k="v"))
    is_cut: list[bool] = []

    def overtake(_: Connection, __: Any, statement: str, *___: Any) -> None:
        if not is_cut and statement.startswith(("BEGIN",)):
            is_cut.append(True)
            with pickle.loads(pickle.dumps(lake)) as other:
                commit(other, set_properties(other="x"))

    event.listen(Engine, "before_cursor_execute", overtake)
    try:
        with pytest.raises(ConcurrentModificationError):
            lake.register_iceberg_table(TABLE, str(first.metadata_location), overwrite=True)
    finally:
        event.remove(Engine, "before_cursor_execute", overtake)
    folder = local_path(first.location)
    assert folder is not None
    assert not list(folder.rglob("replaced-*"))
    lake.register_iceberg_table(TABLE, str(first.metadata_location), overwrite=True)
    assert len(list(folder.rglob("replaced-*"))) == 1
    assert lake.clean_iceberg(older_than=0) == []


def test_a_table_is_dropped_only_as_it_is_expected(lake: LakeCatalog) -> None:
    first = create(lake)
    last = commit(lake, set_properties(k="v"))
    for purge in (False, True):
        with pytest.raises(ConcurrentModificationError, match="changed by others"):
            lake.drop_iceberg_table(TABLE, purge=purge, expected=first.metadata_location)
    assert lake.load_iceberg_table(TABLE) == last
    lake.drop_iceberg_table(TABLE, expected=last.metadata_location)
    assert not lake.iceberg_table_exists(TABLE)


def test_a_table_is_renamed_into_another_namespace(lake: LakeCatalog, companion: list[str]) -> None:
    made = create(lake)
    lake.create_namespace({"id": ["b"]})  # type: ignore[arg-type]
    lake.rename_iceberg_table(TABLE, ["b", "moved"])
    assert lake.load_iceberg_table(["b", "moved"]) == made
    lake.rename_iceberg_table(companion, ["b", "lance"])
    assert lake_helpers.ids(lake, ["b", "lance"]) == [1]
    with pytest.raises(TableAlreadyExistsError):
        lake.rename_iceberg_table(["b", "moved"], ["b", "lance"])
    with pytest.raises(NamespaceNotFoundError):
        lake.rename_iceberg_table(["b", "moved"], ["nowhere", "t"])


def test_a_purge_deletes_the_files_of_the_table_alone(lake: LakeCatalog, tmp_path: Path) -> None:
    generated, chosen = create(lake), create(lake, ["a", "chosen"], location=f"{tmp_path}/chosen")
    for made in (generated, chosen):
        folder = local_path(made.location)
        assert folder is not None
        (folder / "data" / "x=1").mkdir(parents=True)
        (folder / "data" / "x=1" / "part-0.parquet").write_bytes(b"rows")
        (folder / "notes.txt").write_bytes(b"mine")
    lake.drop_iceberg_table(TABLE, purge=True)
    lake.drop_iceberg_table(["a", "chosen"], purge=True)
    assert folders(tmp_path) == set()
    assert [path.name for path in (tmp_path / "chosen").iterdir()] == ["notes.txt"]
    assert lake.finish_removals() == []


def test_files_that_may_be_others_are_not_purged(lake: LakeCatalog) -> None:
    made = create(lake, properties={"gc.enabled": "false"})
    with pytest.raises(InvalidInputError, match=r"gc\.enabled"):
        lake.drop_iceberg_table(TABLE, purge=True)
    assert lake.load_iceberg_table(TABLE) == made
    lake.drop_iceberg_table(TABLE)
    assert len(files(made)) == 1


def test_a_namespace_goes_with_its_iceberg_tables(lake: LakeCatalog, tmp_path: Path) -> None:
    create(lake)
    create_view(lake)
    create(lake, ["a", "chosen"], location=f"{tmp_path}/chosen")
    (tmp_path / "chosen" / "notes.txt").write_text("mine")
    with pytest.raises(InvalidInputError, match="Move them away"):
        lake.drop_namespace({"id": ["a"], "behavior": "cascade"})  # type: ignore[arg-type]
    (tmp_path / "chosen" / "notes.txt").unlink()
    lake.drop_namespace({"id": ["a"], "behavior": "cascade"})  # type: ignore[arg-type]
    assert folders(tmp_path) == set()
    assert not (tmp_path / "chosen").exists()


# -- companions --------------------------------------------------------------------------------------


def _lance(**options: Any) -> NewIcebergTable:
    return NewIcebergTable(SCHEMA, properties={"table_type": "lance", "k": "v"}, **options)


def _new() -> NewIcebergTable:
    return NewIcebergTable(SCHEMA)


def test_a_lance_table_has_a_companion(lake: LakeCatalog, companion: list[str]) -> None:
    loaded = lake.load_iceberg_table(companion)
    metadata = document(loaded)
    assert loaded.is_companion
    assert loaded.metadata_location is None
    assert metadata["location"] == loaded.location == f"file://{lake_helpers.location(lake, companion)}"
    assert metadata["properties"] == {"table_type": "lance"}
    parsed = TableMetadataUtil.parse_raw(loaded.metadata.decode())
    assert [field.name for field in parsed.schema().fields] == ["dummy"]
    lake.rename_iceberg_table(companion, ["a", "renamed"])
    assert document(lake.load_iceberg_table(["a", "renamed"]))["table-uuid"] == metadata["table-uuid"]
    assert lake.iceberg_table_exists(["a", "renamed"])


def test_a_companion_redirects_no_client(lake: LakeCatalog, companion: list[str]) -> None:
    """Lance gives these properties no meaning; pyiceberg would open the table's files with them."""
    lake.alter_table_properties(companion, {"s3.endpoint": "https://evil", "py-io-impl": "os", "k": "v"})
    assert document(lake.load_iceberg_table(companion))["properties"] == {"k": "v", "table_type": "lance"}
    redirecting = NewIcebergTable(SCHEMA, properties={"table_type": "lance", "uri": "https://evil"})
    with pytest.raises(InvalidInputError, match="'uri'"):
        lake.create_iceberg_table(["a", "made"], redirecting)


def test_a_companion_is_made_as_a_lance_table(lake: LakeCatalog, companion: list[str]) -> None:
    made = lake.create_iceberg_table(["a", "made"], _lance())
    assert made.is_companion
    described = lake.describe_table({"id": ["a", "made"]})  # type: ignore[arg-type]
    assert (described.properties, bool(described.managed_versioning)) == ({"k": "v"}, False)
    assert document(made)["properties"] == {"k": "v", "table_type": "lance"}
    assert document(made)["table-uuid"] != document(lake.load_iceberg_table(companion))["table-uuid"]
    with pytest.raises(UnsupportedOperationError, match="staged"):
        lake.create_iceberg_table(["a", "staged"], _lance(staged=True))


def test_a_companion_is_not_changed_by_commits(lake: LakeCatalog, companion: list[str]) -> None:
    before = lake.load_iceberg_table(companion)
    with pytest.raises(UnsupportedOperationError, match="Lance table"):
        commit(lake, set_properties(k="v"), table=companion)
    assert lake.load_iceberg_table(companion) == before
    create(lake)
    with pytest.raises(InvalidInputError, match="table_type=lance"):
        commit(lake, set_properties(table_type="Lance"))


def test_dropping_a_companion_keeps_the_data_unless_it_is_purged(lake: LakeCatalog, companion: list[str]) -> None:
    location = lake_helpers.location(lake, companion)
    lake.drop_iceberg_table(companion)
    lake.register_table({"id": companion, "location": location})  # type: ignore[arg-type]
    assert lake_helpers.ids(lake, companion) == [1]
    lake.drop_iceberg_table(companion, purge=True)
    assert not Path(location).exists()


# -- events ------------------------------------------------------------------------------------------


def test_events_tell_what_happened(lake: LakeCatalog) -> None:
    create(lake)
    last = commit(lake, set_properties(k="v"))
    lake.rename_iceberg_table(TABLE, ["a", "u"])
    lake.drop_iceberg_table(["a", "u"])
    lake.register_iceberg_table(TABLE, str(last.metadata_location))
    lake.drop_iceberg_table(TABLE, purge=True)
    create_view(lake)
    lake.drop_iceberg_view(["a", "v"])
    events = lake._lake.read(
        lambda connection: connection.execute(_EVENTS, {"name": lake._catalog.name}).scalars().all()
    )
    assert events == [
        "table.created",
        "table.altered",
        "table.renamed",
        "table.deregistered",
        "table.registered",
        "table.dropped",
        "view.created",
        "view.dropped",
    ]
