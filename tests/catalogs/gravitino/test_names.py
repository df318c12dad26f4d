"""Locations of new tables in schemas whose names someone else has chosen."""

from __future__ import annotations

import pytest

from lanceway.catalogs.gravitino.names import default_location
from lanceway.identifiers import Identifier


@pytest.mark.parametrize(
    ("schema", "folder"),
    [("a/../../../up", "a_.._.._.._up"), ("a\\b", "a_b"), ("a?b#c%41", "a_b_c_41"), ("x" * 300, "x" * 200)],
    ids=lambda value: value[:20],
)
@pytest.mark.parametrize("root", ["file:///wh", "s3://bucket/wh/"])
def test_a_table_is_below_the_root_whatever_its_schema_is_called(root: str, schema: str, folder: str) -> None:
    location = default_location(root, Identifier(("c", schema, "t")), "0123456789")
    assert location == f"{root.rstrip('/')}/c/{folder}/t-01234567.lance"


def test_a_local_folder_is_written_as_a_uri() -> None:
    table = Identifier(("c", "a b", "é"))
    assert default_location("file:///wh", table, "0123456789") == "file:///wh/c/a%20b/%C3%A9-01234567.lance"
    assert default_location("s3://bucket", table, "0123456789") == "s3://bucket/c/a b/é-01234567.lance"
