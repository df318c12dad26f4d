"""Definitions of views and columns: rows of the lake with an owner, whatever clients write into metadata."""

from __future__ import annotations

import json
from typing import Any

import lance
import pyarrow as pa
import pytest

from lanceway.errors import InvalidInputError, InvalidTableStateError, LanceNamespaceError, ServiceUnavailableError
from lanceway.identifiers import Identifier
from lanceway.tables.schema.views import View
from tests.jobs.worker.conftest import Bench, people, spec, view_request

SCHEMA = people(1).schema
DOUBLED = {"name": "x", "computed": "id * 2"}


@pytest.fixture
def source(bench: Bench) -> Bench:
    bench.create("people", people(1, 2, 3))
    bench.create("secret", people(42))
    return bench


def opened(bench: Bench, name: str) -> lance.LanceDataset:
    return lance.dataset(namespace_client=bench.lake, table_id=[name])


def defined(bench: Bench, name: str) -> list[tuple[str, str, str, str | None]]:
    return [(each.kind, each.branch, each.name, each.owner) for each in bench.lake.list_definitions([name])]


def test_a_definition_is_of_the_user_who_made_it(source: Bench) -> None:
    bob = source.lake.acting_as("bob")
    bob.create_materialized_view(view_request(["copy"], SCHEMA, {"source": ["people"]}))
    bob.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    assert defined(source, "copy") == [("view", "", "", "bob")]
    assert defined(source, "people") == [("column", "", "x", "bob")]
    (column,) = source.lake.list_definitions(["people"])
    assert (column.created_by, column.definition) == ("bob", {"expression": "id * 2"})


def test_a_view_is_refreshed_by_its_row_whatever_a_client_commits(source: Bench) -> None:
    source.view("copy", SCHEMA, {"source": ["people"]})
    view = opened(source, "copy")
    other = View("query", source=("secret",)).written().decode()
    view.update_schema_metadata({"lanceway.view": other}, replace=True)  # a commit of the client's own
    assert opened(source, "copy").schema.metadata[b"lanceway.view"].decode() == other
    source.append("people", people(4))
    assert source.refresh("copy").state == "done"
    assert source.rows("copy", "id") == [(1,), (2,), (3,), (4,)]
    view.update_schema_metadata({}, replace=True)
    assert source.refresh("copy").state == "done"


def test_a_table_is_no_view_because_a_client_says_so(source: Bench) -> None:
    view = View("query", source=("secret",)).written().decode()
    opened(source, "people").update_schema_metadata({"lanceway.view": view})
    with pytest.raises(InvalidTableStateError, match="no materialized view"):
        source.lake.refresh_materialized_view({"id": ["people"]})
    job = source.done(source.lake._desk().record("refresh", ["people"], {}).id)  # as if it had been let through
    assert (job.state, "no materialized view" in str(job.error)) == ("failed", True)
    assert source.rows("people", "id") == [(1,), (2,), (3,)]


def test_a_column_is_backfilled_by_its_row_whatever_a_client_commits(source: Bench) -> None:
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    opened(source, "people").update_field_metadata({"x": {"lanceway.computed": "id * 1000"}}, replace=True)
    assert source.backfill("people", "x").state == "done"
    assert source.rows("people", "x") == [(2,), (4,), (6,)]


def test_a_column_is_not_computed_because_a_client_says_so(source: Bench) -> None:
    opened(source, "people").update_field_metadata({"name": {"lanceway.computed": "'x'"}}, replace=True)
    with pytest.raises(InvalidInputError, match="neither computed nor virtual"):
        source.lake.alter_table_backfill_columns({"id": ["people"], "column": "name"})
    job = source.done(source.lake._desk().record("backfill", ["people"], {"column": "name"}).id)
    assert (job.state, "neither computed nor virtual" in str(job.error)) == ("failed", True)


def test_definitions_follow_their_columns_and_go_with_them(source: Bench) -> None:
    virtual = {
        "input_columns": ["id"],
        "outputs": [{"column": "y", "struct_field": "y", "data_type": {"type": "int64"}, "nullable": True}],
        "udf": spec("udtf", "doubled")["udtf"],
        "udf_name": "doubled",
        "udf_version": "1",
        "udf_backend": "lanceway.import.v1",
        "auto_backfill": False,
        "image": "",
    }
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [{"name": "y", "virtual_column": virtual}]})
    renamed = [{"path": "x", "rename": "z"}, {"path": "id", "rename": "key"}]
    source.lake.alter_table_alter_columns({"id": ["people"], "alterations": renamed})
    named = {each.name: each.definition for each in source.lake.list_definitions(["people"])}
    assert (named["z"], named["y"]["inputs"]) == ({"expression": "id * 2"}, ["key"])
    source.lake.rename_table({"id": ["people"], "new_table_name": "folk"})
    source.lake.alter_table_drop_columns({"id": ["folk"], "columns": ["y"]})
    assert defined(source, "folk") == [("column", "", "z", "alice")]
    source.lake.drop_table({"id": ["folk"]})
    source.create("folk", people(1))
    assert defined(source, "folk") == []


@pytest.mark.parametrize("operation", ["create_table", "insert_into_table"])
def test_an_overwritten_view_is_a_table(source: Bench, operation: str) -> None:
    source.view("copy", SCHEMA, {"source": ["people"]})
    getattr(source.lake, f"{operation}_stream")({"id": ["copy"], "mode": "overwrite"}, people(7).to_reader())
    assert defined(source, "copy") == []
    with pytest.raises(InvalidTableStateError, match="no materialized view"):
        source.lake.refresh_materialized_view({"id": ["copy"]})


def test_a_branch_has_the_definitions_of_its_parent_and_its_own(source: Bench) -> None:
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    source.lake.create_table_branch({"id": ["people"], "name": "side"})
    own = {"name": "w", "computed": "id * 3"}
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [own], "branch": "side"})
    for column, factor in (("x", 2), ("w", 3)):
        assert source.backfill("people", column, branch="side").state == "done"
        assert source.rows("people", column, branch="side") == [(factor,), (2 * factor,), (3 * factor,)]
    assert source.rows("people", "x") == [(None,)] * 3
    source.lake.delete_table_branch({"id": ["people"], "name": "side"})
    assert defined(source, "people") == [("column", "", "x", "alice")]


def test_a_definition_is_dropped_and_adopted(source: Bench) -> None:
    source.view("copy", SCHEMA, {"source": ["people"]})
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    source.lake.drop_definition(["copy"])
    source.lake.drop_definition(["people"], "x")
    assert (defined(source, "copy"), defined(source, "people")) == ([], [])
    with pytest.raises(InvalidInputError, match="has no definition"):
        source.lake.drop_definition(["people"], "x")
    bob = source.lake.acting_as("bob")
    assert [each.kind for each in bob.adopt_definitions(["copy"])] == ["view"]
    assert [each.name for each in bob.adopt_definitions(["people"])] == ["x"]
    assert bob.adopt_definitions(["people"]) == []
    assert defined(source, "people") == [("column", "", "x", "bob")]
    assert source.backfill("people", "x").state == "done"


def test_a_table_that_is_registered_brings_no_definition(source: Bench, tmp_path: Any) -> None:
    place = str(tmp_path / "elsewhere")
    view = View("query", source=("secret",)).written()
    lance.write_dataset(people(1).replace_schema_metadata({"lanceway.view": view}), place)
    source.lake.register_table({"id": ["planted"], "location": place})
    assert defined(source, "planted") == []
    with pytest.raises(InvalidTableStateError):
        source.lake.refresh_materialized_view({"id": ["planted"]})


def test_a_column_whose_definition_cannot_be_kept_goes_again(source: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from lanceway.catalogs.lake.refs.definitions import LakeDefinitions

    def fail(*_: object) -> None:
        raise ServiceUnavailableError("The database is away.")

    monkeypatch.setattr(LakeDefinitions, "record", fail)
    with pytest.raises(ServiceUnavailableError):
        source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    assert opened(source, "people").schema.names == ["id", "name"]
    with pytest.raises(ServiceUnavailableError):
        source.lake.create_materialized_view(view_request(["copy"], SCHEMA, {"source": ["people"]}))
    assert source.lake.list_tables({"id": []}).tables == ["people", "secret"]


# -- reserved keys ---------------------------------------------------------------------------------

VIEW = {"lanceway.view": json.dumps({"kind": "query", "source": ["secret"]})}
PLANTED = people(9).replace_schema_metadata(VIEW)
IN_FIELD = pa.table(
    [pa.array([{"a": 1}])],
    schema=pa.schema([pa.field("s", pa.struct([pa.field("a", pa.int64(), metadata={"lanceway.computed": "1"})]))]),
)
REFUSED: dict[str, Any] = {
    "properties": lambda lake: lake.create_table_stream({"id": ["new"], "properties": VIEW}, people(9).to_reader()),
    "declare": lambda lake: lake.declare_table({"id": ["new"], "properties": VIEW}),
    "namespace": lambda lake: lake.create_namespace({"id": ["new"], "properties": VIEW}),
    "schema": lambda lake: lake.update_table_schema_metadata({"id": ["people"], "metadata": VIEW}),
    "field": lambda lake: lake.update_field_metadata(
        {"id": ["people"], "updates": [{"path": "name", "metadata": {"lanceway.virtual": "{}"}}]}
    ),
    "delete of a key": lambda lake: lake.update_field_metadata(
        {"id": ["people"], "updates": [{"path": "name", "metadata": {"lanceway.computed": None}}]}
    ),
    "batch": lambda lake: lake.batch_commit_tables(
        {"operations": [{"declare_table": {"id": ["new"], "properties": VIEW}}]}
    ),
    "version": lambda lake: lake.create_table_version(
        {"id": ["people"], "version": 2, "manifest_path": "x", "metadata": VIEW}
    ),
    "transaction": lambda lake: lake.alter_transaction(
        {"id": ["people", "1"], "actions": [{"setPropertyAction": {"key": "lanceway.view.version", "value": "1"}}]}
    ),
}


@pytest.mark.parametrize("way", REFUSED)
def test_a_reserved_key_is_refused_whichever_way_it_comes(source: Bench, way: str) -> None:
    before = source.version("people")
    with pytest.raises(InvalidInputError, match=r"'lanceway\.\w+(\.\w+)?' is reserved") as refusal:
        REFUSED[way](source.lake)
    assert refusal.value.code == 13
    assert source.lake.list_tables({"id": []}).tables == ["people", "secret"]
    assert source.version("people") == before


IN_ARROW: dict[str, Any] = {
    "create": lambda lake: lake.create_table_stream({"id": ["new"]}, PLANTED.to_reader()),
    "exist_ok": lambda lake: lake.create_table_stream({"id": ["new"], "mode": "exist_ok"}, PLANTED.to_reader()),
    "overwrite": lambda lake: lake.create_table_stream({"id": ["people"], "mode": "overwrite"}, PLANTED.to_reader()),
    "nested": lambda lake: lake.create_table_stream({"id": ["new"]}, IN_FIELD.to_reader()),
    "insert": lambda lake: lake.insert_into_table_stream({"id": ["people"]}, PLANTED.to_reader()),
    "insert over": lambda lake: lake.insert_into_table_stream(
        {"id": ["people"], "mode": "overwrite"}, PLANTED.to_reader()
    ),
    "merge": lambda lake: lake.merge_insert_into_table_stream(
        {"id": ["people"], "on": ["id"], "when_matched_update_all": True}, PLANTED.to_reader()
    ),
    "output schema": lambda lake: lake.create_materialized_view(
        view_request(["new"], SCHEMA.with_metadata({"lanceway.computed": "1"}), {"source": ["people"]})
    ),
}


@pytest.mark.parametrize("way", IN_ARROW)
def test_a_reserved_key_of_arrow_data_is_left_out(source: Bench, way: str) -> None:
    """Rows that were read from a table have its schema, and can be written again."""
    IN_ARROW[way](source.lake)
    names = source.lake.list_tables({"id": []}).tables
    schemas = [opened(source, name).schema for name in ("people", "new") if name in names]
    assert not any(b"lanceway.computed" in str(schema.metadata).encode() for schema in schemas)
    assert not any("lanceway" in str(schema.field(0)) for schema in schemas)
    if way != "output schema":
        assert not any(b"lanceway.view" in (schema.metadata or {}) for schema in schemas)
        assert defined(source, "people") == []


def test_rows_that_were_read_are_written_again(source: Bench) -> None:
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    read = opened(source, "people").to_table()
    assert b"lanceway.computed" in read.schema.field("x").metadata
    source.append("people", read)
    source.create("copy", read)
    assert (
        source.lake.count_table_rows({"id": ["people"]}).count
        == 2 * source.lake.count_table_rows({"id": ["copy"]}).count
    )
    assert defined(source, "copy") == []


def test_other_keys_are_free_and_reserved_ones_stay(source: Bench) -> None:
    source.view("copy", SCHEMA, {"source": ["people"]})
    source.lake.alter_table_add_columns({"id": ["people"], "new_columns": [DOUBLED]})
    source.lake.update_table_schema_metadata({"id": ["copy"], "metadata": {"lanceway.pipeline": "p", "mine": "1"}})
    updates = [{"path": "x", "metadata": {"unit": "m"}, "replace": True}]
    source.lake.update_field_metadata({"id": ["people"], "updates": updates})
    assert set(opened(source, "copy").schema.metadata) >= {b"lanceway.view", b"mine"}
    assert set(opened(source, "people").schema.field("x").metadata) == {b"lanceway.computed", b"unit"}


def test_a_definition_of_a_missing_table(source: Bench) -> None:
    with pytest.raises(LanceNamespaceError, match="no table"):
        source.lake.list_definitions(Identifier(("nothing",)))
