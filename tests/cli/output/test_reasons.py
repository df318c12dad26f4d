"""Messages of catalogs in the words of the command line."""

from __future__ import annotations

import json

import pytest

from lanceway.cli.output.reasons import parted, spoken
from lanceway.cli.output.renderers import Output, TextOutput
from lanceway.errors import TableNotFoundError


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("query_table: it has no rows.", "it has no rows."),
        ("create_table_index on items failed: no.", "no."),
        ("list_tables failed: the server cannot be reached.", "the server cannot be reached."),
        ("Table not found: There is no table t in ./wh.", "There is no table t in ./wh."),
        ("query_table: Create the table again with vectors=['v'].", "Create the table again with --vector-column v."),
        (
            "There is no table t. Identifiers begin with a catalog: write ['lake', 't'], or lake$t over HTTP.",
            "There is no table t. lanceway namespaces list shows the catalogs.",
        ),
        (
            "t: t already has a tag 'a'. Move it with update_table_tag.",
            "t: t already has a tag 'a'. Move it with lanceway t",
        ),
        ("t has no tag 'a'. list_table_tags names those it has.", "t has no tag 'a'. lanceway tables tags list shows"),
        ("Write its first version with create_table.", "Write its first version with lanceway tables create."),
        ("Views are made with create_materialized_view, x", "Views are made with lanceway views create, x"),
        ("The mode of create_table is 'a', but must be b.", "The value of --mode is 'a', but must be b."),
        (
            "GlueCatalog (type 'glue') does not support drop_namespace with behavior cascade. Drop it first.",
            "A catalog of type 'glue' does not support: drop namespace with --cascade. Drop it first.",
        ),
        (
            "Use a lake, or run the work here and now with lanceway.jobs.",
            "Use a lake, or run the work here, with lanceway tables compact and the like.",
        ),
        (
            "The server has tls_cert but no tls_key: HTTPS needs both. Set tls_key too.",
            "The server has --tls-cert but no --tls-key: HTTPS needs both.",
        ),
        ("Two\nlines", "Two lines"),
        ("A condition: ok", "A condition: ok"),
    ],
)
def test_words(message: str, sentence: str) -> None:
    assert spoken(message).startswith(sentence)


def test_the_id_of_a_request_is_apart_from_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    error = TableNotFoundError("There is no table frut. (request 84ec)")
    TextOutput().error(error, hint=" Did you mean 'fruit'?")
    assert capsys.readouterr().err == (
        "lanceway: There is no table frut. Did you mean 'fruit'? (code 4, TableNotFound, request 84ec)\n"
    )
    Output().error(error, hint=" Did you mean 'fruit'?")
    assert json.loads(capsys.readouterr().err) == {
        "error": "There is no table frut. Did you mean 'fruit'? (request 84ec)",
        "code": 4,
    }
    assert parted("It is asked for (once).") == ("It is asked for (once).", "")


def test_names_have_their_catalog() -> None:
    asked = ["lake", "team", "t"]
    assert spoken("There is no table team.t. Create it.", asked) == "There is no table lake.team.t. Create it."
    assert spoken("There is no table lake.team.t.", asked) == "There is no table lake.team.t."
    assert spoken("There is no table team.t2.", asked) == "There is no table team.t2."
    assert spoken("The namespace team is not empty.", ["lake", "team"]) == "The namespace lake.team is not empty."
    assert spoken("There is no namespace team.", asked) == "There is no namespace lake.team."
    assert spoken("There is no table t.", ["t"]) == "There is no table t."
