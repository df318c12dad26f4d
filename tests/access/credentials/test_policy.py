"""Session policies: what they allow, and that nothing in a location widens them."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceway.access.credentials.policy import LARGEST, escaped, session_policy
from lanceway.access.credentials.vendor import StorageAccess, TableScope
from lanceway.errors import InvalidInputError
from lanceway.writes import journal


def statements(location: str, access: StorageAccess, *bases: str) -> list[dict[str, Any]]:
    policy = json.loads(session_policy(TableScope(location, access, bases)))
    assert policy["Version"] == "2012-10-17"
    return list(policy["Statement"])


def allowed(access: StorageAccess) -> dict[str, list[str]]:
    """Where each action is allowed, for a table at s3://b/team/t."""
    return {
        action: statement["Resource"]
        for statement in statements("s3://b/team/t", access)
        for action in statement["Action"]
    }


def test_each_access_may_do_more() -> None:
    read, write, own = map(allowed, StorageAccess)
    assert read == {"s3:GetObject": ["arn:aws:s3:::b/team/t/*"], "s3:ListBucket": ["arn:aws:s3:::b"]}
    writing = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
    written = {**read, **{action: ["arn:aws:s3:::b/team/t/*"] for action in writing}}
    assert own == {**written, "s3:DeleteObject": ["arn:aws:s3:::b/team/t/*"]}
    # Notes of writes are removed by who made them.
    assert write == {**written, "s3:DeleteObject": [f"arn:aws:s3:::b/team/t/{journal.FOLDER}/*"]}


def test_a_neighbour_whose_name_begins_alike_is_not_listed() -> None:
    for access in StorageAccess:
        _, listing, *_ = statements("s3://b/team/t", access)
        assert listing["Condition"] == {"StringLike": {"s3:prefix": ["team/t/*"]}}


def test_of_what_a_clone_shares_the_files_alone_can_be_read() -> None:
    read, *others = statements("s3://b/clone", StorageAccess.WRITE, "s3://b/source", "s3://c/first")
    assert read["Resource"] == [
        "arn:aws:s3:::b/clone/*",
        *(f"arn:aws:s3:::{source}/{folder}/*" for source in ("b/source", "c/first") for folder in SHARED),
    ]
    assert "b/source" not in json.dumps(others)


SHARED = ("data", "_deletions", "_indices")


def test_a_percent_encoded_location_is_the_key_that_it_means() -> None:
    read, *_ = statements("s3://b/a%23b%25/t", StorageAccess.READ)
    assert read["Resource"] == ["arn:aws:s3:::b/a#b%/t/*"]


@pytest.mark.parametrize(
    ("prefix", "text"),
    [("a*b", "a${*}b"), ("a?b", "a${?}b"), ("${aws:username}", "${$}{aws:username}"), ("a$b", "a$b")],
)
def test_characters_that_iam_reads_are_escaped(prefix: str, text: str) -> None:
    assert escaped(prefix) == text


def iam_pattern(text: str) -> str:
    """A pattern of IAM as one of fnmatch: of `${*}` and the like the character itself is meant."""
    for character in "*?$":
        text = text.replace(f"${{{character}}}", {"*": "\0", "?": "\1", "$": "$"}[character])
    return text.replace("[", "[[]").replace("\0", "[*]").replace("\1", "[?]")


@given(st.text("ab*?${}[]", min_size=1, max_size=8), st.text("ab*?${}[]", min_size=1, max_size=8))
def test_a_prefix_matches_itself_alone(prefix: str, other: str) -> None:
    pattern = iam_pattern(escaped(prefix))
    assert fnmatchcase(prefix, pattern)
    assert fnmatchcase(other, pattern) == (other == prefix)


@pytest.mark.parametrize(
    "location",
    [
        "s3://b",
        "s3://b/",
        "s3://b//",
        "s3://b/a/../c",
        "s3://b/a//c",
        "s3://b/%2e%2e/a",
        "s3://b/a?x=1",
        "/local",
        "gs://b/a",
    ],
)
def test_a_location_that_is_no_tables_has_none(location: str) -> None:
    with pytest.raises(InvalidInputError, match="No credentials can be made"):
        session_policy(TableScope(location, StorageAccess.READ))


def test_a_policy_stays_small_or_is_not_made() -> None:
    bases = tuple(f"s3://bucket/warehouse/lake/{number:032x}" for number in range(20))
    assert (
        len(session_policy(TableScope("s3://bucket/warehouse/lake/" + "f" * 32, StorageAccess.OWN, bases[:4])))
        < LARGEST
    )
    with pytest.raises(InvalidInputError, match="copy its rows"):
        session_policy(TableScope("s3://bucket/warehouse/t", StorageAccess.READ, bases))
