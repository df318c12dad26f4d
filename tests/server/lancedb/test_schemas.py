"""Types as LanceDB's client writes them."""

from __future__ import annotations

import pytest

from lanceway.errors import InvalidInputError
from lanceway.server.lancedb import schemas


def test_a_decimal_is_read() -> None:
    assert schemas.from_client({"type": "decimal:256:40:3"}) == {"type": "decimal256", "length": 40_003}
    assert schemas.from_client({"type": "int32"}) == {"type": "int32"}


@pytest.mark.parametrize("name", ["decimal:128:10", "decimal:128:10:x"])
def test_what_is_no_decimal_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a decimal type"):
        schemas.from_client({"type": name})
