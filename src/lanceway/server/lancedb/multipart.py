"""Multipart writes: one version of a table from many requests, which the client sends at once.

The id of an upload is sealed: it is worth something to the user who began it alone, and for that table and branch.
Every part and the end need the right to insert, as one insert does.
"""

from __future__ import annotations

from collections.abc import Mapping

from lanceway.errors import InvalidInputError
from lanceway.server.lance.answers import EncodedAnswer
from lanceway.server.lancedb.calls import LanceDbCall, LanceDbHandler, encoded
from lanceway.tables.read import ipc
from lanceway.tables.read.ipc import BinaryReader
from lanceway.tables.read.ipc_limits import StreamLimits
from lanceway.tables.write.uploads import Upload

UPLOAD_ID = "upload_id"
_PART, _MODES = "upload_part_id", ("append", "overwrite")
_SCOPE, _INSERT = "multipart_write", "insert_into_table"
_LONGEST_PART = 200  # characters of its id


def begin_upload(call: LanceDbCall) -> EncodedAnswer:
    upload = Upload.begin(call.guard.stored_table(call.id, _INSERT), call.branch)
    return encoded({UPLOAD_ID: call.seal.close(_SCOPE, _owner(call), upload.key)})


def complete_upload(call: LanceDbCall) -> EncodedAnswer:
    return encoded({"version": _upload(call).complete()})


def abort_upload(call: LanceDbCall) -> EncodedAnswer:
    _upload(call).abort()
    return encoded({})


def add_part(call: LanceDbCall, limits: StreamLimits, stream: BinaryReader) -> EncodedAnswer:
    """Write a part while the client sends it."""
    part, mode = call.query.get(_PART, ""), call.query.get("mode", _MODES[0])
    if not 0 < len(part) <= _LONGEST_PART:
        raise InvalidInputError(f"A part of an upload needs {_PART}, of at most {_LONGEST_PART} characters.")
    if mode not in _MODES:
        raise InvalidInputError(f"The mode of a part is {mode!r}, but must be one of {', '.join(_MODES)}.")
    upload = _upload(call)
    upload.add(part, ipc.read_from(stream, limits), overwrite=mode == "overwrite")
    return encoded({})


def _upload(call: LanceDbCall) -> Upload:
    table = call.guard.stored_table(call.id, _INSERT)
    try:
        key = call.seal.open(_SCOPE, _owner(call), call.query.get(UPLOAD_ID, ""))
    except InvalidInputError:
        key = ""
    if not key:
        raise InvalidInputError(
            f"The {UPLOAD_ID} is not that of an upload of yours to this table and branch. Begin one with "
            "multipart_write/create."
        )
    return Upload(table, key, call.branch)


def _owner(call: LanceDbCall) -> list[str]:
    return [call.principal.name, call.branch or "", *call.id]


MULTIPART_HANDLERS: Mapping[str, LanceDbHandler] = {
    handler.__name__: handler for handler in (begin_upload, complete_upload, abort_upload)
}
