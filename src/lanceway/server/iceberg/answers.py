"""Answers that hold a table's or a view's metadata, which is passed on as it is, with its ETag."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lanceway.catalogs.contract.iceberg import LoadedIceberg
from lanceway.errors import InvalidInputError
from lanceway.lake.idempotency import KeptAnswer
from lanceway.server.iceberg.calls import IcebergRestCall
from lanceway.server.iceberg.credentials import NOT_STORED, storage_parts
from lanceway.server.lance.answers import JSON, EncodedAnswer, Header

ALL, REFS = "all", "refs"
_ETAG = b"etag"
_NO_CONFIG: Mapping[str, Any] = {"config": {}}


@dataclass(frozen=True, slots=True)
class TableAnswer(EncodedAnswer):
    """An answer that may hold credentials; `plain` is its body without them."""

    plain: bytes = b""


class _Reference(msgspec.Struct, rename="kebab"):
    snapshot_id: int


class _Placed(msgspec.Struct, rename="kebab"):
    location: str


class _Kept(msgspec.Struct, rename="kebab"):
    metadata: msgspec.Raw
    metadata_location: str | None = None


def etag(loaded: LoadedIceberg, snapshots: str = ALL) -> bytes | None:
    """Return what tells one state of a table from another; None for a table that is staged."""
    if loaded.metadata_location is None and not loaded.is_companion:
        return None
    state = loaded.metadata if loaded.metadata_location is None else loaded.metadata_location.encode()
    return b'"%s"' % hashlib.sha256(snapshots.encode() + b"\0" + state).hexdigest()[:32].encode()


def is_known(call: IcebergRestCall, tag: bytes | None) -> bool:
    """Return whether the client has this state already."""
    known = [text.strip().removeprefix("W/") for text in call.headers.get("if-none-match", "").split(",")]
    return tag is not None and (tag.decode() in known or known == ["*"])


def read_snapshots(call: IcebergRestCall) -> str:
    """Return which snapshots of a table are wanted. Raises InvalidInputError for a word that is not known."""
    text = call.query.get("snapshots") or ALL
    if text.lower() not in (ALL, REFS):
        raise InvalidInputError(f"The parameter snapshots is {text!r}, but must be {ALL!r} or {REFS!r}.")
    return text.lower()


def table_answer(
    call: IcebergRestCall, id_: Sequence[str], loaded: LoadedIceberg, snapshots: str = ALL, *, optional: bool = False
) -> TableAnswer:
    """Return a table with how its storage is reached. Where credentials are `optional`, it is answered without."""
    tag = etag(loaded, snapshots)
    if snapshots == REFS:
        loaded = LoadedIceberg(
            _only_referenced(loaded.metadata), loaded.metadata_location, loaded.location, loaded.is_companion
        )
    plain = _body(loaded, _NO_CONFIG)
    storage = storage_parts(call, id_, loaded, optional=optional)
    if not storage["config"]:
        return TableAnswer(200, plain, _headers(tag), plain)
    return TableAnswer(200, _body(loaded, storage), [*_headers(tag), NOT_STORED], plain)


def bare_answer(loaded: LoadedIceberg) -> TableAnswer:
    """Return a table whose client is told nothing of its storage."""
    plain = _body(loaded, _NO_CONFIG)
    return TableAnswer(200, plain, _headers(etag(loaded)), plain)


def commit_answer(loaded: LoadedIceberg) -> EncodedAnswer:
    """Return a table or a view after a change of it."""
    return EncodedAnswer(200, _body(loaded, {}), _headers(etag(loaded)))


def view_answer(loaded: LoadedIceberg) -> EncodedAnswer:
    """Return a view."""
    return EncodedAnswer(200, _body(loaded, _NO_CONFIG), _headers(etag(loaded)))


def read_kept(kept: KeptAnswer) -> LoadedIceberg | None:
    """Return the table of an answer that was kept; None where it was too large."""
    if kept.body is None:
        return None
    row = msgspec.json.decode(kept.body, type=_Kept)
    metadata = bytes(row.metadata)
    location = msgspec.json.decode(metadata, type=_Placed).location
    # Of tables without a metadata file, a companion has an ETag, and one that is staged has none.
    is_companion = row.metadata_location is None and _ETAG.decode() in kept.headers
    return LoadedIceberg(metadata, row.metadata_location, location, is_companion)


def _body(loaded: LoadedIceberg, more: Mapping[str, Any]) -> bytes:
    place = {} if loaded.metadata_location is None else {"metadata-location": loaded.metadata_location}
    return msgspec.json.encode({**place, "metadata": msgspec.Raw(loaded.metadata), **more})


def _headers(tag: bytes | None) -> list[Header]:
    return [JSON] if tag is None else [JSON, (_ETAG, tag)]


def _only_referenced(metadata: bytes) -> bytes:
    """Return metadata with only those snapshots that a branch or a tag points to."""
    fields = msgspec.json.decode(metadata, type=dict[str, msgspec.Raw])
    if "snapshots" not in fields:
        return metadata
    references = msgspec.json.decode(fields.get("refs", b"{}"), type=dict[str, _Reference])
    wanted = {reference.snapshot_id for reference in references.values()}
    current = msgspec.json.decode(fields.get("current-snapshot-id", b"null"))
    snapshots = msgspec.json.decode(fields["snapshots"], type=list[msgspec.Raw])
    kept = [row for row in snapshots if msgspec.json.decode(row, type=_Reference).snapshot_id in {*wanted, current}]
    return msgspec.json.encode({**fields, "snapshots": kept})
