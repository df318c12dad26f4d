"""Namespaces in Glue: which name is what, and what Glue is asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lanceway.catalogs.glue.catalog import GlueForbiddenError
from lanceway.errors import (
    InvalidInputError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    ServiceUnavailableError,
    UnsupportedOperationError,
)
from tests.catalogs.glue.glue_helpers import (
    connect,
    count,
    create,
    database,
    drop,
    every_table,
    make,
    namespaces,
    properties,
    put,
    row,
    tables,
)
from tests.servers.moto import ACCOUNT, Glue

REDSHIFT = {"Identifier": "arn:aws:redshift-serverless:…", "ConnectionName": "aws:redshift"}


# -- which name is what --------------------------------------------------------------------------


def test_the_root_lists_child_catalogs_and_databases_but_not_itself(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    database(glue, "zoo")
    database(glue, "books")
    assert namespaces(connect(glue)) == ["books", "outer", "zoo"]
    assert namespaces(connect(glue, catalog_id=None)) == ["books", "outer", "zoo"]
    assert ("GetCatalogs", True) in [(name, parameters.get("IncludeRoot")) for name, parameters in glue.state.requests]


def test_a_catalog_lists_its_catalogs_and_databases(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    glue.state.add(ACCOUNT, "outer", "inner", "innermost")
    catalog = connect(glue)
    make(catalog, "outer", "db")
    assert namespaces(catalog, "outer") == ["db", "inner"]
    assert namespaces(catalog, "outer", "inner") == ["innermost"]
    assert namespaces(catalog, "outer", "db") == []


def test_tables_of_child_catalogs_have_their_own_data(glue: Glue, tmp_path: Path) -> None:
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    with connect(glue, root=tmp_path.as_uri()) as catalog:
        for path in (("db",), ("outer", "db"), ("outer", "inner", "db")):
            database(glue) if len(path) == 1 else make(catalog, *path)
            create(catalog, [*path, "t"])
        catalog.delete_from_table({"id": ["outer", "db", "t"], "predicate": "id > 1"})  # type: ignore[arg-type]
        assert [count(catalog, *path, "t") for path in (("db",), ("outer", "db"), ("outer", "inner", "db"))] == [
            3,
            1,
            3,
        ]
        assert every_table(catalog) == ["db$t", "outer$db$t", "outer$inner$db$t"]
        assert every_table(catalog, "outer", "inner") == ["outer$inner$db$t"]


def test_without_a_setting_the_account_is_asked_for_once(glue: Glue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", glue.endpoint)
    glue.state.add(ACCOUNT, "outer")
    with connect(glue, catalog_id=None, endpoint=None) as catalog:
        make(catalog, "outer", "db")
        assert namespaces(catalog, "outer") == ["db"]
    ids = [parameters["CatalogId"] for _, parameters in glue.state.requests if "CatalogId" in parameters]
    assert set(ids) == {f"{ACCOUNT}:outer", f"{ACCOUNT}:outer/db"}


def test_a_compatible_service_is_asked_by_bare_names(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "outer")
    with connect(glue, catalog_id=None) as catalog:
        make(catalog, "outer", "db")
        assert namespaces(catalog, "outer") == ["db"]


def test_a_compatible_service_need_not_have_catalogs(glue: Glue) -> None:
    database(glue)
    for operation in ("GetCatalog", "GetCatalogs"):
        glue.refuse(operation, "UnknownOperationException", times=9)
    catalog = connect(glue)
    assert namespaces(catalog) == ["db"]
    assert properties(catalog, "db") == {}


def test_the_number_of_the_account_names_the_root_too(glue: Glue) -> None:
    database(glue)
    put(glue, row("t"))
    catalog = connect(glue)
    assert tables(catalog, ACCOUNT, "db") == ["t"]
    assert namespaces(catalog, ACCOUNT) == ["db"]
    with pytest.raises(NamespaceNotFoundError):
        namespaces(catalog, "210987654321")


def test_a_child_catalog_may_be_the_root(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    database(glue, "elsewhere")
    catalog = connect(glue, catalog_id=f"{ACCOUNT}:outer")
    make(catalog, "db")
    make(catalog, "inner", "db")
    assert namespaces(catalog) == ["db", "inner"]
    assert namespaces(catalog, "inner") == ["db"]
    assert namespaces(connect(glue), "outer") == ["db", "inner"]


def test_a_name_is_a_catalog_first_and_a_database_where_that_is_set(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "both", Parameters={"kind": "catalog"})
    database(glue, "both", Parameters={"kind": "database"})
    put(glue, row("t"), inside="both")
    assert properties(connect(glue), "both") == {"kind": "catalog"}
    assert properties(connect(glue, hierarchy="databases"), "both") == {"kind": "database"}
    assert namespaces(connect(glue)) == ["both"]
    assert tables(connect(glue), "both") == ["t"]


def test_names_are_folded_as_glue_does(glue: Glue, tmp_path: Path) -> None:
    with connect(glue, hierarchy="databases", root=tmp_path.as_uri()) as catalog:
        make(catalog, "Sales")
        create(catalog, ["SALES", "Orders"])
        assert (namespaces(catalog), tables(catalog, "sales")) == (["sales"], ["orders"])
        assert count(catalog, "sales", "ORDERS") == 3


# -- lists ---------------------------------------------------------------------------------------


def test_glues_own_pages_are_followed_to_the_end_even_through_empty_ones(glue: Glue) -> None:
    names = [f"d{number}" for number in (7, 3, 9, 1, 5, 2, 8, 4, 6)]
    for name in names:
        database(glue, name)
        glue.state.add(ACCOUNT, f"c{name}")
    glue.state.page, glue.state.hidden = 2, frozenset({"d9", "d1", "cd2", "cd8"})
    visible = {*names, *(f"c{name}" for name in names)} - glue.state.hidden
    assert namespaces(connect(glue)) == sorted(visible)
    first = connect(glue).list_namespaces({"limit": 5})  # type: ignore[arg-type]
    assert first.namespaces + namespaces(connect(glue), page_token=first.page_token) == sorted(visible)


def test_a_page_that_fails_is_an_error_and_no_short_list(glue: Glue) -> None:
    for number in range(5):
        database(glue, f"d{number}")
    glue.state.page = 2
    glue.refuse("GetDatabases", "OperationTimeoutException", fits=lambda asked: "NextToken" in asked)
    with pytest.raises(ServiceUnavailableError):
        namespaces(connect(glue))


@pytest.mark.parametrize(
    ("said", "code"), [("AccessDeniedException", 16), ("FederationSourceException", 17), ("InvalidInputException", 18)]
)
@pytest.mark.parametrize("operation", ["GetDatabases", "GetCatalogs"])
def test_a_later_page_that_is_refused_is_an_error_and_no_short_list(
    glue: Glue, operation: str, said: str, code: int
) -> None:
    for number in range(3):
        database(glue, f"d{number}")
        glue.state.add(ACCOUNT, f"c{number}")
    glue.state.page = 2
    glue.refuse(operation, said, fits=lambda asked: "NextToken" in asked, times=9)
    for ask in (namespaces, every_table):
        with pytest.raises(LanceNamespaceError, match="broke off") as refused:
            ask(connect(glue))
        assert refused.value.code.value == code


def test_a_later_page_of_tables_that_is_refused_is_an_error_everywhere(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "db")  # a catalog of the same name, which may be what has no tables
    database(glue)
    put(glue, row("a"), row("b"), row("c"))
    glue.state.page = 2
    for said, code in (("AccessDeniedException", 16), ("EntityNotFoundException", 14)):
        glue.refuse("GetTables", said, fits=lambda asked: "NextToken" in asked, times=2)
        with pytest.raises(LanceNamespaceError, match="broke off") as refused:
            tables(connect(glue), "db")
        assert refused.value.code.value == code
        with pytest.raises(LanceNamespaceError, match="broke off"):
            every_table(connect(glue, hierarchy="databases"))


def test_a_caller_who_may_not_list_catalogs_sees_databases(glue: Glue) -> None:
    database(glue)
    glue.refuse("GetCatalogs", "AccessDeniedException")
    assert namespaces(connect(glue)) == ["db"]


def test_a_caller_who_may_not_list_databases_sees_catalogs(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "outer")
    glue.refuse("GetDatabases", "AccessDeniedException")
    assert namespaces(connect(glue)) == ["outer"]


def test_a_caller_who_may_list_neither_is_told_so(glue: Glue) -> None:
    glue.refuse("GetCatalogs", "AccessDeniedException")
    glue.refuse("GetDatabases", "AccessDeniedException")
    with pytest.raises(GlueForbiddenError) as refused:
        namespaces(connect(glue))
    assert refused.value.code.value == 16


def test_a_federated_catalog_that_refuses_databases_still_lists(glue: Glue) -> None:
    glue.state.add(ACCOUNT, "s3tablescatalog", FederatedCatalog=REDSHIFT)
    glue.refuse("GetDatabases", "InvalidInputException", fits=lambda asked: "s3tables" in asked["CatalogId"], times=9)
    assert namespaces(connect(glue), "s3tablescatalog") == []
    glue.state.add(ACCOUNT, "s3tablescatalog", "bucket")
    assert namespaces(connect(glue), "s3tablescatalog") == ["bucket"]


def test_what_is_hidden_or_down_somewhere_below_does_not_break_the_list_of_all(
    glue: Glue, caplog: pytest.LogCaptureFixture
) -> None:
    glue.state.add(ACCOUNT, "redshift", FederatedCatalog=REDSHIFT)
    for name in ("closed", "open"):
        database(glue, name)
        put(glue, row("t"), inside=name)
    glue.refuse("GetTables", "AccessDeniedException", fits=lambda asked: asked["DatabaseName"] == "closed", times=9)
    glue.refuse(
        "GetDatabases", "FederationSourceException", fits=lambda asked: "redshift" in asked["CatalogId"], times=9
    )
    catalog = connect(glue)
    assert every_table(catalog) == ["open$t"]
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.partition(":")[0] for text in warned] == ["redshift is passed over"]
    with pytest.raises(GlueForbiddenError):
        every_table(catalog, "closed")
    with pytest.raises(ServiceUnavailableError):
        namespaces(catalog, "redshift")


def test_any_other_failure_below_makes_the_list_of_all_an_error(glue: Glue) -> None:
    for name in ("broken", "whole"):
        database(glue, name)
        put(glue, row("t"), inside=name)
    glue.refuse("GetTables", "OperationTimeoutException", fits=lambda asked: asked["DatabaseName"] == "broken", times=9)
    with pytest.raises(ServiceUnavailableError):
        every_table(connect(glue))


def test_lake_formation_denies_catalogs_that_are_not_there(glue: Glue) -> None:
    database(glue, Parameters={"a": "b"})
    glue.refuse("GetCatalog", "AccessDeniedException", times=9)
    assert properties(connect(glue), "db") == {"a": "b"}
    with pytest.raises(GlueForbiddenError):
        properties(connect(glue), "missing")


# -- making --------------------------------------------------------------------------------------


def test_one_name_makes_a_catalog_and_two_a_database_in_it(glue: Glue) -> None:
    catalog = connect(glue)
    assert make(catalog, "team", properties={"owner": "ada"}).properties == {"owner": "ada"}
    make(catalog, "team", "sales", properties={"region": "EMEA"})
    stock = glue.client()
    assert stock.get_catalog(CatalogId=f"{ACCOUNT}:team")["Catalog"]["Parameters"] == {"owner": "ada"}
    database_row = stock.get_database(CatalogId=f"{ACCOUNT}:team", Name="sales")["Database"]
    assert database_row["Parameters"] == {"region": "EMEA"}
    assert (properties(catalog, "team"), properties(catalog, "team", "sales")) == ({"owner": "ada"}, {"region": "EMEA"})


def test_one_name_makes_a_database_where_that_is_set(glue: Glue) -> None:
    catalog = connect(glue, hierarchy="databases")
    make(catalog, "sales", properties={"location": "s3://bucket/sales", "description": "Orders", "owner": "ada"})
    database_row = glue.client().get_database(Name="sales")["Database"]
    assert (database_row["LocationUri"], database_row["Description"]) == ("s3://bucket/sales", "Orders")
    assert database_row["Parameters"]["owner"] == "ada"


def test_where_namespaces_are_databases_glue_is_never_asked_for_catalogs(glue: Glue, tmp_path: Path) -> None:
    """As with plain moto, which has no catalogs and answers with status 500."""
    for operation in ("GetCatalog", "GetCatalogs"):
        glue.refuse(operation, "500", status=500, times=99)
    with connect(glue, hierarchy="databases", root=tmp_path.as_uri()) as catalog, glue.state.counted() as requests:
        make(catalog, "sales", properties={"a": "1"})
        make(catalog, "sales", mode="overwrite", properties={"a": "2"})
        create(catalog, ["sales", "orders"])
        assert (namespaces(catalog), namespaces(catalog, "sales")) == (["sales"], [])
        assert (properties(catalog, "sales"), every_table(catalog)) == ({"a": "2"}, ["sales$orders"])
        for missing in (namespaces, tables, properties, drop):
            with pytest.raises(NamespaceNotFoundError):
                missing(catalog, "missing")
        with pytest.raises(NamespaceNotFoundError, match="catalog_id"):
            make(catalog, "missing", "sales")
        make(catalog, "empty")
        drop(catalog, "empty")
    assert not {"GetCatalog", "GetCatalogs"} & set(requests)


def test_a_refused_catalog_says_how_to_have_databases(glue: Glue) -> None:
    glue.state.strict = True
    with pytest.raises(InvalidInputError, match='hierarchy="databases"'):
        make(connect(glue), "team")
    source = {"glue.federated_catalog.identifier": "arn:x", "glue.federated_catalog.connection_name": "aws:redshift"}
    make(connect(glue), "team", properties=source)
    catalog_row = glue.client().get_catalog(CatalogId=f"{ACCOUNT}:team")["Catalog"]
    assert catalog_row["FederatedCatalog"] == {"Identifier": "arn:x", "ConnectionName": "aws:redshift"}


def test_a_database_needs_its_catalog(glue: Glue) -> None:
    database(glue)
    with pytest.raises(NamespaceNotFoundError, match="no catalog nowhere"):
        make(connect(glue), "nowhere", "sales")
    with pytest.raises(NamespaceNotFoundError, match="A database holds tables alone"):
        make(connect(glue), "db", "sales")


def test_a_catalog_and_a_database_never_share_a_name(glue: Glue) -> None:
    database(glue)
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    with pytest.raises(NamespaceAlreadyExistsError, match="a database has this name"):
        make(connect(glue), "db")
    with pytest.raises(NamespaceAlreadyExistsError, match="a catalog has this name"):
        make(connect(glue, catalog_id=f"{ACCOUNT}:outer"), "inner")


@pytest.mark.parametrize("name", ["a.b", "a/b", "a\\b", "a:b", "a$b", "a\nb", "x" * 65, ACCOUNT, " a"])
def test_a_name_that_no_catalog_can_have_is_refused(glue: Glue, name: str) -> None:
    with pytest.raises(InvalidInputError):
        make(connect(glue), name)
    assert namespaces(connect(glue)) == []


@pytest.mark.parametrize("name", ["a/b", "a$b", "a\tb", "x" * 256])
def test_a_name_that_no_database_can_have_is_refused(glue: Glue, name: str) -> None:
    with pytest.raises(InvalidInputError):
        make(connect(glue, hierarchy="databases"), name)
    assert namespaces(connect(glue)) == []


# -- replacing and dropping ----------------------------------------------------------------------


@pytest.mark.parametrize("hierarchy", ["catalogs", "databases"])
def test_an_empty_namespace_is_overwritten_in_place(glue: Glue, hierarchy: str) -> None:
    catalog = connect(glue, hierarchy=hierarchy)
    make(catalog, "team", properties={"a": "1", "b": "2"})
    assert make(catalog, "team", mode="overwrite", properties={"b": "3"}).properties == {"b": "3"}
    assert properties(catalog, "team") == {"b": "3"}
    assert not [operation for operation, _ in glue.state.requests if operation.startswith("Delete")]


def test_what_holds_something_is_neither_overwritten_nor_dropped(glue: Glue) -> None:
    catalog = connect(glue)
    make(catalog, "team", properties={"a": "1"})
    make(catalog, "team", "sales")
    glue.state.add(ACCOUNT, "outer")
    glue.state.add(ACCOUNT, "outer", "inner")
    database(glue)
    put(glue, row("view", TableType="VIRTUAL_VIEW"))
    for name in ("team", "outer", "db"):
        with pytest.raises(NamespaceNotEmptyError):
            make(catalog, name, mode="overwrite")
        with pytest.raises(NamespaceNotEmptyError):
            drop(catalog, name)
    assert properties(catalog, "team") == {"a": "1"}


def test_what_the_caller_may_not_look_into_is_not_dropped(glue: Glue) -> None:
    make(connect(glue), "team")
    glue.refuse("GetDatabases", "AccessDeniedException")
    with pytest.raises(GlueForbiddenError):
        drop(connect(glue), "team")
    assert namespaces(connect(glue)) == ["team"]


def test_a_cascade_is_refused_before_anything_is_asked(glue: Glue) -> None:
    make(connect(glue), "team")
    with glue.state.counted() as requests, pytest.raises(UnsupportedOperationError, match="cascade"):
        drop(connect(glue), "team", behavior="cascade")
    assert requests == []


def test_dropping_answers_what_there_was(glue: Glue) -> None:
    catalog = connect(glue)
    make(catalog, "team", properties={"a": "1"})
    make(catalog, "team", "sales", properties={"b": "2"})
    assert drop(catalog, "team", "sales").properties == {"b": "2"}
    assert drop(catalog, "team").properties == {"a": "1"}
    assert namespaces(catalog) == []
