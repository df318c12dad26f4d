"""Messages of catalogs in the words of the command line."""

from __future__ import annotations

import pytest

from lanceway.cli.output.reasons import spoken


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("query_table: it has no rows.", "it has no rows."),
        ("create_table_index on items failed: no.", "no."),
        ("Table not found: There is no table t in ./wh.", "There is no table t in ./wh."),
        ("query_table: Create the table again with vectors=['v'].", "Create the table again with --vector-column v."),
        (
            "There is no table t. Identifiers begin with a catalog: write ['lake', 't'], or lake$t over HTTP.",
            "There is no table t. lanceway namespaces list shows the catalogs.",
        ),
        ("Two\nlines", "Two lines"),
        ("A condition: ok", "A condition: ok"),
    ],
)
def test_words(message: str, sentence: str) -> None:
    assert spoken(message).startswith(sentence)


def test_names_have_their_catalog() -> None:
    asked = ["lake", "team", "t"]
    assert spoken("There is no table team.t. Create it.", asked) == "There is no table lake.team.t. Create it."
    assert spoken("There is no table lake.team.t.", asked) == "There is no table lake.team.t."
    assert spoken("There is no table team.t2.", asked) == "There is no table team.t2."
    assert spoken("The namespace team is not empty.", ["lake", "team"]) == "The namespace lake.team is not empty."
    assert spoken("There is no namespace team.", asked) == "There is no namespace lake.team."
    assert spoken("There is no table t.", ["t"]) == "There is no table t."
