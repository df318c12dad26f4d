"""Base paths: folders beside a table's own location that its manifests name, and that its files are read from.

Lance lets a manifest say that files are elsewhere: a shallow clone points to its source. pylance follows any base path
with the keys of the process that reads. In a process that reads for others, such as a server, a writer of manifests
could so read whatever that process can. Such a process confines base paths (`confine`); every dataset is checked when
it is opened, and every manifest when its version is claimed. The name of a data file cannot lead elsewhere by itself:
Lance escapes `/` in it. A claim is refused for it all the same, since that is Lance's choice and not the format's.

A data file too can say that something is elsewhere: a blob may be a URI. No manifest shows that, so those that are read
are checked (`check_blobs`).

A confined process may have others read for it, such as Spark's workers: they are confined as the tables say that it
sends them (`receive`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from lanceway.errors import InvalidInputError
from lanceway.tables.errors import FOREIGN

if TYPE_CHECKING:
    import lance

# A part that leads up or nowhere, or a character that some storage reads as one that does.
_LEADS_AWAY = r"(^|/)\.{0,2}(/|$)|[\\%:]"
_NAMED_AT_MOST = 5


class Located(Protocol):
    """A table with its location, which `tables.dataset` defines."""

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> str: ...


class BasePathPolicy(Protocol):
    """Which base paths the tables of this process may have."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the locations below which every table may have base paths."""

    def allows(self, location: str, base_path: str) -> bool:
        """Return whether the table at a location may have files below a base path."""


_policy: BasePathPolicy | None = None
# What a process works under that was sent tables by a confined one.
_received: BasePathPolicy | None = None


def confine(policy: BasePathPolicy) -> Callable[[], None]:
    """Refuse base paths that a policy does not allow, from now on, in this whole process. Call the result to end it."""
    global _policy
    before, _policy = _policy, policy

    def release() -> None:
        global _policy
        _policy = before

    return release


def receive(policy: BasePathPolicy | None) -> None:
    """Confine base paths as the process does that has sent a table, until another is sent; None confines nothing.

    A process that confines them by itself keeps to its own policy.
    """
    global _received
    if _policy is None:
        _received = policy


def policy() -> BasePathPolicy | None:
    """Return the policy that base paths are confined by here, None where they are not."""
    return _policy or _received


def is_confined() -> bool:
    return policy() is not None


# Whether the version that is being claimed was written by a client. One that this process writes itself is claimed in a
# callback of pylance, which cannot be asked to read a manifest there: it would end the process.
_is_of_client: ContextVar[bool] = ContextVar("is_of_client", default=False)


@contextmanager
def claimed_by_client() -> Iterator[None]:
    """Have the manifests of versions checked that are claimed meanwhile: a client has written them."""
    token = _is_of_client.set(True)
    try:
        yield
    finally:
        _is_of_client.reset(token)


def checks_claims() -> bool:
    """Return whether the manifest of a version that is claimed now has to be checked."""
    return _policy is not None and _is_of_client.get()


def check(table: Located, opened: lance.LanceDataset) -> None:
    """Refuse a dataset whose manifest names a base path that is not allowed. It reads nothing.

    Raises InvalidInputError.
    """
    current = policy()
    if current is not None:
        _check_paths(current, table, (base.path for base in opened.base_paths().values()))


def check_manifest(table: Located, manifest: bytes) -> None:
    """Refuse the manifest of a version to be claimed, if it leads outside of the table's location.

    pylance itself reads it, from a folder of its own, so that nothing is understood otherwise than by a reader. What
    it cannot read is refused too: another release may read it, and find there what this one did not.

    Raises InvalidInputError.
    """
    if not checks_claims():
        return
    import lance
    import pyarrow.compute as pc

    with tempfile.TemporaryDirectory(prefix="lanceway-manifest-") as folder:
        os.mkdir(os.path.join(folder, "_versions"))
        with open(os.path.join(folder, "_versions", "1.manifest"), "wb") as file:
            file.write(manifest)
        try:
            opened = lance.dataset(folder)
            check(table, opened)
            files = opened.tracked_files().read_all()
        except FOREIGN as error:
            raise InvalidInputError(
                f"The manifest that is claimed as a version of {table.name} cannot be read, and so it is not known "
                "where it leads. Write it with a release of Lance that this server knows, and claim it again."
            ) from error
    paths = files["path"]
    bad = paths.filter(pc.match_substring_regex(paths, _LEADS_AWAY)).to_pylist()
    if bad:
        raise InvalidInputError(
            f"The manifest that is claimed as a version of {table.name} names files that lead outside of its location "
            f"{table.location}: {_listed(bad)}. Write the files below the table's location."
        )


def check_blobs(table: Located, uris: Iterable[str]) -> None:
    """Refuse blobs that are outside of the table's location, as base paths are. Raises InvalidInputError."""
    current = policy()
    if current is None:
        return
    refused = [uri for uri in uris if not _allows_blob(current, table, uri)]
    if refused:
        raise InvalidInputError(
            f"{table.name} has blobs outside of its location {table.location}: {_listed(refused)}. This server reads "
            "no files there. Write the bytes into the table, or ask an administrator to add the location to "
            "allowed_base_paths in [server]."
        )


def _allows_blob(policy: BasePathPolicy, table: Located, uri: str) -> bool:
    if "://" in uri:
        return policy.allows(table.location, uri)
    return re.search(_LEADS_AWAY, uri) is None  # below a base path, which was checked with the dataset


def _check_paths(current: BasePathPolicy, table: Located, base_paths: Iterable[str]) -> None:
    refused = [path for path in base_paths if not current.allows(table.location, path)]
    if refused:
        raise InvalidInputError(
            f"{table.name} has base paths outside of its location {table.location}: {_listed(refused)}. This server "
            "reads no files there. Copy the rows into a table of their own (a deep clone), or ask an administrator "
            "to add the location to allowed_base_paths in [server]."
        )


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _NAMED_AT_MOST} more" if len(paths) > _NAMED_AT_MOST else ""
    return ", ".join(repr(path[:200]) for path in paths[:_NAMED_AT_MOST]) + more
