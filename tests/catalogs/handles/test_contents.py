"""Tables and namespaces by name, in every catalog."""

from __future__ import annotations

import html
import pickle
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import lanceway
from lanceway import Catalog, Table
from lanceway.access.guard import Guard
from lanceway.catalogs.handles import contents
from lanceway.catalogs.handles.contents import CatalogContents
from lanceway.errors import (
    InvalidInputError,
    NamespaceNotFoundError,
    TableAlreadyExistsError,
    TableNotFoundError,
    TableSchemaValidationError,
)
from lanceway.server.lance.answers import SafeCatalog
from tests.catalogs.handles.conftest import FRUIT
from tests.servers import lanceway as lanceway_server
from tests.servers.lanceway import Lanceway
from tests.servers.run import Run


def test_a_table_is_made_with_the_namespaces_above_it(lake: Catalog) -> None:
    made = lake.create("a.b.fruit", FRUIT)
    assert (made.name, made.id, made.count()) == ("a.b.fruit", ["a", "b", "fruit"], 3)
    assert lake.namespaces() == ["a"]
    assert lake.namespaces(recursive=True) == ["a", "a.b"]
    assert lake.tables() == lake.tables("a") == []
    assert lake.tables("a.b") == lake.tables(recursive=True) == lake.tables("a", recursive=True) == ["a.b.fruit"]


def test_names_with_dots_are_lists(lake: Catalog) -> None:
    lake.create(["team", "v1.0"], FRUIT)
    assert lake[["team", "v1.0"]].count() == 3
    assert ["team", "v1.0"] in lake


def test_a_table_is_found_by_its_name(lake: Catalog, fruit: Table) -> None:
    assert lake.table("team.fruit").count() == lake["team.fruit"].count() == 3
    assert "team.fruit" in lake
    assert "team.other" not in lake
    assert "nowhere.fruit" not in lake


def test_a_missing_table_suggests_one_that_is_there(lake: Catalog, fruit: Table) -> None:
    with pytest.raises(TableNotFoundError, match=r"no table team.fruti\. Did you mean 'team.fruit'\?"):
        lake.table("team.fruti")
    with pytest.raises(TableNotFoundError, match=r"no table taem.fruit\. Did you mean 'team.fruit'\?"):
        lake["taem.fruit"]
    with pytest.raises(TableNotFoundError, match=r"no table fruit\. Did you mean 'team.fruit'\?"):
        lake["fruit"]
    with pytest.raises(TableNotFoundError, match=r"no table zebra\.$"):
        lake["zebra"]


def test_a_namespace_is_not_a_table(lake: Catalog, fruit: Table) -> None:
    with pytest.raises(TableNotFoundError, match=r"no table team\. It is a namespace, with team\.fruit\.$"):
        lake["team"]
    lake.create_namespace({"id": "none"})
    with pytest.raises(TableNotFoundError, match=r"no table none\. It is a namespace\.$"):
        lake["none"]


def test_a_missing_namespace_suggests_one_that_is_there(lake: Catalog, fruit: Table) -> None:
    for ask in (lake.tables, lake.namespaces, lake.tree):
        with pytest.raises(NamespaceNotFoundError, match=r"no namespace taem\. Did you mean 'team'\?"):
            ask("taem")
        with pytest.raises(NamespaceNotFoundError, match="zebra") as caught:
            ask("zebra")
        assert "Did you mean" not in str(caught.value)


def test_a_catalog_is_not_a_list(lake: Catalog) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(lake)  # type: ignore[call-overload]


def test_a_tree_shows_what_there_is(lake: Catalog, fruit: Table) -> None:
    lake.create("team.old.figs", FRUIT)
    assert repr(lake.tree()).splitlines() == [
        "/",
        "└── team/",
        "    ├── old/",
        "    │   └── figs",
        "    └── fruit",
    ]
    assert repr(lake.tree("team.old")).splitlines() == ["old/", "└── figs"]


def test_a_notebook_shows_the_first_names_of_the_root_and_never_fails(
    lake: Catalog, fruit: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a<b", "c"):
        lake.create([name], FRUIT)
    assert lake._repr_html_().endswith("<pre>team/\na&lt;b\nc</pre>")
    monkeypatch.setattr(contents, "_SHOWN", 1)
    assert lake._repr_html_().endswith("<pre>team/\na&lt;b\n…</pre>")
    gone = lanceway.connect("http://127.0.0.1:1/lance", retries="0")
    assert gone._repr_html_() == html.escape(repr(gone))
    assert "127.0.0.1:1" in repr(gone)


def test_an_empty_table_has_a_schema(lake: Catalog) -> None:
    schema = pa.schema([("id", pa.int32()), ("taste", pa.list_(pa.float32(), 2))])
    made = lake.create("empty", schema=schema)
    assert (made.schema, made.count()) == (schema, 0)


def test_modes(lake: Catalog, fruit: Table) -> None:
    with pytest.raises(TableAlreadyExistsError):
        lake.create("team.fruit", FRUIT)
    assert lake.create("team.fruit", FRUIT[:1], mode="exist_ok").count() == 3
    assert lake.create("team.fruit", FRUIT[:1], mode="overwrite").count() == 1
    assert fruit.version == 2


def test_what_is_not_made_leaves_no_namespace(lake: Catalog) -> None:
    with pytest.raises(InvalidInputError):
        lake.create("a.b.fruit", FRUIT, mode="perhaps")
    with pytest.raises(InvalidInputError, match="needs data or a schema"):
        lake.create("a.b.fruit")
    with pytest.raises(TableSchemaValidationError, match="'id' does not fit the schema"):
        lake.create("a.b.fruit", {"id": ["one"]}, schema=pa.schema([("id", pa.int64())]))
    assert lake.namespaces() == []


def test_drop_and_rename(lake: Catalog, fruit: Table) -> None:
    lake.create("other.figs", FRUIT)
    assert lake.rename("team.fruit", "other.berries").count() == 3
    lake.drop("other.figs")
    assert lake.tables(recursive=True) == ["other.berries"]


def test_data_of_any_kind_in_the_twins_of_the_contract(lake: Catalog) -> None:
    lake.create_table_stream({"id": ["fruit"]}, FRUIT)  # type: ignore[arg-type]
    lake.insert_into_table_stream({"id": ["fruit"]}, lake["fruit"].scan().to_arrow())  # type: ignore[arg-type]
    merge = {"id": ["fruit"], "on": ["id"], "when_not_matched_insert_all": True}
    lake.merge_insert_into_table_stream(merge, lake["fruit"].scan())  # type: ignore[arg-type]
    assert lake["fruit"].count() == 6
    assert lake["fruit"].search([1.0, 0.0]).limit(1).to_list()[0]["name"] == "banana"


def test_lancedb_has_the_same_tables(lake: Catalog, fruit: Table) -> None:
    db = lake.lancedb()
    assert db.open_table("fruit", namespace_path=["team"]).count_rows() == 3
    assert fruit.lancedb().count_rows() == 3
    assert fruit.lance().count_rows() == 3


def test_names_are_the_same_whatever_joins_them_on_the_wire(server: Lanceway) -> None:
    above = ["lake", f"n{uuid.uuid4().hex}"]
    for delimiter in ("$", "~", "::", "\x1f"):
        with lanceway.connect(server.address, token=server.token, delimiter=delimiter) as whole:
            if delimiter == "$":
                whole.create([*above, "team", "fruit"], FRUIT)
            assert whole.tables(above, recursive=True) == [".".join([*above, "team", "fruit"])], delimiter
            listed = whole.list_all_tables({"id": above}).tables
            assert listed == ["$".join([*above, "team", "fruit"])], delimiter


def test_no_first_level_of_a_server_is_made_by_the_way(server: Lanceway) -> None:
    with lanceway.connect(server.uri, token=server.token) as root:
        with pytest.raises(NamespaceNotFoundError, match=r"no 'nosuch' at the root .* might be a catalog"):
            root.create("nosuch.fruit", FRUIT)
        with pytest.raises(NamespaceNotFoundError, match=r"Did you mean 'lake'\?"):
            root.create("laek.team.fruit", FRUIT)
        assert "nosuch" not in root.namespaces()


def test_a_catalog_that_was_left_out_is_suggested(whole_run: Run) -> None:
    # A server of its own: in the shared one, other tests have more catalogs than are asked.
    server = lanceway_server.start(whole_run, name="left-out")
    with lanceway.connect(server.uri, token=server.token) as root:
        root.create("lake.orchard.pears", FRUIT)
        with pytest.raises(TableNotFoundError, match=r"Did you mean 'lake.orchard.pears'\?"):
            root["orchard.pears"]
        with pytest.raises(NamespaceNotFoundError, match=r"Did you mean 'lake.orchard.figs'\?"):
            root.create("orchard.figs", FRUIT)
    assert server.stop() == 0


def test_the_parts_of_a_server_that_guard_gain_no_way_in() -> None:
    assert not issubclass(Guard, CatalogContents)
    assert not issubclass(SafeCatalog, CatalogContents)


def test_a_class_of_another_package_has_the_layer_too(tmp_path: Path) -> None:
    # pylance's own implementation, which knows nothing of Lanceway.
    other = lanceway.connect("lance.namespace.DirectoryNamespace", root=str(tmp_path))
    other.create("fruit", FRUIT)
    assert other.tables() == ["fruit"]
    assert other["fruit"].count("id > 1") == 2


def test_a_table_travels(tmp_path: Path) -> None:
    table = lanceway.connect(tmp_path).create("fruit", FRUIT)
    assert pickle.loads(pickle.dumps(table)).count() == 3
