"""Rows that come in many parts and become one version of a table: an upload.

Each part is written as fragments that no version has yet, and noted in a folder of the upload beside the table. What
completes the upload commits them all; what gives it up removes them. The folder has a file for as long as the upload is
open, which a part looks for before and after it is noted: of a part that comes too late nothing stays.

Who may write the table's files may write in that folder too: what is read there is checked, and nothing is removed that
no part can have written.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from lanceway.errors import (
    ConcurrentModificationError,
    InvalidInputError,
    LanceNamespaceError,
    TableSchemaValidationError,
)
from lanceway.tables.dataset import StoredTable, open_at
from lanceway.tables.errors import translated
from lanceway.tables.versions import commit
from lanceway.tables.write.reader import CountingReader

if TYPE_CHECKING:
    import lance
    import pyarrow as pa
    from lance.fragment import FragmentMetadata

Note = dict[str, Any]
Form = TypeVar("Form")

FOLDER = ".lanceway/uploads"
# An upload to which nothing was added for so long was abandoned.
LIFE_SECONDS = 24 * 3600
_OPEN, _CLOSING, _PART = "open", "closing", "part-"
_PROPERTY = "lanceway.upload"
_OPERATION = "insert_into_table"
# How many of the latest versions are searched for that of an upload.
_RECENT = 64


class _State(Struct):
    """What an upload was begun on."""

    version: Annotated[int, Meta(ge=1)]
    branch: str | None


_Signed = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
_Count = Annotated[int, Meta(ge=0, lt=2**31)]
_Size = Annotated[int, Meta(ge=0, le=2**62)]


class _File(Struct, forbid_unknown_fields=True):
    path: Annotated[str, Meta(pattern=r"^\w[\w-]*\.lance$")]
    fields: list[_Signed]
    column_indices: list[_Signed]
    file_major_version: _Count
    file_minor_version: _Count
    file_size_bytes: Annotated[int, Meta(ge=1, le=2**62)] | None = None
    base_id: None = None  # a part is written into the table's own folder


class _Fragment(Struct):
    """What Lance says of a fragment that was just written: nothing was deleted from it, and it is in no version."""

    id: _Size
    files: list[_File]
    physical_rows: _Size
    deletion_file: None = None
    row_id_meta: None = None
    created_at_version_meta: None = None
    last_updated_at_version_meta: None = None
    overlays: Annotated[list[Any], Meta(max_length=0)] | None = None


class _NoteForm(Struct):
    """What every note of a part has."""

    fragments: list[_Fragment]
    overwrite: bool
    schema: Annotated[str, Meta(pattern=r"^([0-9a-f]{2})+$")] | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload to a table, or to a branch of it. Nothing of it is kept in memory."""

    table: StoredTable
    key: str
    branch: str | None = None

    @classmethod
    def begin(cls, table: StoredTable, branch: str | None = None) -> Upload:
        """Open an upload. Others to the table that were abandoned are removed."""
        version = int(open_at(table, branch=branch).version)
        discard_abandoned(table)
        upload = cls(table, uuid.uuid4().hex, branch)
        table.store().put(upload._name(_OPEN), json.dumps({"version": version, "branch": branch}).encode())
        return upload

    def add(self, part: str, data: pa.RecordBatchReader, *, overwrite: bool = False) -> int:
        """Write a part, and return how many rows it has. One that was added before stays as it is.

        Raises InvalidInputError where the upload has ended; nothing of the part stays then.
        """
        base = self._require_open().version
        store, name = self.table.store(), self._name(_PART + hashlib.sha256(part.encode()).hexdigest()[:32])
        source = CountingReader(data)
        dataset = open_at(self.table, branch=self.branch, version=base)
        fragments = self._write(dataset, source, "overwrite" if overwrite else "append")
        note = {
            "fragments": [fragment.to_json() for fragment in fragments],
            "overwrite": overwrite,
            "rows": source.rows,
        }
        if overwrite:
            note["schema"] = source.schema.serialize().to_pybytes().hex()
        try:
            is_new = store.put_if_absent(name, json.dumps(note).encode())
        except LanceNamespaceError:
            self._remove(note)
            raise
        if not is_new:
            self._remove(note)
        elif not self._is_open():
            self._give_back(note, base)
        return source.rows

    def complete(self) -> int:
        """Commit all parts as one version, and return its number. Asked again, it is that version's once more."""
        state = self._state()
        if state is None:
            version = self._committed(None)
            if version is None:
                raise self._ended()
            return version
        self._close()
        notes: list[Note] = []
        try:
            notes += map(self._note, self._notes())
            version = self._commit(state.version, notes)
        except LanceNamespaceError:
            committed = self._committed(state.version)
            if committed is None:
                self._discard()
                raise
            version = committed
        self._discard(kept=_files(notes))
        return version

    def abort(self) -> None:
        """Give the upload up, and remove what its parts have written. One that has ended stays as it is."""
        if self._is_there():
            self._close()
            self._discard()

    # -- steps -----------------------------------------------------------------------------------

    def _write(self, dataset: lance.LanceDataset, source: CountingReader, mode: str) -> list[FragmentMetadata]:
        import lance

        with source.consumed(self.table, _OPERATION):
            return list(lance.fragment.write_fragments(source.reader, dataset, mode=mode))

    def _commit(self, version: int, notes: list[Note]) -> int:
        import lance
        from lance.dataset import Transaction

        if not all(notes):
            raise self._written_over()
        fragments = [lance.FragmentMetadata.from_json(json.dumps(each)) for note in notes for each in note["fragments"]]
        if not fragments:
            return int(open_at(self.table, branch=self.branch).version)
        schemas = {note.get("schema") for note in notes}
        if len(schemas) > 1:
            raise TableSchemaValidationError(
                f"The parts of the upload to {self.table.name} do not fit each other: either all of them overwrite the "
                "table, with the same columns, or none does. Nothing was changed."
            )
        operation = self._operation(fragments, schemas.pop())
        transaction = Transaction(version, operation, transaction_properties={_PROPERTY: self.key})
        opened = open_at(self.table, branch=self.branch)
        with translated(self.table, _OPERATION):
            return commit.commit(self.table, transaction, retries=commit.RETRIES, opened=opened)

    def _operation(self, fragments: list[FragmentMetadata], schema: str | None) -> lance.LanceOperation.BaseOperation:
        import lance
        import pyarrow as pa

        if schema is None:
            return lance.LanceOperation.Append(fragments)
        try:
            columns = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(schema)))
        except (pa.ArrowException, OSError) as error:
            raise self._written_over() from error
        return lance.LanceOperation.Overwrite(columns, fragments)

    def _committed(self, base: int | None) -> int | None:
        """Return the version later than `base` that this upload has made; without a base, if it is a recent one."""
        latest = open_at(self.table, branch=self.branch)
        newest = int(latest.version)
        for version in range(newest, max(0, newest - _RECENT) if base is None else base, -1):
            with translated(self.table, _OPERATION):
                transaction = latest.read_transaction(version)
            properties = transaction and transaction.transaction_properties
            if properties and properties.get(_PROPERTY) == self.key:
                return version
        return None

    def _give_back(self, note: Note, base: int) -> None:
        """Remove a part that was noted after the upload had ended, unless it was committed all the same."""
        if self._is_there():  # what is completing the upload will look for such parts
            raise self._ended()
        version = self._committed(base)
        committed = set() if version is None else _committed_files(self.table, self.branch, version)
        self._remove(note, kept=committed)
        self._forget()
        if not committed.issuperset(_files([note])):
            raise self._ended()

    # -- its folder ------------------------------------------------------------------------------

    @property
    def _folder(self) -> str:
        return f"{FOLDER}/{self.key}"

    def _name(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _notes(self) -> list[str]:
        return [key for key in self.table.store().keys(self._folder) if f"/{_PART}" in key]

    def _note(self, name: str) -> Note:
        """Return what is noted of a part; nothing of one that is gone, or that no part has written."""
        data = self.table.store().read(name) or b""
        if _decoded(data, _NoteForm) is None:
            return {}
        note: Note = json.loads(data)
        return note

    def _state(self) -> _State | None:
        return _decoded(self.table.store().read(self._name(_OPEN)) or b"", _State)

    def _is_there(self) -> bool:
        return self.table.store().exists(self._name(_OPEN))

    def _is_open(self) -> bool:
        return self._is_there() and not self.table.store().exists(self._name(_CLOSING))

    def _require_open(self) -> _State:
        state = self._state()
        if state is None or not self._is_open():
            raise self._ended()
        return state

    def _close(self) -> None:
        """Let no more parts in. One request alone may do so, and then ends the upload."""
        if not self.table.store().put_if_absent(self._name(_CLOSING), b""):
            raise ConcurrentModificationError(
                f"The upload to {self.table.name} is being ended by another request. Ask again in a moment."
            )

    def _ended(self) -> InvalidInputError:
        return InvalidInputError(
            f"There is no such upload to {self.table.name}: it was completed or given up, or nothing was added to it "
            "for a day. Begin another."
        )

    def _written_over(self) -> InvalidInputError:
        return InvalidInputError(
            f"A part of the upload to {self.table.name} was removed or written over. Begin another upload."
        )

    def _remove(self, note: Note, kept: Collection[str] = ()) -> None:
        """Remove the files of a part."""
        unwanted = _files([note]).difference(kept)
        commit.remove(self.table.store(), [commit.data_key(file, self.branch) for file in sorted(unwanted)])

    def _discard(self, kept: Collection[str] = ()) -> None:
        """End the upload: remove what its parts have written, except the files that were `kept`."""
        self.table.store().delete(self._name(_OPEN))
        # A part that is noted from now on finds the upload gone, and removes itself.
        for name in self._notes():
            self._remove(self._note(name), kept)
        self._forget()

    def _forget(self) -> None:
        store = self.table.store()
        store.delete(*list(store.keys(self._folder)))
        store.remove_empty_folders(self._folder)


def _decoded(data: bytes, form: type[Form]) -> Form | None:
    try:
        return msgspec.json.decode(data, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _files(notes: Iterable[Note]) -> set[str]:
    return {str(file["path"]) for note in notes for fragment in note.get("fragments", ()) for file in fragment["files"]}


def _committed_files(table: StoredTable, branch: str | None, version: int) -> set[str]:
    fragments = open_at(table, version=version, branch=branch).get_fragments()
    return {str(file.path) for fragment in fragments for file in fragment.metadata.files}


def discard_abandoned(table: StoredTable, life: float = LIFE_SECONDS) -> None:
    """Give up the uploads to a table, and to its branches, to which nothing was added for `life` seconds."""
    store, latest = table.store(), dict[str, int]()
    for file in store.objects(FOLDER):
        key = file.key.removeprefix(f"{FOLDER}/").partition("/")[0]
        latest[key] = max(latest.get(key, 0), file.modified_millis)
    oldest = (time.time() - life) * 1000
    for key in (key for key, modified in latest.items() if modified <= oldest):
        upload = Upload(table, key)
        state = upload._state()
        if state is None or store.exists(f"{FOLDER}/{key}/{_CLOSING}"):
            # It may have been committed, long ago: its files are left to the table's own cleaning, which knows.
            upload._forget()
            continue
        try:
            replace(upload, branch=state.branch).abort()
        except InvalidInputError:  # no branch has such a name
            upload._forget()
