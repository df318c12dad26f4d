"""The suite's check of errors, and the rows it works with."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lanceway.errors import ErrorCode, InternalError, TableNotFoundError
from lanceway.testing.sandbox import code, rows, stream, vector


def test_the_expected_code_is_accepted() -> None:
    with code(ErrorCode.TABLE_NOT_FOUND, ErrorCode.INVALID_INPUT) as raised:
        raise TableNotFoundError("no such table")
    assert "no such table" in str(raised.value)


def test_another_code_is_a_failure_that_names_both() -> None:
    both = r"expected 4 \(TABLE_NOT_FOUND\), got 18 \(INTERNAL\): broken"
    with pytest.raises(AssertionError, match=both), code(ErrorCode.TABLE_NOT_FOUND):
        raise InternalError("broken")


def test_no_error_is_a_failure() -> None:
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), code(ErrorCode.TABLE_NOT_FOUND):
        pass


def test_an_error_of_another_tree_is_not_caught() -> None:
    with pytest.raises(KeyError), code(ErrorCode.TABLE_NOT_FOUND):
        raise KeyError("t")


def test_an_error_without_a_message_is_a_failure() -> None:
    with pytest.raises(AssertionError, match="without a message"), code(ErrorCode.INTERNAL):
        raise InternalError("")


def test_rows_differ_and_near_numbers_are_near() -> None:
    table = rows(1, 2, 3)
    assert table.num_rows == len(set(table["name"].to_pylist())) == 3
    assert len({tuple(v) for v in table["vector"].to_pylist()}) == 3
    assert vector(5)[0] - vector(4)[0] == 1.0


def test_a_stream_is_read_back() -> None:
    assert pa.ipc.open_stream(stream(rows(1, 2))).read_all().equals(rows(1, 2))
