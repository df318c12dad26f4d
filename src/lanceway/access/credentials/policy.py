"""A session policy of IAM for one table: what the holder of a credential may do, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from lanceway.access.credentials.vendor import StorageAccess, TableScope
from lanceway.errors import InvalidInputError

SCHEMES = frozenset({"s3", "s3a"})
# What AWS takes of a policy in a request, in characters.
LARGEST = 2048
_ARN = "arn:aws:s3:::"
_VERSION = "2012-10-17"
_READ = ("s3:GetObject",)
_WRITE = ("s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts")
_DELETE = ("s3:DeleteObject",)
# Where the files lie that the manifest of a clone names in its source. Their names are random: without a manifest, of
# which there are none here, no others can be read.
_SHARED = ("data", "_deletions", "_indices")
# Where writes of Lanceway note what they stage (`writes.journal`), and remove their notes afterwards.
NOTES = ".lanceway/writes"
# What IAM reads as anything, as one character, and as the beginning of a variable.
_SPECIAL = re.compile(r"[*?]|\$(?=\{)")


def session_policy(scope: TableScope) -> str:
    """Return the policy for a scope, as JSON. Raises InvalidInputError where none can be made for its location."""
    bucket, prefix = bucket_and_prefix(scope.location)
    own = [f"{_ARN}{bucket}/{escaped(prefix)}/*"]
    shared = [place for path in scope.base_paths for place in _shared(path)]
    listing = {
        **_allow(("s3:ListBucket",), [f"{_ARN}{bucket}"]),
        # With the slash at its end: a neighbour whose name begins alike is not listed.
        "Condition": {"StringLike": {"s3:prefix": [f"{escaped(prefix)}/*"]}},
    }
    statements = [_allow(_READ, [*own, *shared]), listing]
    if scope.access.writes:
        statements.append(_allow(_WRITE, own))
        all_or_notes = own if scope.access is StorageAccess.OWN else [f"{own[0][:-1]}{NOTES}/*"]
        statements.append(_allow(_DELETE, all_or_notes))
    policy = json.dumps({"Version": _VERSION, "Statement": statements}, separators=(",", ":"), ensure_ascii=False)
    if len(policy) > LARGEST:
        raise InvalidInputError(
            f"No credentials can be made for the table at {scope.location}: its policy would have {len(policy)} "
            f"characters, and STS takes {LARGEST}. A clone of a clone of … shares files with too many tables: copy its "
            "rows into a table of their own."
        )
    return policy


def escaped(prefix: str) -> str:
    """Return a prefix of which IAM takes every character as it is."""
    return _SPECIAL.sub(lambda found: f"${{{found.group()}}}", prefix)


def bucket_and_prefix(location: str) -> tuple[str, str]:
    """Return the bucket and the prefix of a location, as storage knows them.

    Raises InvalidInputError for a location that is no table's: a whole bucket, or one with a part that leads elsewhere.
    """
    parts = urlsplit(location)
    prefix = unquote(parts.path).strip("/")
    names = prefix.split("/")
    if parts.scheme.lower() not in SCHEMES or not parts.netloc or parts.query or parts.fragment:
        raise InvalidInputError(f"No credentials can be made for {location!r}: it is not a location in an S3 bucket.")
    if not prefix or not {"", ".", ".."}.isdisjoint(names) or not prefix.isprintable():
        raise InvalidInputError(
            f"No credentials can be made for {location!r}: it is a whole bucket, or its path has a part that is empty, "
            "'.' or '..', or characters that cannot be printed."
        )
    return parts.netloc, prefix


def _shared(base_path: str) -> Iterable[str]:
    bucket, prefix = bucket_and_prefix(base_path)
    return (f"{_ARN}{bucket}/{escaped(prefix)}/{folder}/*" for folder in _SHARED)


def _allow(actions: Iterable[str], resources: list[str]) -> dict[str, object]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": resources}
