"""The S3 server of the suite is one: it keeps what it is given, and one of many claimants wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import lance
import obstore
import pyarrow as pa
import pytest
from obstore.exceptions import AlreadyExistsError

from tests.servers.seaweedfs import S3


def test_a_table_is_written_and_read_back(s3: S3) -> None:
    location = f"{s3.prefix()}/t"
    lance.write_dataset(pa.table({"a": [1, 2, 3]}), location, storage_options=s3.storage_options)
    assert lance.dataset(location, storage_options=s3.storage_options).count_rows() == 3


def test_prefixes_are_apart(s3: S3) -> None:
    one, other = s3.store(s3.prefix()), s3.store(s3.prefix())
    obstore.put(one, "x", b"1")
    assert [item["path"] for page in obstore.list(one) for item in page] == ["x"]
    assert [item["path"] for page in obstore.list(other) for item in page] == []


def test_put_if_absent_has_one_winner(s3: S3) -> None:
    store = s3.store(s3.prefix())

    def claim(number: int) -> bool:
        try:
            obstore.put(store, "claim", str(number).encode(), mode="create")
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(20) as pool:
        won = list(pool.map(claim, range(20)))
    assert won.count(True) == 1
    assert bytes(obstore.get(store, "claim").bytes()) == str(won.index(True)).encode()


def test_no_key_no_entry(s3: S3) -> None:
    location = f"{s3.prefix()}/t"
    with pytest.raises(OSError, match=r"(?i)access ?denied|forbidden|403"):
        lance.write_dataset(
            pa.table({"a": [1]}),
            location,
            storage_options={**s3.storage_options, "aws_secret_access_key": "wrong"},
        )
