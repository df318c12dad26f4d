"""The contract is whole: a new release of it, or an operation forgotten, is noticed here."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from lance_namespace import LanceNamespace

from lanceway.catalogs.contract.base import OPERATIONS, Catalog
from lanceway.catalogs.contract.hooks import REQUESTS, WITH_DATA
from lanceway.catalogs.directory.catalog import DirectoryCatalog
from lanceway.errors import InvalidInputError, UnsupportedOperationError
from lanceway.testing.requests import ON_A_TABLE, OTHERS
from lanceway.testing.sandbox import rows, stream

# What needs nothing but an identifier, or not even that.
BARE = {"list_namespaces", "describe_namespace", "namespace_exists", "list_tables"}


class Empty(Catalog):
    """A catalog that answers no question at all."""

    TYPE = "empty"


def test_the_contract_has_55_operations() -> None:
    public = {name for name in vars(LanceNamespace) if not name.startswith("_")}
    assert set(OPERATIONS) == public - {"namespace_id"}
    assert len(OPERATIONS) == 55


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_implemented_with_the_contracts_own_parameters(operation: str) -> None:
    ours, theirs = getattr(Catalog, operation), getattr(LanceNamespace, operation)
    assert ours is not theirs
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


def test_every_operation_has_a_small_request_in_the_suite() -> None:
    assert {*ON_A_TABLE, *OTHERS, *BARE} == set(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_takes_a_dictionary(operation: str, tmp_path: Path) -> None:
    """A dictionary with a wrong identifier is refused for the identifier, so it was read; or the operation is."""
    data = (stream(rows(1)),) if operation in WITH_DATA else ()
    with pytest.raises((InvalidInputError, UnsupportedOperationError)) as refused:
        getattr(DirectoryCatalog(path=str(tmp_path)), operation)({"id": 7}, *data)
    if isinstance(refused.value, InvalidInputError):
        assert REQUESTS[operation].__name__ in str(refused.value)
        assert "id" in str(refused.value)


def test_a_question_left_unanswered_makes_its_operations_unsupported() -> None:
    assert Empty.support() == {"empty": frozenset({"list_namespaces", "describe_namespace", "namespace_exists"})}
    with pytest.raises(UnsupportedOperationError, match="drop_table"):
        Empty().drop_table({"id": ["t"]})  # type: ignore[arg-type]
