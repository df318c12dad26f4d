"""The page that tells what each catalog supports is what the code says."""

from __future__ import annotations

from lanceway.catalogs import registry
from lanceway.catalogs.contract.hooks import OPERATIONS
from tests.paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "support.md"


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == registry.page(), (
        "run: python -m lanceway.catalogs.registry > docs/reference/support.md"
    )


def test_every_operation_has_a_row_in_the_order_of_the_contract() -> None:
    rows = list(registry.table({"one": frozenset({"list_tables"}), "none": frozenset()}))
    assert rows[0] == "| operation | one | none |"
    assert [row.split("`")[1] for row in rows[2:]] == list(OPERATIONS)
    assert "| `list_tables` | ✓ |  |" in rows
    assert "| `drop_table` |  |  |" in rows


def test_every_catalog_supports_something_known() -> None:
    for name, operations in registry.support().items():
        assert operations, name
        assert operations <= set(OPERATIONS)
