"""Numbers and nouns in sentences."""

from __future__ import annotations

import pytest

from lanceway.cli.output.words import counted, with_article


@pytest.mark.parametrize(
    ("count", "sentence"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1_000_000, "1,000,000 rows")]
)
def test_one_is_not_many(count: int, sentence: str) -> None:
    assert counted(count, "row") == sentence


@pytest.mark.parametrize(
    "spoken", ["an IVF_PQ", "an FTS", "a BTREE", "a BITMAP", "a LABEL_LIST", "an RQ", "a table", "an index"]
)
def test_words_have_their_article(spoken: str) -> None:
    assert with_article(spoken.split()[1]) == spoken
