"""The conformance suite, unchanged, over pylance's own catalogs: what they do otherwise is listed here.

Every row is a strict expectation: once pylance mends one, the run fails until the row is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from lance.namespace import DirectoryNamespace, RestAdapter, RestNamespace

from lanceway.testing import NO_ENGINE, STORAGE_MANAGED, CatalogTests
from lanceway.testing.requests import ON_A_TABLE

WITHOUT = {
    **NO_ENGINE,
    **STORAGE_MANAGED,
    "chosen_location": "a table lies where its name says",
    "create_empty_table": "declare_table is all it has",
    "races": "several win, or none does: which of them cannot be foretold",
    "rename_table": "not implemented",
    "streams": "only bytes go in and out",
    "table_properties": "it keeps none",
    "update_field_metadata": "not bound in Python",
}

VERSION_OPERATIONS = ("create_table_version", "describe_table_version", "batch_delete_table_versions")
COLUMN_OPERATIONS = ("alter_table_add_columns", "alter_table_alter_columns", "alter_table_drop_columns")


def some(test: str, parameters: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{test}[{parameter}]" for parameter in parameters)


def without(operations: Iterable[str], *others: str) -> list[str]:
    return [operation for operation in operations if operation not in (*others, *WITHOUT)]


BY_REASON: Mapping[str, tuple[str, ...]] = {
    "the mode of create_namespace is ignored": (
        "test_an_existing_namespace_is_kept_with_what_it_holds",
        "test_an_overwritten_namespace_is_empty",
        "test_an_unknown_mode_creates_no_namespace",
        "test_the_root_is_kept_where_existing_is_fine",
    ),
    "mode and behavior of drop_namespace are ignored": (
        "test_a_cascade_drops_the_tables",
        "test_a_cascade_reaches_all_that_is_below_and_deletes_its_data",
        "test_an_unknown_mode_or_behavior_drops_no_namespace",
        "test_dropping_a_missing_namespace_may_be_skipped",
    ),
    "tables are created in namespaces that do not exist": (
        "test_creating_in_a_missing_namespace_is_not_found",
        "test_declaring_in_a_missing_namespace_is_not_found",
    ),
    "a missing namespace is taken for a missing table": some(
        "test_an_operation_in_a_missing_namespace_is_not_found",
        ("drop_table", "deregister_table", *COLUMN_OPERATIONS),
    ),
    "limits and page tokens are not checked, and half of the lists have no pages": (
        "test_a_page_holds_at_least_one",
        "test_a_token_from_elsewhere_is_refused",
        "test_a_token_of_another_list_is_refused",
        "test_branches_are_listed_in_order_and_in_pages",
        "test_pages_of_versions_add_up_to_the_list",
        "test_tags_are_listed_in_order_and_in_pages",
        "test_versions_are_listed_from_the_latest_when_asked",
    ),
    "list_all_tables sees the tables of the root alone": ("test_every_table_at_any_depth_is_listed_once",),
    "register_table takes relative locations alone, even an empty one, and no mode": (
        "test_a_registered_table_has_the_data_at_its_location",
        "test_a_registered_table_keeps_its_location",
        "test_a_registration_may_be_replaced",
        "test_a_table_may_get_its_name_back",
        "test_registering_a_name_that_is_taken_is_a_conflict",
        "test_registering_in_a_missing_namespace_is_not_found",
        "test_registering_needs_a_location",
    ),
    "a table of the root is listed from its folder, which deregister_table leaves": (
        "test_a_deregistered_table_is_gone",
    ),
    "describe_table and table_exists do not look for the version, the tag or the branch": (
        "test_a_table_is_described_at_a_tag",
        "test_a_tag_and_a_version_together_are_refused",
        "test_a_version_exists_or_does_not",
        "test_describing_a_missing_version_is_not_found",
    ),
    "a description has no statistics, and a path for a URI whether it is asked for or not": (
        "test_a_detailed_description_has_name_version_schema_and_statistics",
        "test_a_table_uri_is_given_only_when_asked_for",
    ),
    "a table that is only declared is said to be missing": ("test_a_declared_table_cannot_be_read_yet",),
    "a table cannot be created without rows": ("test_a_table_may_be_created_without_rows",),
    "names are not checked: they become paths": (
        "test_an_empty_name_is_refused[last]",
        "test_an_empty_name_is_refused[first]",
        *some(
            "test_a_strange_name_is_refused_or_kept_whole",
            (
                "slash",
                "upwards",
                "absolute",
                "backslash",
                "null byte",
                "line break",
                "percent",
                "letters of the world",
                "very long",
            ),
        ),
    ),
    "bad input is an internal error, or one of Python's own": (
        "test_a_bad_expression_adds_nothing",
        "test_a_bad_filter_is_refused",
        "test_a_column_cannot_take_the_name_of_another",
        "test_a_column_that_is_there_cannot_be_added",
        "test_a_missing_column_in_a_projection_is_refused",
        "test_a_text_search_without_an_index_is_refused",
        "test_altering_a_missing_column_is_not_found",
        *some("test_an_index_that_cannot_be_is_refused", ("name-IVF_FLAT", "id-FTS", "vector-BTREE")),
        *some(
            "test_an_operation_on_a_table_needs_an_identifier",
            without(ON_A_TABLE, "drop_table", "deregister_table", *VERSION_OPERATIONS),
        ),
        *some("test_broken_arrow_creates_no_table", ("no Arrow", "cut short")),
        *some("test_broken_arrow_inserts_nothing", ("cut short-append", "cut short-overwrite")),
        *some("test_broken_arrow_overwrites_nothing", ("no Arrow", "cut short")),
        "test_counting_by_a_bad_predicate_is_refused",
        "test_data_that_does_not_fit_is_refused",
        "test_dropping_a_missing_column_drops_none",
        "test_restoring_a_missing_version_is_not_found",
        "test_the_last_column_cannot_be_dropped",
        "test_the_plan_of_a_bad_query_is_refused",
    ),
    "some operations leave the branch out, and a missing one is taken for main or for a missing table": (
        "test_a_branch_has_columns_indices_and_versions_of_its_own",
        "test_a_branch_may_begin_at_an_older_version",
        "test_a_branch_needs_a_beginning_that_is_there",
        *some(
            "test_a_missing_branch_is_not_found",
            ("describe", "count", "query", "insert", "add column", "index", "versions", "tag"),
        ),
        "test_a_tag_may_name_a_version_of_a_branch",
        "test_what_happens_on_a_branch_stays_there",
        "test_what_happens_on_main_does_not_reach_a_branch",
    ),
    "the type of a column is expected as text, where the contract has an object": ("test_a_column_changes_its_type",),
    "the statistics of an index have no distance": ("test_a_vector_index_is_made_and_described",),
    "of several vectors only the first is searched": ("test_several_vectors_are_searched_at_once",),
    "text and vector are not searched together": ("test_text_and_vector_are_searched_together",),
    "the actions of alter_transaction are lost on the way": (
        "test_a_committed_transaction_keeps_its_status",
        "test_a_property_is_overwritten_kept_or_refused_by_its_mode",
        "test_a_transaction_keeps_the_properties_it_is_given",
    ),
    "the operations on versions take dictionaries and no models": (
        "test_a_range_without_versions_deletes_none",
        "test_a_staged_version_is_created",
        "test_a_version_is_described",
        *some("test_an_operation_in_a_missing_namespace_is_not_found", VERSION_OPERATIONS),
        *some("test_an_operation_on_a_missing_table_is_not_found", VERSION_OPERATIONS),
        *some("test_an_operation_on_a_table_needs_an_identifier", VERSION_OPERATIONS),
        "test_describing_a_version_that_is_missing_is_not_found",
        "test_only_the_next_version_can_be_created",
        "test_the_latest_version_is_described_unless_one_is_named",
        "test_the_latest_version_is_never_deleted",
        "test_versions_are_deleted_in_ranges_whose_end_stays",
    ),
    "all other operations take models and no dictionaries": (
        *some("test_a_dictionary_is_a_request", without(ON_A_TABLE, "query_table", *VERSION_OPERATIONS)),
        "test_a_request_of_the_wrong_shape_is_refused",
        "test_a_whole_day_in_dictionaries",
        "test_unknown_fields_and_context_are_tolerated",
    ),
    "what is not implemented raises NotImplementedError, which is no error of the contract": (
        "test_what_is_left_out_is_refused_as_unsupported",
    ),
    "the object is one of Rust's: it is neither pickled nor closed": (
        "test_a_catalog_is_a_context",
        "test_a_closed_catalog_opens_again_when_it_is_used",
        "test_a_forked_child_uses_the_catalog_of_its_parent",
        "test_a_pickled_catalog_is_the_same_catalog",
    ),
}
COMMON = {test: reason for reason, tests in BY_REASON.items() for test in tests}
IN_DIRECTORY = {
    **COMMON,
    "test_an_empty_name_is_refused[alone]": COMMON["test_an_empty_name_is_refused[last]"],
}
IN_REST = {
    **COMMON,
    **dict.fromkeys(
        some("test_a_strange_name_is_refused_or_kept_whole", ("parent", "itself", "dollar", "blank")),
        "the name becomes part of a route, and is read there as something else",
    ),
    "test_the_root_may_be_empty_or_null": "the client demands an identifier, if only an empty one",
}


class TestPylanceDirectory(CatalogTests):
    without = WITHOUT
    deviations = IN_DIRECTORY

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> DirectoryNamespace:
        return DirectoryNamespace(root=str(tmp_path))


class TestPylanceRest(CatalogTests):
    without = WITHOUT
    deviations = IN_REST

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Iterator[RestNamespace]:
        with RestAdapter("dir", {"root": str(tmp_path)}, host="127.0.0.1", port=0) as adapter:
            yield RestNamespace(uri=f"http://127.0.0.1:{adapter.port}")
