"""The federated tree: its root, what goes to which branch, and what may not cross."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.catalogs import FederatedCatalog, LakeCatalog
from lanceway.catalogs.federated.own_lake import OwnLake
from lanceway.config import CatalogSettings
from lanceway.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    TableNotFoundError,
    UnsupportedOperationError,
)
from lanceway.lake.store.database import open_store
from lanceway.testing.requests import ask
from lanceway.testing.sandbox import rows as sample
from lanceway.testing.sandbox import stream
from tests.catalogs.federated.tree_helpers import (
    LAKE,
    SECRET,
    Listening,
    create,
    folder_of,
    names,
    rows,
    settings,
    store_in,
    tree,
    uri_in,
)
from tests.catalogs.lake.lake_helpers import connect


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Any]:
    """A tree with the catalog `lake` and the folder `archive`."""
    with tree(tmp_path, {"archive": folder_of(tmp_path / "archive")}) as root:
        yield root


# -- the root ------------------------------------------------------------------------------------


def test_the_root_lists_catalogs_of_both_kinds_in_order_and_in_pages(both: Any) -> None:
    for name in ("zoo", "beta"):
        both.create_namespace({"id": [name]})
    assert names(both) == ["archive", "beta", "lake", "zoo"]
    first = both.list_namespaces({"id": [], "limit": 3})
    assert first.namespaces == ["archive", "beta", "lake"]
    last = both.list_namespaces({"id": [], "limit": 3, "page_token": first.page_token})
    assert (last.namespaces, last.page_token) == (["zoo"], None)


def test_the_root_holds_no_tables(both: Any) -> None:
    assert both.list_tables({"id": []}).tables == []
    with pytest.raises(InvalidInputError, match="page token"):
        both.list_tables({"id": [], "page_token": "nonsense"})


@pytest.mark.parametrize(
    ("operation", "keys"),
    [("declare_table", {}), ("register_table", {"location": "somewhere"}), ("create_empty_table", {})],
)
def test_a_table_needs_a_catalog_and_the_error_names_one(both: Any, operation: str, keys: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"\['lake', 't'\]"):
        getattr(both, operation)({"id": ["t"], **keys})
    with pytest.raises(InvalidInputError, match=r"\['lake', 't'\]"):
        both.create_table_stream({"id": ["t"]}, rows(1))


def test_a_catalog_is_no_table(both: Any) -> None:
    for operation in ("describe_table", "drop_table", "count_table_rows"):
        with pytest.raises(TableNotFoundError):
            getattr(both, operation)({"id": ["lake"]})
        with pytest.raises(InvalidInputError):
            getattr(both, operation)({"id": []})


def test_a_missing_catalog_is_a_missing_namespace(both: Any) -> None:
    for question in (both.describe_namespace, both.namespace_exists, both.list_tables, both.list_namespaces):
        with pytest.raises(NamespaceNotFoundError, match="nowhere"):
            question({"id": ["nowhere"]})
    with pytest.raises(NamespaceNotFoundError, match="nowhere"):
        both.describe_table({"id": ["nowhere", "t"]})


def test_a_catalog_is_described_by_type_and_properties_without_secrets(both: Any, tmp_path: Path) -> None:
    properties = both.describe_namespace({"id": ["archive"]}).properties
    assert properties == {"lanceway.type": "dir", "path": str(tmp_path / "archive"), "layout": "manifest"}
    both.create_namespace({"id": ["x"], "properties": {"team": "sales"}})
    names = {"lanceway.nested": "true", "lanceway.separator": ":"}
    expected = {"lanceway.type": "lake", "lanceway.versioning": "managed", **names, "team": "sales"}
    assert both.describe_namespace({"id": ["x"]}).properties == expected


def test_a_password_in_an_address_is_not_shown(tmp_path: Path) -> None:
    mounted = {"away": CatalogSettings("dir", {"path": f"s3://me:{SECRET}@host/bucket"})}
    with tree(tmp_path, mounted) as root:
        assert root.describe_namespace({"id": ["away"]}).properties == {"lanceway.type": "dir"}  # type: ignore[arg-type]
        assert SECRET not in repr(root) + root.namespace_id()


# -- catalogs of the lake ------------------------------------------------------------------------


def test_a_namespace_of_the_root_is_a_nested_catalog_below_the_warehouse(both: Any, tmp_path: Path) -> None:
    both.create_namespace({"id": ["x"]})
    both.create_namespace({"id": ["x", "a"]})
    both.create_namespace({"id": ["x", "a", "b"]})
    table = create(both, "x", "a", "b", "t", ids=(1, 2))
    assert both.count_table_rows({"id": table}).count == 2
    assert both.describe_table({"id": table}).location.startswith(f"{tmp_path}/warehouse/")
    assert "x" in names(pickle.loads(pickle.dumps(both)))


def test_the_modes_of_creation(both: Any) -> None:
    both.create_namespace({"id": ["x"], "properties": {"a": "1"}})
    with pytest.raises(NamespaceAlreadyExistsError):
        both.create_namespace({"id": ["x"]})
    existing = both.create_namespace({"id": ["x"], "mode": "EXIST_OK", "properties": {"a": "2"}})
    assert existing.properties["a"] == "1"
    replaced = both.create_namespace({"id": ["x"], "mode": "overwrite", "properties": {"a": "3"}})
    assert replaced.properties["a"] == "3"
    create(both, "x", "t")
    with pytest.raises(NamespaceNotEmptyError):
        both.create_namespace({"id": ["x"], "mode": "overwrite"})
    assert both.list_tables({"id": ["x"]}).tables == ["t"]
    with pytest.raises(InvalidInputError, match="mode"):
        both.create_namespace({"id": ["y"], "mode": "perhaps"})


def test_a_catalog_says_where_its_tables_keep_their_versions(both: Any) -> None:
    both.create_namespace({"id": ["plain"], "properties": {"lanceway.versioning": "storage"}})
    assert not both.describe_table({"id": create(both, "plain", "t")}).managed_versioning
    assert both.describe_table({"id": create(both, "lake", "t")}).managed_versioning
    with pytest.raises(InvalidInputError, match=r"lanceway\.type"):
        both.create_namespace({"id": ["y"], "properties": {"lanceway.type": "glue"}})


def test_a_name_that_lists_could_not_tell_apart_is_refused(both: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"'a_b' or 'a-b'"):
        both.create_namespace({"id": ["a$b"]})
    with pytest.raises(InvalidInputError, match=r"\[catalogs\.a\$b\]"):
        FederatedCatalog({"a$b": folder_of(tmp_path)})


def test_a_catalog_is_dropped_when_it_is_empty_or_with_all_that_is_in_it(both: Any) -> None:
    both.create_namespace({"id": ["x"]})
    table = create(both, "x", "t")
    location = Path(both.describe_table({"id": table}).location)
    with pytest.raises(NamespaceNotEmptyError):
        both.drop_namespace({"id": ["x"]})
    assert both.drop_namespace({"id": ["x"], "behavior": "cascade"}).properties["lanceway.type"] == "lake"
    assert not location.exists()
    with pytest.raises(NamespaceNotFoundError):
        both.drop_namespace({"id": ["x"]})
    both.drop_namespace({"id": ["x"], "mode": "skip"})
    both.create_namespace({"id": ["x"]})
    assert both.list_tables({"id": ["x"]}).tables == []
    both.drop_namespace({"id": ["x"]})
    assert names(both) == ["archive", "lake"]


def test_a_catalog_comes_and_goes_in_either_database(uri: str, tmp_path: Path) -> None:
    with connect(uri, tmp_path) as beside, OwnLake(open_store(uri), warehouse=str(tmp_path / "w")) as lake:
        beside.create_namespace({"id": ["stays"]})
        root: Any = FederatedCatalog({}, lake)
        name = f"x{uuid.uuid4().hex}"
        root.create_namespace({"id": [name]})
        root.create_namespace({"id": [name], "mode": "overwrite"})
        root.create_namespace({"id": [name, "a"]})
        for table in ([name, "t"], [name, "a", "t"]):
            create(root, *table)
        with pytest.raises(NamespaceNotEmptyError):
            root.drop_namespace({"id": [name]})
        root.drop_namespace({"id": [name], "behavior": "cascade"})
        assert name not in names(root)
        assert [path for path in (tmp_path / "w").rglob("*") if path.is_file()] == []
        assert names(beside) == ["stays"]


def test_the_root_itself_stays(both: Any) -> None:
    with pytest.raises(InvalidInputError):
        both.drop_namespace({"id": []})
    with pytest.raises(NamespaceAlreadyExistsError):
        both.create_namespace({"id": []})


def test_a_catalog_that_another_process_dropped_and_made_anew_is_found(tmp_path: Path) -> None:
    with tree(tmp_path) as first, tree(tmp_path) as other:
        catalog: Any = first
        changed: Any = other
        changed.create_namespace({"id": ["x"]})
        catalog.create_namespace({"id": ["x", "old"]})
        changed.drop_namespace({"id": ["x"], "behavior": "cascade"})
        with pytest.raises(NamespaceNotFoundError, match="no catalog 'x'"):
            catalog.list_namespaces({"id": ["x"]})
        changed.create_namespace({"id": ["x"]})
        changed.create_namespace({"id": ["x", "new"]})
        assert names(catalog, "x") == ["new"]
        changed.drop_namespace({"id": ["x"], "behavior": "cascade"})
        changed.create_namespace({"id": ["x"]})
        assert names(catalog, "x") == []  # at the first asking


# -- catalogs of the configuration ---------------------------------------------------------------


def test_what_is_configured_is_read_only_here(both: Any) -> None:
    with pytest.raises(InvalidInputError, match="read-only here"):
        both.drop_namespace({"id": ["archive"], "behavior": "cascade"})
    with pytest.raises(InvalidInputError, match="read-only here"):
        both.create_namespace({"id": ["archive"], "mode": "overwrite"})
    with pytest.raises(NamespaceAlreadyExistsError, match="the configuration has one of this name"):
        both.create_namespace({"id": ["archive"]})
    assert both.create_namespace({"id": ["archive"], "mode": "exist_ok"}).properties["lanceway.type"] == "dir"


def test_one_that_would_hide_a_catalog_of_the_database_is_refused_at_the_start(tmp_path: Path) -> None:
    with store_in(tmp_path).transaction():
        pass
    clash = settings(database=uri_in(tmp_path), catalogs={LAKE: folder_of(tmp_path / "x")})
    with pytest.raises(InvalidInputError, match=r"\[catalogs\.lake\].*catalog 'lake' in the lake's database"):
        FederatedCatalog.from_settings(clash)


def test_a_wrong_setting_is_refused_at_the_start_with_its_section() -> None:
    with pytest.raises(InvalidInputError, match=r"\[catalogs\.x\].*Did you mean 'path'"):
        FederatedCatalog({"x": CatalogSettings("dir", {"pth": "w"})})
    with pytest.raises(InvalidInputError, match=r"\[catalogs\.x\].*no catalog of type 'ftp'"):
        FederatedCatalog({"x": CatalogSettings("ftp")})


def test_a_class_is_mounted_by_its_import_path(tmp_path: Path) -> None:
    section = CatalogSettings("lance.namespace.DirectoryNamespace", {"root": str(tmp_path / "w")})
    with FederatedCatalog({"theirs": section}) as root:
        foreign: Any = root
        table = create(foreign, "theirs", "t", ids=(1, 2, 3))
        reader = foreign.query_table_stream({"id": table, "k": 10, "vector": {}})
        assert reader.read_all()["id"].to_pylist() == [1, 2, 3]
        assert foreign.describe_namespace({"id": ["theirs"]}).properties == {
            "lanceway.type": "lance.namespace.DirectoryNamespace"
        }


def test_a_namespace_inside_may_be_the_root_of_a_branch(both: Any, tmp_path: Path) -> None:
    both.create_namespace({"id": ["archive", "team"]})
    create(both, "archive", "team", "t")
    with FederatedCatalog({"sales": folder_of(tmp_path / "archive", at="team")}) as root:
        assert root.list_all_tables({"id": []}).tables == ["sales$t"]  # type: ignore[arg-type]


def test_without_a_lake_only_what_is_configured_is_there(tmp_path: Path) -> None:
    with FederatedCatalog.from_settings(settings(catalogs={"a": folder_of(tmp_path)})) as root:
        alone: Any = root
        assert names(alone) == ["a"]
        with pytest.raises(UnsupportedOperationError):
            alone.create_namespace({"id": ["x"]})
        with pytest.raises(NamespaceNotFoundError, match="mounted: a"):
            alone.describe_namespace({"id": ["x"]})


# -- branches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("catalog", ["lake", "archive"])
def test_answers_have_the_name_of_their_catalog(both: Any, catalog: str) -> None:
    both.create_namespace({"id": [catalog, "team"]})
    table = create(both, catalog, "team", "t")
    assert both.describe_table({"id": table, "load_detailed_metadata": True}).namespace == [catalog, "team"]
    assert both.list_all_tables({"id": [catalog]}).tables == [f"{catalog}$team$t"]
    assert both.list_tables({"id": [catalog, "team"]}).tables == ["t"]
    both.rename_table({"id": table, "new_table_name": "u", "new_namespace_id": [catalog]})
    assert both.deregister_table({"id": [catalog, "u"]}).id == [catalog, "u"]


def test_a_plan_is_of_the_table_in_its_catalog(both: Any) -> None:
    table = create(both, "lake", "t")
    query = {"id": table, "k": 1, "vector": {}}
    assert both.explain_table_query_plan({"id": table, "query": query})
    assert both.explain_table_query_plan({"id": table, "query": {"k": 1, "vector": {}}})


def test_a_rename_stays_within_its_catalog(both: Any) -> None:
    table = create(both, "lake", "t")
    for parent in (["archive"], []):
        with pytest.raises(InvalidInputError, match="within one catalog"):
            both.rename_table({"id": table, "new_table_name": "u", "new_namespace_id": parent})
    both.rename_table({"id": table, "new_table_name": "u"})
    assert both.list_all_tables({"id": []}).tables == ["lake$u"]


def test_a_batch_stays_within_one_catalog(both: Any) -> None:
    both.create_namespace({"id": ["x"]})
    declare = [{"declare_table": {"id": ["lake", "a"]}}, {"declare_table": {"id": ["x", "b"]}}]
    with pytest.raises(InvalidInputError, match="'lake' and 'x'"):
        both.batch_commit_tables({"operations": declare})
    with pytest.raises(InvalidInputError, match=r"\['lake', 'a'\]"):
        both.batch_commit_tables({"operations": [{"declare_table": {"id": ["a"]}}]})
    with pytest.raises(InvalidInputError, match="names no table"):
        both.batch_commit_tables({"operations": []})
    assert both.list_all_tables({"id": []}).tables == []
    both.batch_commit_tables({"operations": declare[:1]})
    done = both.batch_commit_tables({"operations": [{"deregister_table": {"id": ["lake", "a"]}}]})
    assert done.results[0].deregister_table.id == ["lake", "a"]


def test_what_a_branch_does_not_support_it_says_itself(both: Any) -> None:
    declare = [{"declare_table": {"id": ["archive", "a"]}}]
    with pytest.raises(UnsupportedOperationError, match="batch_commit_tables"):
        both.batch_commit_tables({"operations": declare})
    entry = {"id": ["archive", "a"], "version": 1, "manifest_path": "m"}
    with pytest.raises(UnsupportedOperationError, match="batch_create_table_versions"):
        both.batch_create_table_versions({"entries": [entry]})


@pytest.mark.parametrize("catalog", ["archive", "lake"])
def test_background_jobs_are_recorded_in_the_trees_own_lake(both: Any, catalog: str) -> None:
    table = [catalog, "people"]
    both.create_table({"id": table}, stream(sample(1, 2, 3)))
    new = [{"name": "twice", "computed": "id * 2"}]
    both.alter_table_add_columns({"id": table, "new_columns": new})
    view = both.acting_as("alice")
    job = view.alter_table_backfill_columns({"id": table, "column": "twice"}).job_id
    described = both.describe_job(job)
    assert (described.table, described.requested_by, described.state) == (table, "alice", "queued")
    assert [each.id for each in both.list_jobs(table=table)[0]] == [job]
    assert both.list_jobs(table=[catalog, "other"]) == ([], None)
    assert both.cancel_job(job).state == "cancelled"


def test_a_tree_without_a_lake_keeps_no_jobs(tmp_path: Path) -> None:
    alone: Any = FederatedCatalog({"archive": folder_of(tmp_path)})
    with pytest.raises(UnsupportedOperationError, match="no jobs"):
        alone.list_jobs()
    with pytest.raises(UnsupportedOperationError, match="lanceway up"):
        ask(alone, "refresh_materialized_view", ["archive", "a"])


def test_all_tables_are_listed_catalog_by_catalog_in_pages(both: Any) -> None:
    both.create_namespace({"id": ["zoo"]})
    both.create_namespace({"id": ["empty"]})
    both.create_namespace({"id": ["lake", "team"]})
    tables = [("archive", "a"), ("archive", "b"), ("lake", "c"), ("lake", "team", "d"), ("zoo", "e")]
    for table in tables:
        both.declare_table({"id": list(table)})
    expected = ["$".join(table) for table in tables]
    assert both.list_all_tables({"id": []}).tables == expected
    for limit in (1, 2, 3, 4, 5, 6):
        listed, token = [], None
        for _ in range(20):
            page = both.list_all_tables({"id": [], "limit": limit, "page_token": token})
            assert len(page.tables) <= limit
            listed += page.tables
            token = page.page_token
            if token is None:
                break
        assert listed == expected
    with pytest.raises(InvalidInputError, match="page token"):
        both.list_all_tables({"id": [], "page_token": "nonsense"})


def test_a_page_continues_after_its_catalog_is_gone(both: Any) -> None:
    for table in (["archive", "a"], ["lake", "b"]):
        both.declare_table({"id": table})
    both.create_namespace({"id": ["kite"]})
    both.declare_table({"id": ["kite", "c"]})
    both.declare_table({"id": ["kite", "d"]})
    page = both.list_all_tables({"id": [], "limit": 2})
    assert page.tables == ["archive$a", "kite$c"]
    both.drop_namespace({"id": ["kite"], "behavior": "cascade"})
    remainder = both.list_all_tables({"id": [], "limit": 2, "page_token": page.page_token})
    assert remainder.tables == ["lake$b"]


# -- who acts, and what a tree is ----------------------------------------------------------------


def test_the_lake_remembers_who_acts(both: Any, tmp_path: Path) -> None:
    ada = both.acting_as("ada")
    ada.create_namespace({"id": ["x"]})
    ada.create_namespace({"id": ["x", "a"]})
    ada.create_namespace({"id": ["archive", "a"]})  # which keeps no track
    with LakeCatalog(uri=uri_in(tmp_path), catalog="x") as lake:
        from lanceway.identifiers import Identifier
        from lanceway.lake.tree import namespaces

        row = lake._lake.read(lambda found: namespaces.load(found, lake._catalog.id, Identifier(("a",))))
        assert (row.owner, row.audit.created_by) == ("ada", "ada")
        assert lake._catalog.owner == "ada"
    assert ada.namespace_id() != both.namespace_id()


def test_a_view_of_a_lake_outlives_what_it_was_made_from(tmp_path: Path) -> None:
    view: Any = LakeCatalog(uri=uri_in(tmp_path), root=str(tmp_path / "w")).acting_as("ada")
    view.create_namespace({"id": ["a"]})
    assert names(view) == ["a"]
    assert names(pickle.loads(pickle.dumps(view))) == ["a"]


def test_whoever_asks_is_not_told_to_a_foreign_catalog(tmp_path: Path) -> None:
    section = CatalogSettings("tests.catalogs.federated.tree_helpers.Listening", {"root": str(tmp_path)})
    with FederatedCatalog({"theirs": section}) as root:
        root.list_tables({"id": ["theirs"], "identity": {"auth_token": SECRET}})  # type: ignore[arg-type]
    assert [request.identity for request in Listening.heard] == [None]


def test_two_trees_differ_by_what_they_mount(tmp_path: Path) -> None:
    first = FederatedCatalog({"a": folder_of(tmp_path)})
    other = FederatedCatalog({"a": folder_of(tmp_path / "b")})
    assert first.namespace_id() != other.namespace_id()
    assert pickle.loads(pickle.dumps(first)).namespace_id() == first.namespace_id()


def test_pylance_commits_to_a_managed_table_through_the_tree(both: Any) -> None:
    both.create_namespace({"id": ["lake", "team"]})
    table = create(both, "lake", "team", "t", ids=(1,))
    for number in (2, 3):
        lance.write_dataset(pa.table({"id": [number]}), namespace_client=both, table_id=table, mode="append")
    assert lance.dataset(namespace_client=both, table_id=table).count_rows() == 3
    assert sorted(v.version for v in both.list_table_versions({"id": table}).versions) == [1, 2, 3]


def test_the_mounts_are_known_without_asking_any(tmp_path: Path) -> None:
    with tree(tmp_path, {"archive": folder_of(tmp_path, threads=3, deadline=0.5)}) as root:
        configured = root.mounts()["archive"]
        assert (configured.name, configured.type, configured.threads, configured.deadline) == ("archive", "dir", 3, 0.5)
        assert list(root.mounts()) == ["archive"]
        in_lake = root.mount("no such catalog")
        assert (in_lake.type, in_lake.foreign) == ("lake", False)
        with pytest.raises(NamespaceNotFoundError):
            _ = in_lake.catalog
